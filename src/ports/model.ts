import type { ReasoningEffort, ChatOptions, ModelResponse } from "../domain/model.js";
import type { JsonObject } from "../domain/json.js";
import type { Message } from "../domain/message.js";
import type { StreamChunk } from "../domain/stream-chunk.js";
import type { ToolDef } from "../domain/tool.js";

/** The final request of one model call. Messages are legal for a provider: calls answered, adjacent, in source order (S4). */
export type ChatRequest = {
  readonly messages: readonly Message[];
  readonly tools: readonly ToolDef[];
  readonly options: ChatOptions;
  /** JSON that hooks put beside the request, for routing or tracing. */
  readonly requestContext?: JsonObject | undefined;
  /** Aborted when the turn is; the port must settle soon after. */
  readonly signal: AbortSignal;
  readonly sessionId: string;
  readonly turnId: string;
  readonly round: number;
};

/** What a model says of itself. `contextWindow` is in tokens; `input` lists the content types it reads. */
export type ModelDescription = {
  readonly provider: string;
  readonly model: string;
  readonly contextWindow?: number | undefined;
  readonly efforts?: readonly ReasoningEffort[] | undefined;
  readonly input?: readonly ("text" | "image" | "file")[] | undefined;
};

/** Takes a chunk at once and synchronously; it never throws. */
export type ChunkListener = (chunk: StreamChunk) => void;

/**
 * A language model. All methods may be called concurrently. Both calls resolve with the whole response, reject with `ModelError`
 * only, and never turn a broken stream into a success; they keep no listener on the signal once settled.
 */
export interface ModelPort {
  /** One reply, without chunks. */
  chat(request: ChatRequest): Promise<ModelResponse>;
  /** Hands every chunk to `onChunk` as soon as it arrives, then resolves with the response the chunks add up to. Absent: `chat` and no chunks. */
  chatStreaming?(request: ChatRequest, onChunk: ChunkListener): Promise<ModelResponse>;
  /** Constant for the life of the port; makes no request. */
  describe?(): ModelDescription;
}
