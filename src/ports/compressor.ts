import type { AgentMessage, MessageInput } from "../domain/message.js";
import type { Usage } from "../domain/usage.js";
import type { Awaitable } from "./awaitable.js";

/** What a compressor may know. `estimatedTokens` covers the messages it was given; `usage` is what the provider reported last. */
export type CompressContext = {
  readonly sessionId: string;
  /** Tokens; absent when neither config nor model tells. */
  readonly modelContextWindow?: number | undefined;
  readonly estimatedTokens: number;
  readonly usage?: Usage | undefined;
  readonly reason: "before-model" | "overflow" | "requested";
  readonly signal: AbortSignal;
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

/** Makes a conversation smaller. Asked before every model call, never concurrently for one session; computes only: it saves nothing and publishes nothing. A throw fails the turn. */
export interface Compressor {
  /** Names the compressor in events. */
  readonly name?: string;
  /** `messages` is the conversation without the system prompt; the array is the compressor's own. */
  compress(messages: readonly AgentMessage[], context: CompressContext): Awaitable<CompressAction>;
}
