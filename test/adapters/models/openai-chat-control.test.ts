import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { OpenAiChatModel } from "../../../src/adapters/models/openai-chat.js";
import { testRuntime } from "../../../src/testkit/index.js";
import { request, streamed, whole } from "./chat-outcome.js";
import { delta, DONE, event, loopback, pieces, SSE, STOP } from "./loopback.js";
import { paced } from "./paced.js";

const UNUSED = "http://unused.test";

/** Answers with headers and one delta, then nothing more. */
const stalled = (body: string) =>
  loopback((response) => {
    response.writeHead(200, SSE);
    response.write(body);
  });

describe("an abort", () => {
  it("ends a call that is streaming, with what came, and cancels the request", async () => {
    await using server = await stalled(delta({ content: "Half" }));
    const controller = new AbortController();
    const model = new OpenAiChatModel({ model: "m", baseUrl: server.baseUrl });
    const call = model.chatStreaming(request({ signal: controller.signal }), () => controller.abort());
    await expect(call).rejects.toMatchObject({ kind: "aborted", retryable: false, partial: [{ text: "Half" }] });
    await server.closed;
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
  });

  it("ends a call that waits for its answer", async () => {
    const controller = new AbortController();
    await using server = await loopback(() => controller.abort());
    expect(await whole({ baseUrl: server.baseUrl }, request({ signal: controller.signal }))).toMatchObject({
      error: "aborted",
    });
    await server.closed;
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
  });

  it("before the call makes no request", async () => {
    await using server = await loopback(pieces([STOP]));
    expect(await streamed({ baseUrl: server.baseUrl }, request({ signal: AbortSignal.abort() }))).toMatchObject({
      error: "aborted",
    });
    expect(server.requests).toHaveLength(0);
  });

  it("ends a call whose key never comes, and one whose fetch does not heed the signal", async () => {
    for (const options of [
      { apiKey: () => Promise.withResolvers<string>().promise },
      { fetch: () => Promise.withResolvers<Response>().promise },
    ]) {
      const controller = new AbortController();
      const call = streamed({ baseUrl: "http://unused.test", ...options }, request({ signal: controller.signal }));
      controller.abort();
      expect(await call).toMatchObject({ error: "aborted" });
    }
  });

  it("cancels the body of an answer that comes too late", async () => {
    const controller = new AbortController();
    let answer = (_: Response): void => undefined;
    const fetch = (): Promise<Response> =>
      new Promise((resolve) => {
        answer = resolve;
        controller.abort();
      });
    expect(
      await streamed({ baseUrl: "http://unused.test", fetch }, request({ signal: controller.signal })),
    ).toMatchObject({
      error: "aborted",
    });
    const cancelled = new Promise<void>((resolve) => {
      answer(new Response(new ReadableStream({ cancel: () => resolve() })));
    });
    await cancelled;
  });

  it("ends a call whose body does not heed it", async () => {
    const controller = new AbortController();
    const body = new ReadableStream<Uint8Array>({
      start: (stream) => stream.enqueue(new TextEncoder().encode(delta({ content: "a" }))),
      cancel: () => Promise.withResolvers<void>().promise,
    });
    const model = new OpenAiChatModel({
      model: "m",
      baseUrl: "http://unused.test",
      fetch: () => Promise.resolve(new Response(body)),
    });
    const call = model.chatStreaming(request({ signal: controller.signal }), () => controller.abort());
    await expect(call).rejects.toMatchObject({ kind: "aborted" });
  });
});

describe("the caller's signal", () => {
  it("keeps no listener after a success or a failure, and one at most meanwhile", async () => {
    const { signal } = new AbortController();
    let most = 0;
    for (const body of [delta({ content: "a" }) + STOP + DONE, event({ error: "boom" }), ""]) {
      await using server = await loopback((response) => {
        most = Math.max(most, getEventListeners(signal, "abort").length);
        response.end(body);
      });
      await streamed({ baseUrl: server.baseUrl }, request({ signal }));
      expect(getEventListeners(signal, "abort")).toHaveLength(0);
    }
    expect(most).toBe(1);
  });
});

