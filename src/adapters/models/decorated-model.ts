import { CompositionError } from "../../domain/errors.js";
import { checkFields } from "../../domain/known-fields.js";
import type { ModelResponse } from "../../domain/model.js";
import type { ChatRequest, ChunkListener, ModelPort } from "../../ports/model.js";
import { replyChunks } from "./reply-chunks.js";

/** One reply; chunks are handed over where there is a listener. */
export type ModelCaller = (request: ChatRequest, onChunk: ChunkListener | undefined) => Promise<ModelResponse>;

/**
 * A port that answers by `call`, in the place of `models`: it streams where any of them does, and describes itself as the first of them.
 * Throws `CompositionError("invalid-config")` where there is none, or one that is no model.
 */
export function decoratedModel(what: string, models: readonly ModelPort[], call: ModelCaller): ModelPort {
  const [first] = models;
  if (first === undefined || !models.every(isModel)) {
    throw new CompositionError("invalid-config", `${what} needs a model that has chat`);
  }
  const streams = models.some((model) => model.chatStreaming !== undefined);
  return {
    chat: async (request) => await call(request, undefined),
    ...(streams ? { chatStreaming: call } : undefined),
    ...(first.describe === undefined ? undefined : { describe: first.describe.bind(first) }),
  };
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

/** Throws `CompositionError("invalid-config")` for an unknown option, and for one of `numbers` that is no number or below its least value. */
export function checkOptions(
  what: string,
  options: object,
  known: readonly string[],
  numbers: Readonly<Record<string, number>>,
): void {
  checkFields(what, options, known);
  for (const [name, least] of Object.entries(numbers)) {
    const value: unknown = Reflect.get(options, name);
    if (value === undefined || (typeof value === "number" && value >= least)) continue;
    throw new CompositionError("invalid-config", `${what}: ${name} is no number from ${least} on`);
  }
}

function isModel(value: unknown): boolean {
  return typeof value === "object" && value !== null && "chat" in value && typeof value.chat === "function";
}
