import type { Limits } from "./limits.js";
import type { ToolCall } from "./tool.js";
import type { RoundDecision, Turn } from "./turn.js";
import { unreachable } from "./unreachable.js";

/** What a turn does next. The last five end it. */
export type NextStep =
  | { readonly type: "call-model" }
  | { readonly type: "run-tools"; readonly calls: readonly ToolCall[] }
  | { readonly type: "ask-continue"; readonly natural: boolean }
  | { readonly type: "ask-end" }
  | { readonly type: "complete" }
  | { readonly type: "defer" }
  | { readonly type: "stop"; readonly reason: string }
  | { readonly type: "abort"; readonly reason: string }
  | { readonly type: "fail"; readonly why: "failed" | "hook-aborted" | "tool-loop-exceeded" };

/** The steps that end a turn. */
export type EndStep = Extract<NextStep, { type: "complete" | "defer" | "stop" | "abort" | "fail" }>;

/** The bounds that `nextStep` looks at. */
export type StepLimits = Pick<Limits, "maxToolRounds"> & { readonly onToolRoundLimit: "fail" | "stop" };

/** `stopReason` of a turn that stopped at the round limit. */
export const TOOL_ROUND_LIMIT = "tool-round-limit";

/**
 * The table of L8, pure and total: abort, store failure, hook abort, then (with a reply whose calls are open) the limit or the batch,
 * then deferral, hook stop, terminate, then the hooks of the round's end, then the next round or the natural end.
 */
export function nextStep(turn: Turn, limits: StepLimits): NextStep {
  const { aborted, failed, hookAborted, stopped, decided } = turn.endings;
  if (aborted !== undefined) return { type: "abort", reason: aborted };
  if (failed !== undefined) return { type: "fail", why: "failed" };
  if (hookAborted !== undefined) return { type: "fail", why: "hook-aborted" };
  if (turn.open.length > 0) return openCallsStep(turn, limits);
  if (turn.deferred > 0) return { type: "defer" };
  if (stopped !== undefined) return { type: "stop", reason: stopped };
  if (turn.reply === undefined) return modelStep(turn, limits);
  if (terminates(turn)) return { type: "complete" };
  if (decided !== undefined) return decidedStep(decided);
  return roundEndStep(turn, limits);
}

function openCallsStep(turn: Turn, limits: StepLimits): NextStep {
  if (turn.endings.stopped !== undefined) return { type: "stop", reason: turn.endings.stopped };
  return turn.batches < limits.maxToolRounds ? { type: "run-tools", calls: turn.open } : limitStep(limits);
}

/** The model is asked once more than there may be batches, also where hooks want to go on (L1). */
function modelStep(turn: Turn, limits: StepLimits): NextStep {
  return turn.rounds <= limits.maxToolRounds ? { type: "call-model" } : limitStep(limits);
}

function limitStep(limits: StepLimits): NextStep {
  if (limits.onToolRoundLimit === "stop") return { type: "stop", reason: TOOL_ROUND_LIMIT };
  return { type: "fail", why: "tool-loop-exceeded" };
}

function terminates(turn: Turn): boolean {
  return turn.exchanges.length > 0 && turn.exchanges.every((exchange) => exchange.result.terminate === true);
}

function decidedStep(decided: RoundDecision): NextStep {
  switch (decided.kind) {
    case "finish":
      return { type: "complete" };
    case "checkpoint":
      return { type: "stop", reason: "checkpoint" };
    case "stop":
      return { type: "stop", reason: decided.reason };
    case "wait":
      return { type: "stop", reason: "waiting" };
    case "cancel":
      return { type: "abort", reason: decided.reason };
    default:
      return unreachable(decided);
  }
}

function roundEndStep(turn: Turn, limits: StepLimits): NextStep {
  const natural = turn.exchanges.length === 0;
  if (turn.asked === "nobody") return { type: "ask-continue", natural };
  if (!natural) return modelStep(turn, limits);
  return turn.asked === "continue" ? { type: "ask-end" } : { type: "complete" };
}
