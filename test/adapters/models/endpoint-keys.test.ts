import { describe, expect, it } from "vitest";
import { AnthropicModel } from "../../../src/adapters/models/anthropic.js";
import { GeminiModel } from "../../../src/adapters/models/gemini.js";
import { OpenAiChatModel } from "../../../src/adapters/models/openai-chat.js";
import type { ModelPort } from "../../../src/ports/model.js";
import { request, wholeBy } from "./chat-outcome.js";
import { JSON_TYPE, loopback, pieces } from "./loopback.js";

const BASIC = `Basic ${btoa("me:pass")}`;

describe("user and password in the address of a gateway", () => {
  it.each<[string, (baseUrl: string) => ModelPort, Record<string, string>]>([
    [
      "x-api-key",
      (baseUrl) => new AnthropicModel({ model: "m", baseUrl, apiKey: "k" }),
      { "x-api-key": "k", authorization: BASIC },
    ],
    [
      "x-goog-api-key",
      (baseUrl) => new GeminiModel({ model: "m", baseUrl, apiKey: "k" }),
      { "x-goog-api-key": "k", authorization: BASIC },
    ],
    ["no key at all", (baseUrl) => new OpenAiChatModel({ model: "m", baseUrl }), { authorization: BASIC }],
    [
      "a bearer key, which wins",
      (baseUrl) => new OpenAiChatModel({ model: "m", baseUrl, apiKey: "k" }),
      { authorization: "Bearer k" },
    ],
    [
      "a bearer key of Anthropic's wire, which wins",
      (baseUrl) => new AnthropicModel({ model: "m", baseUrl, apiKey: "k", keyAs: "bearer" }),
      { authorization: "Bearer k" },
    ],
  ])("travel beside %s", async (_, make, headers) => {
    await using server = await loopback(pieces(["{}"], JSON_TYPE));
    await wholeBy(make(server.baseUrl.replace("://", "://me:pass@")), request());
    expect(server.requests[0]?.headers).toMatchObject(headers);
  });
});
