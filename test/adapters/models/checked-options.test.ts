import { describe, expect, it } from "vitest";
import { AiSdkModel } from "../../../src/adapters/models/ai-sdk.js";
import { AnthropicModel } from "../../../src/adapters/models/anthropic.js";
import { GeminiModel } from "../../../src/adapters/models/gemini.js";
import { OpenAiChatModel } from "../../../src/adapters/models/openai-chat.js";
import { OpenAiResponsesModel } from "../../../src/adapters/models/openai-responses.js";
import { proxyHandler, proxyModel } from "../../../src/adapters/models/proxy.js";
import { streamModel } from "../../../src/adapters/models/raw-stream.js";

const language = { specificationVersion: "v4", provider: "p", modelId: "m" };
const makers: readonly (readonly [what: string, make: (options: object) => unknown, limits: readonly string[]])[] = [
  ["OpenAiChatModel", (options) => new OpenAiChatModel({ model: "m", ...options }), ["maxLineBytes", "maxBodyBytes"]],
  [
    "OpenAiResponsesModel",
    (options) => new OpenAiResponsesModel({ model: "m", ...options }),
    ["maxLineBytes", "maxBodyBytes"],
  ],
  [
    "AnthropicModel",
    (options) => new AnthropicModel({ model: "m", ...options }),
    ["maxLineBytes", "maxBodyBytes", "maxOutputTokens"],
  ],
  ["GeminiModel", (options) => new GeminiModel({ model: "m", ...options }), ["maxLineBytes", "maxBodyBytes"]],
  ["AiSdkModel", (options) => new AiSdkModel({ model: language as never, ...options }), []],
  ["streamModel", (options) => streamModel((() => undefined) as never, { model: "m", ...options }), []],
  [
    "proxyModel",
    (options) => proxyModel({ proxyUrl: "http://proxy.test", ...options }),
    ["maxLineBytes", "maxBodyBytes"],
  ],
];

describe.each(makers)("the numbers of %s", (what, make, limits) => {
  it.each([...limits, "timeoutMs", "idleTimeoutMs", "contextWindow"])("are numbers of a use: %s", (name) => {
    for (const wrong of ["5", Number.NaN, -1, null, {}]) {
      expect(() => make({ [name]: wrong })).toThrow(`CompositionError(invalid-config): ${what}: ${name} is no number`);
    }
    for (const right of [undefined, 1, 5_000, Infinity]) expect(() => make({ [name]: right })).not.toThrow();
  });
});

describe("an option with a few words to choose from", () => {
  const [[, chat], [, responses], [, claude], [, gemini]] = makers as [
    (typeof makers)[0],
    (typeof makers)[0],
    (typeof makers)[0],
    (typeof makers)[0],
  ];

  it.each<[string, string, unknown, unknown, (options: object) => unknown]>([
    ["OpenAiChatModel", "cache", "7d", "30m", chat],
    ["OpenAiChatModel", "echoReasoning", true, "never", chat],
    ["OpenAiChatModel", "maxTokensField", "tokens", "max_tokens", chat],
    ["OpenAiChatModel", "streamUsage", "no", false, chat],
    ["OpenAiResponsesModel", "cache", "5m", "12h", responses],
    ["OpenAiResponsesModel", "reasoningSummary", true, "auto", responses],
    ["OpenAiResponsesModel", "replayReasoning", "no", false, responses],
    ["AnthropicModel", "cache", "7d", "off", claude],
    ["AnthropicModel", "keyAs", "header", "bearer", claude],
    ["AnthropicModel", "thinking", true, "none", claude],
    ["AnthropicModel", "thinkingDisplay", "full", "omitted", claude],
    ["GeminiModel", "generation", 4, 2, gemini],
    ["GeminiModel", "includeThoughts", "yes", true, gemini],
  ])("takes no other: %s %s", (what, name, wrong, right, make) => {
    expect(() => make({ [name]: wrong })).toThrow(`CompositionError(invalid-config): ${what}: ${name} is none of `);
    expect(() => make({ [name]: right })).not.toThrow();
    expect(() => make({ [name]: undefined })).not.toThrow();
  });
});

describe("a proxy without a model", () => {
  it("is told so under its own name", () => {
    expect(() => proxyHandler({ model: undefined as never, authorize: () => true })).toThrow(
      "proxyHandler needs a model that has chat",
    );
  });
});

describe("headers of an option", () => {
  // Not the stream of an application's own, which has no headers.
  const withHeaders = makers.filter(
    ([what]) => what !== "streamModel" && what !== "AiSdkModel" && what !== "proxyModel",
  );

  it.each<[string, unknown]>([
    ["a number", { "x-key": 5 }],
    ["nothing", null],
    ["a text", "x-key: 5"],
    ["a list in one", { "x-key": ["a"] }],
  ])("are refused where they are no texts: %s", (_, headers) => {
    for (const [, make] of withHeaders)
      expect(() => make({ headers })).toThrow(/CompositionError\(invalid-config\): header/);
  });

  it("leave out what is set to undefined", () => {
    for (const [, make] of withHeaders) expect(() => make({ headers: { "x-key": undefined } })).not.toThrow();
  });
});
