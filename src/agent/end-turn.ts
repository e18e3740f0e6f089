import { type AgentError, Defect, errorCategory } from "../domain/errors.js";
import type { TurnSummary } from "../domain/event.js";
import type { TurnResult, TurnStatus } from "../domain/turn-result.js";
import { begin, type Turn } from "../domain/turn.js";
import { unreachable } from "../domain/unreachable.js";
import { asAgentError } from "./as-agent-error.js";
import type { EndStep } from "../domain/next-step.js";
import { resultOf } from "./result-of.js";
import { salvage } from "./salvage.js";
import { expiredError, failureOf } from "./turn-failure.js";
import type { TurnRun } from "./turn-run.js";

/** Saves what is left, tells the hooks, and publishes the one terminal event. */
export async function endTurn(run: TurnRun, turn: Turn, step: EndStep, entered: number): Promise<TurnResult> {
  const planned = step.type === "fail" ? failureOf(run, turn, step) : undefined;
  const unsaved = await lastWrite(run, turn, planned);
  if (planned !== undefined || unsaved !== undefined) await salvage(run);
  if (planned !== undefined && unsaved !== undefined) tellUnsaved(run, unsaved);
  const saved = planned === undefined && unsaved === undefined;
  if (!saved && run.writer?.storesAtEnd === true) run.undelivered = [...run.accepted, ...run.undelivered];
  const end = unsaved === undefined || planned !== undefined ? step : endUnsaved(run, step, unsaved);
  if (planned !== undefined || end.type === "fail") {
    const failure = planned ?? expiredOr(run, unsaved?.error);
    return failTurn(run, failure.withPartial(resultOf(run, turn, "stopped", failure.kind)), entered);
  }
  const { status, stopReason } = statusOf(end);
  const result = resultOf(run, turn, status, stopReason);
  if (run.stages.has("afterTurn")) await afterTurn(run, result, entered);
  if (run.defect !== undefined) throw run.defect;
  publishEnd(run, result);
  return result;
}

/** What is left to store, and the end of the lease; what kept it from being stored, if something did. */
async function lastWrite(
  run: TurnRun,
  turn: Turn,
  failure: AgentError | undefined,
): Promise<{ readonly error: unknown } | undefined> {
  const last = run.usageChange(turn);
  try {
    await (failure === undefined ? run.writer?.close(last) : run.writer?.discard(last));
    return undefined;
  } catch (error) {
    if (Defect.is(error)) throw error;
    return { error };
  }
}

/** An abort wins over a failed write, also one that came in the middle of the last one and cut it off (L8). */
function endUnsaved(run: TurnRun, step: EndStep, unsaved: { readonly error: unknown }): EndStep {
  const { abortReason } = run.control;
  if (step.type !== "abort" && abortReason === undefined) return { type: "fail", why: "failed" };
  tellUnsaved(run, unsaved);
  return step.type === "abort" || abortReason === undefined ? step : { type: "abort", reason: abortReason };
}

/** A last write that failed beside something worse. */
function tellUnsaved(run: TurnRun, { error }: { readonly error: unknown }): void {
  run.secondary({ stage: "end", operation: "save", errorCategory: errorCategory(error) });
}

function expiredOr(run: TurnRun, error: unknown): AgentError {
  return run.control.expired === undefined ? asAgentError(error) : expiredError(run, error);
}

/** A turn that ended in `beforeTurn`: nothing was published, and nothing is (T2). An abort wins over what a hook said (L8). */
export async function stopUnstarted(run: TurnRun, reason: string, entered: number): Promise<TurnResult> {
  run.bus.endUnstarted();
  const { abortReason } = run.control;
  const status = abortReason === undefined ? "stopped" : "aborted";
  const result = resultOf(run, begin(), status, abortReason ?? reason);
  await run.callbacks.settleAll();
  if (run.stages.has("afterTurn")) await afterTurn(run, result, entered);
  return result;
}

/** A turn whose `beforeTurn` said abort: error hooks run, nothing is published (T2). */
export async function refuseTurn(run: TurnRun, error: AgentError, entered: number): Promise<never> {
  run.bus.endUnstarted();
  await run.callbacks.settleAll();
  await turnError(run, error, entered);
  throw error.withPartial(resultOf(run, begin(), "stopped", error.kind));
}

/** A `Defect` is rethrown as it is; the turn it broke still ends with one terminal event and without its lease (T3, T5). */
export async function endByDefect(run: TurnRun, error: unknown): Promise<never> {
  if (!run.bus.ended) {
    await run.writer?.discard().catch(() => undefined);
    run.bus.publish("turnFailed", { category: errorCategory(error) });
  }
  throw error;
}

async function failTurn(run: TurnRun, error: AgentError, entered: number): Promise<never> {
  await turnError(run, error, entered);
  run.bus.publish("turnFailed", { category: errorCategory(error) });
  throw run.defect ?? error;
}

function statusOf(step: Exclude<EndStep, { type: "fail" }>): {
  readonly status: TurnStatus;
  readonly stopReason?: string;
} {
  switch (step.type) {
    case "defer":
      return { status: "deferred" };
    case "stop":
      return { status: "stopped", stopReason: step.reason };
    case "abort":
      return { status: "aborted", stopReason: step.reason };
    case "complete":
      return { status: "completed" };
    default:
      return unreachable(step);
  }
}

async function afterTurn(run: TurnRun, result: TurnResult, entered: number): Promise<void> {
  await run.stages.reverse(
    { kind: "afterTurn", result },
    entered,
    (_, stage) => stage,
    (problem, stage) => {
      run.stages.secondary("afterTurn", problem);
      return stage;
    },
  );
}

async function turnError(run: TurnRun, error: AgentError, entered: number): Promise<void> {
  if (!run.stages.has("turnError")) return;
  await run.stages.reverse(
    { kind: "turnError", error },
    entered,
    (_, stage) => stage,
    (problem, stage) => {
      run.stages.secondary("turnError", problem);
      return stage;
    },
  );
}

function publishEnd(run: TurnRun, result: TurnResult): void {
  const summary = summaryOf(result);
  switch (result.status) {
    case "completed":
    case "deferred":
      return run.bus.publish("turnCompleted", { summary });
    case "stopped":
      return run.bus.publish("turnStopped", { reason: result.stopReason ?? "", summary });
    case "aborted":
      return run.bus.publish("turnAborted", { reason: result.stopReason ?? "", summary });
    default:
      return unreachable(result.status);
  }
}

function summaryOf(result: TurnResult): TurnSummary {
  const { status, rounds, usage, finalSessionId } = result;
  return Object.freeze({
    status,
    rounds,
    usage,
    finalSessionId,
    messages: result.messages.length,
    toolCalls: result.exchanges.length,
    deferred: result.deferred.map((call) => call.callId),
  });
}
