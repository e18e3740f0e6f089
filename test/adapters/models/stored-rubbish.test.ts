import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { describe, expect, it } from "vitest";
import { AiSdkModel } from "../../../src/adapters/models/ai-sdk.js";
import { AnthropicModel } from "../../../src/adapters/models/anthropic.js";
import { hasImages } from "../../../src/adapters/models/decorators.js";
import { GeminiModel } from "../../../src/adapters/models/gemini.js";
import { OpenAiChatModel } from "../../../src/adapters/models/openai-chat.js";
import { OpenAiResponsesModel } from "../../../src/adapters/models/openai-responses.js";
import type { Message } from "../../../src/domain/message.js";
import type { ModelPort } from "../../../src/ports/model.js";
import { request, user } from "./chat-outcome.js";
import { JSON_TYPE, loopback, pieces } from "./loopback.js";

const wires: readonly (readonly [string, (baseUrl: string) => ModelPort])[] = [
  ["chat", (baseUrl) => new OpenAiChatModel({ model: "m", baseUrl })],
  ["responses", (baseUrl) => new OpenAiResponsesModel({ model: "m", baseUrl })],
  ["anthropic", (baseUrl) => new AnthropicModel({ model: "m", baseUrl })],
  ["gemini", (baseUrl) => new GeminiModel({ model: "m", baseUrl })],
  ["ai-sdk", (baseURL) => new AiSdkModel({ model: createOpenAICompatible({ name: "acme", baseURL })("m") })],
];
const rubbish = [null, undefined, 7, "hi", [], {}, { role: "ghost" }] as unknown as readonly Message[];

describe("what a session holds and what is no message", () => {
  it.each(wires)("is left out on the %s wire, also where a request is to be healed", async (_, make) => {
    const wav = { type: "file", mimeType: "audio/wav", source: { base64: "UklGRiQAAABXQVZFZm10IA==" } } as const;
    const old: Message = { role: "user", id: "u0", at: 0, content: [wav] };
    const messages = [...rubbish, old, ...rubbish, user("hello")];
    for (const words of ["The image data is not valid", "Invalid signature in thinking block"]) {
      const body = JSON.stringify({ error: { message: words } });
      await using server = await loopback(pieces([body], JSON_TYPE, 400));
      const call = make(server.baseUrl).chat(request({ messages }));
      await expect(call).rejects.toMatchObject({ name: "ModelError", kind: "invalid-request", status: 400 });
      expect(JSON.stringify(server.requests[0]?.body)).toContain("hello");
      expect(JSON.stringify(server.requests[0]?.body)).not.toContain("image/webp");
    }
  });

  it("is no picture", () => {
    expect(hasImages(request({ messages: rubbish }))).toBe(false);
  });
});
