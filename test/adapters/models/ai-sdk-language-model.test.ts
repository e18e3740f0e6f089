import {
  APICallError,
  EmptyResponseBodyError,
  LoadAPIKeyError,
  NoSuchModelError,
  UnsupportedFunctionalityError,
  type LanguageModelV3,
  type LanguageModelV3StreamPart,
  type LanguageModelV4,
  type LanguageModelV4CallOptions,
  type LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { AiSdkModel, toLanguageModel } from "../../../src/adapters/models/ai-sdk.js";
import { CompositionError, Defect, ModelError } from "../../../src/domain/errors.js";
import type { AssistantPart } from "../../../src/domain/message.js";
import type { ModelResponse } from "../../../src/domain/model.js";
import type { StreamChunk } from "../../../src/domain/stream-chunk.js";
import { modelStep, ScriptedModel } from "../../../src/testkit/index.js";
import { request, streamedBy, tool, user, wholeBy } from "./chat-outcome.js";
import { assistant, result, toolCall } from "./gemini-wire.js";

const parts: readonly AssistantPart[] = [
  { type: "reasoning", text: "hm", signature: "SIG", providerData: { a: [1] } },
  { type: "text", text: "hello" },
  { type: "toolCall", id: "c1", name: "f", arguments: { a: 1 }, providerData: { thoughtSignature: "S" } },
];
const usage = { inputTokens: 10, outputTokens: 4, totalTokens: 14, cachedInputTokens: 6, reasoningTokens: 3 };
const reply: ModelResponse = {
  parts,
  finishReason: "tool-calls",
  rawFinishReason: "STOP",
  usage,
  model: "m1",
  provider: "mine",
};
const chunks: readonly StreamChunk[] = [
  { type: "reasoningDelta", text: "h", part: 0 },
  { type: "reasoningDelta", text: "m", part: 0, signature: "SIG", providerData: { a: [1] } },
  { type: "textDelta", text: "hel", part: 1 },
  { type: "textDelta", text: "lo", part: 1 },
  {
    type: "toolCallDelta",
    index: 0,
    id: "c1",
    name: "f",
    argumentsDelta: '{"a":1}',
    providerData: { thoughtSignature: "S" },
  },
  { type: "usage", usage },
  { type: "finish", reason: "tool-calls", rawReason: "STOP" },
];
const prompt: LanguageModelV4CallOptions["prompt"] = [{ role: "user", content: [{ type: "text", text: "hi" }] }];

async function partsOf(
  model: LanguageModelV4,
  options: Partial<LanguageModelV4CallOptions> = {},
): Promise<LanguageModelV4StreamPart[]> {
  const { stream } = await model.doStream({ prompt, ...options });
  const list: LanguageModelV4StreamPart[] = [];
  for await (const part of stream) list.push(part);
  return list;
}

describe("a model port as a language model of the AI SDK", () => {
  it("streams text and reasoning as they come, and calls whole", async () => {
    const model = toLanguageModel(new ScriptedModel([modelStep.stream(chunks, reply)]));
    const metadata = (fields: object): object => ({ providerMetadata: { ennead: { ...fields, provider: "mine" } } });
    expect(await partsOf(model)).toEqual([
      { type: "stream-start", warnings: [] },
      { type: "reasoning-start", id: "reasoning-0" },
      { type: "reasoning-delta", id: "reasoning-0", delta: "h" },
      { type: "reasoning-delta", id: "reasoning-0", delta: "m" },
      { type: "text-start", id: "text-1" },
      { type: "text-delta", id: "text-1", delta: "hel" },
      { type: "text-delta", id: "text-1", delta: "lo" },
      { type: "reasoning-end", id: "reasoning-0", ...metadata({ signature: "SIG", providerData: { a: [1] } }) },
      { type: "text-end", id: "text-1" },
      { type: "tool-input-start", id: "c1", toolName: "f" },
      { type: "tool-input-delta", id: "c1", delta: '{"a":1}' },
      { type: "tool-input-end", id: "c1" },
      {
        type: "tool-call",
        toolCallId: "c1",
        toolName: "f",
        input: '{"a":1}',
        ...metadata({ providerData: { thoughtSignature: "S" } }),
      },
      { type: "response-metadata", modelId: "m1" },
      {
        type: "finish",
        finishReason: { unified: "tool-calls", raw: "STOP" },
        usage: {
          inputTokens: { total: 10, noCache: 4, cacheRead: 6, cacheWrite: undefined },
          outputTokens: { total: 4, text: 1, reasoning: 3 },
        },
      },
    ]);
  });

  it("says what the port says of itself, or what it is told to say", () => {
    const port = new ScriptedModel([], { provider: "acme", model: "m1" });
    expect(toLanguageModel(port)).toMatchObject({ specificationVersion: "v4", provider: "acme", modelId: "m1" });
    expect(toLanguageModel(port, { provider: "p", modelId: "m2" })).toMatchObject({ provider: "p", modelId: "m2" });
  });

  it("hands a call on as a request, and names what has no place in one", async () => {
    const port = new ScriptedModel([reply]);
    const { warnings } = await toLanguageModel(port).doGenerate({
      prompt: [
        { role: "system", content: "be brief" },
        {
          role: "user",
          content: [
            { type: "text", text: "look" },
            { type: "file", mediaType: "image/png", data: { type: "data", data: Uint8Array.of(0, 255) } },
            {
              type: "file",
              mediaType: "application/pdf",
              filename: "a.pdf",
              data: { type: "url", url: new URL("https://files.test/a.pdf") },
            },
            { type: "file", mediaType: "text/plain", data: { type: "text", text: "é" } },
            { type: "file", mediaType: "image/png", data: { type: "reference", reference: { openai: "file-1" } } },
          ],
        },
        {
          role: "assistant",
          content: [
            { type: "reasoning", text: "hm", providerOptions: { ennead: { signature: "SIG", provider: "mine" } } },
            { type: "tool-call", toolCallId: "c1", toolName: "f", input: { a: 1 } },
            { type: "tool-call", toolCallId: "c2", toolName: "f", input: "{}" },
          ],
        },
        {
          role: "tool",
          content: [
            { type: "tool-result", toolCallId: "c1", toolName: "f", output: { type: "json", value: { b: 2 } } },
            { type: "tool-result", toolCallId: "c2", toolName: "f", output: { type: "error-text", value: "no" } },
          ],
        },
      ],
      tools: [
        { type: "function", name: "f", inputSchema: { type: "object" } },
        { type: "provider", id: "x.search", name: "search", args: {} },
      ],
      toolChoice: { type: "tool", toolName: "f" },
      reasoning: "max",
      responseFormat: { type: "json", schema: { type: "object" } },
      maxOutputTokens: 5,
      temperature: 0,
      topP: 1,
      topK: 3,
      seed: 7,
      stopSequences: ["END"],
      providerOptions: { ennead: { user: "u1" }, other: {} },
    });
    expect(warnings).toEqual([
      { type: "unsupported", feature: "topK" },
      { type: "unsupported", feature: "file references" },
      { type: "unsupported", feature: "provider-defined tool x.search" },
    ]);
    const base = { at: 0 };
    expect(port.requests[0]).toMatchObject({
      messages: [
        { ...base, id: "m0", role: "system", content: [{ type: "text", text: "be brief" }] },
        {
          ...base,
          id: "m1",
          role: "user",
          content: [
            { type: "text", text: "look" },
            { type: "image", mimeType: "image/png", source: { base64: "AP8=" } },
            { type: "file", mimeType: "application/pdf", name: "a.pdf", source: { url: "https://files.test/a.pdf" } },
            { type: "file", mimeType: "text/plain", source: { base64: "w6k=" } },
          ],
        },
        {
          ...base,
          id: "m2",
          role: "assistant",
          provider: "mine",
          parts: [
            { type: "reasoning", text: "hm", signature: "SIG" },
            { type: "toolCall", id: "c1", name: "f", arguments: { a: 1 } },
            { type: "toolCall", id: "c2", name: "f", arguments: {} },
          ],
        },
        {
          ...base,
          id: "m3.0",
          role: "tool",
          toolCallId: "c1",
          toolName: "f",
          content: [],
          structured: { b: 2 },
          isError: false,
        },
        {
          ...base,
          id: "m3.1",
          role: "tool",
          toolCallId: "c2",
          toolName: "f",
          content: [{ type: "text", text: "no" }],
          isError: true,
        },
      ],
      tools: [{ name: "f", description: "", inputSchema: { type: "object" } }],
      options: {
        toolChoice: { tool: "f" },
        reasoningEffort: "maximum",
        responseSchema: { type: "object" },
        maxOutputTokens: 5,
        temperature: 0,
        topP: 1,
        seed: 7,
        stopSequences: ["END"],
        providerOptions: { user: "u1" },
      },
    });
  });

  it("fails as an API call that says whether it may be made again", async () => {
    const error = new ModelError("rate-limit", "slow down", { status: 429, retryAfterMs: 1500 });
    const model = () => toLanguageModel(new ScriptedModel([modelStep.fail(error)]));
    for (const failed of [model().doGenerate({ prompt }), model().doStream({ prompt })]) {
      const thrown: unknown = await Promise.resolve(failed).catch((one: unknown) => one);
      if (!APICallError.isInstance(thrown)) throw new Error("no API call error");
      expect(thrown).toMatchObject({
        statusCode: 429,
        isRetryable: true,
        responseHeaders: { "retry-after-ms": "1500" },
        cause: error,
      });
    }
  });

  it("fails in the stream once something was shown, also where the port begins anew", async () => {
    const [first = chunks[0]] = chunks.slice(2, 3);
    const broken = modelStep.fail(new ModelError("transport", "gone"), [first as StreamChunk]);
    expect(await partsOf(toLanguageModel(new ScriptedModel([broken])))).toMatchObject([
      { type: "stream-start" },
      { type: "text-start" },
      { type: "text-delta" },
      { type: "error", error: { name: "AI_APICallError", isRetryable: true } },
    ]);
    const anew = modelStep.stream([first as StreamChunk, { type: "reset", reason: "retry" }, ...chunks], reply);
    expect((await partsOf(toLanguageModel(new ScriptedModel([anew])))).at(-1)).toMatchObject({ type: "error" });
  });

  it("is stopped by the SDK's signal and by a reader who goes away, and leaves no listener", async () => {
    const port = new ScriptedModel([modelStep.hang(), modelStep.hang(chunks.slice(0, 1)), modelStep.hang()]);
    const controller = new AbortController();
    const call = Promise.resolve(toLanguageModel(port).doGenerate({ prompt, abortSignal: controller.signal }));
    controller.abort(new Error("enough"));
    await expect(call).rejects.toThrow("enough");
    const { stream } = await toLanguageModel(port).doStream({ prompt });
    await stream.cancel();
    await expect(
      Promise.resolve(toLanguageModel(port).doStream({ prompt, abortSignal: AbortSignal.abort() })),
    ).rejects.toMatchObject({ name: "AbortError" });
    port.push(modelStep.hang(chunks.slice(0, 1)));
    const later = new AbortController();
    const streaming = partsOf(toLanguageModel(port), { abortSignal: later.signal });
    await Promise.resolve();
    later.abort();
    await expect(streaming).rejects.toMatchObject({ name: "AbortError" });
    expect(port.aborts).toEqual([0, 1, 2, 3]);
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
  });
});

describe("there and back again", () => {
  it("a reply is the same, streamed and at once", async () => {
    const port = new ScriptedModel([reply, modelStep.stream(chunks, reply)]);
    const model = new AiSdkModel({ model: toLanguageModel(port), provider: "mine" });
    const metadata = (fields: object): object => ({ ennead: { provider: "mine", ...fields } });
    const wanted = {
      ...reply,
      parts: [
        { type: "reasoning", text: "hm", providerData: metadata({ signature: "SIG", providerData: { a: [1] } }) },
        { type: "text", text: "hello" },
        {
          type: "toolCall",
          id: "c1",
          name: "f",
          arguments: { a: 1 },
          providerData: metadata({ providerData: { thoughtSignature: "S" } }),
        },
      ],
    };
    const asked = request({ tools: [tool("f")] });
    const once = await model.chat(asked);
    expect(once).toEqual(wanted);
    expect(await model.chatStreaming(asked, () => undefined)).toEqual(wanted);
    port.push(reply);
    await model.chat({ ...asked, messages: [user("go"), assistant(once.parts, "mine"), result("c1")] });
    expect(port.requests[2]?.messages[1]).toMatchObject({ role: "assistant", provider: "mine", parts });
  });

  it("a request is the same", async () => {
    const port = new ScriptedModel([reply]);
    const asked = request({
      messages: [
        user("look"),
        assistant([{ type: "text", text: "ok" }, toolCall("c1", "f", { arguments: { a: 1 } })], "mine"),
        result("c1", {
          content: [
            { type: "text", text: "see" },
            { type: "image", mimeType: "image/png", source: { base64: "AAAA" } },
          ],
        }),
      ],
      tools: [tool("f")],
      options: { temperature: 0, toolChoice: "required", reasoningEffort: "off" },
    });
    await new AiSdkModel({ model: toLanguageModel(port) }).chat(asked);
    expect(port.requests[0]).toMatchObject({
      messages: [
        { role: "user", content: [{ type: "text", text: "look" }] },
        {
          role: "assistant",
          parts: [
            { type: "text", text: "ok" },
            { type: "toolCall", id: "c1", arguments: { a: 1 } },
          ],
        },
        {
          role: "tool",
          content: [
            { type: "text", text: "see" },
            { type: "image", mimeType: "image/png", source: { base64: "AAAA" } },
          ],
        },
      ],
      tools: asked.tools,
      options: asked.options,
    });
  });

  it("what hides in a part and in a result is the same", async () => {
    const hidden: readonly AssistantPart[] = [
      { type: "reasoning", text: "", redacted: true, providerData: "CIPHER" },
      {
        type: "toolCall",
        id: "c1",
        name: "f",
        arguments: { n: 12345678901234567000 },
        raw: '{"n":12345678901234567890}',
      },
      {
        type: "toolCall",
        id: "c2",
        name: "f",
        arguments: {},
        malformed: { raw: '{"cut', reason: "the arguments are not valid JSON" },
      },
    ];
    const port = new ScriptedModel([{ ...reply, parts: hidden }, reply]);
    const model = new AiSdkModel({ model: toLanguageModel(port), provider: "mine" });
    const { parts: back } = await model.chat(request({ tools: [tool("f")] }));
    expect(back.slice(1)).toMatchObject(hidden.slice(1));
    const denied = result("c2", { content: [], structured: { why: "no" }, isError: true });
    await model.chat(
      request({ messages: [user("go"), assistant(back, "mine"), result("c1", { isError: true }), denied] }),
    );
    expect(port.requests[1]?.messages).toMatchObject([
      { role: "user" },
      { role: "assistant", parts: [hidden[0], hidden[1], { type: "toolCall", id: "c2", arguments: {} }] },
      { role: "tool", isError: true, content: [{ type: "text", text: "result of c1" }] },
      { role: "tool", isError: true, content: [], structured: { why: "no" } },
    ]);
  });

  it("an error is the very same", async () => {
    const error = new ModelError("context-overflow", "too long", { status: 400 });
    const port = new ScriptedModel([
      modelStep.fail(error),
      modelStep.fail(error),
      modelStep.fail(error, chunks.slice(2, 3)),
    ]);
    const model = new AiSdkModel({ model: toLanguageModel(port) });
    await expect(model.chat(request())).rejects.toBe(error);
    await expect(model.chatStreaming(request(), () => undefined)).rejects.toBe(error);
    await expect(model.chatStreaming(request(), () => undefined)).rejects.toBe(error);
  });
});

type V3 = Pick<LanguageModelV3, "doGenerate" | "doStream">;
const V3_USAGE = {
  inputTokens: { total: 5, noCache: 5, cacheRead: 0, cacheWrite: undefined },
  outputTokens: { total: 2, text: 2, reasoning: undefined },
};

/** A model of spec v3, written by hand. */
function v3(list: readonly LanguageModelV3StreamPart[], seen: unknown[] = []): LanguageModelV3 {
  const port: V3 = {
    doGenerate: (options) => {
      seen.push(options);
      const content = list.flatMap((part) => (part.type === "tool-call" ? [part] : []));
      return Promise.resolve({
        content: [{ type: "text", text: "hi" }, ...content],
        finishReason: { unified: "stop", raw: "end" },
        usage: V3_USAGE,
        warnings: [],
      });
    },
    doStream: (options) => {
      seen.push(options);
      return Promise.resolve({ stream: ReadableStream.from(list) as ReadableStream<LanguageModelV3StreamPart> });
    },
  };
  return { specificationVersion: "v3", provider: "old", modelId: "m3", supportedUrls: {}, ...port };
}

const finish: LanguageModelV3StreamPart = {
  type: "finish",
  finishReason: { unified: "stop", raw: "end" },
  usage: V3_USAGE,
};

describe("a model of spec v3", () => {
  const list: readonly LanguageModelV3StreamPart[] = [
    { type: "stream-start", warnings: [] },
    { type: "text-start", id: "1" },
    { type: "text-delta", id: "1", delta: "hi" },
    { type: "text-end", id: "1" },
    { type: "tool-input-start", id: "s", toolName: "web_search", providerExecuted: true },
    { type: "tool-input-delta", id: "s", delta: "{}" },
    { type: "tool-call", toolCallId: "s", toolName: "web_search", input: "{}", providerExecuted: true },
    { type: "tool-result", toolCallId: "s", toolName: "web_search", result: { ok: true } },
    { type: "tool-call", toolCallId: "c1", toolName: "f", input: '{"a":1}' },
    finish,
  ];

  it("streams and answers at once with the same; what the provider ran itself is nobody's call", async () => {
    const wanted = {
      text: "hi",
      calls: [["c1", "f", { a: 1 }]],
      finish: "stop",
      usage: { inputTokens: 5, outputTokens: 2, totalTokens: 7, cachedInputTokens: 0 },
    };
    expect(await streamedBy(new AiSdkModel({ model: v3(list) }))).toEqual(wanted);
    expect(await wholeBy(new AiSdkModel({ model: v3(list) }))).toEqual(wanted);
  });

  it("is given files and efforts in its own words", async () => {
    const seen: unknown[] = [];
    const image = { type: "image", mimeType: "image/png", source: { base64: "AAAA" } } as const;
    const pdf = {
      type: "file",
      mimeType: "application/pdf",
      name: "a.pdf",
      source: { url: "https://files.test/a.pdf" },
    } as const;
    const efforts = { high: { old: { budget: 9 } } };
    const model = new AiSdkModel({ model: v3(list, seen), efforts, providerOptions: { old: { a: 1, b: 1 } } });
    const messages = [
      { ...user(""), content: [image, pdf] } as ReturnType<typeof user>,
      assistant([toolCall("c1", "f")]),
      result("c1", { content: [image, pdf] }),
    ];
    await model.chat(request({ messages, options: { reasoningEffort: "high", providerOptions: { old: { b: 2 } } } }));
    await model.chat(request({ options: { reasoningEffort: "low" } }));
    for (const options of seen) expect(options).not.toHaveProperty("reasoning");
    expect(seen[0]).toMatchObject({
      providerOptions: { old: { a: 1, b: 2, budget: 9 } },
      prompt: [
        {
          role: "user",
          content: [
            { type: "file", mediaType: "image/png", data: "AAAA" },
            { type: "file", filename: "a.pdf", data: new URL(pdf.source.url) },
          ],
        },
        { role: "assistant", content: [{ type: "tool-call", toolCallId: "c1", input: {} }] },
        {
          role: "tool",
          content: [
            {
              output: {
                type: "content",
                value: [
                  { type: "image-data", data: "AAAA" },
                  { type: "file-url", url: pdf.source.url },
                ],
              },
            },
          ],
        },
      ],
    });
  });
});

describe("any model of the AI SDK", () => {
  it.each<[string, readonly LanguageModelV3StreamPart[], object]>([
    [
      "a stream without a finish",
      [
        { type: "text-start", id: "1" },
        { type: "text-delta", id: "1", delta: "Half" },
      ],
      { error: "response-parse", partialText: "Half" },
    ],
    [
      "a finish that was made up",
      [{ ...finish, finishReason: { unified: "other", raw: undefined } }],
      { error: "response-parse" },
    ],
    [
      "a finish that is an error",
      [{ ...finish, finishReason: { unified: "error", raw: "boom" } }],
      { error: "server", message: "ModelError(server): the provider broke off the reply: boom" },
    ],
    ["an error that is text", [{ type: "error", error: "rate limit reached" }], { error: "rate-limit" }],
    ["an error that is nothing", [{ type: "error", error: undefined }], { error: "server" }],
  ])("never makes a reply of %s", async (_, list, wanted) => {
    expect(await streamedBy(new AiSdkModel({ model: v3(list) }))).toMatchObject(wanted);
  });

  it("is ended by an abort and by silence even if it heeds neither", async () => {
    const deaf = {
      ...v3([]),
      doStream: () => Promise.resolve({ stream: new ReadableStream<LanguageModelV3StreamPart>() }),
    };
    const never = { ...v3([]), doGenerate: () => Promise.withResolvers<never>().promise };
    for (const call of [
      (signal: AbortSignal) => streamedBy(new AiSdkModel({ model: deaf }), request({ signal })),
      (signal: AbortSignal) => wholeBy(new AiSdkModel({ model: never }), request({ signal })),
    ]) {
      const controller = new AbortController();
      const outcome = call(controller.signal);
      controller.abort();
      expect(await outcome).toMatchObject({ error: "aborted" });
    }
    expect(await streamedBy(new AiSdkModel({ model: deaf, idleTimeoutMs: 20 }))).toMatchObject({ error: "timeout" });
    expect(await wholeBy(new AiSdkModel({ model: never, timeoutMs: 20 }))).toMatchObject({ error: "timeout" });
  });

  it("is chosen by the request where it can be, else the request fails", async () => {
    const asked = request({ options: { model: "m4" } });
    expect(await wholeBy(new AiSdkModel({ model: v3([]) }), asked)).toMatchObject({ error: "request-build" });
    const modelOf = (id: string): LanguageModelV3 => ({ ...v3([]), modelId: id });
    expect(await wholeBy(new AiSdkModel({ model: v3([]), modelOf }), asked)).toMatchObject({ text: "hi" });
  });

  it.each<[string, unknown, object]>([
    ["no key", new LoadAPIKeyError({ message: "MISTRAL_API_KEY is not set" }), { kind: "auth", retryable: false }],
    ["what it cannot do", new UnsupportedFunctionalityError({ functionality: "images" }), { kind: "request-build" }],
    ["no such model", new NoSuchModelError({ modelId: "x", modelType: "languageModel" }), { kind: "invalid-request" }],
    ["an empty body", new EmptyResponseBodyError(), { kind: "response-parse", retryable: true }],
    ["a reset", Object.assign(new Error("x"), { code: "ECONNRESET" }), { kind: "transport", retryable: true }],
    ["its own mistake", new TypeError("x is not a function"), { kind: "transport" }],
    ["nothing", undefined, { kind: "server" }],
    ["a defect of a test", new Defect("script ran out"), { name: "Defect" }],
  ])("that rejects with %s fails typed", async (_, thrown, wanted) => {
    const model = { ...v3([]), doGenerate: () => Promise.reject(thrown) };
    await expect(new AiSdkModel({ model }).chat(request())).rejects.toMatchObject(wanted);
  });

  it("must be of a spec that is known", () => {
    const model = { ...v3([]), specificationVersion: "v2" } as unknown as LanguageModelV3;
    expect(() => new AiSdkModel({ model })).toThrow(CompositionError);
    expect(() => new AiSdkModel({ model: v3([]), apiKey: "x" } as never)).toThrow(CompositionError);
  });
});
