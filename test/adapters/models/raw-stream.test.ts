import { getEventListeners } from "node:events";
import OpenAI from "openai";
import { describe, expect, expectTypeOf, it } from "vitest";
import {
  type ChatCompletionChunk,
  chatCompletionBody,
  type RawChunk,
  type RawStream,
  type RawStreamOptions,
  streamModel,
} from "../../../src/adapters/models/raw-stream.js";
import { Defect, ModelError, SessionError } from "../../../src/domain/errors.js";
import type { StreamChunk } from "../../../src/domain/stream-chunk.js";
import type { ChatRequest } from "../../../src/ports/model.js";
import { testRuntime } from "../../../src/testkit/index.js";
import { type Outcome, request, streamedBy, tool, wholeBy } from "./chat-outcome.js";
import { delta, DONE, event, JSON_TYPE, loopback, pieces, type SeenRequest, STOP } from "./loopback.js";

/** A stream that yields these and ends. */
async function* given(...chunks: readonly unknown[]): AsyncGenerator<RawChunk> {
  for (const chunk of chunks) yield await Promise.resolve(chunk as RawChunk);
}
const modelOf = (stream: RawStream, options: Partial<RawStreamOptions> = {}) =>
  streamModel(stream, { model: "m", ...options });
const piece = (fields: object, finish: string | null = null): ChatCompletionChunk => ({
  model: "m1",
  choices: [{ index: 0, delta: fields, finish_reason: finish }],
});
const text = (content: string): StreamChunk => ({ type: "textDelta", text: content });
const STOPPED: StreamChunk = { type: "finish", reason: "stop" };
const never = (): Promise<never> => Promise.withResolvers<never>().promise;

describe("a stream of the application", () => {
  it.each<[string, readonly unknown[], Outcome]>([
    [
      "chunks of chat completions",
      [piece({ content: "h" }), piece({ content: "i" }, "stop")],
      { text: "hi", finish: "stop" },
    ],
    ["chunks of our own", [text("h"), text("i"), STOPPED], { text: "hi", finish: "stop" }],
    [
      "both in any mixture",
      [text("h"), piece({ content: "i" }), piece({}, "length")],
      { text: "hi", finish: "length" },
    ],
    [
      "calls, reasoning and usage of the wire",
      [
        piece({ reasoning_content: "hm" }),
        piece({ tool_calls: [{ index: 0, id: "c1", function: { name: "f", arguments: '{"a"' } }] }),
        piece({ tool_calls: [{ index: 0, function: { arguments: ":1}" } }] }, "tool_calls"),
        { choices: [], usage: { prompt_tokens: 3, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 1 } } },
      ],
      {
        text: "",
        reasoning: "hm",
        calls: [["c1", "f", { a: 1 }]],
        finish: "tool-calls",
        usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5, cachedInputTokens: 1 },
      },
    ],
    [
      "calls and usage of our own",
      [
        { type: "toolCallDelta", index: 0, id: "c1", name: "f", argumentsDelta: "{}" },
        { type: "usage", usage: { inputTokens: 3 } },
        { type: "finish", reason: "tool-calls" },
      ],
      { text: "", calls: [["c1", "f", {}]], finish: "tool-calls", usage: { inputTokens: 3 } },
    ],
    [
      "a whole reply at once",
      [{ choices: [{ message: { role: "assistant", content: "hi" }, finish_reason: "stop" }] }],
      { text: "hi", finish: "stop" },
    ],
  ])("may yield %s", async (_, chunks, wanted) => {
    expect(await streamedBy(modelOf(() => given(...chunks)))).toEqual(wanted);
    expect(await wholeBy(modelOf(() => Promise.resolve(given(...chunks))))).toEqual(wanted);
  });

  it("may begin anew: what came before a reset is void", async () => {
    const model = modelOf(() =>
      given(text("wrong"), STOPPED, { type: "reset", reason: "again" }, text("right"), STOPPED),
    );
    expect(await wholeBy(model)).toEqual({ text: "right", finish: "stop" });
    const cut = modelOf(() => given(text("wrong"), STOPPED, { type: "reset", reason: "again" }, text("half")));
    expect(await wholeBy(cut)).toMatchObject({ error: "response-parse", partialText: "half" });
  });

  it("is handed the request and a signal of its own, and its chunks go on at once", async () => {
    const asked = request();
    const seen: [ChatRequest, boolean][] = [];
    const heard: string[] = [];
    const model = modelOf(async function* (given, signal) {
      seen.push([given, signal === asked.signal]);
      yield await Promise.resolve(text("first"));
      expect(heard).toEqual(["textDelta"]);
      yield STOPPED;
    });
    const reply = await model.chatStreaming?.(asked, (chunk) => heard.push(chunk.type));
    expect(seen).toEqual([[asked, false]]);
    expect(reply).toMatchObject({ provider: "raw-stream", finishReason: "stop" });
    expect(heard).toEqual(["textDelta", "finish"]);
  });

  it("tells what its options tell, and takes no wrong ones", () => {
    const model = modelOf(() => given(), { provider: "mine", contextWindow: 9, input: ["text"] });
    expect(model.describe?.()).toMatchObject({ provider: "mine", model: "m", contextWindow: 9, input: ["text"] });
    for (const options of [{}, { model: "" }, { model: "m", url: "x" }]) {
      expect(() => streamModel(() => given(), options as RawStreamOptions)).toThrow(/invalid-config/);
    }
    expect(() => streamModel(undefined as never, { model: "m" })).toThrow(/invalid-config/);
  });
});

