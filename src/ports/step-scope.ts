/** How a step ended, as data: errors cross as values. */
export type Outcome<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: unknown };

/** What a running step is given. `attempt` counts from 0; `key` is the step's name, unique in the turn. */
export type StepContext = { readonly signal: AbortSignal; readonly attempt: number; readonly key: string };

/** A step of a wave. `timeoutMs` as for any step; `ended` hears at once how the step ended, before it is settled in its turn. */
export type NamedStep<T> = {
  readonly name: string;
  readonly run: (context: StepContext) => Promise<T>;
  readonly timeoutMs?: number | undefined;
  readonly ended?: ((outcome: Outcome<T>) => void) | undefined;
};

/** `keep`: an effect that saves; it is awaited longer after an abort than what computes. `interruptible`: ends by `interrupt` too. `timeoutMs`: settles with an error after that time, which keeps the process alive until then. */
export type StepOptions = {
  readonly keep?: boolean | undefined;
  readonly interruptible?: boolean | undefined;
  readonly timeoutMs?: number | undefined;
};

/** A settled step may still have a write on its way: `done` settles when its result is stored and published. */
export type Settling = { readonly done: Promise<void> };

/**
 * Where a turn's effects run and are recorded, one turn at a time. Not a port: applications never implement it. Names are unique and stable within a
 * turn. Values must be JSON, so that a journal can replay them; their type is open, because messages are described by interfaces too. Only a scope may race promises or use timers.
 */
export type StepScope = {
  /** Runs one effect. Settles within 1 s of an abort even if the effect ignores it (L5); rejects only with a `Defect`. */
  step<T>(name: string, run: (context: StepContext) => Promise<T>, options?: StepOptions): Promise<Outcome<T>>;
  /**
   * One wave: starts all, at most `limit` at once, and settles all. `onSettled` runs one at a time: here as they finish, without
   * waiting for `done` in between; on an engine in input order after the wave, each `done` awaited. Rejects with the first throw of
   * `onSettled` or `done`, when all have ended.
   */
  all<T>(
    steps: readonly NamedStep<T>[],
    onSettled: (index: number, outcome: Outcome<T>) => Promise<Settling>,
    options?: { readonly limit?: number },
  ): Promise<void>;
  /** Bounds user code that is no recorded effect: settles with an error after `ms`, or within 1 s of an abort; on an engine a plain await. */
  bounded<T>(run: () => PromiseLike<T>, ms?: number, options?: StepOptions): Promise<Outcome<T>>;
  /** Told once that the turn was aborted, so that a scope needs no listener: what still runs is settled within 1 s (L5). A decorator forwards it. */
  abort?(): void;
  /** Told that interruptible steps that run now are not wanted: each is settled within 1 s, and what begins later is not meant (L4). A decorator forwards it. */
  interrupt?(): void;
  /** The turn is over and leaves no timer behind. The scope itself stays its maker's, who may give it to another turn. A decorator forwards it. */
  release?(): void;
};
