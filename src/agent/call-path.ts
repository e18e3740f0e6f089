import { AgentError, SessionError } from "../domain/errors.js";
import { safeLabel } from "../domain/safe-label.js";
import type { Budget } from "../ports/budget.js";

/** A turn whose tool is on the way to a caller, and the way to that turn. It is over when it holds nothing any more. */
export type CallPath = {
  readonly turnId: string;
  /** Whose locks it holds; ids mean nothing elsewhere. */
  readonly host: object | undefined;
  readonly held: readonly string[];
  /** The budgets it shares with the turns that its tools start (A5). */
  readonly budgets: readonly Budget[];
  readonly outer: CallPath | undefined;
};

/** The way without turns that are over: one that starts the next and ends would make it longer for ever. */
export function stillRunning(path: CallPath | undefined): CallPath | undefined {
  let at = path;
  while (at !== undefined && at.held.length === 0) at = at.outer;
  return at;
}

/** The sessions of this host that turns on the way hold. */
export function heldOn(path: CallPath | undefined, host: object): string[] {
  const ids: string[] = [];
  for (let at = path; at !== undefined; at = at.outer) if (at.host === host) ids.push(...at.held);
  return ids;
}

/** Whether a turn on the way, of any agent, has this id and holds a session still. */
export function hasTurn(path: CallPath | undefined, turnId: unknown): boolean {
  for (let at = path; at !== undefined; at = at.outer) if (at.turnId === turnId && at.held.length > 0) return true;
  return false;
}

/** What waiting without end is refused with. */
export function waitsForCaller(id: string): AgentError {
  const cause = new SessionError("conflict", "the turn that holds it waits for this call");
  return new AgentError("session", `session ${safeLabel(id)} cannot become free`, { cause });
}
