import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { describe, expect, it } from "vitest";
import { AiSdkModel, type AiSdkOptions } from "../../../src/adapters/models/ai-sdk.js";
import { AnthropicModel } from "../../../src/adapters/models/anthropic.js";
import { GeminiModel } from "../../../src/adapters/models/gemini.js";
import { OpenAiChatModel } from "../../../src/adapters/models/openai-chat.js";
import { OpenAiResponsesModel } from "../../../src/adapters/models/openai-responses.js";
import { proxyModel } from "../../../src/adapters/models/proxy.js";
import { streamModel } from "../../../src/adapters/models/raw-stream.js";
import type { ReasoningEffort } from "../../../src/domain/model.js";
import type { ModelPort } from "../../../src/ports/model.js";
import { request, wholeBy } from "./chat-outcome.js";

const ALL: readonly ReasoningEffort[] = ["off", "minimal", "low", "medium", "high", "xhigh", "maximum"];

/** What was sent last, by HTTP or to a model of the AI SDK. */
let sent = "";
const fetch = (_url: unknown, init: RequestInit): Promise<Response> => {
  sent = init.body as string;
  return Promise.resolve(new Response("{}", { headers: { "content-type": "application/json" } }));
};
const wired = { baseUrl: "http://wire.test", fetch: fetch as typeof globalThis.fetch };
const sdk = (specificationVersion: "v3" | "v4", options: Partial<AiSdkOptions> = {}) =>
  new AiSdkModel({
    model: {
      specificationVersion,
      provider: "p",
      modelId: "m",
      supportedUrls: {},
      doGenerate: (call: LanguageModelV4CallOptions) => {
        sent = JSON.stringify({ reasoning: call.reasoning, providerOptions: call.providerOptions });
        return Promise.reject(new Error("enough"));
      },
    } as never,
    ...options,
  });

describe("the efforts that a model describes", () => {
  it.each<[string, ModelPort, readonly ReasoningEffort[]]>([
    ["chat", new OpenAiChatModel({ model: "m", ...wired }), ALL],
    [
      "chat with a word taken away",
      new OpenAiChatModel({ model: "m", ...wired, efforts: { off: undefined } as object }),
      ALL.slice(1),
    ],
    ["responses", new OpenAiResponsesModel({ model: "m", ...wired }), ALL],
    [
      "responses with a word taken away",
      new OpenAiResponsesModel({ model: "m", ...wired, efforts: { maximum: undefined } as object }),
      ALL.slice(0, -1),
    ],
    ["Claude 4.6", new AnthropicModel({ model: "claude-opus-4-6", ...wired }), ALL],
    ["Claude 3.7", new AnthropicModel({ model: "claude-3-7-sonnet-20250219", ...wired }), ALL],
    ["Claude 3.5, which does not think", new AnthropicModel({ model: "claude-3-5-haiku-20241022", ...wired }), []],
    ["one that is said not to think", new AnthropicModel({ model: "m", ...wired, thinking: "none" }), []],
    [
      "one whose replies leave no room for thought",
      new AnthropicModel({ model: "claude-3-7-sonnet", ...wired, maxOutputTokens: 1500 }),
      ["off"],
    ],
    ["Gemini 3", new GeminiModel({ model: "gemini-3-flash", ...wired }), ALL],
    ["Gemini 2.5", new GeminiModel({ model: "gemini-2.5-flash", ...wired }), ALL],
    ["Gemini 2.0, which does not think", new GeminiModel({ model: "gemini-2.0-flash", ...wired }), []],
    [
      "Gemini 1.5 with an effort of its own",
      new GeminiModel({ model: "gemini-1.5-pro", ...wired, efforts: { high: { thinkingBudget: 9 } } }),
      ["high"],
    ],
    ["the AI SDK, spec v4", sdk("v4"), ALL],
    ["the AI SDK, spec v3", sdk("v3"), []],
    ["spec v3 with efforts", sdk("v3", { efforts: { low: { p: { a: 1 } }, high: { p: { a: 2 } } } }), ["low", "high"]],
  ])("are those that change what is sent: %s", async (_model, model, wanted) => {
    const body = async (reasoningEffort?: ReasoningEffort): Promise<string> => {
      await wholeBy(model, request({ options: reasoningEffort === undefined ? {} : { reasoningEffort } }));
      return sent;
    };
    expect(model.describe?.().efforts).toEqual(wanted);
    const plain = await body();
    for (const effort of ALL) expect((await body(effort)) !== plain).toBe(wanted.includes(effort));
  });
});

describe("the efforts of a model that somebody else calls", () => {
  it("are those that its options know", () => {
    const knownEfforts: readonly ReasoningEffort[] = ["off", "high"];
    expect(streamModel((() => undefined) as never, { model: "m", knownEfforts }).describe?.()).toMatchObject({
      efforts: knownEfforts,
    });
    expect(proxyModel({ proxyUrl: "http://proxy.test", knownEfforts }).describe?.()).toMatchObject({
      efforts: knownEfforts,
    });
  });
});
