import type { Limits } from "./limits.js";
import { toolCallsOf } from "./message.js";
import type { ToolCall } from "./tool.js";
import type { RoundDecision, Turn } from "./turn.js";
import { unreachable } from "./unreachable.js";

/** What a turn does next. The last five end it. */
export type NextStep =
  /** `followUps`: the turn would end, so messages that wait for that moment go into this round. */
  | { readonly type: "call-model"; readonly followUps?: true }
  | { readonly type: "run-tools"; readonly calls: readonly ToolCall[] }
  | { readonly type: "ask-continue"; readonly natural: boolean }
  | { readonly type: "ask-end" }
  | { readonly type: "complete" }
  | { readonly type: "defer" }
  | { readonly type: "stop"; readonly reason: string }
  | { readonly type: "abort"; readonly reason: string }
  | { readonly type: "fail"; readonly why: "failed" | "hook-aborted" | "tool-loop-exceeded" | "exceeded" };

/** The steps that end a turn. */
export type EndStep = Extract<NextStep, { type: "complete" | "defer" | "stop" | "abort" | "fail" }>;

/** The bounds that `nextStep` looks at. */
export type StepLimits = Pick<Limits, "maxToolRounds"> & { readonly onToolRoundLimit: "fail" | "stop" };

/** `stopReason` of a turn that stopped by itself: at the round limit, because of an interruption without a message, by a hook's `checkpoint` or `wait`. A hook's `stop` has its own. */
export const STOP_REASONS = Object.freeze({
  toolRoundLimit: "tool-round-limit",
  interrupted: "interrupted",
  checkpoint: "checkpoint",
  waiting: "waiting",
});

/**
 * The table of L8, pure and total: abort, store failure, time, hook abort, then (with a reply whose calls are open) the limit or the batch,
 * then deferral, hook stop, terminate, a limit that was hit, then the hooks of the round's end, then an interruption, then the next
 * round. At the natural end `beforeContinue` comes first, then steering, follow-ups, `beforeEnd`.
 */
export function nextStep(turn: Turn, limits: StepLimits): NextStep {
  const { aborted, failed, expired, hookAborted, stopped } = turn.endings;
  if (aborted !== undefined) return { type: "abort", reason: aborted };
  if (failed !== undefined) return { type: "fail", why: "failed" };
  if (expired !== undefined) return { type: "fail", why: "exceeded" };
  if (hookAborted !== undefined) return { type: "fail", why: "hook-aborted" };
  if (turn.open.length > 0) return openCallsStep(turn, limits);
  if (turn.deferred > 0) return { type: "defer" };
  if (stopped !== undefined) return { type: "stop", reason: stopped };
  return turn.reply === undefined ? beforeReplyStep(turn, limits) : afterReplyStep(turn, limits);
}

function openCallsStep(turn: Turn, limits: StepLimits): NextStep {
  const { stopped, exceeded } = turn.endings;
  if (stopped !== undefined) return { type: "stop", reason: stopped };
  if (exceeded !== undefined) return { type: "fail", why: "exceeded" };
  return turn.batches < limits.maxToolRounds ? { type: "run-tools", calls: turn.open } : limitStep(limits);
}

function beforeReplyStep(turn: Turn, limits: StepLimits): NextStep {
  if (turn.endings.exceeded !== undefined) return { type: "fail", why: "exceeded" };
  return turn.waiting?.interrupted === true ? interruptedStep(turn, limits) : modelStep(turn, limits);
}

function afterReplyStep(turn: Turn, limits: StepLimits): NextStep {
  const { exceeded, decided } = turn.endings;
  if (terminates(turn)) return { type: "complete" };
  if (exceeded !== undefined) return { type: "fail", why: "exceeded" };
  // Who waits for something has what came meanwhile (L3).
  if (decided !== undefined && !(decided.kind === "wait" && isMoreWaiting(turn, limits))) return decidedStep(decided);
  return roundEndStep(turn, limits);
}

/** The model is asked once more than there may be batches, also where hooks want to go on (L1). */
function modelStep(turn: Turn, limits: StepLimits): NextStep {
  return isRoundLeft(turn, limits) ? { type: "call-model" } : limitStep(limits);
}

function isRoundLeft(turn: Turn, limits: StepLimits): boolean {
  return turn.rounds <= limits.maxToolRounds;
}

function limitStep(limits: StepLimits): NextStep {
  if (limits.onToolRoundLimit === "stop") return { type: "stop", reason: STOP_REASONS.toolRoundLimit };
  return { type: "fail", why: "tool-loop-exceeded" };
}

/** Steering goes on as a new round; without any the turn stops where it is (L4). */
function interruptedStep(turn: Turn, limits: StepLimits): NextStep {
  const steered = turn.waiting !== undefined && turn.waiting.steering > 0;
  return steered && isRoundLeft(turn, limits)
    ? { type: "call-model" }
    : { type: "stop", reason: STOP_REASONS.interrupted };
}

/** Whether a message waits that may still be answered: at the limit a turn that could end does (L1). */
function isMoreWaiting(turn: Turn, limits: StepLimits): boolean {
  const { waiting } = turn;
  return waiting !== undefined && waiting.steering + waiting.followUps > 0 && isRoundLeft(turn, limits);
}

/** Results that an earlier turn stored do not say whether they would end it; the model reads them (U6). */
function terminates({ reply, exchanges }: Turn): boolean {
  if (exchanges.length === 0 || !exchanges.every((exchange) => exchange.result.terminate === true)) return false;
  return reply === undefined || exchanges.length >= toolCallsOf(reply).length;
}

function decidedStep(decided: RoundDecision): NextStep {
  switch (decided.kind) {
    case "finish":
      return { type: "complete" };
    case "checkpoint":
      return { type: "stop", reason: STOP_REASONS.checkpoint };
    case "stop":
      return { type: "stop", reason: decided.reason };
    case "wait":
      return { type: "stop", reason: STOP_REASONS.waiting };
    case "cancel":
      return { type: "abort", reason: decided.reason };
    default:
      return unreachable(decided);
  }
}

function roundEndStep(turn: Turn, limits: StepLimits): NextStep {
  const natural = turn.exchanges.length === 0;
  if (turn.asked === "nobody") return { type: "ask-continue", natural };
  if (turn.waiting?.interrupted === true) return interruptedStep(turn, limits);
  if (!natural) return modelStep(turn, limits);
  if (isMoreWaiting(turn, limits)) {
    return turn.waiting?.steering === 0 ? { type: "call-model", followUps: true } : { type: "call-model" };
  }
  return turn.asked === "continue" ? { type: "ask-end" } : { type: "complete" };
}
