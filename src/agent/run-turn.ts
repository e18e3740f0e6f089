import type { AgentError } from "../domain/errors.js";
import type { MessageInput } from "../domain/message.js";
import { type EndStep, type NextStep, nextStep } from "../domain/next-step.js";
import type { TurnResult } from "../domain/turn-result.js";
import { begin, type Turn, withAnswer } from "../domain/turn.js";
import type { Awaitable } from "../ports/awaitable.js";
import type { Decision } from "../ports/hook.js";
import { abortedByHook } from "./as-agent-error.js";
import { endByDefect, endTurn, refuseTurn, stopUnstarted } from "./end-turn.js";
import { isThenable } from "./observers.js";
import { openTurn } from "./open-turn.js";
import { caught, withOutside } from "./outside.js";
import { resolveTools } from "./resolve-tools.js";
import { resumeTurn } from "./resume-turn.js";
import { askEnd } from "./round-end.js";
import { beginRound, callModel, closeRound, endAndAsk, endRound } from "./rounds.js";
import { closeCalls, runTools } from "./run-tools.js";
import { HookFailure } from "./stages.js";
import { expiredError } from "./turn-failure.js";
import type { TurnRun } from "./turn-run.js";

/** What a turn begins with: input, or decisions about what is stored (S6). */
export type Opening =
  | { readonly type: "input"; readonly messages: readonly MessageInput[] }
  | { readonly type: "resume"; readonly decisions: readonly Decision[] };

/** One turn from its first hook to its terminal event; the session is locked already. Rejects with `AgentError`, or a `Defect` unchanged. */
export async function runTurn(run: TurnRun, opening: Opening): Promise<TurnResult> {
  const given = opening.type === "input" ? opening.messages : [];
  const entry: Entry = run.stages.has("beforeTurn")
    ? await beforeTurn(run, given)
    : { type: "go", input: given, entered: 0 };
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
function open(run: TurnRun, turn: Turn, opening: Opened): Promise<Turn> {
  if (opening.type === "input") return openTurn(run, turn, opening.messages);
  run.control.inbox.add("steering", opening.messages);
  return resumeTurn(run, turn, opening.decisions);
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
      return run.callbacks.waiting || run.stages.has("beforeContinue")
        ? endAndAsk(run, turn, { natural: step.natural })
        : withAnswer(closeRound(run, turn), "continue", undefined);
    case "ask-end":
      return run.stages.has("beforeEnd") ? askEnd(run, turn) : withAnswer(turn, "end", undefined);
  }
}

/** However a turn ends, each call has a result or is pending; the round it was in is over. */
function closeOpen(run: TurnRun, turn: Turn): Awaitable<Turn> {
  if (turn.open.length === 0 && !run.callbacks.waiting) return closeRound(run, turn);
  return closeCallsAndRound(run, turn);
}

async function closeCallsAndRound(run: TurnRun, turn: Turn): Promise<Turn> {
  const closed = turn.open.length === 0 ? turn : await guarded(run, turn, () => closeCalls(run, turn, turn.open));
  await endRound(run, closed);
  await run.callbacks.settleAll();
  return closed;
}

/** An abort or a failure that came while the last calls were closed wins over a milder end (L8). */
function stepAfterClosing(late: NextStep, step: EndStep): EndStep {
  return late.type === "abort" || (late.type === "fail" && late.why !== "tool-loop-exceeded") ? late : step;
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
