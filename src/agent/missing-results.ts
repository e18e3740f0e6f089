import type { AgentMessage, MessageInput } from "../domain/message.js";
import { toolErrorMessage } from "../domain/message.js";
import { UNKNOWN_OUTCOME } from "../domain/transcript.js";
import { pendingCalls, type ResumeState } from "./resume-plan.js";

/** What a call is told that waited for a decision when something else was said (U5). */
export const REJECTED = "rejected (needs approval)";

/** An error result for every call without one: `pending` for those that wait for a decision, and did not run; of the others nobody knows (S4). */
export function missingResults(
  state: Omit<ResumeState, "last">,
  stamp: (message: MessageInput) => AgentMessage,
  pending: string = REJECTED,
): AgentMessage[] {
  const waiting = new Set(pendingCalls(state).map(({ executionId }) => executionId));
  return state.openCalls.map(({ message, order, call }) =>
    waiting.has(`${message.id}.${order}`)
      ? stamp(toolErrorMessage(call, pending, "not-started"))
      : stamp(toolErrorMessage(call, UNKNOWN_OUTCOME, "unknown")),
  );
}
