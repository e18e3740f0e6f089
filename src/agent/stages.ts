import { Defect, errorCategory } from "../domain/errors.js";
import { safeLabel } from "../domain/safe-label.js";
import {
  type OutcomeKind,
  type Stage,
  STAGE_OUTCOMES,
  type StageKind,
  type StageOf,
  type StageOutcome,
} from "../domain/stage.js";
import type { Awaitable } from "../ports/awaitable.js";
import type { HookEntry, HookIndex } from "./hook-index.js";
import { isWhole } from "./outcome-check.js";
import { applyPatch, copyStage } from "./stage-patch.js";
import { isThenable } from "./observers.js";
import { type ContextExtras, HookStageContext, type HookTurn } from "./stage-context.js";

/** Every hook of an after stage counts, because its before stage was skipped altogether (H1). */
export const ALL_ENTERED = Number.POSITIVE_INFINITY;

/** A hook threw, took too long, or asked for something the stage does not allow. */
export class HookFailure extends Error {
  readonly entry: HookEntry;
  /** How many hooks of its stage had been entered, itself included. */
  readonly entered: number;
  constructor(entry: HookEntry, kind: StageKind, cause: unknown, entered = ALL_ENTERED) {
    super(`hook ${safeLabel(entry.name)} failed at ${kind}`, { cause });
    this.name = "HookFailure";
    this.entry = entry;
    this.entered = entered;
  }
}

/** How a before stage went: the stage with every patch, the outcome that ended it, and how many hooks were entered. */
export type Passed<K extends StageKind> = {
  readonly stage: StageOf<K>;
  readonly outcome?: StageOutcome;
  readonly by?: HookEntry;
  /** Who gave the stage its messages last, if a hook did. */
  readonly messagesBy?: HookEntry | undefined;
  readonly entered: number;
};

/** How an after stage is run. */
type Back<K extends StageKind> = {
  readonly entered: number;
  readonly each: (outcome: StageOutcome, stage: StageOf<K>) => StageOf<K>;
  readonly failed: (failure: HookFailure, stage: StageOf<K>) => StageOf<K>;
  readonly extras: ContextExtras;
};

/** Asks hooks at stages, in onion order. Owned by one turn. */
export class Stages {
  readonly #index: HookIndex;
  readonly #view: HookTurn;

  constructor(index: HookIndex, view: HookTurn) {
    this.#index = index;
    this.#view = view;
  }

  /** Whether anybody takes part; a stage without hooks costs this look-up only. */
  has(kind: StageKind): boolean {
    return this.#index[kind].length > 0;
  }

  /** Runs a before stage forward; the first outcome that ends wins. At once where every hook answers at once. Throws `HookFailure`, or rejects with it. */
  forward<K extends StageKind>(stage: StageOf<K>, extras: ContextExtras = {}): Awaitable<Passed<K>> {
    return this.#onward({ stage, entered: 0 }, extras);
  }

