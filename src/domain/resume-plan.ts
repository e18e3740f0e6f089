import { type Decision, refusedDecision } from "./decision.js";
import { deferringHooks, mayHaveRun, pendingCalls, type StoredCalls } from "./deferred-calls.js";
import { AgentError } from "./errors.js";
import type { AgentMessage, AssistantMessage, MessageInput } from "./message.js";
import { safeLabel } from "./safe-label.js";
import type { DeferredCall } from "./session.js";
import type { OpenCall } from "./transcript.js";

/** A stored call that a resumed turn takes up: one that somebody decided about, or one of which nobody knows whether it ran. */
export type ResumedCall =
  | {
      readonly type: "decided";
      readonly decision: Decision;
      readonly record: DeferredCall;
      /** The hooks that deferred it, where somebody noted them. */
      readonly by: readonly string[] | undefined;
    }
  | { readonly type: "unanswered" };

/** What a turn takes up that resumes nothing. */
export const NOTHING_RESUMED: ReadonlyMap<string, ResumedCall> = new Map();

/** What a stored session leaves to do. */
export type ResumePlan = {
  /** The reply whose calls are taken up, where there is one. */
  readonly reply: AssistantMessage | undefined;
  /** Its calls that are handled now, in source order, and how. */
  readonly open: readonly OpenCall[];
  readonly resumed: ReadonlyMap<string, ResumedCall>;
  /** Calls that wait for a decision still. */
  readonly pending: readonly DeferredCall[];
  /** Calls of older replies without a result: damage, which is repaired. */
  readonly lost: readonly OpenCall[];
};

/** A stored session as a resumed turn finds it. */
export type ResumeState = StoredCalls & {
  /** Only its calls can be taken up: whatever was left of older ones, the conversation went on without it. */
  readonly lastReply: AgentMessage | undefined;
  /** What a request would end with. */
  readonly last: AgentMessage | MessageInput | undefined;
};

/**
 * Decides what a resumed turn does (S6, U5); pure. Throws `AgentError`: `invalid-input` for a decision about a call that does not wait for
 * one, or a second one about the same call; `nothing-to-resume` where the conversation is over.
 */
export function planResume(state: ResumeState, decisions: readonly Decision[]): ResumePlan {
  const { openCalls, lastReply, last } = state;
  const reply = openCalls.find(({ message }) => message === lastReply)?.message;
  const records = reply === undefined ? [] : pendingCalls(state);
  const decided = matched(decisions, records);
  const hooks = deferringHooks(state.metadata);
  const resumed = new Map<string, ResumedCall>();
  const open: OpenCall[] = [];
  for (const openCall of openCalls) {
    const { message, order } = openCall;
    if (message !== reply) continue;
    const executionId = `${message.id}.${order}`;
    const record = records.find((pending) => pending.executionId === executionId);
    const decision = decided.get(executionId);
    if (record !== undefined && decision === undefined) continue;
    const by = hooks.get(executionId);
    if (record !== undefined && decision !== undefined)
      resumed.set(executionId, { type: "decided", decision, record, by });
    else if (mayHaveRun(openCall)) resumed.set(executionId, { type: "unanswered" });
    open.push(openCall);
  }
  if (reply === undefined && (last === undefined || last.role === "assistant")) throw nothingToResume(last);
  const pending = records.filter(({ executionId }) => !decided.has(executionId));
  return { reply, open, resumed, pending, lost: openCalls.filter(({ message }) => message !== reply) };
}

/** By execution id. A call id that a store holds twice is decided about once for each. */
function matched(decisions: readonly Decision[], records: readonly DeferredCall[]): Map<string, Decision> {
  const decided = new Map<string, Decision>();
  decisions.forEach((decision, index) => {
    const waiting = records.filter(({ callId }) => callId === decision.callId);
    const record = waiting.find(({ executionId }) => !decided.has(executionId));
    const label = safeLabel(decision.callId);
    if (waiting.length === 0) throw refusedDecision(index, `no call ${label} waits for a decision`);
    if (record === undefined) throw refusedDecision(index, `call ${label} is decided twice`);
    decided.set(record.executionId, decision);
  });
  return decided;
}

function nothingToResume(last: ResumeState["last"]): AgentError {
  const text = last === undefined ? "the session holds nothing to answer" : "the last reply of the session is whole";
  return new AgentError("nothing-to-resume", text);
}
