import { expect, it } from "vitest";
import { type RawChunk, streamModel } from "../../../src/adapters/models/raw-stream.js";
import type { StreamChunk } from "../../../src/domain/stream-chunk.js";
import { request } from "./chat-outcome.js";

async function* given(...chunks: readonly unknown[]): AsyncGenerator<RawChunk> {
  for (const chunk of chunks) yield await Promise.resolve(chunk as RawChunk);
}

it("streamModel hands on no counts and no reasons that there are not", async () => {
  const chunks: StreamChunk[] = [];
  const usage = { inputTokens: -5, outputTokens: "x", cachedInputTokens: 1.5, totalTokens: 7 };
  const model = streamModel(() => given({ type: "usage", usage }, { type: "finish", reason: "banana" }), {
    model: "m",
  });
  const response = await model.chatStreaming?.(request(), (chunk) => chunks.push(chunk));
  expect(chunks).toEqual([
    { type: "usage", usage: { totalTokens: 7 } },
    { type: "finish", reason: "other", rawReason: "banana" },
  ]);
  expect(response).toMatchObject({ finishReason: "other", rawFinishReason: "banana", usage: { totalTokens: 7 } });
});

it("streamModel hands on counts and reasons as they are where there are such", async () => {
  const told = [
    { type: "usage", usage: { inputTokens: 5 } },
    { type: "finish", reason: "length", rawReason: "cut" },
  ] as const;
  const chunks: StreamChunk[] = [];
  await streamModel(() => given(...told), { model: "m" }).chatStreaming?.(request(), (chunk) => chunks.push(chunk));
  expect(chunks).toEqual(told);
});
