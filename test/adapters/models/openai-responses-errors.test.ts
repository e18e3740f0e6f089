import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { OpenAiResponsesModel, type OpenAiResponsesOptions } from "../../../src/adapters/models/openai-responses.js";
import type { Message } from "../../../src/domain/message.js";
import type { StreamChunk } from "../../../src/domain/stream-chunk.js";
import { testRuntime } from "../../../src/testkit/index.js";
import { request, streamedBy, tool, user } from "./chat-outcome.js";
import { type Answer, JSON_TYPE, loopback, pieces, SSE } from "./loopback.js";
import { paced } from "./paced.js";
import { events, type Fields, frame, item, response, streamOf } from "./responses-wire.js";

const model = (options: Partial<OpenAiResponsesOptions>) => new OpenAiResponsesModel({ model: "m", ...options });
const wireError = (fields: Fields): string =>
  JSON.stringify({ error: { message: "no", type: "invalid_request_error", param: null, code: null, ...fields } });

/** The error of a call that is answered so. */
async function failureOf(answer: Answer, asked = request(), options: Partial<OpenAiResponsesOptions> = {}) {
  await using server = await loopback(answer);
  return await model({ baseUrl: server.baseUrl, ...options })
    .chatStreaming(asked, () => undefined)
    .then(
      () => {
        throw new Error("the call succeeded");
      },
      (error: unknown) => error,
    );
}

describe("an error status on the responses wire", () => {
  it.each<[string, number, Fields, object]>([
    [
      "a context that is too long",
      400,
      { message: "Your input exceeds the context window of this model.", code: "context_length_exceeded" },
      { kind: "context-overflow", retryable: false },
    ],
    ["a bad key", 401, { message: "Incorrect API key provided", code: "invalid_api_key" }, { kind: "auth" }],
    [
      "a rate limit",
      429,
      { message: "Rate limit reached. Please try again in 1.5s.", code: "rate_limit_exceeded" },
      { kind: "rate-limit", retryAfterMs: 1500, retryable: true },
    ],
    [
      "an empty account",
      429,
      { message: "You exceeded your current quota", code: "insufficient_quota" },
      { kind: "rate-limit", retryable: false },
    ],
    [
      "an unknown model",
      404,
      { message: "The model does not exist", code: "model_not_found" },
      { kind: "invalid-request" },
    ],
    [
      "a prompt that was flagged",
      400,
      { message: "Invalid prompt: your prompt was flagged", code: "invalid_prompt" },
      { kind: "content-filter" },
    ],
    ["a server error", 500, { message: "oops", type: "server_error" }, { kind: "server", retryable: true }],
    ["an overload", 503, { message: "busy" }, { kind: "overloaded", retryable: true }],
  ])("is told as its kind, with its status and the id of the request: %s", async (_, status, error, wanted) => {
    const answer = pieces([wireError(error)], { ...JSON_TYPE, "x-request-id": "req_42" }, status);
    expect(await failureOf(answer)).toMatchObject({
      status,
      requestId: "req_42",
      provider: "openai-responses",
      ...wanted,
    });
  });

  it.each<[string, Fields]>([
    ["by its place", { message: "Invalid value", param: "tools[1].parameters" }],
    ["by its name", { message: "Invalid schema for function 'b_x': not an object" }],
  ])("names the tool the provider refused: %s", async (_, error) => {
    const asked = request({ tools: [tool("a"), tool("b.x")] });
    const answer: Answer = (reply, { body }, nth) => {
      const sent = (body["tools"] as readonly Fields[])[1]?.["name"];
      const text = wireError(error).replace("b_x", String(sent));
      pieces([text], JSON_TYPE, 400)(reply, { path: "", headers: {}, body }, nth);
    };
    expect(await failureOf(answer, asked)).toMatchObject({ kind: "invalid-request", toolName: "b.x" });
  });

  it("never quotes a key", async () => {
    const answer = pieces([wireError({ message: "key sk-secret-1 is bad" })], JSON_TYPE, 400);
    const error = await failureOf(answer, request(), { apiKey: "sk-secret-1" });
    expect(String(error)).toContain("key [secret] is bad");
  });
});

