import type { AgentMessage, MessageInput } from "../domain/message.js";
import type { Usage } from "../domain/usage.js";
import type { ModelResponse } from "../domain/model.js";
import type { Awaitable } from "./awaitable.js";
import type { ChatRequest, ModelPort } from "./model.js";

/**
 * Asks a model without tools on the account of the turn: it is taken off the turn's budgets before, and counted in its usage. `signal`
 * defaults to that of the context. Rejects as the model does, and with `ModelError("request-build")` where no budget is left.
 */
export type AskModel = (
  model: ModelPort,
  request: Pick<ChatRequest, "messages" | "options"> & { readonly signal?: AbortSignal | undefined },
) => Promise<ModelResponse>;

/** What a compressor may know. `estimatedTokens` covers the messages it was given; `usage` is what the provider reported last. */
export type CompressContext = {
  readonly sessionId: string;
  /** Tokens; absent when neither config nor model tells. */
  readonly modelContextWindow?: number | undefined;
  /** By our own estimate, corrected by what the provider reported for earlier requests. */
  readonly estimatedTokens: number;
  /** What an estimate of our own is multiplied by to be corrected; absent 1. */
  readonly correction?: number | undefined;
  /** What a request holds beside the messages, the system prompt and the tools, estimated and corrected; absent 0. */
  readonly overheadTokens?: number | undefined;
  readonly usage?: Usage | undefined;
  readonly reason: "before-model" | "overflow" | "requested";
  /** Fires when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  /** Absent outside an agent: then a compressor asks its model itself. */
  readonly ask?: AskModel | undefined;
  /** Tells of a failure that it found another way around; a secondary failure of the turn. */
  readonly report?: ((error: unknown) => void) | undefined;
};

/** A list to stand for older messages: stored ones by reference, new ones without id. */
export type ContextMessages = readonly (AgentMessage | MessageInput)[];

/** A proposal; the agent checks it (C1). `view` holds for this request only, `replace` is stored as a record beside the originals, `newThread` goes on in a new session (S5). */
export type CompressAction =
  | { readonly type: "none" }
  | { readonly type: "view"; readonly messages: ContextMessages }
  | {
      readonly type: "replace";
      readonly messages: ContextMessages;
      /** Id of the last message they stand for; default the last one given. */
      readonly upTo?: string | undefined;
    }
  | {
      readonly type: "newThread";
      readonly messages: ContextMessages;
      readonly newSessionId: string;
      readonly messagesBefore: number;
      readonly messagesAfter: number;
    };

/** Makes a conversation smaller. Asked before every model call, never concurrently for one session; computes only: it saves nothing and publishes nothing. Bounded by `compressTimeoutMs`. A `ModelError` is told as a secondary failure and the turn goes on; any other throw fails the turn. */
export interface Compressor {
  /** Names the compressor in events. */
  readonly name?: string;
  /** `messages` is the conversation without the system prompt; the array is the compressor's own. */
  compress(messages: readonly AgentMessage[], context: CompressContext): Awaitable<CompressAction>;
}
