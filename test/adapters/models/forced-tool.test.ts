import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { describe, expect, it } from "vitest";
import { AiSdkModel } from "../../../src/adapters/models/ai-sdk.js";
import { AnthropicModel } from "../../../src/adapters/models/anthropic.js";
import { GeminiModel } from "../../../src/adapters/models/gemini.js";
import { OpenAiChatModel } from "../../../src/adapters/models/openai-chat.js";
import { OpenAiResponsesModel } from "../../../src/adapters/models/openai-responses.js";
import type { ModelPort } from "../../../src/ports/model.js";
import { request, tool, wholeBy } from "./chat-outcome.js";
import { JSON_TYPE, loopback, pieces } from "./loopback.js";

const acme = (baseURL: string) => createOpenAICompatible({ name: "acme", baseURL, apiKey: "k" })("m");
const wires: readonly (readonly [string, (baseUrl: string) => ModelPort])[] = [
  ["chat", (baseUrl) => new OpenAiChatModel({ model: "m", baseUrl })],
  ["responses", (baseUrl) => new OpenAiResponsesModel({ model: "m", baseUrl })],
  ["anthropic", (baseUrl) => new AnthropicModel({ model: "m", baseUrl })],
  ["gemini", (baseUrl) => new GeminiModel({ model: "gemini-3-flash", baseUrl })],
  ["ai-sdk", (baseUrl) => new AiSdkModel({ model: acme(baseUrl) })],
];
const CHOICES = ["tool_choice", "toolConfig"];

describe.each(wires)("a tool that a request forces on the %s wire", (_, make) => {
  it.each<[string, string, boolean]>([
    ["is forced where it is sent", "fine", true],
    ["is not forced where its schema keeps it from being sent", "listed", false],
    ["is not forced where it was never offered", "gone", false],
  ])("%s", async (_claim, forced, isForced) => {
    await using server = await loopback(pieces(["{}"], JSON_TYPE));
    const tools = [tool("fine"), tool("listed", { type: "array" })];
    await wholeBy(make(server.baseUrl), request({ tools, options: { toolChoice: { tool: forced } } }));
    const body = server.requests[0]?.body ?? {};
    expect(JSON.stringify(body)).toContain('"fine"');
    expect(JSON.stringify(body)).not.toMatch(/"listed"|"gone"/);
    expect(CHOICES.some((field) => body[field] !== undefined)).toBe(isForced);
  });
});