describe("a stream that fails", () => {
  it.each<[string, readonly unknown[]]>([
    ["nothing", []],
    ["text of the wire without a finish", [piece({ content: "hi" })]],
    ["text of our own without a finish", [text("hi")]],
    ["usage alone", [{ choices: [], usage: { prompt_tokens: 1 } }]],
    ["what is no chunk", ["data: {}", STOPPED]],
    ["undefined", [undefined, STOPPED]],
    ["a chunk of our own that lacks what it is about", [{ type: "textDelta" }, STOPPED]],
  ])("never makes a reply of %s", async (_, chunks) => {
    expect(await wholeBy(modelOf(() => given(...chunks)))).toMatchObject({ error: "response-parse" });
  });

  it("fails with what came where it throws in the middle, whatever it throws", async () => {
    const hostile = new Proxy(new Error("x"), {
      get: () => {
        throw new Error("trap");
      },
    });
    for (const thrown of [new Error("boom sk-1"), "boom", undefined, null, hostile, new SessionError("load", "no")]) {
      const model = modelOf(async function* () {
        yield await Promise.resolve(text("Half"));
        throw thrown;
      });
      const error: unknown = await model.chat(request()).catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(ModelError);
      expect(error).toMatchObject({
        kind: "transport",
        retryable: true,
        provider: "raw-stream",
        partial: [{ text: "Half" }],
      });
      expect((error as ModelError).message).toBe("ModelError(transport): the stream broke");
    }
  });

  it("fails like an answer with the status that the thrown error has", async () => {
    const thrown = (fields: object) =>
      modelOf(() => {
        throw Object.assign(new Error("no"), fields);
      }).chat(request());
    await expect(thrown({ status: 429, headers: { "retry-after": "2", "x-request-id": "r1" } })).rejects.toMatchObject({
      kind: "rate-limit",
      status: 429,
      retryAfterMs: 2000,
      requestId: "r1",
      message: "ModelError(rate-limit): HTTP 429",
    });
    await expect(thrown({ statusCode: 503 })).rejects.toMatchObject({ kind: "overloaded", cause: { message: "no" } });
    await expect(thrown({ status: 400, error: { code: "context_length_exceeded" } })).rejects.toMatchObject({
      kind: "context-overflow",
    });
    await expect(thrown({ status: 400, headers: 7, body: "x" })).rejects.toMatchObject({ kind: "invalid-request" });
  });

  it("fails as it says where it throws an error of a model, and lets a defect through", async () => {
    const own = new ModelError("overloaded", "busy");
    await expect(modelOf(() => Promise.reject(own)).chat(request())).rejects.toBe(own);
    const defect = new Defect("script ran out");
    await expect(modelOf(() => Promise.reject(defect)).chat(request())).rejects.toBe(defect);
  });

  it("fails as request-build where the request itself is none", async () => {
    const tools = [null] as unknown as [];
    await expect(modelOf(() => given()).chat(request({ tools }))).rejects.toMatchObject({ kind: "request-build" });
  });

  it("fails where the function gives no stream", async () => {
    for (const wrong of [undefined, 7, {}, [], { [Symbol.asyncIterator]: 7 }]) {
      const model = modelOf(() => wrong as never);
      expect(await wholeBy(model)).toMatchObject({ error: "response-parse" });
    }
    const broken = { [Symbol.asyncIterator]: () => ({ next: () => Promise.resolve(7) }) };
    expect(await wholeBy(modelOf(() => broken as never))).toMatchObject({ error: "response-parse" });
  });

  it("fails where the stream tells an error as a server would", async () => {
    const model = modelOf(() => given(piece({ content: "Half" }), { error: { message: "backend went away" } }));
    expect(await wholeBy(model)).toMatchObject({ error: "server", partialText: "Half" });
  });
});

