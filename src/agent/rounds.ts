import { type Turn, withEnding, withRound } from "../domain/turn.js";
import { askModel } from "./ask-model.js";
import { isThenable } from "./observers.js";
import { resolveTools } from "./resolve-tools.js";
import { askContinue } from "./round-end.js";
import { poll, takeMessages } from "./take-messages.js";
import type { TurnRun } from "./turn-run.js";

/** Ends the round before, begins the next, and asks the model. */
export async function callModel(run: TurnRun, turn: Turn, options: { readonly followUps: boolean }): Promise<Turn> {
  const ending = endRound(run, turn);
  if (ending !== undefined) await ending;
  beginRound(run);
  let next = withRound(turn);
  const polled = poll(run, options);
  const outside = isThenable(polled) ? await polled : polled;
  if (outside.messages.length > 0) next = await takeMessages(run, next, outside.messages);
  if (outside.toolsChanged) next = await resolveTools(run, next, "tools-changed");
  const { stopped, hookAborted, exceeded } = next.endings;
  if (stopped !== undefined || hookAborted !== undefined || exceeded !== undefined) return next;
  // Nobody pays for a reply that has no place.
  const limit = run.output?.full;
  if (limit !== undefined) return withEnding(next, { exceeded: { kind: "output-limit", limit } });
  return askModel(run, next);
}

/** Counts a round and publishes it. */
export function beginRound(run: TurnRun): void {
  run.round += 1;
  run.roundOpen = true;
  run.bus.publish("roundStarted", { round: run.round });
}

/** Ends the round and asks hooks whether the turn goes on. */
export async function endAndAsk(run: TurnRun, turn: Turn, end: { readonly natural: boolean }): Promise<Turn> {
  await endRound(run, turn);
  return askContinue(run, turn, end);
}

/** Runs what hooks left for the end of the round, if anything, and publishes it. */
export function endRound(run: TurnRun, turn: Turn): Promise<void> | undefined {
  if (!run.roundOpen) return undefined;
  if (run.callbacks.waiting) return run.callbacks.settleAll().then(() => void closeRound(run, turn));
  closeRound(run, turn);
  return undefined;
}

/** Publishes the end of the round that is open, if one is. */
export function closeRound(run: TurnRun, turn: Turn): Turn {
  if (run.roundOpen) run.bus.publish("roundEnded", { round: run.round, usage: turn.roundUsage });
  run.roundOpen = false;
  return turn;
}
