import { STAGE_PAIRS, type Stage, type StageKind } from "../../domain/stage.js";
import type { StageContext } from "../../ports/hook.js";

/** Remembers, a turn and a call, how far a before stage got when it was ended early (H1). Forgotten together with the turn's signal. */
export class EnteredHooks {
  readonly #turns = new WeakMap<AbortSignal, Map<string, number>>();

  /** The before stage begins; unless it is ended early, all count as entered. */
  all(stage: Stage, context: StageContext): void {
    this.#turns.get(context.signal)?.delete(keyOf(stage, context));
  }

  /** The hook at `index` was the last one entered. */
  upTo(index: number, stage: Stage, context: StageContext): void {
    const turn = this.#turns.get(context.signal) ?? new Map<string, number>();
    this.#turns.set(context.signal, turn.set(keyOf(stage, context), index + 1));
  }

  /** How many hooks, from the first, were entered at the before stage of this after stage. */
  count(stage: Stage, context: StageContext): number {
    return this.#turns.get(context.signal)?.get(keyOf(stage, context)) ?? Number.POSITIVE_INFINITY;
  }
}

function keyOf(stage: Stage, context: StageContext): string {
  const kind: StageKind = STAGE_PAIRS[stage.kind] ?? stage.kind;
  return JSON.stringify([context.turnId, kind, callIdOf(stage)]);
}

function callIdOf(stage: Stage): string {
  if ("call" in stage) return stage.call.id;
  return "exchange" in stage ? stage.exchange.callId : "";
}
