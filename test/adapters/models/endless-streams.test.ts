import { createAnthropic } from "@ai-sdk/anthropic";
import { describe, expect, it } from "vitest";
import { AiSdkModel } from "../../../src/adapters/models/ai-sdk.js";
import { OpenAiChatModel } from "../../../src/adapters/models/openai-chat.js";
import { streamModel } from "../../../src/adapters/models/raw-stream.js";
import type { StreamChunk } from "../../../src/domain/stream-chunk.js";
import type { ModelPort } from "../../../src/ports/model.js";
import { testRuntime } from "../../../src/testkit/index.js";
import { block, start, sse } from "./anthropic-wire.js";
import { request } from "./chat-outcome.js";
import { delta, loopback, SSE, STOP } from "./loopback.js";

/** More steps than any reader may take without a turn for others; a reader that takes them all fails its test instead of hanging it. */
const ENOUGH = 20_000;

/** Counts what is taken, and gives up where the count says that nobody else gets a turn. */
function counter() {
  let taken = 0;
  return {
    step() {
      taken += 1;
      if (taken > ENOUGH) throw new Error("nobody else had a turn");
    },
  };
}

const sdk = (parts: () => unknown) => {
  const stream = () => new ReadableStream({ pull: (controller) => controller.enqueue(parts()) }, { highWaterMark: 0 });
  return new AiSdkModel({
    model: {
      specificationVersion: "v4",
      provider: "p",
      modelId: "m",
      supportedUrls: {},
      doStream: () => Promise.resolve({ stream: stream() }),
    } as never,
  });
};

const flooding: readonly (readonly [string, (step: () => void) => ModelPort])[] = [
  [
    "of an application's chunks",
    (step) =>
      streamModel(
        async function* () {
          yield await Promise.resolve<StreamChunk>({ type: "textDelta", text: "hi" });
          for (;;) {
            step();
            yield { type: "textDelta", text: "" };
          }
        },
        { model: "m" },
      ),
  ],
  [
    "of an application's chunks after the finish",
    (step) =>
      streamModel(
        async function* () {
          yield await Promise.resolve<StreamChunk>({ type: "finish", reason: "stop" });
          for (;;) {
            step();
            yield { type: "textDelta", text: "" };
          }
        },
        { model: "m" },
      ),
  ],
  [
    "of parts of the AI SDK",
    (step) =>
      sdk(() => {
        step();
        return { type: "text-delta", id: "1", delta: "x" };
      }),
  ],
  [
    "of bytes from a fetch",
    (step) =>
      new OpenAiChatModel({
        model: "m",
        baseUrl: "http://127.0.0.1:9",
        fetch: () => {
          const pull = (controller: ReadableStreamDefaultController): void => {
            step();
            controller.enqueue(new TextEncoder().encode(": \n"));
          };
          return Promise.resolve(new Response(new ReadableStream({ pull }, { highWaterMark: 0 }), { headers: SSE }));
        },
      }),
  ],
];

describe("a stream that never waits for anything", () => {
  it.each(flooding)("%s is ended by an abort", async (_, make) => {
    const controller = new AbortController();
    setImmediate(() => controller.abort());
    const call = make(counter().step).chatStreaming?.(request({ signal: controller.signal }), () => undefined);
    await expect(call).rejects.toMatchObject({ kind: "aborted" });
  });
});

describe("a reply that has its finish", () => {
  it("is whole although its stream brings more and more", async () => {
    const runtime = testRuntime();
    const model = streamModel(
      async function* () {
        yield await Promise.resolve<StreamChunk>({ type: "textDelta", text: "hi" });
        yield { type: "finish", reason: "stop" };
        for (;;) {
          await new Promise<void>((resolve) => void runtime.after(1000, resolve));
          yield { type: "textDelta", text: "" };
        }
      },
      { model: "m", runtime },
    );
    const call = model.chat(request());
    await runtime.advance(6000);
    expect(await call).toMatchObject({ finishReason: "stop", parts: [{ type: "text", text: "hi" }] });
  });

  it("is whole although the connection of an AI SDK provider stays open, or breaks", async () => {
    const runtime = testRuntime();
    const events =
      start() +
      block(0, { type: "text", text: "" }, { type: "text_delta", text: "hi" }) +
      sse("message_delta", { delta: { stop_reason: "end_turn" }, usage: { output_tokens: 3 } }) +
      sse("message_stop");
    for (const breaks of [false, true]) {
      await using server = await loopback((response) => {
        response.writeHead(200, SSE);
        response.write(events);
      });
      const model = createAnthropic({ apiKey: "k", baseURL: server.baseUrl })("m");
      const finished = Promise.withResolvers<undefined>();
      const call = new AiSdkModel({ model, runtime }).chatStreaming(request(), ({ type }) => {
        if (type === "finish") finished.resolve(undefined);
      });
      await finished.promise;
      if (breaks) await server[Symbol.asyncDispose]();
      else await runtime.advance(5000);
      expect(await call).toMatchObject({ finishReason: "stop", parts: [{ type: "text", text: "hi" }] });
      expect(runtime.pendingTimers).toBe(0);
    }
  });

  it("is read to its end on the wire although thousands of pieces come at once", async () => {
    const body = delta({ content: "x" }).repeat(1000) + STOP;
    const bytes = new TextEncoder().encode(body);
    let at = 0;
    const pull = (controller: ReadableStreamDefaultController): void => {
      if (at === bytes.length) controller.close();
      else controller.enqueue(bytes.subarray(at, (at += 7 > bytes.length - at ? bytes.length - at : 7)));
    };
    const answer = new Response(new ReadableStream({ pull }, { highWaterMark: 0 }), { headers: SSE });
    const model = new OpenAiChatModel({
      model: "m",
      baseUrl: "http://127.0.0.1:9",
      fetch: () => Promise.resolve(answer),
    });
    expect(await model.chat(request())).toMatchObject({ parts: [{ type: "text", text: "x".repeat(1000) }] });
  });
});
