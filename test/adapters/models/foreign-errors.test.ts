import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { AiSdkModel, toLanguageModel } from "../../../src/adapters/models/ai-sdk.js";
import { OpenAiChatModel } from "../../../src/adapters/models/openai-chat.js";
import { proxyModel } from "../../../src/adapters/models/proxy.js";
import { streamModel } from "../../../src/adapters/models/raw-stream.js";
import { Defect, ModelError, SessionError } from "../../../src/domain/errors.js";
import type { StreamChunk } from "../../../src/domain/stream-chunk.js";
import type { ModelPort } from "../../../src/ports/model.js";
import { request } from "./chat-outcome.js";
import { streamedCompletion } from "./chat-replies.js";
import { loopback, pieces } from "./loopback.js";

const own: readonly StreamChunk[] = [
  { type: "textDelta", text: "ok" },
  { type: "finish", reason: "stop" },
];
async function* given(chunks: readonly StreamChunk[]): AsyncGenerator<StreamChunk> {
  for (const chunk of chunks) yield await Promise.resolve(chunk);
}
const throwing = (error: unknown) => (): never => {
  throw error;
};
const language = (doStream: () => PromiseLike<unknown>) =>
  new AiSdkModel({
    model: {
      specificationVersion: "v4",
      provider: "p",
      modelId: "m",
      supportedUrls: {},
      doStream,
      doGenerate: doStream,
    } as never,
  });
const sdkStream = () =>
  Promise.resolve({
    stream: new ReadableStream({
      start(controller) {
        controller.enqueue({ type: "text-start", id: "1" });
        controller.enqueue({ type: "text-delta", id: "1", delta: "ok" });
        controller.close();
      },
    }),
  });

describe("a typed error of another port", () => {
  const inner = new SessionError("load", "not for models");
  const overHttp = (baseUrl: string) =>
    new OpenAiChatModel({ model: "m", baseUrl, promptCacheKey: throwing(inner) as () => string });

  it("leaves a model as a ModelError that has it as its cause", async () => {
    for (const model of [
      language(() => Promise.reject(inner)),
      language(() => Promise.reject(new Error("no", { cause: inner }))),
      streamModel(() => Promise.reject(inner), { model: "m" }),
      overHttp("http://127.0.0.1:9"),
    ]) {
      const failure: unknown = await model.chat(request()).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(ModelError);
    }
    const failed: unknown = await language(() => Promise.reject(inner))
      .chat(request())
      .catch((error: unknown) => error);
    expect(failed).toMatchObject({ kind: "transport", cause: inner });
  });

  it("is a request that could not be built where it comes before the call", async () => {
    const asked = request({ tools: null as never });
    const failure: unknown = await language(sdkStream)
      .chat(asked)
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ModelError);
    expect(failure).toMatchObject({ kind: "request-build", retryable: false });
  });

  it("is a request that could not be built where there is no model of the name it asks for", async () => {
    const model = { specificationVersion: "v4", provider: "p", modelId: "m", supportedUrls: {} } as never;
    const asked = request({ options: { model: "other" } });
    for (const modelOf of [() => undefined as never, () => ({}) as never, undefined]) {
      const call = new AiSdkModel({ model, modelOf }).chat(asked);
      await expect(call).rejects.toMatchObject({ kind: "request-build", retryable: false });
    }
  });

  it("is told from a model's own and from a defect, which pass as they are", async () => {
    for (const error of [new ModelError("overloaded", "busy"), new Defect("script ran out")]) {
      await expect(language(() => Promise.reject(error)).chat(request())).rejects.toBe(error);
    }
  });
});

describe("what a listener throws", () => {
  const mistake = new TypeError("mine");

  it("leaves every model as it is, and the call is over", async () => {
    await using server = await loopback(pieces([streamedCompletion({ content: "ok" }, "stop")]));
    const lines = ["ennead-model 1", ...own.map((chunk) => JSON.stringify(chunk)), ""].join("\n");
    await using proxy = await loopback(pieces([lines]));
    const models: readonly ModelPort[] = [
      new OpenAiChatModel({ model: "m", baseUrl: server.baseUrl }),
      streamModel(() => given(own), { model: "m" }),
      language(sdkStream),
      proxyModel({ proxyUrl: proxy.baseUrl }),
    ];
    for (const model of models) {
      const { signal } = new AbortController();
      let heard = 0;
      const call = model.chatStreaming?.(request({ signal }), () => {
        heard++;
        throw mistake;
      });
      await expect(call).rejects.toBe(mistake);
      expect(heard).toBe(1);
      expect(getEventListeners(signal, "abort")).toEqual([]);
    }
  });
});

describe("a request that cannot be prepared", () => {
  it("is told so, whatever kept it from being made; a ModelError stands", async () => {
    const asked = (error: unknown) =>
      new OpenAiChatModel({
        model: "m",
        baseUrl: "http://127.0.0.1:9",
        promptCacheKey: throwing(error) as () => string,
      }).chat(request());
    await expect(asked(new Error("x"))).rejects.toMatchObject({
      kind: "request-build",
      message: "ModelError(request-build): the request could not be prepared",
    });
    const busy = new ModelError("overloaded", "no key left");
    await expect(asked(busy)).rejects.toBe(busy);
    const loop: { self?: unknown } = {};
    loop.self = loop;
    const endless = request({ options: { providerOptions: loop as never } });
    await expect(proxyModel({ proxyUrl: "http://127.0.0.1:9" }).chat(endless)).rejects.toMatchObject({
      kind: "request-build",
      message: "ModelError(request-build): the request could not be prepared",
    });
  });

  it("fails the AI SDK's stream as it fails its whole call, and leaves no listener", async () => {
    const model = toLanguageModel(streamModel(() => given(own), { model: "m" }));
    const controller = new AbortController();
    const call = { prompt: [{ role: "user", content: 7 }], abortSignal: controller.signal } as never;
    for (const ask of [model.doStream(call), model.doGenerate(call)]) {
      await expect(ask).rejects.toMatchObject({
        name: "AI_APICallError",
        isRetryable: false,
        cause: { kind: "request-build" },
      });
    }
    expect(getEventListeners(controller.signal, "abort")).toEqual([]);
  });
});
