import type { StageOutcome } from "../domain/stage.js";
import { type Turn, withEnding } from "../domain/turn.js";

/** What a hook that ends the turn asked for. */
type HookEnding = { readonly kind: "stop" | "abort"; readonly reason: string };

/** A hook ended the turn instead. */
export type Ended = { readonly ended: HookEnding };

/** Nothing for an outcome that lets the turn go on. */
export function endedBy({ outcome }: { readonly outcome?: StageOutcome }): Ended | undefined {
  if (outcome?.kind !== "stop" && outcome?.kind !== "abort") return undefined;
  return { ended: { kind: outcome.kind, reason: outcome.reason } };
}

/** The turn with that ending; other endings may still be stronger (L8). */
export function withEnded(turn: Turn, { ended }: Ended): Turn {
  if (ended.kind === "stop") return withEnding(turn, { stopped: ended.reason });
  return withEnding(turn, { hookAborted: { reason: ended.reason, error: undefined } });
}
