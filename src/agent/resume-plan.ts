import { adopt } from "../domain/adopt.js";
import { AgentError } from "../domain/errors.js";
import { isJsonObject, type JsonObject } from "../domain/json.js";
import type { AgentMessage, AssistantMessage, MessageInput } from "../domain/message.js";
import { safeLabel } from "../domain/safe-label.js";
import { type DeferredCall, SESSION_KEYS } from "../domain/session.js";
import type { ToolCall } from "../domain/tool.js";
import type { OpenCall } from "../domain/transcript.js";
import type { Decision } from "../ports/hook.js";
import type { ResumedCall } from "./resumed-call.js";

/** What a stored session leaves to do. */
export type ResumePlan = {
  /** The reply whose calls are taken up, where there is one. */
  readonly reply: AssistantMessage | undefined;
  /** Its calls that are handled now, in source order, and how. */
  readonly open: readonly ToolCall[];
  readonly resumed: ReadonlyMap<string, ResumedCall>;
  /** Calls that wait for a decision still. */
  readonly pending: readonly DeferredCall[];
  /** Calls of older replies without a result: damage, which is repaired. */
  readonly lost: readonly OpenCall[];
};

/** The calls of a stored session without a result, and what it says of them. */
export type StoredCalls = { readonly metadata: JsonObject; readonly openCalls: readonly OpenCall[] };

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
  const resumed = new Map<string, ResumedCall>();
  const open: ToolCall[] = [];
  for (const openCall of openCalls) {
    const { message, order, call } = openCall;
    if (message !== reply) continue;
    const executionId = `${message.id}.${order}`;
    const record = records.find((pending) => pending.executionId === executionId);
    const decision = record === undefined ? undefined : decided.get(record.callId);
    if (record !== undefined && decision === undefined) continue;
    if (record !== undefined && decision !== undefined) resumed.set(executionId, { type: "decided", decision, record });
    else if (mayHaveRun(openCall)) resumed.set(executionId, { type: "unanswered" });
    open.push(call);
  }
  if (reply === undefined && (last === undefined || last.role === "assistant")) throw nothingToResume(last);
  const pending = records.filter(({ callId }) => !decided.has(callId));
  return { reply, open, resumed, pending, lost: openCalls.filter(({ message }) => message !== reply) };
}

/** Whether a call without a result may have had its effect; calls that were cut or malformed never run (L6, U1). */
export function mayHaveRun({ message, call }: OpenCall): boolean {
  return message.finishReason !== "length" && call.malformed === undefined;
}

/**
 * The calls that wait for a decision: recorded, and without a result in the last reply that has such calls. What is no record is passed
 * over, since anybody may have written it; of two about one call the first counts.
 */
export function pendingCalls({ metadata, openCalls }: StoredCalls): DeferredCall[] {
  const stored = metadata[SESSION_KEYS.deferred];
  if (!Array.isArray(stored)) return [];
  const reply = openCalls.at(-1)?.message;
  const open = new Map<string, string>();
  for (const { message, order, call } of openCalls) if (message === reply) open.set(`${message.id}.${order}`, call.id);
  const pending: DeferredCall[] = [];
  for (const record of stored as readonly unknown[]) {
    if (!isRecord(record) || open.get(record.executionId) !== record.callId) continue;
    open.delete(record.executionId);
    pending.push(record);
  }
  return pending;
}

function isRecord(record: unknown): record is DeferredCall {
  if (!isJsonObject(record)) return false;
  const { callId, executionId, toolName, reason, arguments: args, at } = record;
  const texts = [callId, executionId, toolName, reason];
  return texts.every((text) => typeof text === "string") && isJsonObject(args) && typeof at === "number";
}

function matched(decisions: readonly Decision[], records: readonly DeferredCall[]): Map<string, Decision> {
  const decided = new Map<string, Decision>();
  decisions.forEach((decision, index) => {
    const { callId } = decision;
    if (decided.has(callId)) throw refused(index, `call ${safeLabel(callId)} is decided twice`);
    if (!records.some((record) => record.callId === callId)) {
      throw refused(index, `no call ${safeLabel(callId)} waits for a decision`);
    }
    decided.set(callId, decision);
  });
  return decided;
}

/** Decisions as a caller gave them, copied and frozen. Throws `AgentError("invalid-input")` naming the one that is none. */
export function givenDecisions(given: readonly Decision[] | undefined): readonly Decision[] {
  if (given === undefined) return [];
  if (!Array.isArray(given)) throw new AgentError("invalid-input", "decisions are a list");
  return Array.from(given, (decision: unknown, index) => {
    const copy = copied(decision, index);
    const fault = decisionFault(copy);
    if (fault !== undefined) throw refused(index, fault);
    return copy as Decision;
  });
}

function copied(decision: unknown, index: number): unknown {
  if (!isJsonObject(decision)) return undefined;
  try {
    return adopt(decision, `decisions[${index}]`);
  } catch (cause) {
    throw refused(index, "the arguments are no JSON", cause);
  }
}

const DECISION_FIELDS: ReadonlySet<string> = new Set(["callId", "approve", "arguments", "reason"]);

function decisionFault(decision: unknown): string | undefined {
  if (!isJsonObject(decision)) return "no decision";
  // A misspelt field would approve what was not meant.
  const unknown = Object.keys(decision).find((field) => !DECISION_FIELDS.has(field));
  if (unknown !== undefined) return `${safeLabel(unknown)} is no field of a decision`;
  const { callId, approve, arguments: args, reason } = decision;
  if (typeof callId !== "string") return "callId is no text";
  if (typeof approve !== "boolean") return "approve is neither true nor false";
  if (approve) return args === undefined || isJsonObject(args) ? undefined : "arguments are no object";
  return typeof reason === "string" ? undefined : "a rejection needs a reason";
}

function refused(index: number, what: string, cause?: unknown): AgentError {
  return new AgentError("invalid-input", `decisions[${index}]: ${what}`, { cause });
}

function nothingToResume(last: ResumeState["last"]): AgentError {
  const text = last === undefined ? "the session holds nothing to answer" : "the last reply of the session is whole";
  return new AgentError("nothing-to-resume", text);
}