describe("an error in a stream of the responses wire", () => {
  const [created = "", begun = ""] = events(response([]));
  const half = `${created}${begun}${frame("response.output_text.delta", { output_index: 0, content_index: 0, delta: "Half" })}`;
  const failed = (error: Fields | null): string =>
    frame("response.failed", { response: response([], { status: "failed", error, usage: null }) });

  it.each<[string, string, object]>([
    [
      "flat",
      frame("error", { code: "server_error", message: "boom", param: null }),
      { kind: "server", message: /boom/ },
    ],
    [
      "nested",
      frame("error", { error: { type: "server_error", message: "boom" } }),
      { kind: "server", message: /boom/ },
    ],
    ["a bare word", "event: error\ndata: boom\n\n", { kind: "server", message: /boom/ }],
    ["a failed response", failed({ code: "server_error", message: "boom" }), { kind: "server", retryable: true }],
    ["a failed response without a reason", failed(null), { kind: "server", message: /the response is failed/ }],
    [
      "a rate limit in a failed response",
      failed({ code: "rate_limit_exceeded", message: "Please try again in 2s" }),
      { kind: "rate-limit", retryAfterMs: 2000 },
    ],
    [
      "a context that is too long",
      failed({ code: "context_length_exceeded", message: "Your input exceeds the context window" }),
      { kind: "context-overflow" },
    ],
    [
      "a picture that cannot be read",
      failed({ code: "invalid_base64_image", message: "bad image" }),
      { kind: "invalid-request", retryable: false },
    ],
    [
      "a prompt against the rules",
      failed({ code: "invalid_prompt", message: "may not be asked" }),
      { kind: "invalid-request", retryable: false },
    ],
    [
      "a cancelled response",
      frame("response.cancelled", { response: response([], { status: "cancelled" }) }),
      { kind: "server" },
    ],
  ])("fails the call with what came, and with the id of the request: %s", async (_, body, wanted) => {
    const answer = pieces([half + body], { ...SSE, "x-request-id": "req_7" });
    const { message, ...fields } = wanted as { readonly message?: RegExp };
    const error = await failureOf(answer);
    expect(error).toMatchObject({ ...fields, requestId: "req_7", partial: [{ type: "text", text: "Half" }] });
    if (message !== undefined) expect(String(error)).toMatch(message);
  });

  it("F011: is the same error in both published forms", async () => {
    const flat = 'event: error\ndata: {"type":"error","code":"server_error","message":"boom","sequence_number":3}\n\n';
    const nested =
      'event: error\ndata: {"type":"error","sequence_number":3,"error":{"type":"server_error","message":"boom"}}\n\n';
    const told = [await failureOf(pieces([flat])), await failureOf(pieces([nested]))];
    for (const error of told) {
      expect(error).toMatchObject({
        kind: "server",
        message: "ModelError(server): the provider reported an error: boom",
      });
    }
  });

  it("keeps the usage a failed response tells", async () => {
    const body = frame("response.failed", {
      response: response([], { status: "failed", error: { code: "server_error", message: "boom" } }),
    });
    expect(await failureOf(pieces([body]))).toMatchObject({ usage: { inputTokens: 100, outputTokens: 10 } });
  });

  it("is a failure of a whole response too", async () => {
    const body = JSON.stringify(response([], { status: "failed", error: { code: "server_error", message: "boom" } }));
    await using server = await loopback(pieces([body], JSON_TYPE));
    await expect(model({ baseUrl: server.baseUrl }).chat(request())).rejects.toMatchObject({ kind: "server" });
  });
});

