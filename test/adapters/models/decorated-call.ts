import { getEventListeners } from "node:events";
import { expect } from "vitest";
import { ModelError } from "../../../src/domain/errors.js";
import type { ModelResponse } from "../../../src/domain/model.js";
import { StreamAccumulator } from "../../../src/domain/stream.js";
import type { StreamChunk } from "../../../src/domain/stream-chunk.js";
import type { ChatRequest, ModelPort } from "../../../src/ports/model.js";
import { request } from "./chat-outcome.js";

/** One call of a model port, its chunks taken as they come, and how it ended. */
export type Call = {
  readonly chunks: readonly StreamChunk[];
  readonly response?: ModelResponse;
  readonly error?: unknown;
};

/** Streams one reply. Whatever comes, the chunks of a success must add up to its response and no listener may be left. */
export async function stream(model: ModelPort, asked: ChatRequest = request()): Promise<Call> {
  if (model.chatStreaming === undefined) throw new Error("the model does not stream");
  const chunks: StreamChunk[] = [];
  const call = await settled(
    model.chatStreaming(asked, (chunk) => chunks.push(chunk)),
    asked.signal,
  );
  if (call.response !== undefined) {
    const { model: _model, provider: _provider, ...said } = call.response;
    expect(responseOf(chunks)).toEqual(said);
  }
  return { chunks, ...call };
}

export async function chat(model: ModelPort, asked: ChatRequest = request()): Promise<Call> {
  return { chunks: [], ...(await settled(model.chat(asked), asked.signal)) };
}

/** What a consumer who folds the chunks has in the end. */
export function responseOf(chunks: readonly StreamChunk[]): ModelResponse {
  const accumulator = new StreamAccumulator();
  for (const chunk of chunks) accumulator.push(chunk);
  return accumulator.toResponse({ malformed: "mark" });
}

/** The text that somebody sees who heeds resets. */
export function textOfChunks(chunks: readonly StreamChunk[]): string {
  let text = "";
  for (const chunk of chunks) {
    if (chunk.type === "textDelta") text += chunk.text;
    if (chunk.type === "reset") text = "";
  }
  return text;
}

export function text(text: string): StreamChunk {
  return { type: "textDelta", text };
}

export function usage(inputTokens: number, outputTokens?: number): StreamChunk {
  return { type: "usage", usage: { inputTokens, ...(outputTokens === undefined ? {} : { outputTokens }) } };
}

export const STOP_CHUNK: StreamChunk = { type: "finish", reason: "stop" };

export function broken(
  kind: ModelError["kind"] = "transport",
  details: ConstructorParameters<typeof ModelError>[2] = {},
) {
  return new ModelError(kind, "it broke", details);
}

/** A model that cannot stream. */
export function wholeOnly(model: ModelPort): ModelPort {
  return { chat: (asked) => model.chat(asked) };
}

async function settled(call: Promise<ModelResponse>, signal: AbortSignal): Promise<Omit<Call, "chunks">> {
  try {
    return { response: await call };
  } catch (error) {
    return { error };
  } finally {
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  }
}
