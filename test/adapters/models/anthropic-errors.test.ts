import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { AnthropicModel, type AnthropicOptions } from "../../../src/adapters/models/anthropic.js";
import { ModelError } from "../../../src/domain/errors.js";
import { testRuntime } from "../../../src/testkit/index.js";
import { call, end, sse, start, streamed, text, thinking } from "./anthropic-wire.js";
import { request, tool } from "./chat-outcome.js";
import { loopback, pieces, SSE } from "./loopback.js";
import { paced } from "./paced.js";

const UNUSED = "http://unused.test";

async function failure(options: Partial<AnthropicOptions>, asked = request()): Promise<ModelError> {
  try {
    await new AnthropicModel({ model: "m1", ...options }).chatStreaming(asked, () => undefined);
  } catch (error) {
    if (error instanceof ModelError) return error;
    throw error;
  }
  throw new Error("the call succeeded");
}

async function answered(status: number, body: string, headers = {}, asked = request()): Promise<ModelError> {
  await using server = await loopback(pieces([body], headers, status));
  const error = await failure({ baseUrl: server.baseUrl }, asked);
  expect(server.requests).toHaveLength(1);
  return error;
}

const json = (type: string, message: string): string =>
  JSON.stringify({ type: "error", error: { type, message }, request_id: "req_body" });

describe("an error of the provider", () => {
  it.each<[number, string, string, string, boolean]>([
    [400, "invalid_request_error", "messages: at least one message is required", "invalid-request", false],
    [400, "invalid_request_error", "max_tokens: 99999 > 64000, which is the maximum allowed", "invalid-request", false],
    [400, "invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum", "context-overflow", false],
    [
      400,
      "invalid_request_error",
      "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length",
      "context-overflow",
      false,
    ],
    [413, "request_too_large", "Request exceeds the maximum size", "context-overflow", false],
    [400, "invalid_request_error", "Your credit balance is too low to access the API", "rate-limit", false],
    [401, "authentication_error", "invalid x-api-key", "auth", false],
    [402, "billing_error", "Payment required", "rate-limit", false],
    [403, "permission_error", "Your API key does not have permission", "auth", false],
    [404, "not_found_error", "model: claude-x", "invalid-request", false],
    [
      429,
      "rate_limit_error",
      "This request would exceed your rate limit of 40,000 tokens per minute",
      "rate-limit",
      true,
    ],
    [500, "api_error", "Internal server error", "server", true],
    [503, "api_error", "upstream connect error", "overloaded", true],
    [504, "timeout_error", "Request timed out", "timeout", true],
    [529, "overloaded_error", "Overloaded", "overloaded", true],
  ])("%i %s (%s) is %s", async (status, type, message, kind, retryable) => {
    const error = await answered(status, json(type, message));
    expect(error).toMatchObject({ kind, status, retryable, provider: "anthropic", requestId: "req_body" });
    expect(error.message).toContain(`HTTP ${status}: ${message.slice(0, 40)}`);
  });

  it.each<[string, string, boolean]>([
    ["overloaded_error", "overloaded", true],
    ["api_error", "server", true],
    ["rate_limit_error", "rate-limit", true],
    ["timeout_error", "timeout", true],
    ["authentication_error", "auth", false],
    ["invalid_request_error", "invalid-request", false],
  ])("in mid-stream is known by its type: %s is %s", async (type, kind, retryable) => {
    const body = start() + text(0, "Half") + sse("error", { error: { type, message: "no" }, request_id: "req_s" });
    await using server = await loopback(pieces([body]));
    expect(await failure({ baseUrl: server.baseUrl })).toMatchObject({
      kind,
      retryable,
      requestId: "req_s",
      partial: [{ type: "text", text: "Half" }],
      usage: { inputTokens: 9, outputTokens: 1 },
    });
  });

  it("carries the id of its request from the headers first", async () => {
    const error = await answered(500, json("api_error", "no"), { "request-id": "req_head" });
    expect(error.requestId).toBe("req_head");
    await using server = await loopback(pieces([start() + sse("error", {})], { ...SSE, "request-id": "req_head" }));
    expect(await failure({ baseUrl: server.baseUrl })).toMatchObject({ kind: "server", requestId: "req_head" });
  });

  it.each<[Record<string, string>, number | undefined]>([
    [{ "retry-after": "2" }, 2000],
    [{ "retry-after": "0" }, 0],
    [{ "retry-after": "-5" }, undefined],
    [{ "retry-after": "soon" }, undefined],
    [{ "retry-after": "Wed, 99 Foo 2026" }, undefined],
    [{ "retry-after-ms": "1500" }, 1500],
    [{ "retry-after": "Thu, 01 Jan 1970 00:00:00 GMT" }, 0],
    [{}, undefined],
  ])("F167: %j asks to wait %s", async (headers, wanted) => {
    expect((await answered(429, json("rate_limit_error", "slow down"), headers)).retryAfterMs).toBe(wanted);
  });

  it.each<[number, string, string, string]>([
    [502, "<html><h1>502 Bad Gateway</h1></html>", "server", "HTTP 502: 502 Bad Gateway"],
    [503, "Service Unavailable", "overloaded", "HTTP 503: Service Unavailable"],
    [500, "", "server", "HTTP 500"],
  ])("F169: is told from the status where the body is no JSON: %i %s", async (status, body, kind, message) => {
    const error = await answered(status, body, { "content-type": "application/json" });
    expect(error).toMatchObject({ kind, status, retryable: true, message: `ModelError(${kind}): ${message}` });
  });

  it.each([
    "tools.1.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level",
    "tools.1.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
    "tools.1.custom.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'",
    "tool 'fs_second' is not acceptable",
  ])("names the tool it refuses: %s", async (message) => {
    const asked = request({ tools: [tool("first"), tool("fs_second")] });
    expect(await answered(400, json("invalid_request_error", message), {}, asked)).toMatchObject({
      kind: "invalid-request",
      toolName: "fs_second",
    });
  });

  it("names a tool by its own name, also behind one that was left out", async () => {
    const asked = request({ tools: [tool("bad", { type: "string" }), tool("first"), tool("fs.second")] });
    const body = json("invalid_request_error", "tools.1.custom.input_schema: no");
    expect(await answered(400, body, {}, asked)).toMatchObject({ toolName: "fs.second" });
  });

  it("keeps the key to itself", async () => {
    const body = json("authentication_error", "invalid x-api-key: sk-ant-0123456789");
    await using server = await loopback(pieces([body], {}, 401));
    const error = await failure({ baseUrl: server.baseUrl, apiKey: () => Promise.resolve("sk-ant-0123456789") });
    expect(`${error.message} ${JSON.stringify(error)} ${error.stack}`).not.toContain("0123456789");
    expect(server.requests[0]?.headers["x-api-key"]).toBe("sk-ant-0123456789");
  });
});

