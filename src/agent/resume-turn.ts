import { deferringHooks, pendingRecord } from "../domain/deferred-calls.js";
import { AgentError, Defect } from "../domain/errors.js";
import { type AgentMessage, type AssistantMessage, isMessage, type MessageInput } from "../domain/message.js";
import { safeLabel } from "../domain/safe-label.js";
import { SESSION_KEYS } from "../domain/session.js";
import { isReply, requestView } from "../domain/transcript.js";
import { type Turn, withStoredReply } from "../domain/turn.js";
import { decodeUsageRecord } from "../domain/usage-record.js";
import type { Decision } from "../ports/hook.js";
import { lostResult } from "./missing-results.js";
import { takeSession } from "./open-turn.js";
import { planResume, type ResumePlan } from "../domain/resume-plan.js";
import type { WriteChange } from "./session-writer.js";
import type { TurnRun } from "./turn-run.js";
import type { TurnSessions } from "./turn-sessions.js";

/**
 * Takes a stored conversation up without new input (S6). Its first write takes the decisions off the record, compared, before anything
 * runs: each is accepted once (U5). The calls that are left to handle are open in the turn it returns.
 */
export async function resumeTurn(run: TurnRun, turn: Turn, decisions: readonly Decision[]): Promise<Turn> {
  let plan: ResumePlan | undefined;
  const taken = await takeSession(run, follow, () => {
    plan = planOf(run, decisions);
    return {
      messages: plan.lost.map((open) => lostResult(open, run.stamp)),
      change: withoutDecided(run, plan, decisions),
      claim: decisions.length > 0,
    };
  });
  if (!taken || plan === undefined) return turn;
  const { reply, open, resumed, pending } = plan;
  run.resumed = resumed;
  run.resumedReply = reply;
  run.resumedOrders = new Map(open.map(({ call, order }) => [call, order]));
  run.deferred = pending;
  run.deferringHooks = deferringHooks(run.conversation.metadata);
  countOn(run);
  if (reply === undefined) return turn;
  run.assistantMessage = reply;
  return withStoredReply(turn, reply, { open: open.map(({ call }) => call), pending: pending.length });
}

function planOf(run: TurnRun, decisions: readonly Decision[]): ResumePlan {
  const { conversation } = run;
  const lastReply = conversation.lastWhere(isWholeReply);
  const state = { metadata: conversation.metadata, openCalls: conversation.openCalls() };
  return planResume({ ...state, lastReply, last: lastShown(run) }, decisions);
}

/** The last that was said, as far as models see it: of custom messages behind it what they are shown as, if anything. */
function lastShown({ conversation, wiring }: TurnRun): AgentMessage | MessageInput | undefined {
  const view = requestView(conversation.stored().map(spoken));
  const index = view.findLastIndex(isMessage);
  const behind = view.slice(index + 1);
  const { toModelMessages } = wiring.settings;
  if (behind.length === 0 || toModelMessages === undefined) return view[index];
  try {
    return toModelMessages(behind).at(-1) ?? view[index];
  } catch (error) {
    if (Defect.is(error)) throw error;
    // The request will fail by it, and say so.
    return behind.at(-1);
  }
}

function isWholeReply(message: AgentMessage): message is AssistantMessage {
  return isReply(message) && message.stopped === undefined;
}

/** A reply without parts is left out of requests, and is an answer all the same. */
function spoken(message: AgentMessage): AgentMessage {
  if (!isMessage(message) || message.role !== "assistant" || message.parts.length > 0) return message;
  return { ...message, parts: [{ type: "text", text: "" }] };
}

function withoutDecided({ conversation }: TurnRun, plan: ResumePlan, decisions: readonly Decision[]): WriteChange {
  return decisions.length === 0 ? {} : pendingRecord(plan.pending, deferringHooks(conversation.metadata));
}

/** Limits count on from what the turn used that this one continues (A5): the last one, unless something was asked since. */
function countOn(run: TurnRun): void {
  const { metadata } = run.conversation;
  const before = decodeUsageRecord(metadata[SESSION_KEYS.usage])?.turn;
  const last = run.conversation.lastWhere(isMessage);
  const asked = last?.role === "user" || last?.role === "system";
  if (before === undefined || (asked && !last.id.startsWith(`${before.turnId}.`))) return;
  run.continued = before;
  run.budget.startFrom(before);
}

/** Goes where the conversation went on (S5). */
async function follow(run: TurnRun, sessions: TurnSessions): Promise<void> {
  const visited = new Set<string>();
  for (;;) {
    run.conversation = sessions.takeOut(run.sessionId);
    const target = await sessions.load(run.conversation);
    if (target === undefined || run.signal.aborted) return;
    visited.add(run.sessionId);
    if (visited.has(target)) {
      throw new AgentError("session", `session ${safeLabel(run.sessionId)} goes on in one that leads back to it`);
    }
    await sessions.lock(target);
    if (run.signal.aborted) return;
    run.sessionId = target;
    run.bus.moveTo(target);
  }
}
