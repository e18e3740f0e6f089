import type { Json } from "../domain/json.js";

/** How a step ended, as data: errors cross as values. */
export type Outcome<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: unknown };

/** What a running step is given. `attempt` counts from 0; `key` is the step's name, unique in the turn. */
export type StepContext = { readonly signal: AbortSignal; readonly attempt: number; readonly key: string };

/** A step of a wave. */
export type NamedStep<T> = { readonly name: string; readonly run: (context: StepContext) => Promise<T> };

/**
 * Where a turn's effects run and are recorded. Not a port: applications never implement it. Names are unique and stable within a
 * turn; values are JSON, so that a journal can replay them. Only a scope may race promises or use timers.
 */
export type StepScope = {
  /** Runs one effect. Settles also when the effect ignores an abort (L5); never rejects, but for a `Defect`. */
  step<T extends Json | undefined | object>(
    name: string,
    run: (context: StepContext) => Promise<T>,
  ): Promise<Outcome<T>>;
  /** One wave: starts all, at most `limit` at once, and settles all. `onSettled` runs one at a time: here as they finish; on an engine in input order after the wave. */
  all<T extends Json | undefined | object>(
    steps: readonly NamedStep<T>[],
    onSettled: (index: number, outcome: Outcome<T>) => Promise<void>,
    options?: { readonly limit?: number },
  ): Promise<void>;
  /** Bounds user code that is no effect: settles with an error after `ms`, or 1 s after an abort; on an engine a plain await. */
  bounded<T>(run: () => PromiseLike<T>, ms?: number): Promise<Outcome<T>>;
};
