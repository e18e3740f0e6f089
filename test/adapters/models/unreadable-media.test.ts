import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { describe, expect, it } from "vitest";
import { AiSdkModel } from "../../../src/adapters/models/ai-sdk.js";
import { AnthropicModel } from "../../../src/adapters/models/anthropic.js";
import { GeminiModel } from "../../../src/adapters/models/gemini.js";
import { OpenAiChatModel } from "../../../src/adapters/models/openai-chat.js";
import { OpenAiResponsesModel } from "../../../src/adapters/models/openai-responses.js";
import type { Content } from "../../../src/domain/content.js";
import type { Message } from "../../../src/domain/message.js";
import type { ModelPort } from "../../../src/ports/model.js";
import { request, user, wholeBy } from "./chat-outcome.js";
import { JSON_TYPE, loopback, pieces } from "./loopback.js";

const acme = (baseURL: string) => createOpenAICompatible({ name: "acme", baseURL, apiKey: "k" })("m");
const gemini = (baseUrl: string) => new GeminiModel({ model: "gemini-3-flash", baseUrl });
const chat = (baseUrl: string) => new OpenAiChatModel({ model: "m", baseUrl });
const wires: readonly (readonly [string, (baseUrl: string) => ModelPort])[] = [
  ["chat", chat],
  ["responses", (baseUrl) => new OpenAiResponsesModel({ model: "m", baseUrl })],
  ["anthropic", (baseUrl) => new AnthropicModel({ model: "m", baseUrl })],
  ["gemini", gemini],
  ["ai-sdk", (baseUrl) => new AiSdkModel({ model: acme(baseUrl) })],
];
const stamp = { id: "i", at: 0 };
const shown = (...content: readonly Content[]): Message => ({ role: "user", content, ...stamp });
const returned = (content: readonly Content[], fields: object = {}): readonly Message[] => [
  user("go"),
  { role: "assistant", parts: [{ type: "toolCall", id: "c1", name: "f", arguments: {} }], ...stamp },
  { role: "tool", toolCallId: "c1", toolName: "f", content, isError: false, outcome: "completed", ...stamp, ...fields },
];
async function sent(make: (baseUrl: string) => ModelPort, messages: readonly Message[]): Promise<string> {
  await using server = await loopback(pieces(["{}"], JSON_TYPE));
  await wholeBy(make(server.baseUrl), request({ messages }));
  return JSON.stringify(server.requests[0]?.body);
}

const broken: readonly Content[] = [
  { type: "image", mimeType: "image/png", source: { base64: "" } },
  { type: "image", mimeType: "image/png", source: { base64: "not base64!" } },
  { type: "image", mimeType: "image/png", source: { url: "file:///etc/passwd" } },
  { type: "file", mimeType: "image/png", source: { url: "no address" } },
];

describe.each(wires)("a picture that nobody could read on the %s wire", (_, make) => {
  it("becomes a note, from a user and from a tool", async () => {
    for (const part of broken) {
      for (const messages of [[shown(part)], returned([part]), returned([part], { isError: true })]) {
        const body = await sent(make, messages);
        expect(body).toMatch(/that cannot be shown: .{0,3}image\/png/);
        expect(body).not.toMatch(/passwd|no address/);
      }
    }
  });

  it("leaves the words beside it as they are", async () => {
    const words: Content = { type: "text", text: "see this" };
    expect(await sent(make, returned([words, ...broken]))).toContain("see this");
  });
});

describe("what Gemini reads", () => {
  const png = "iVBORw0KGgo=";

  it.each([
    ["image/png", png, "image/png"],
    ["image/jpg", "QUFB", "image/jpeg"],
    ["image/heic", "QUFB", "image/heic"],
    ["audio/wav", "QUFB", "audio/wav"],
    ["video/mp4", "QUFB", "video/mp4"],
    ["application/pdf", "QUFB", "application/pdf"],
    ["text/markdown", "QUFB", "text/markdown"],
    ["application/json; charset=utf-8", "QUFB", "application/json"],
  ])("goes out inline: %s", async (mimeType, base64, wanted) => {
    const type = mimeType.startsWith("image/") ? "image" : "file";
    const body = await sent(gemini, [shown({ type, mimeType, source: { base64 } })]);
    expect(body).toContain(JSON.stringify({ inlineData: { mimeType: wanted, data: base64 } }));
  });

  it.each(["image/gif", "image/svg+xml", "image/bmp", "application/zip", "application/octet-stream", ""])(
    "does not hold %s, of which a note goes out",
    async (mimeType) => {
      for (const source of [{ base64: "QUFB" }, { url: "https://files.test/a" }, { url: "gs://bucket/a" }]) {
        const body = await sent(gemini, [shown({ type: "file", mimeType, source, name: "a.bin" })]);
        expect(body).toContain("A file that cannot be shown");
        expect(body).not.toMatch(/inlineData|fileData/);
      }
    },
  );
});

describe("a file that chat completions cannot fetch", () => {
  it("is a note, since the wire takes bytes only; its address never goes out as data", async () => {
    const pdf: Content = {
      type: "file",
      mimeType: "application/pdf",
      source: { url: "https://files.test/a.pdf" },
      name: "a.pdf",
    };
    for (const messages of [[shown(pdf)], returned([pdf])]) {
      const body = await sent(chat, messages);
      expect(body).toMatch(/A file that cannot be shown: .{0,2}a\.pdf/);
      expect(body).not.toContain("file_data");
    }
    const inline = await sent(chat, [shown({ ...pdf, source: { base64: "QUFB" } })]);
    expect(inline).toContain('"file_data":"data:application/pdf;base64,QUFB"');
  });
});