describe("a connection that fails in mid-reply on the responses wire", () => {
  const list = events(response([item.message("Half of it")]));
  const upToText = list.slice(0, list.findIndex((one) => one.includes("output_text.delta")) + 1).join("");

  it("is a transport error with what came when it is reset", async () => {
    const error = await failureOf((answer) => {
      answer.writeHead(200, SSE);
      answer.write(upToText, () => answer.destroy());
    });
    expect(error).toMatchObject({ kind: "transport", retryable: true, partial: [{ text: "Ha" }] });
  });

  it("F179: is a timeout when it stalls, whatever keep-alives come, and the request is cancelled", async () => {
    const runtime = testRuntime();
    const busy = Array.from({ length: 20 }, () => `: busy\n\n${frame("keepalive")}`);
    const { fetch, cancelled } = paced(runtime, [upToText, ...busy], { everyMs: 20 });
    const outcome = await streamedBy(model({ fetch, runtime, idleTimeoutMs: 60 }));
    expect(outcome).toMatchObject({ error: "timeout", partialText: "Ha" });
    await cancelled;
    expect(runtime.elapsed()).toBe(80);
  });

  it("ends on an abort, with what came, and leaves no listener", async () => {
    await using server = await loopback((answer) => {
      answer.writeHead(200, SSE);
      answer.write(upToText);
    });
    const controller = new AbortController();
    const call = model({ baseUrl: server.baseUrl }).chatStreaming(request({ signal: controller.signal }), () =>
      controller.abort(),
    );
    await expect(call).rejects.toMatchObject({ kind: "aborted", partial: [{ text: "Ha" }] });
    await server.closed;
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
  });

  it("is a success where only the connection stays open behind the last event", async () => {
    await using server = await loopback((answer) => {
      answer.writeHead(200, SSE);
      answer.write(list.join(""));
    });
    expect(await streamedBy(model({ baseUrl: server.baseUrl }))).toMatchObject({ text: "Half of it", finish: "stop" });
  });
});

describe("reasoning that the provider refuses", () => {
  const stored: Message[] = [
    user("go"),
    {
      role: "assistant",
      id: "a",
      at: 0,
      parts: [
        { type: "reasoning", text: "", providerData: item.reasoning("AAA") as never },
        { type: "text", text: "said" },
      ],
    },
    user("on"),
  ];

  it.each([
    ["a cipher of another organization", "The encrypted content gAAA...DQ== could not be verified."],
    ["a model that has none", "Encrypted content is not supported with this model."],
    ["an item that is looked for", "Item with id 'rs_1' not found."],
    [
      "an item without what followed it",
      "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
    ],
  ])("does not poison the conversation: the request is made once more without: %s", async (_, message) => {
    await using server = await loopback((answer, seen, nth) => {
      if (nth === 0) pieces([wireError({ message })], JSON_TYPE, 400)(answer, seen, nth);
      else answer.end(streamOf([item.message("ok")]));
    });
    const chunks: StreamChunk[] = [];
    const reply = await model({ baseUrl: server.baseUrl }).chatStreaming(request({ messages: stored }), (chunk) => {
      chunks.push(chunk);
    });
    expect(reply.parts).toEqual([{ type: "text", text: "ok" }]);
    const [first, second] = server.requests.map(({ body }) => body);
    expect(JSON.stringify(first)).toContain("AAA");
    expect(JSON.stringify(second)).not.toContain("AAA");
    expect(second).not.toHaveProperty("include");
    expect(chunks.filter(({ type }) => type === "finish")).toHaveLength(1);
  });

  it("is asked for once more only: a second refusal is the error", async () => {
    await using server = await loopback(pieces([wireError({ message: "bad encrypted_content" })], JSON_TYPE, 400));
    await expect(model({ baseUrl: server.baseUrl }).chat(request())).rejects.toMatchObject({ kind: "invalid-request" });
    expect(server.requests).toHaveLength(2);
  });

  it("is not asked for again after output began, nor for another failure", async () => {
    const half = frame("response.output_text.delta", { output_index: 0, delta: "Half" });
    const error = { type: "invalid_request_error", message: "The encrypted content could not be verified." };
    await using server = await loopback(pieces([half + frame("error", { error })]));
    await expect(model({ baseUrl: server.baseUrl }).chat(request())).rejects.toMatchObject({ kind: "invalid-request" });
    expect(server.requests).toHaveLength(1);
    await using other = await loopback(pieces([wireError({ message: "Unknown parameter" })], JSON_TYPE, 400));
    await expect(model({ baseUrl: other.baseUrl }).chat(request())).rejects.toMatchObject({ kind: "invalid-request" });
    expect(other.requests).toHaveLength(1);
  });
});