/** Answers with headers and the beginning of a reply, then nothing more. */
const stalled = (body: string) =>
  loopback((response) => {
    response.writeHead(200, SSE);
    response.write(body);
  });

describe("a stream that stalls", () => {
  const reply = start() + thinking(0, "hm", "SIG") + text(1, "Half") + call(2, "t1", "f", '{"a":1}') + end("tool_use");
  const events = reply.split("\n\n").slice(0, -1);

  const known = [
    { beginsAt: "thinking_delta", part: { type: "reasoning", text: "hm" } },
    { beginsAt: "text_delta", part: { type: "text", text: "Half" } },
    { beginsAt: "tool_use", part: { type: "toolCall", id: "t1", name: "f", malformed: {} } },
  ];
  const places = events.slice(0, -2).map((_, count) => [count, events[count - 1]?.split("\n")[0] ?? "none"] as const);

  it.each(places)("F179: is a timeout behind %i events (%s) with what came, and is cancelled", async (count) => {
    const runtime = testRuntime();
    const sent = events.slice(0, count).map((event) => `${event}\n\n`);
    const { fetch, cancelled } = paced(runtime, sent, { silenceMs: 150 });
    const { kind, partial = [] } = await failure({ baseUrl: UNUSED, fetch, runtime, idleTimeoutMs: 150 });
    expect(kind).toBe("timeout");
    const came = known.filter(({ beginsAt }) => sent.some((event) => event.includes(beginsAt)));
    expect(partial).toMatchObject(came.map(({ part }) => part));
    await cancelled;
  });

  it.each([
    ["its stop reason", events.length - 1, 5000],
    ["its end marker", events.length, 100],
  ])("is a whole reply behind %s", async (_, count, silenceMs) => {
    const runtime = testRuntime();
    const sent = events.slice(0, count).map((event) => `${event}\n\n`);
    const { fetch, cancelled } = paced(runtime, sent, { silenceMs });
    expect(await streamed({ baseUrl: UNUSED, fetch, runtime })).toMatchObject({
      text: "Half",
      reasoning: "hm",
      calls: [["t1", "f", { a: 1 }]],
    });
    await cancelled;
    expect(runtime.elapsed()).toBe(silenceMs);
  });

  it.each([
    ["comments and pings", () => `: busy\n\n${sse("ping")}`],
    ["usage", (n: number) => sse("message_delta", { delta: {}, usage: { output_tokens: 100 + n } })],
  ])("F179: is not kept alive by %s", async (_, busyWith) => {
    const runtime = testRuntime();
    const busy = Array.from({ length: 20 }, (_unused, n) => busyWith(n));
    const { fetch } = paced(runtime, [start() + text(0, "Half"), ...busy], { everyMs: 20 });
    expect(await streamed({ baseUrl: UNUSED, fetch, runtime, idleTimeoutMs: 60 })).toMatchObject({
      error: "timeout",
      partialText: "Half",
    });
    expect(runtime.elapsed()).toBe(80);
  });
});

