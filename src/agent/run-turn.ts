import { type AgentError, Defect, EnneadError } from "../domain/errors.js";
import type { MessageInput } from "../domain/message.js";
import { type EndStep, type NextStep, nextStep } from "../domain/next-step.js";
import type { TurnResult } from "../domain/turn-result.js";
import { begin, type Turn, withAnswer, withEnding, withRound } from "../domain/turn.js";
import type { Awaitable } from "../ports/awaitable.js";
import { abortedByHook, asAgentError } from "./as-agent-error.js";
import { askModel } from "./ask-model.js";
import { endByDefect, endTurn, refuseTurn, stopUnstarted } from "./end-turn.js";
import { openTurn, resolveTools } from "./open-turn.js";
import { askContinue, askEnd } from "./round-end.js";
import { isThenable } from "./observers.js";
import { HookFailure } from "./stages.js";
import { closeCalls, runTools } from "./tool-batch.js";
import type { TurnRun } from "./turn-run.js";

/** One turn from its first hook to its terminal event; the session is locked already. Rejects with `AgentError`, or a `Defect` unchanged. */
export async function runTurn(run: TurnRun, given: readonly MessageInput[]): Promise<TurnResult> {
  const entry = await beforeTurn(run, given);
  if (entry.type === "stop") return stopUnstarted(run, entry.reason, entry.entered);
  if (entry.type === "abort" && run.signal.aborted) return stopUnstarted(run, entry.error.message, entry.entered);
  if (entry.type === "abort") return refuseTurn(run, entry.error, entry.entered);
  run.bus.publish("turnStarted", {});
  try {
    return await loop(run, entry.input, entry.entered);
  } catch (error) {
    return await endByDefect(run, error);
  }
}

/** The loop: asks the table what comes next, does it, until a step ends the turn. */
async function loop(run: TurnRun, input: readonly MessageInput[], entered: number): Promise<TurnResult> {
  let turn = begin();
  try {
    turn = await openTurn(run, turn, input);
    turn = await resolveTools(run, turn, "turn-start");
  } catch (error) {
    turn = caught(run, turn, error);
  }
  const { settings } = run.wiring;
  const limits = { maxToolRounds: settings.limits.maxToolRounds, onToolRoundLimit: settings.onToolRoundLimit };
  for (;;) {
    const current = withOutside(run, turn);
    const step = nextStep(current, limits);
    if (isEnd(step)) {
      const closing = closeOpen(run, current);
      const closed = withOutside(run, isThenable(closing) ? await closing : closing);
      return endTurn(run, closed, stepAfterClosing(nextStep(closed, limits), step), entered);
    }
    try {
      const next = take(run, current, step);
      turn = isThenable(next) ? await next : next;
    } catch (error) {
      turn = caught(run, current, error);
    }
  }
}

/** Does one step of the loop; what it decides is in the turn it returns. */
function take(run: TurnRun, turn: Turn, step: Exclude<NextStep, EndStep>): Awaitable<Turn> {
  switch (step.type) {
    case "call-model":
      return callModel(run, turn);
    case "run-tools":
      return runTools(run, turn, step.calls);
    case "ask-continue":
      return run.hasRoundCallbacks || run.stages.has("beforeContinue")
        ? endAndAsk(run, turn, { natural: step.natural })
        : withAnswer(closeRound(run, turn), "continue", undefined);
    case "ask-end":
      return run.stages.has("beforeEnd") ? askEnd(run, turn) : withAnswer(turn, "end", undefined);
  }
}

async function callModel(run: TurnRun, turn: Turn): Promise<Turn> {
  await endRound(run, turn);
  run.round += 1;
  run.roundOpen = true;
  run.bus.publish("roundStarted", { round: run.round });
  let next = withRound(turn);
  if (run.toolsVersion !== run.wiring.lister.version) {
    if (await toolsChanged(run)) next = await resolveTools(run, next, "tools-changed");
    if (next.endings.stopped !== undefined || next.endings.hookAborted !== undefined) return next;
  }
  return askModel(run, next);
}

/** What came from outside, as recorded; what could not be read counts as changed. */
async function toolsChanged(run: TurnRun): Promise<boolean> {
  const poll = async (): Promise<{ readonly toolsChanged: boolean }> => ({
    toolsChanged: run.toolsVersion !== run.wiring.lister.version,
  });
  const outcome = await run.scope.step(`poll#${run.round}`, poll);
  return !outcome.ok || outcome.value.toolsChanged;
}

