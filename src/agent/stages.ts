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
  entered = ALL_ENTERED;
  constructor(entry: HookEntry, kind: StageKind, cause: unknown) {
    super(`hook ${safeLabel(entry.name)} failed at ${kind}`, { cause });
    this.name = "HookFailure";
    this.entry = entry;
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

  /** Runs a before stage forward; the first outcome that ends wins. Throws `HookFailure`. */
  async forward<K extends StageKind>(stage: StageOf<K>, extras: ContextExtras = {}): Promise<Passed<K>> {
    const entries = this.#index[stage.kind];
    let current = stage;
    let messagesBy: HookEntry | undefined;
    for (let i = 0; i < entries.length; i++) {
      const entry = entries[i] as HookEntry;
      try {
        const outcome = this.#ask(entry, current, extras);
        const given = isThenable(outcome) ? await outcome : outcome;
        if (given === undefined) continue;
        if (given.kind === "defer" && given.patch !== undefined) current = this.#patched(entry, current, given.patch);
        if (given.kind !== "next") return { stage: current, outcome: given, by: entry, entered: i + 1 };
        current = this.#patched(entry, current, given.patch);
        if ("messages" in given.patch && given.patch.messages !== undefined) messagesBy = entry;
      } catch (error) {
        if (error instanceof HookFailure) error.entered = i + 1;
        throw error;
      }
    }
    return { stage: current, messagesBy, entered: entries.length };
  }

  /**
   * Runs an after stage in reverse for every hook that has no matching before or whose before was entered (H1). `each` gets what a
   * hook asked for and returns the stage the next hook sees. Throws do not keep the others from running; `failed` hears of them.
   */
  async reverse<K extends StageKind>(
    stage: StageOf<K>,
    entered: number,
    each: (outcome: StageOutcome, stage: StageOf<K>) => StageOf<K>,
    failed: (failure: HookFailure, stage: StageOf<K>) => StageOf<K>,
    extras: ContextExtras = {},
  ): Promise<StageOf<K>> {
    let current = stage;
    for (const entry of this.#index[stage.kind]) {
      if (entry.pair >= entered) continue;
      try {
        const outcome = this.#ask(entry, current, extras);
        const given = isThenable(outcome) ? await outcome : outcome;
        if (given === undefined) continue;
        if (given.kind === "next" || (given.kind === "stop" && given.patch !== undefined)) {
          current = this.#patched(entry, current, given.patch);
        }
        if (given.kind !== "next") current = each(given, current);
      } catch (error) {
        const problem = failure(entry, stage.kind, error);
        if (!(problem instanceof HookFailure)) throw problem;
        current = failed(problem, current);
      }
    }
    return current;
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
  ): StageOutcome | undefined | Promise<StageOutcome | undefined> {
    const context = new HookStageContext(this.#view, entry.name, stage.kind, extras);
    try {
      const answer = this.#view.within(() => entry.hook.onStage(copyStage(stage as Stage), context));
      if (!isThenable(answer)) return this.#allowed(entry, stage.kind, answer);
      return this.#await(entry, stage.kind, answer);
    } catch (error) {
      throw failure(entry, stage.kind, error);
    }
  }

  async #await(
    entry: HookEntry,
    kind: StageKind,
    answer: PromiseLike<StageOutcome | undefined | void>,
  ): Promise<StageOutcome | undefined> {
    const ms = entry.hook.timeoutMs ?? this.#view.hookTimeoutMs;
    const settled = await this.#view.scope.bounded(() => answer, ms, { interruptible: kind === "beforeTool" });
    if (!settled.ok) throw failure(entry, kind, settled.error);
    return this.#allowed(entry, kind, settled.value);
  }

  #allowed(entry: HookEntry, kind: StageKind, outcome: StageOutcome | undefined | void): StageOutcome | undefined {
    if (outcome === undefined || outcome === null) return undefined;
    const allowed: readonly OutcomeKind[] = STAGE_OUTCOMES[kind];
    if (typeof outcome === "object" && allowed.includes(outcome.kind) && isWhole(outcome)) return outcome;
    throw failure(entry, kind, new TypeError(`${kind} does not allow this outcome`));
  }

  #patched<K extends StageKind>(entry: HookEntry, stage: StageOf<K>, patch: unknown): StageOf<K> {
    try {
      return applyPatch(stage, patch, this.#view);
    } catch (error) {
      throw failure(entry, stage.kind, error);
    }
  }
}

/** Wraps what a hook threw; a `Defect` and what was wrapped before pass untouched. */
function failure(entry: HookEntry, kind: StageKind, error: unknown): unknown {
  return Defect.is(error) || error instanceof HookFailure ? error : new HookFailure(entry, kind, error);
}