describe("a timeout", () => {
  it("ends a call that gets no answer", async () => {
    const runtime = testRuntime();
    await using server = await loopback(() => void runtime.advance(30));
    expect(await streamed({ baseUrl: server.baseUrl, runtime, timeoutMs: 30 })).toEqual({
      error: "timeout",
      message: "ModelError(timeout): no answer within 30 ms",
    });
  });

  it("F179: ends a stream that stalls, with what came, and cancels the request", async () => {
    const runtime = testRuntime();
    const { fetch, cancelled } = paced(runtime, [delta({ content: "Half" })], { silenceMs: 30 });
    expect(await streamed({ baseUrl: UNUSED, fetch, runtime, idleTimeoutMs: 30 })).toEqual({
      error: "timeout",
      message: "ModelError(timeout): no piece of the reply within 30 ms",
      partialText: "Half",
    });
    await cancelled;
  });

  it("F179: does not take comments and empty deltas for progress", async () => {
    const runtime = testRuntime();
    const busy = Array.from({ length: 20 }, () => `: busy\n\n${delta({ role: "assistant" })}`);
    const { fetch, cancelled } = paced(runtime, [delta({ content: "Half" }), ...busy], { everyMs: 20 });
    expect(await streamed({ baseUrl: UNUSED, fetch, runtime, idleTimeoutMs: 60 })).toEqual({
      error: "timeout",
      message: "ModelError(timeout): no piece of the reply within 60 ms",
      partialText: "Half",
    });
    await cancelled;
    expect(runtime.elapsed()).toBe(80);
  });

  it("does not end a stream that goes on", async () => {
    const runtime = testRuntime();
    const pieces = Array.from({ length: 6 }, () => delta({ content: "." }));
    const { fetch } = paced(runtime, [...pieces, STOP + DONE], { everyMs: 59, silenceMs: 100 });
    expect(await streamed({ baseUrl: UNUSED, fetch, runtime, idleTimeoutMs: 60 })).toEqual({
      text: ".".repeat(6),
      finish: "stop",
    });
    expect(runtime.pendingTimers).toBe(0);
  });

  it("may be switched off", async () => {
    await using server = await loopback(pieces([delta({ content: "a" }) + STOP]));
    const options = { baseUrl: server.baseUrl, timeoutMs: Infinity, idleTimeoutMs: Infinity };
    expect(await streamed(options)).toEqual({ text: "a", finish: "stop" });
  });
});

describe("a reply that is whole", () => {
  it.each([
    ["100 ms after the end marker", STOP + DONE, 100],
    ["5 s after the finish reason", STOP, 5000],
  ])("is taken %s although the server keeps the connection", async (_, end, silenceMs) => {
    const runtime = testRuntime();
    const { fetch, cancelled } = paced(runtime, [delta({ content: "a" }) + end], { silenceMs: silenceMs - 1 });
    let settled = false;
    const call = streamed({ baseUrl: UNUSED, fetch, runtime }).finally(() => {
      settled = true;
    });
    while (runtime.elapsed() < silenceMs - 1) await runtime.advance(0);
    await runtime.advance(0);
    expect(settled).toBe(false);
    await runtime.advance(1);
    expect(await call).toEqual({ text: "a", finish: "stop" });
    await cancelled;
    expect(runtime.pendingTimers).toBe(0);
  });

  it("is taken where the connection breaks after its finish reason", async () => {
    await using server = await loopback((response) => {
      response.writeHead(200, { "content-length": "100000" });
      response.write(delta({ content: "a" }) + STOP, () => response.socket?.destroy());
    });
    expect(await streamed({ baseUrl: server.baseUrl })).toEqual({ text: "a", finish: "stop" });
  });

  it("leaves the connection for the next request", async () => {
    const ports: unknown[] = [];
    let end = (): void => undefined;
    await using server = await loopback((response) => {
      ports.push(response.socket?.remotePort);
      end = () => void response.end();
      response.writeHead(200, SSE).write(delta({ content: "a" }) + STOP + DONE);
    });
    const model = new OpenAiChatModel({ model: "m", baseUrl: server.baseUrl, runtime: testRuntime() });
    for (let n = 0; n < 12; n++) {
      await model.chatStreaming(request(), ({ type }) => {
        // The body ends only when what was sent has been read.
        if (type === "textDelta") setImmediate(end);
      });
      // fetch frees a connection some turns of the event loop after its body has ended.
      for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => void setImmediate(resolve));
    }
    expect(ports).toHaveLength(12);
    expect(new Set(ports).size).toBe(1);
  });
});

describe("what is read", () => {
  const events = delta({ content: "a".repeat(300) }) + STOP;

  it("is limited in the length of one event, in one piece or many", async () => {
    const message = "ModelError(response-parse): an event of the stream is longer than 200 characters";
    for (const list of [[events], Array.from(events)]) {
      await using server = await loopback(pieces(list));
      expect(await streamed({ baseUrl: server.baseUrl, maxLineBytes: 200 })).toEqual({
        error: "response-parse",
        message,
      });
    }
  });

  it("is limited in an event of many lines", async () => {
    await using server = await loopback(pieces(["data: x\n".repeat(100)]));
    expect(await streamed({ baseUrl: server.baseUrl, maxLineBytes: 100 })).toMatchObject({ error: "response-parse" });
  });

  it("is limited as a whole, also where the server never ends", async () => {
    await using server = await loopback((response) => {
      response.writeHead(200, SSE);
      const more = (): void => void (response.destroyed || response.write(": busy\n\n".repeat(1000), more));
      more();
    });
    expect(await streamed({ baseUrl: server.baseUrl, maxBodyBytes: 100_000 })).toEqual({
      error: "response-parse",
      message: "ModelError(response-parse): the body is longer than 100000 bytes",
    });
    await server.closed;
  });
});
