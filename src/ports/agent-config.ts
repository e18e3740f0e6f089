import type { Limits } from "../domain/limits.js";
import type { AgentMessage, Message, MessageInput } from "../domain/message.js";
import type { ChatOptions } from "../domain/model.js";
import type { Awaitable } from "./awaitable.js";
import type { Budget } from "./budget.js";

/** What a dynamic system prompt may depend on. */
export type SystemContext = {
  readonly sessionId: string;
  readonly turnId: string;
  readonly round: number;
  readonly signal: AbortSignal;
};

/** A failure that changes no outcome: of an observer, a listener, an after or error hook. Holds no text from outside. */
export type SecondaryFailure = { readonly stage: string; readonly operation: string; readonly errorCategory: string };

/** How an agent behaves. Every field has a default; the chat options stand beside the rest. Times are milliseconds. */
export type AgentConfig = ChatOptions & { readonly [L in keyof Limits]?: Limits[L] | undefined } & {
  /** Put in front of every request after compression; a function is asked before every model call. */
  readonly system?: string | ((context: SystemContext) => Awaitable<string>) | undefined;
  /** Default true. */
  readonly streaming?: boolean | undefined;
  /** Tokens; default what the model describes. */
  readonly modelContextWindow?: number | undefined;
  /** Bounds each call of a tool without a `timeoutMs` of its own; default none (U7). */
  readonly toolTimeoutMs?: number | undefined;
  readonly toolExecution?: "parallel" | "sequential" | undefined;
  /** Converts arguments where nothing is lost; default false. */
  readonly coerceArguments?: boolean | undefined;
  readonly malformedCalls?: "report" | "fail" | undefined;
  /** `"turn"` writes once at the end: nothing on failure, no protection between processes. */
  readonly persistence?: "round" | "turn" | undefined;
  readonly onBusy?: "wait" | "refuse" | undefined;
  /** How many waiting messages go into one round: the oldest (default) or all (L3). */
  readonly steerMode?: "one" | "all" | undefined;
  readonly followUpMode?: "one" | "all" | undefined;
  /** Shared with every turn that has it, and with the turns that their tools start (A5). */
  readonly budget?: Budget | undefined;
  readonly onToolRoundLimit?: "fail" | "stop" | undefined;
  /** Default `process.emitWarning`. */
  readonly onSecondaryFailure?: ((failure: SecondaryFailure) => void) | undefined;
  /** Projects the conversation for the model; the default drops custom messages. A throw fails the model call in phase `"prepare"`. */
  readonly toModelMessages?: ((messages: readonly AgentMessage[]) => readonly (Message | MessageInput)[]) | undefined;
};
