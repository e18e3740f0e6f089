import { Defect, EnneadError } from "../domain/errors.js";
import { type Turn, withEnding } from "../domain/turn.js";
import { asAgentError } from "./as-agent-error.js";
import { HookFailure } from "./stages.js";
import type { TurnRun } from "./turn-run.js";

/** A turn with what happened outside the loop: an abort, time that is up, a write that failed, what waits to be heard. */
export function withOutside(run: TurnRun, turn: Turn): Turn {
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

/** What was thrown becomes an ending, so that the table decides; a `Defect` passes untouched (T5). */
export function caught(run: TurnRun, turn: Turn, error: unknown): Turn {
  if (Defect.is(error)) throw error;
  if (error instanceof HookFailure) return withEnding(turn, { hookAborted: { reason: error.message, error } });
  if (run.signal.aborted && run.control.failure === undefined && !EnneadError.is(error)) return turn;
  return withEnding(turn, { failed: { error: asAgentError(error) } });
}
