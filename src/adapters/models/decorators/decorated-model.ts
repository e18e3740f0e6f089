import { CompositionError } from "../../../domain/errors.js";
import type { ModelResponse } from "../../../domain/model.js";
import type { ChatRequest, ChunkListener, ModelPort } from "../../../ports/model.js";
import { replyChunks } from "./reply-chunks.js";

/** One reply; chunks are handed over where there is a listener. */
export type ModelCaller = (request: ChatRequest, onChunk: ChunkListener | undefined) => Promise<ModelResponse>;

/**
 * A port that answers by `call`, in the place of `models`: it streams where any of them does, and describes itself as the first of them.
 * Throws `CompositionError("invalid-config")` where there is none, or one that is no model.
 */
export function decoratedModel(what: string, models: readonly ModelPort[], call: ModelCaller): ModelPort {
  checkModels(what, models);
  const [first] = models;
  const streams = models.some((model) => model.chatStreaming !== undefined);
  return {
    chat: async (request) => await call(request, undefined),
    ...(streams ? { chatStreaming: call } : undefined),
    ...(first.describe === undefined ? undefined : { describe: first.describe.bind(first) }),
  };
}

/** Throws `CompositionError("invalid-config")` where there is no model, or one that is none. */
export function checkModels(
  what: string,
  models: readonly ModelPort[],
): asserts models is readonly [ModelPort, ...ModelPort[]] {
  if (Array.isArray(models) && models.length > 0 && models.every(isModel)) return;
  throw new CompositionError("invalid-config", `${what} needs a model that has chat`);
}

/** Asks `model` for one reply. One that cannot stream hands over the chunks its whole reply amounts to. */
export async function askModel(
  model: ModelPort,
  request: ChatRequest,
  onChunk: ChunkListener | undefined,
): Promise<ModelResponse> {
  if (onChunk === undefined) return await model.chat(request);
  if (model.chatStreaming !== undefined) return await model.chatStreaming(request, onChunk);
  const response = await model.chat(request);
  for (const chunk of replyChunks(response)) onChunk(chunk);
  return response;
}

function isModel(value: unknown): boolean {
  return typeof value === "object" && value !== null && "chat" in value && typeof value.chat === "function";
}