  #onward<K extends StageKind>(passed: Passed<K>, extras: ContextExtras): Awaitable<Passed<K>> {
    const entries = this.#index[passed.stage.kind];
    let current = passed;
    while (current.outcome === undefined && current.entered < entries.length) {
      const entry = entries[current.entered] as HookEntry;
      const outcome = this.#ask(entry, current.stage, extras, current.entered + 1);
      if (isThenable(outcome)) return this.#onwardLater(entry, current, outcome, extras);
      current = this.#heard(entry, current, outcome);
    }
    return current;
  }

  async #onwardLater<K extends StageKind>(
    entry: HookEntry,
    passed: Passed<K>,
    answer: PromiseLike<StageOutcome | undefined>,
    extras: ContextExtras,
  ): Promise<Passed<K>> {
    return this.#onward(this.#heard(entry, passed, await answer), extras);
  }

  /** What a before stage has come to after one more hook. */
  #heard<K extends StageKind>(by: HookEntry, passed: Passed<K>, given: StageOutcome | undefined): Passed<K> {
    const { stage, messagesBy } = passed;
    const entered = passed.entered + 1;
    if (given === undefined) return { stage, messagesBy, entered };
    const { patch } = given.kind === "next" || given.kind === "defer" ? given : NO_PATCH;
    const patched = patch === undefined ? stage : this.#patched(by, stage, patch, entered);
    if (given.kind !== "next") return { stage: patched, outcome: given, by, entered };
    const gaveMessages = "messages" in given.patch && given.patch.messages !== undefined;
    return { stage: patched, messagesBy: gaveMessages ? by : messagesBy, entered };
  }

  /**
   * Runs an after stage in reverse for every hook that has no matching before or whose before was entered (H1). `each` gets what a
   * hook asked for and returns the stage the next hook sees. Throws do not keep the others from running; `failed` hears of them. At once where every
   * hook answers at once.
   */
  reverse<K extends StageKind>(
    stage: StageOf<K>,
    entered: number,
    each: Back<K>["each"],
    failed: Back<K>["failed"],
    extras: ContextExtras = {},
  ): Awaitable<StageOf<K>> {
    return this.#backward(0, stage, { entered, each, failed, extras });
  }

  #backward<K extends StageKind>(from: number, stage: StageOf<K>, way: Back<K>): Awaitable<StageOf<K>> {
    const entries = this.#index[stage.kind];
    let current = stage;
    for (let i = from; i < entries.length; i++) {
      const entry = entries[i] as HookEntry;
      if (entry.pair >= way.entered) continue;
      try {
        const outcome = this.#ask(entry, current, way.extras, ALL_ENTERED);
        if (isThenable(outcome)) return this.#backwardLater(i, current, outcome, way);
        current = this.#left(entry, current, outcome, way);
      } catch (error) {
        current = this.#missed(entry, current, error, way);
      }
    }
    return current;
  }

  async #backwardLater<K extends StageKind>(
    at: number,
    stage: StageOf<K>,
    answer: PromiseLike<StageOutcome | undefined>,
    way: Back<K>,
  ): Promise<StageOf<K>> {
    const entry = this.#index[stage.kind][at] as HookEntry;
    let next: StageOf<K>;
    try {
      next = this.#left(entry, stage, await answer, way);
    } catch (error) {
      next = this.#missed(entry, stage, error, way);
    }
    return this.#backward(at + 1, next, way);
  }

  /** What one hook left of an after stage. */
  #left<K extends StageKind>(
    entry: HookEntry,
    stage: StageOf<K>,
    given: StageOutcome | undefined,
    { each }: Back<K>,
  ): StageOf<K> {
    if (given === undefined) return stage;
    const { patch } = given.kind === "next" || given.kind === "stop" ? given : NO_PATCH;
    const patched = patch === undefined ? stage : this.#patched(entry, stage, patch, ALL_ENTERED);
    return given.kind === "next" ? patched : each(given, patched);
  }

  #missed<K extends StageKind>(entry: HookEntry, stage: StageOf<K>, error: unknown, { failed }: Back<K>): StageOf<K> {
    const problem = failure(entry, stage.kind, error, ALL_ENTERED);
    if (!(problem instanceof HookFailure)) throw problem;
    return failed(problem, stage);
  }

  /** Reports a failure that changes no outcome (T5). */
  secondary(stage: StageKind | "settled", error: unknown): void {
    const failure = error instanceof HookFailure ? error.cause : error;
    if (Defect.is(failure)) throw failure;
    const operation = error instanceof HookFailure ? `hook ${safeLabel(error.entry.name)}` : "callback";
    this.#view.secondary({ stage, operation, errorCategory: errorCategory(failure) });
  }

  #ask<K extends StageKind>(
    entry: HookEntry,
    stage: StageOf<K>,
    extras: ContextExtras,
    entered: number,
  ): StageOutcome | undefined | Promise<StageOutcome | undefined> {
    const context = new HookStageContext(this.#view, entry.name, stage.kind, extras);
    try {
      const answer = this.#view.within(() => entry.hook.onStage(copyStage(stage as Stage), context));
      return isThenable(answer) ? this.#await(entry, stage.kind, answer, entered) : allowed(stage.kind, answer);
    } catch (error) {
      throw failure(entry, stage.kind, error, entered);
    }
  }

  async #await(
    entry: HookEntry,
    kind: StageKind,
    answer: PromiseLike<StageOutcome | undefined | void>,
    entered: number,
  ): Promise<StageOutcome | undefined> {
    const ms = entry.hook.timeoutMs ?? this.#view.hookTimeoutMs;
    const settled = await this.#view.scope.bounded(() => answer, ms, { interruptible: kind === "beforeTool" });
    try {
      if (!settled.ok) throw settled.error;
      return allowed(kind, settled.value);
    } catch (error) {
      throw failure(entry, kind, error, entered);
    }
  }

  #patched<K extends StageKind>(entry: HookEntry, stage: StageOf<K>, patch: unknown, entered: number): StageOf<K> {
    try {
      return applyPatch(stage, patch, this.#view);
    } catch (error) {
      throw failure(entry, stage.kind, error, entered);
    }
  }
}

const NO_PATCH = { patch: undefined };

function allowed(kind: StageKind, outcome: StageOutcome | undefined | void): StageOutcome | undefined {
  if (outcome === undefined || outcome === null) return undefined;
  const kinds: readonly OutcomeKind[] = STAGE_OUTCOMES[kind];
  if (typeof outcome === "object" && kinds.includes(outcome.kind) && isWhole(outcome)) return outcome;
  throw new TypeError(`${kind} does not allow this outcome`);
}

/** Wraps what a hook threw; a `Defect` and what was wrapped before pass untouched. */
function failure(entry: HookEntry, kind: StageKind, error: unknown, entered: number): unknown {
  return Defect.is(error) || error instanceof HookFailure ? error : new HookFailure(entry, kind, error, entered);
}