async function endAndAsk(run: TurnRun, turn: Turn, end: { readonly natural: boolean }): Promise<Turn> {
  await endRound(run, turn);
  return askContinue(run, turn, end);
}

/** A turn with what happened outside the loop: an abort, a write that failed. */
function withOutside(run: TurnRun, turn: Turn): Turn {
  const { abortReason, failure } = run.control;
  let next = turn;
  if (abortReason !== undefined && turn.endings.aborted === undefined)
    next = withEnding(next, { aborted: abortReason });
  if (failure !== undefined && turn.endings.failed === undefined) next = withEnding(next, { failed: failure });
  return next;
}

/** Runs what hooks left for the end of the round, if anything, and publishes it. */
function endRound(run: TurnRun, turn: Turn): Promise<void> | undefined {
  if (!run.roundOpen) return undefined;
  if (run.hasRoundCallbacks) return run.settleRest().then(() => void closeRound(run, turn));
  closeRound(run, turn);
  return undefined;
}

function closeRound(run: TurnRun, turn: Turn): Turn {
  if (run.roundOpen) run.bus.publish("roundEnded", { round: run.round, usage: turn.roundUsage });
  run.roundOpen = false;
  return turn;
}

/** However a turn ends, each call has a result or is pending; the round it was in is over. */
function closeOpen(run: TurnRun, turn: Turn): Awaitable<Turn> {
  if (turn.open.length === 0 && !run.hasRoundCallbacks) return closeRound(run, turn);
  return closeCallsAndRound(run, turn);
}

async function closeCallsAndRound(run: TurnRun, turn: Turn): Promise<Turn> {
  const closed = turn.open.length === 0 ? turn : await guarded(run, turn, () => closeCalls(run, turn, turn.open));
  await endRound(run, closed);
  await run.settleRest();
  return closed;
}

/** An abort or a failure that came while the last calls were closed wins over a milder end (L8). */
function stepAfterClosing(late: NextStep, step: EndStep): EndStep {
  return late.type === "abort" || (late.type === "fail" && late.why === "failed") ? late : step;
}

/** What was thrown becomes an ending, so that the table decides; a `Defect` passes untouched (T5). */
function caught(run: TurnRun, turn: Turn, error: unknown): Turn {
  if (Defect.is(error)) throw error;
  if (error instanceof HookFailure) return withEnding(turn, { hookAborted: { reason: error.message, error } });
  if (run.signal.aborted && run.control.failure === undefined && !EnneadError.is(error)) return turn;
  return withEnding(turn, { failed: { error: asAgentError(error) } });
}

async function guarded(run: TurnRun, turn: Turn, work: (turn: Turn) => Promise<Turn>): Promise<Turn> {
  try {
    return await work(turn);
  } catch (error) {
    return caught(run, turn, error);
  }
}

type Entry =
  | { readonly type: "go"; readonly input: readonly MessageInput[]; readonly entered: number }
  | { readonly type: "stop"; readonly reason: string; readonly entered: number }
  | { readonly type: "abort"; readonly error: AgentError; readonly entered: number };

/** Before anything is published (T2). */
async function beforeTurn(run: TurnRun, input: readonly MessageInput[]): Promise<Entry> {
  if (!run.stages.has("beforeTurn")) return { type: "go", input, entered: 0 };
  try {
    const { stage, outcome, entered } = await run.stages.forward({ kind: "beforeTurn", input });
    if (outcome?.kind === "stop") return { type: "stop", reason: outcome.reason, entered };
    if (outcome?.kind === "abort") return { type: "abort", error: abortedByHook(outcome.reason), entered };
    return { type: "go", input: stage.input, entered };
  } catch (error) {
    if (!(error instanceof HookFailure)) throw error;
    return { type: "abort", error: abortedByHook(error.message, error), entered: error.entered };
  }
}

function isEnd(step: NextStep): step is EndStep {
  return (
    step.type === "complete" ||
    step.type === "defer" ||
    step.type === "stop" ||
    step.type === "abort" ||
    step.type === "fail"
  );
}