describe("usage", () => {
  it("is told when it changes, and not again", async () => {
    const usage = { input_tokens: 9, output_tokens: 5 };
    await using server = await loopback(pieces([start(usage) + text(0, "a") + end("end_turn", usage)]));
    const types: string[] = [];
    const model = new AnthropicModel({ model: "m1", baseUrl: server.baseUrl });
    await model.chatStreaming(request(), ({ type }) => void types.push(type));
    expect(types).toEqual(["usage", "textDelta", "finish"]);
  });
});

describe("an abort", () => {
  it("ends a call that is streaming, with what came, and cancels the request", async () => {
    await using server = await stalled(start() + text(0, "Half"));
    const controller = new AbortController();
    const model = new AnthropicModel({ model: "m1", baseUrl: server.baseUrl });
    const asked = request({ signal: controller.signal });
    const aborted = model.chatStreaming(asked, ({ type }) => type === "textDelta" && controller.abort());
    await expect(aborted).rejects.toMatchObject({ kind: "aborted", retryable: false, partial: [{ text: "Half" }] });
    await server.closed;
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
  });

  it("before the call makes no request", async () => {
    await using server = await loopback(pieces([""]));
    const asked = request({ signal: AbortSignal.abort() });
    expect(await streamed({ baseUrl: server.baseUrl }, asked)).toMatchObject({ error: "aborted" });
    expect(server.requests).toHaveLength(0);
  });
});

describe("a connection", () => {
  it("that breaks in mid-reply is a transport failure with what came", async () => {
    await using server = await loopback((response) => {
      response.writeHead(200, SSE);
      response.write(start() + text(0, "Half"), () => response.destroy());
    });
    expect(await streamed({ baseUrl: server.baseUrl })).toMatchObject({ error: "transport", partialText: "Half" });
  });

  it("F176, F177: begins a second try with nothing of the first", async () => {
    await using server = await loopback((response, _, nth) => {
      const whole = start() + text(0, "First, boil water") + call(1, "c2", "f", '{"a":1}') + end("tool_use");
      if (nth > 0) return void response.end(whole);
      response.writeHead(200, SSE);
      response.write(start() + text(0, "First, ") + call(1, "c1", "f", '{"a":'), () => response.destroy());
    });
    const model = { baseUrl: server.baseUrl };
    expect(await streamed(model)).toMatchObject({ error: "transport", partialText: "First, " });
    expect(await streamed(model)).toMatchObject({ text: "First, boil water", calls: [["c2", "f", { a: 1 }]] });
  });
});
