import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { describe, expect, it } from "vitest";
import { AiSdkModel } from "../../../src/adapters/models/ai-sdk.js";
import { AnthropicModel } from "../../../src/adapters/models/anthropic.js";
import { GeminiModel } from "../../../src/adapters/models/gemini.js";
import { OpenAiChatModel } from "../../../src/adapters/models/openai-chat.js";
import type { Content } from "../../../src/domain/content.js";
import type { ModelPort } from "../../../src/ports/model.js";
import { request, wholeBy } from "./chat-outcome.js";
import { JSON_TYPE, loopback, pieces } from "./loopback.js";

/** A file of the container that WebP, WAV and AVI share. */
const riff = (kind: string, bytes = [36, 0, 0, 0]): string =>
  Buffer.concat([Buffer.from("RIFF"), Buffer.from(bytes), Buffer.from(`${kind}fmt `)]).toString("base64");

const google = (baseURL: string) => createGoogleGenerativeAI({ apiKey: "k", baseURL })("gemini-2.5-flash");
const gemini = (baseUrl: string) => new GeminiModel({ model: "gemini-2.5-flash", baseUrl });
const aiSdk = (baseUrl: string) => new AiSdkModel({ model: google(baseUrl) });

async function sent(make: (baseUrl: string) => ModelPort, part: Content): Promise<string> {
  await using server = await loopback(pieces(["{}"], JSON_TYPE));
  const content: readonly Content[] = [{ type: "text", text: "look" }, part];
  await wholeBy(make(server.baseUrl), request({ messages: [{ role: "user", id: "u", at: 0, content }] }));
  return JSON.stringify(server.requests[0]?.body);
}

describe("a file in the container of WebP", () => {
  it.each([
    ["gemini", gemini],
    ["ai-sdk", aiSdk],
  ])("goes out on the %s wire under the type it was declared with where it is no image", async (_, make) => {
    for (const [kind, mimeType] of [
      ["WAVE", "audio/wav"],
      ["AVI ", "video/x-msvideo"],
      ["WEBP", "audio/wav"],
    ] as const) {
      const body = await sent(make, { type: "file", mimeType, source: { base64: riff(kind) } });
      expect(body).toContain(`"${mimeType}"`);
      expect(body).not.toContain("image/");
    }
  });

  it.each([
    ["gemini", gemini],
    ["ai-sdk", aiSdk],
    ["chat", (baseUrl: string) => new OpenAiChatModel({ model: "m", baseUrl })],
    ["anthropic", (baseUrl: string) => new AnthropicModel({ model: "m", baseUrl })],
  ])("goes out on the %s wire as WebP only where it is WebP, whatever its length", async (_, make) => {
    for (const bytes of [
      [36, 0, 0, 0],
      [255, 255, 255, 255],
      [0, 170, 85, 3],
    ]) {
      const image = (kind: string): Content => ({
        type: "image",
        mimeType: "image/png",
        source: { base64: riff(kind, bytes) },
      });
      expect(await sent(make, image("WEBP"))).toContain("image/webp");
      expect(await sent(make, image("WAVE"))).not.toContain("image/webp");
    }
  });
});
