import { type AgentError, Defect, EnneadError } from "../domain/errors.js";
import type { MessageInput } from "../domain/message.js";
import { type EndStep, type NextStep, nextStep } from "../domain/next-step.js";
import type { TurnResult } from "../domain/turn-result.js";
import { begin, type Turn, withAnswer, withEnding, withRound } from "../domain/turn.js";
import type { Awaitable } from "../ports/awaitable.js";
import type { Decision } from "../ports/hook.js";
import { abortedByHook, asAgentError } from "./as-agent-error.js";
import { askModel } from "./ask-model.js";
import { endByDefect, endTurn, expiredError, refuseTurn, stopUnstarted } from "./end-turn.js";
import { openTurn } from "./open-turn.js";
import { resolveTools } from "./resolve-tools.js";
import { resumeTurn } from "./resume-turn.js";
import { askContinue, askEnd } from "./round-end.js";
import { isThenable } from "./observers.js";
import { HookFailure } from "./stages.js";
import { poll, takeMessages } from "./take-messages.js";
import { closeCalls, runTools } from "./tool-batch.js";
import type { TurnRun } from "./turn-run.js";

/** What a turn begins with: input, or decisions about what is stored (S6). */
export type Opening =
  | { readonly type: "input"; readonly messages: readonly MessageInput[] }
  | { readonly type: "resume"; readonly decisions: readonly Decision[] };

/** One turn from its first hook to its terminal event; the session is locked already. Rejects with `AgentError`, or a `Defect` unchanged. */
export async function runTurn(run: TurnRun, opening: Opening): Promise<TurnResult> {
  const given = opening.type === "input" ? opening.messages : [];
  const entry = await beforeTurn(run, given);
  if (entry.type !== "go") run.undelivered = given.map(run.stamp);
  if (entry.type !== "go" && run.control.expired !== undefined)
    return refuseTurn(run, expiredError(run), entry.entered);
  if (entry.type === "stop") return stopUnstarted(run, entry.reason, entry.entered);
  if (entry.type === "abort" && run.signal.aborted) return stopUnstarted(run, entry.error.message, entry.entered);
  if (entry.type === "abort") return refuseTurn(run, entry.error, entry.entered);
  run.bus.publish("turnStarted", {});
  try {
    return await loop(run, { ...opening, messages: entry.input }, entry.entered);
  } catch (error) {
    return await endByDefect(run, error);
  }
}

/** The loop: asks the table what comes next, does it, until a step ends the turn. */
async function loop(run: TurnRun, opening: Opened, entered: number): Promise<TurnResult> {
  let turn = begin();
  try {
    turn = await open(run, turn, opening);
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

type Opened = Opening & { readonly messages: readonly MessageInput[] };

/** What a hook adds where a turn goes on without input is steering: it comes behind the calls that are left. */
async function open(run: TurnRun, turn: Turn, opening: Opened): Promise<Turn> {
  if (opening.type === "resume") {
    run.control.inbox.add("steering", opening.messages);
    return resumeTurn(run, turn, opening.decisions);
  }
  await openTurn(run, opening.messages);
  return turn;
}

/** Does one step of the loop; what it decides is in the turn it returns. */
function take(run: TurnRun, turn: Turn, step: Exclude<NextStep, EndStep>): Awaitable<Turn> {
  switch (step.type) {
    case "call-model":
      return callModel(run, turn, { followUps: step.followUps === true });
    case "run-tools":
      // Calls that a resumed turn takes up are a round of their own.
      if (!run.roundOpen) beginRound(run);
      return runTools(run, turn, step.calls);
    case "ask-continue":
      return run.hasRoundCallbacks || run.stages.has("beforeContinue")
        ? endAndAsk(run, turn, { natural: step.natural })
        : withAnswer(closeRound(run, turn), "continue", undefined);
    case "ask-end":
      return run.stages.has("beforeEnd") ? askEnd(run, turn) : withAnswer(turn, "end", undefined);
  }
}

async function callModel(run: TurnRun, turn: Turn, options: { readonly followUps: boolean }): Promise<Turn> {
  await endRound(run, turn);
  beginRound(run);
  let next = withRound(turn);
  const outside = await poll(run, options);
  if (outside.messages.length > 0) next = await takeMessages(run, next, outside.messages);
  if (outside.toolsChanged) next = await resolveTools(run, next, "tools-changed");
  const { stopped, hookAborted, exceeded } = next.endings;
  if (stopped !== undefined || hookAborted !== undefined || exceeded !== undefined) return next;
  // Nobody pays for a reply that has no place.
  if (run.output?.isFull === true) return withEnding(next, { exceeded: { kind: "output-limit", limit: "messages" } });
  return askModel(run, next);
}

function beginRound(run: TurnRun): void {
  run.round += 1;
  run.roundOpen = true;
  run.bus.publish("roundStarted", { round: run.round });
}

async function endAndAsk(run: TurnRun, turn: Turn, end: { readonly natural: boolean }): Promise<Turn> {
  await endRound(run, turn);
  return askContinue(run, turn, end);
}

/** A turn with what happened outside the loop: an abort, time that is up, a write that failed, what waits to be heard. */
function withOutside(run: TurnRun, turn: Turn): Turn {
  const { abortReason, failure, expired } = run.control;
  let next = withWaiting(run, turn);
  if (expired !== undefined && turn.endings.expired === undefined)
    next = withEnding(next, { expired: { kind: "budget-exceeded", limit: expired } });
  if (abortReason !== undefined && turn.endings.aborted === undefined)
    next = withEnding(next, { aborted: abortReason });
  if (failure !== undefined && turn.endings.failed === undefined) next = withEnding(next, { failed: failure });
  return next;
}

function withWaiting({ control: { inbox, interrupted } }: TurnRun, turn: Turn): Turn {
  const steering = inbox.waiting("steering");
  const followUps = inbox.waiting("followUps");
  if (steering + followUps > 0 || interrupted) return { ...turn, waiting: { steering, followUps, interrupted } };
  return turn.waiting === undefined ? turn : { ...turn, waiting: undefined };
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
  return late.type === "abort" || (late.type === "fail" && late.why !== "tool-loop-exceeded") ? late : step;
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
