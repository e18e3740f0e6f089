import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { GeminiModel } from "../../../src/adapters/models/gemini.js";
import { CompositionError, ModelError } from "../../../src/domain/errors.js";
import { testRuntime } from "../../../src/testkit/index.js";
import { request, tool } from "./chat-outcome.js";
import { end, gemini, streamed, text } from "./gemini-wire.js";
import { JSON_TYPE, loopback, pieces, SSE } from "./loopback.js";
import { paced } from "./paced.js";

const status = (code: number, message: string, word: string, details: readonly object[] = []): string =>
  JSON.stringify({ error: { code, message, status: word, details } });
const retryInfo = (retryDelay: string): object => ({ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay });

async function failureOf(
  code: number,
  body: string,
  headers: Record<string, string> = JSON_TYPE,
  tools = [tool("a"), tool("b.c")],
): Promise<ModelError> {
  await using server = await loopback(pieces([body], headers, code));
  const error: unknown = await gemini({ baseUrl: server.baseUrl })
    .chat(request({ tools }))
    .catch((thrown: unknown) => thrown);
  if (!(error instanceof ModelError)) throw new Error("no ModelError");
  return error;
}

describe("an error status", () => {
  it.each<[string, number, string, Partial<ModelError>]>([
    [
      "a key that is not valid",
      400,
      status(400, "API key not valid. Please pass a valid API key.", "INVALID_ARGUMENT", [
        { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID" },
      ]),
      { kind: "auth", retryable: false },
    ],
    ["no permission", 403, status(403, "denied", "PERMISSION_DENIED"), { kind: "auth" }],
    [
      "a model that is not there",
      404,
      status(404, "models/x is not found", "NOT_FOUND"),
      { kind: "invalid-request", retryable: false },
    ],
    [
      "too much context",
      400,
      status(
        400,
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        "INVALID_ARGUMENT",
      ),
      { kind: "context-overflow", retryable: false },
    ],
    [
      "a quota with a time to wait",
      429,
      status(
        429,
        "You exceeded your current quota, please check your plan and billing details.",
        "RESOURCE_EXHAUSTED",
        [{ "@type": "x" }, retryInfo("34.5s")],
      ),
      { kind: "rate-limit", retryable: true, retryAfterMs: 34_500 },
    ],
    [
      "a quota with nothing to wait for",
      429,
      status(429, "You exceeded your current quota, please check your plan and billing details.", "RESOURCE_EXHAUSTED"),
      { kind: "rate-limit", retryable: false },
    ],
    [
      "a time to wait that is none",
      429,
      status(429, "slow down", "RESOURCE_EXHAUSTED", [retryInfo("-3s")]),
      { kind: "rate-limit", retryable: true, retryAfterMs: undefined },
    ],
    [
      "a model that is overloaded",
      503,
      status(503, "The model is overloaded.", "UNAVAILABLE", [retryInfo("2s")]),
      { kind: "overloaded", retryable: true, retryAfterMs: 2000 },
    ],
    ["a deadline", 504, status(504, "Deadline expired", "DEADLINE_EXCEEDED"), { kind: "timeout", retryable: true }],
    [
      "a failure inside",
      500,
      status(500, "An internal error has occurred.", "INTERNAL"),
      { kind: "server", retryable: true },
    ],
    [
      "a page of markup",
      502,
      "<html><h1>502 Bad Gateway</h1></html>",
      { kind: "server", message: "ModelError(server): HTTP 502: 502 Bad Gateway" },
    ],
    [
      "text that claims to be JSON",
      503,
      "Service Unavailable",
      { kind: "overloaded", message: "ModelError(overloaded): HTTP 503: Service Unavailable" },
    ],
    ["an empty body", 500, "", { kind: "server", message: "ModelError(server): HTTP 500" }],
  ])("tells of %s", async (_, code, body, wanted) => {
    expect(await failureOf(code, body)).toMatchObject({ status: code, provider: "gemini", ...wanted });
  });

  it.each([
    ["by its place", "* GenerateContentRequest.tools[0].function_declarations[1].parameters: bad schema", "b.c"],
    [
      "by its place in the other spelling",
      "Unknown name \"x\" at 'tools[0].functionDeclarations[0].parametersJsonSchema'",
      "a",
    ],
    ["in the violations of the request", "bad", "b.c"],
    ["not at all", "bad request", undefined],
  ])("names the tool that was refused %s", async (how, message, toolName) => {
    const field = "tools[0].function_declarations[1].name";
    const details = how.includes("violations") ? [{ "@type": "BadRequest", fieldViolations: [{ field }] }] : [];
    const error = await failureOf(400, status(400, message, "INVALID_ARGUMENT", details));
    expect(error).toMatchObject({ kind: "invalid-request", toolName });
  });

  it("waits as the headers say before what the body says", async () => {
    const error = await failureOf(429, status(429, "x", "RESOURCE_EXHAUSTED", [retryInfo("9s")]), {
      "retry-after": "2",
      "x-request-id": "r-7",
    });
    expect(error).toMatchObject({ retryAfterMs: 2000, requestId: "r-7" });
  });
});

describe("the key", () => {
  it("travels in a header of its own, is asked for each time, and is in no address", async () => {
    await using server = await loopback(pieces([text("hi") + end()]));
    let asked = 0;
    const model = gemini({
      baseUrl: server.baseUrl,
      apiKey: () => Promise.resolve(`key-number-${++asked}`),
      headers: { "x-more": "1" },
    });
    await model.chat(request());
    await model.chatStreaming(request(), () => undefined);
    expect(
      server.requests.map(({ headers }) => [headers["x-goog-api-key"], headers["authorization"], headers["x-more"]]),
    ).toEqual([
      ["key-number-1", undefined, "1"],
      ["key-number-2", undefined, "1"],
    ]);
    expect(server.requests.filter(({ path }) => path.includes("key"))).toEqual([]);
  });

  it("is in no error, wherever the provider quotes it", async () => {
    await using server = await loopback((response, { headers }) => {
      response
        .writeHead(400, JSON_TYPE)
        .end(status(400, `bad key ${String(headers["x-goog-api-key"])}`, "INVALID_ARGUMENT"));
    });
    const error: unknown = await gemini({ baseUrl: server.baseUrl, apiKey: "AIza-secret-777" })
      .chat(request())
      .catch((thrown: unknown) => thrown);
    expect(String(error)).toContain("[secret]");
    expect(JSON.stringify([error, String(error), (error as Error).stack])).not.toContain("AIza-secret-777");
  });

  it("that cannot be had fails the call as auth", async () => {
    const apiKey = (): never => {
      throw new Error("AIza-secret-777");
    };
    expect(await streamed({ baseUrl: "http://unused.test", apiKey })).toMatchObject({ error: "auth" });
  });
});

describe("an abort, a stall and a reset", () => {
  it("of a call that streams keep what came, and leave no listener", async () => {
    await using server = await loopback((response) => {
      response.writeHead(200, SSE);
      response.write(text("Half"));
    });
    const controller = new AbortController();
    const model = gemini({ baseUrl: server.baseUrl });
    const aborted = model.chatStreaming(request({ signal: controller.signal }), () => controller.abort());
    await expect(aborted).rejects.toMatchObject({ kind: "aborted", partial: [{ text: "Half" }] });
    await server.closed;
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
    const runtime = testRuntime();
    const { fetch, cancelled } = paced(runtime, [text("Half")], { silenceMs: 30 });
    expect(await streamed({ baseUrl: "http://unused.test", fetch, runtime, idleTimeoutMs: 30 })).toMatchObject({
      error: "timeout",
      partialText: "Half",
    });
    await cancelled;
  });

  it("keep what came when the connection breaks", async () => {
    await using server = await loopback((response) => {
      response.writeHead(200, SSE);
      response.write(text("Half"), () => response.destroy());
    });
    expect(await streamed({ baseUrl: server.baseUrl })).toMatchObject({ error: "transport", partialText: "Half" });
  });
});

describe("the options", () => {
  it.each([
    ["no model", { model: "" }],
    ["a model that leaves its place in the address", { model: "models/../../secrets" }],
    ["an address that is none", { model: "m", baseUrl: "nowhere" }],
    ["an option that nobody reads", { model: "m", apikey: "x" }],
  ])("are refused with %s", (_, options) => {
    expect(() => new GeminiModel(options)).toThrow(CompositionError);
  });

  it("keep the name of a model inside the address", async () => {
    await using server = await loopback(pieces([text("hi") + end()]));
    await gemini({ baseUrl: `${server.baseUrl}?tenant=7` }).chat(
      request({ options: { model: "tunedModels/a b?#:x" } }),
    );
    expect(server.requests[0]?.path.replace(/^\/[^/]*/, "")).toBe(
      "/v1/tunedModels/a%20b%3F%23%3Ax:generateContent?tenant=7",
    );
    expect(await streamed({ baseUrl: server.baseUrl }, request({ options: { model: "../x" } }))).toMatchObject({
      error: "request-build",
    });
  });
});
