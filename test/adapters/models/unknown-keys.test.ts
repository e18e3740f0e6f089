import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { describe, expect, it } from "vitest";
import { AiSdkModel } from "../../../src/adapters/models/ai-sdk.js";
import { AnthropicModel } from "../../../src/adapters/models/anthropic.js";
import { GeminiModel } from "../../../src/adapters/models/gemini.js";
import { OpenAiChatModel } from "../../../src/adapters/models/openai-chat.js";
import { type RawChunk, streamModel } from "../../../src/adapters/models/raw-stream.js";
import { ModelError } from "../../../src/domain/errors.js";
import type { ModelPort } from "../../../src/ports/model.js";
import { request } from "./chat-outcome.js";
import { JSON_TYPE, loopback, pieces } from "./loopback.js";

async function failureOf(model: ModelPort): Promise<ModelError> {
  const error: unknown = await model.chat(request()).catch((failure: unknown) => failure);
  if (error instanceof ModelError) return error;
  throw new Error("the call did not fail with a ModelError");
}

const KEYS = ["0f1e2d3c4b5a69788796a5b4c3d2e1f0", "r8_Qq1Ww2Ee3Rr4Tt5Yy6Uu7Ii8"];

describe("a key that the adapter does not know", () => {
  it.each([
    ["as a name", "The key KEY is unknown"],
    ["in front", "KEY: no such credential"],
    ["in quotes", "No account for 'KEY'"],
    ["behind a long blank", `${" ".repeat(70_000)}KEY`],
  ])("stays out of the errors of an AI SDK provider that tells it %s", async (_place, text) => {
    for (const apiKey of KEYS) {
      for (const status of [400, 401, 403, 429]) {
        const body = JSON.stringify({ error: { message: text.replace("KEY", apiKey) } });
        await using server = await loopback(pieces([body], JSON_TYPE, status));
        const model = createOpenAICompatible({ name: "c", apiKey, baseURL: server.baseUrl })("m");
        const error = await failureOf(new AiSdkModel({ model }));
        expect(error).toMatchObject({ status });
        expect(JSON.stringify(error) + String(error)).not.toContain(apiKey.slice(0, 8));
      }
    }
  });

  it("stays out of the errors inside an application's stream", async () => {
    for (const [key, code, kind] of [
      [KEYS[0], "invalid_api_key", "auth"],
      [KEYS[1], "server_error", "server"],
    ] as const) {
      const chunk: unknown = { error: { message: `for ${key} there is nothing`, code } };
      const model = streamModel(
        async function* () {
          yield await Promise.resolve(chunk as RawChunk);
        },
        { model: "m" },
      );
      const error = await failureOf(model);
      expect(error).toMatchObject({ kind });
      expect(JSON.stringify(error) + String(error)).not.toContain(key);
    }
  });

  it("takes no other word with it, be it long: ids of providers, names of models", async () => {
    const message = "Item 'rs_0123456789abcdef0123' of claude-sonnet-4-5-20250929";
    await using server = await loopback(pieces([JSON.stringify({ error: { message } })], JSON_TYPE, 400));
    const model = createOpenAICompatible({ name: "c", baseURL: server.baseUrl })("m");
    expect((await failureOf(new AiSdkModel({ model }))).message).toContain(message);
  });

  it("leaves the words that heal a request for an expired file", async () => {
    const error = {
      code: 403,
      message: "You do not have permission to access the File abc",
      status: "PERMISSION_DENIED",
    };
    await using server = await loopback(pieces([JSON.stringify({ error })], JSON_TYPE, 403));
    const model = createGoogleGenerativeAI({ apiKey: "k", baseURL: server.baseUrl })("gemini-2.5-flash");
    const { kind, message } = await failureOf(new AiSdkModel({ model }));
    expect(kind).toBe("auth");
    expect(message).toMatch(/: permission to access the File$/);
  });
});

describe("a key that stands where a text is cut", () => {
  const key = "sk-verysecretkey-0123456789abcdefgh";
  const makers: readonly (readonly [string, (baseUrl: string) => ModelPort])[] = [
    ["chat", (baseUrl) => new OpenAiChatModel({ model: "m", baseUrl, apiKey: key })],
    ["anthropic", (baseUrl) => new AnthropicModel({ model: "m", baseUrl, apiKey: key })],
    ["gemini", (baseUrl) => new GeminiModel({ model: "m", baseUrl, apiKey: key })],
  ];

  it.each(makers)("is not quoted by half on the %s wire", async (_, make) => {
    const head = "<html>";
    for (const limit of [4096, 64 * 1024]) {
      for (const told of [5, 20, key.length - 1, key.length]) {
        const page = `${head}${"\n".repeat(limit - head.length - told)}${key}</html>`;
        const json = JSON.stringify({ error: { message: " ".repeat(limit - told) + key } });
        for (const body of [page, json]) {
          await using server = await loopback(pieces([body], { "content-type": "text/html" }, 500));
          const { message } = await failureOf(make(server.baseUrl));
          expect(message).not.toContain(key.slice(0, 5));
        }
      }
    }
  });
});