describe("a stream that does not heed anything", () => {
  it("does not keep an abort from ending the call, with what came, and is told to close", async () => {
    const controller = new AbortController();
    let closed = 0;
    const stream: AsyncIterable<RawChunk> = {
      [Symbol.asyncIterator]: () => {
        let count = 0;
        return {
          next: () => (count++ === 0 ? Promise.resolve({ value: text("Half") }) : never()),
          return: () => {
            closed++;
            return never();
          },
        };
      },
    };
    const model = modelOf(() => stream);
    const call = model.chatStreaming?.(request({ signal: controller.signal }), () => controller.abort());
    await expect(call).rejects.toMatchObject({ kind: "aborted", retryable: false, partial: [{ text: "Half" }] });
    expect(closed).toBe(1);
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
  });

  it("hears of an abort by its signal", async () => {
    const controller = new AbortController();
    const heard = Promise.withResolvers<undefined>();
    const model = modelOf((_, signal) => {
      signal.addEventListener("abort", () => heard.resolve(undefined));
      controller.abort();
      return never();
    });
    await expect(model.chat(request({ signal: controller.signal }))).rejects.toMatchObject({ kind: "aborted" });
    await heard.promise;
  });

  it("is told to close where it comes when nobody wants it any more", async () => {
    const controller = new AbortController();
    const made = Promise.withResolvers<AsyncIterable<RawChunk>>();
    const closed = Promise.withResolvers<undefined>();
    const call = modelOf(() => made.promise).chat(request({ signal: controller.signal }));
    controller.abort();
    await expect(call).rejects.toMatchObject({ kind: "aborted" });
    const iterator = { next: never, return: () => Promise.resolve(closed.resolve(undefined)) };
    made.resolve({ [Symbol.asyncIterator]: () => iterator as never });
    await closed.promise;
  });

  it("is not begun after an abort", async () => {
    const model = modelOf(() => {
      throw new Error("begun");
    });
    await expect(model.chat(request({ signal: AbortSignal.abort() }))).rejects.toMatchObject({ kind: "aborted" });
  });

  it("times out where it never begins or falls silent; chunks that bring nothing are silence", async () => {
    const runtime = testRuntime();
    const late = (): Promise<never> => runtime.advance(20).then(never);
    expect(await wholeBy(modelOf(late, { runtime, timeoutMs: 20 }))).toMatchObject({ error: "timeout" });
    const silent = modelOf(
      async function* () {
        yield text("Half");
        for (;;) {
          await runtime.advance(20);
          yield piece({ role: "assistant" });
        }
      },
      { runtime, idleTimeoutMs: 30 },
    );
    expect(await wholeBy(silent)).toMatchObject({ error: "timeout", partialText: "Half" });
  });

  it.each<[string, readonly unknown[]]>([
    ["of our own", [text("hi"), STOPPED]],
    ["of the wire", [piece({ content: "hi" }, "stop")]],
  ])("is a whole reply where it never ends after its finish, and is told to close: %s", async (_, chunks) => {
    const runtime = testRuntime();
    const closed = Promise.withResolvers<undefined>();
    const model = modelOf(
      () => {
        const inner = given(...chunks);
        return {
          [Symbol.asyncIterator]: () => ({
            next: async () => {
              const next = await inner.next();
              return next.done === true ? runtime.advance(30).then(never) : next;
            },
            return: () => {
              closed.resolve(undefined);
              throw new Error("cannot close");
            },
          }),
        };
      },
      { runtime, idleTimeoutMs: 30 },
    );
    expect(await wholeBy(model)).toEqual({ text: "hi", finish: "stop" });
    await closed.promise;
  });

  it("may be slow for as long as pieces keep coming", async () => {
    const runtime = testRuntime();
    const model = modelOf(
      async function* () {
        for (let count = 0; count < 20; count++) {
          await runtime.advance(99);
          yield text("x");
        }
        yield STOPPED;
      },
      { runtime, idleTimeoutMs: 100 },
    );
    expect(await wholeBy(model)).toEqual({ text: "x".repeat(20), finish: "stop" });
    expect(runtime.pendingTimers).toBe(0);
  });

  it("times out where it falls silent after a reset, and ends on an abort after its finish", async () => {
    async function* silent(...chunks: readonly StreamChunk[]): AsyncGenerator<RawChunk> {
      yield* chunks;
      await runtime.advance(20);
      await never();
    }
    const runtime = testRuntime();
    const reset: StreamChunk = { type: "reset", reason: "again" };
    const again = modelOf(() => silent(text("a"), STOPPED, reset), { runtime, idleTimeoutMs: 20 });
    expect(await wholeBy(again)).toMatchObject({ error: "timeout" });
    const controller = new AbortController();
    const call = modelOf(() => silent(text("a"), STOPPED)).chatStreaming?.(
      request({ signal: controller.signal }),
      ({ type }) => type === "finish" && queueMicrotask(() => controller.abort()),
    );
    await expect(call).rejects.toMatchObject({ kind: "aborted" });
  });

  it("is a whole reply where it breaks after its finish", async () => {
    const model = modelOf(async function* () {
      yield await Promise.resolve(piece({ content: "hi" }, "stop"));
      throw new Error("reset");
    });
    expect(await wholeBy(model)).toEqual({ text: "hi", finish: "stop" });
  });

  it("is read ten thousand chunks long without a trace left on the caller's signal", async () => {
    const { signal } = new AbortController();
    const model = modelOf(() => given(...Array.from({ length: 10_000 }, () => text("x")), STOPPED));
    expect(await wholeBy(model, request({ signal }))).toEqual({ text: "x".repeat(10_000), finish: "stop" });
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });
});

