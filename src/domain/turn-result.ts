import type { AgentMessage, AssistantMessage, ToolMessage } from "./message.js";
import type { Usage } from "./usage.js";
import type { DeferredCall } from "./session.js";
import type { ToolExchange } from "./tool.js";

/** How a turn that did not fail ended. */
export type TurnStatus = "completed" | "stopped" | "deferred" | "aborted";

/** All that one turn did. */
export type TurnResult = {
  readonly status: TurnStatus;
  readonly turnId: string;
  /** The last reply, whole or partial. */
  readonly message?: AssistantMessage;
  /** Text of `message`; empty when there is none. */
  readonly text: string;
  /** What the turn added, in the order a request would send it. */
  readonly messages: readonly AgentMessage[];
  /** Results in source order. */
  readonly toolResults: readonly ToolMessage[];
  readonly exchanges: readonly ToolExchange[];
  /** Summed over the turn's model calls; unknown fields stay absent. */
  readonly usage: Usage;
  /** Model replies taken into the conversation, and model calls that somebody interrupted. */
  readonly rounds: number;
  /** Calls that wait for a decision. */
  readonly deferred: readonly DeferredCall[];
  /** Messages that were accepted for this turn and did not get into it. */
  readonly undelivered: readonly AgentMessage[];
  /** The session the turn ended in; differs from the asked one after a redirect (S5). */
  readonly finalSessionId: string;
  readonly stopReason?: string;
};
