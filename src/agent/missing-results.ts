import type { AgentMessage, MessageInput } from "../domain/message.js";
import { toolErrorMessage } from "../domain/message.js";
import { NOT_EXECUTED, type OpenCall, UNKNOWN_OUTCOME } from "../domain/transcript.js";
import { mayHaveRun, pendingCalls, type StoredCalls } from "../domain/deferred-calls.js";

/** What a call is told that waited for a decision when something else was said (U5). */
const REJECTED = "rejected (needs approval)";

/** An error result for every call without one: `pending` for those that wait for a decision, and did not run; of the others nobody knows (S4). */
export function missingResults(
  state: StoredCalls,
  stamp: (message: MessageInput) => AgentMessage,
  pending: string = REJECTED,
): AgentMessage[] {
  const waiting = new Set(pendingCalls(state).map(({ executionId }) => executionId));
  return state.openCalls.map((open) =>
    waiting.has(`${open.message.id}.${open.order}`)
      ? stamp(toolErrorMessage(open.call, pending, "not-started"))
      : lostResult(open, stamp),
  );
}

/** The result of a stored call of which nobody knows what became of it, unless it is known that it never runs (S4). */
export function lostResult(open: OpenCall, stamp: (message: MessageInput) => AgentMessage): AgentMessage {
  return mayHaveRun(open)
    ? stamp(toolErrorMessage(open.call, UNKNOWN_OUTCOME, "unknown"))
    : stamp(toolErrorMessage(open.call, NOT_EXECUTED, "not-started"));
}