describe("the official client as the transport", () => {
  it("has chunks of the type that a stream may yield", () => {
    expectTypeOf<OpenAI.ChatCompletionChunk>().toExtend<ChatCompletionChunk>();
    expectTypeOf<OpenAI.ChatCompletionChunk>().toExtend<RawChunk>();
  });

  /** The application of the documentation: its own client makes the call. */
  function overClient(baseURL: string) {
    const client = new OpenAI({ baseURL, apiKey: "sk-1", maxRetries: 0 });
    return modelOf(async (asked, signal) => {
      const body = chatCompletionBody(asked, { model: "m1" });
      return await client.chat.completions.create(body as unknown as OpenAI.ChatCompletionCreateParamsStreaming, {
        signal,
      });
    });
  }

  it("streams, with tools under names that the provider takes and back under their own", async () => {
    const nameOf = ({ body }: SeenRequest) =>
      (body["tools"] as readonly { readonly function: { readonly name: string } }[])[0]?.function.name;
    await using server = await loopback((response, seen) => {
      const calls = [{ index: 0, id: "c1", type: "function", function: { name: nameOf(seen), arguments: '{"a":1}' } }];
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(delta({ content: "look" }) + delta({ tool_calls: calls }) + delta({}, "tool_calls") + DONE);
    });
    expect(await streamedBy(overClient(server.baseUrl), request({ tools: [tool("fs.list")] }))).toEqual({
      text: "look",
      calls: [["c1", "fs.list", { a: 1 }]],
      finish: "tool-calls",
    });
    expect(nameOf(server.requests[0] as SeenRequest)).toMatch(/^fs_list_/);
  });

  it("fails with the status, the wait and the id of the request that the client tells", async () => {
    const headers = { ...JSON_TYPE, "retry-after": "3", "x-request-id": "r9" };
    await using server = await loopback(pieces(['{"error":{"message":"slow down"}}'], headers, 429));
    await expect(overClient(server.baseUrl).chat(request())).rejects.toMatchObject({
      kind: "rate-limit",
      status: 429,
      retryAfterMs: 3000,
      requestId: "r9",
    });
  });

  it("fails where the stream does, and is ended by an abort", async () => {
    await using server = await loopback(pieces([delta({ content: "Half" }), event({ error: { message: "boom" } })]));
    expect(await streamedBy(overClient(server.baseUrl))).toMatchObject({ partialText: "Half" });
    await using stalled = await loopback((response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(delta({ content: "Half" }));
    });
    const controller = new AbortController();
    const call = overClient(stalled.baseUrl).chatStreaming?.(request({ signal: controller.signal }), () =>
      controller.abort(),
    );
    await expect(call).rejects.toMatchObject({ kind: "aborted" });
    await stalled.closed;
  });

  it("reads a reply that ends where the client is content with it", async () => {
    await using server = await loopback(pieces([delta({ content: "hi" }), STOP]));
    expect(await streamedBy(overClient(server.baseUrl))).toEqual({ text: "hi", finish: "stop" });
  });
});
