import { Defect, errorCategory } from "../../domain/errors.js";
import { safeLabel } from "../../domain/safe-label.js";
import {
  type OutcomeKind,
  STAGE_OUTCOMES,
  type Stage,
  type StageKind,
  type StageOutcome,
  type StagePatches,
} from "../../domain/stage.js";
import { errorResult } from "../../domain/tool.js";
import type { PipelineHook, StageContext } from "../../ports/hook.js";

/** One after or error stage on its way through several hooks: what they changed, what they asked for, who failed. */
export class AfterStage {
  #stage: Stage;
  #patch: StagePatches["afterModel"] | StagePatches["afterTool"] | undefined;
  #stop: Extract<StageOutcome, { kind: "stop" }> | undefined;
  #first: StageOutcome | undefined;
  readonly #failures: unknown[] = [];

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  /** The stage as the next hook sees it. */
  get stage(): Stage {
    return this.#stage;
  }

  /** Throws a TypeError for an outcome the stage does not allow. */
  take(outcome: StageOutcome | undefined | void): void {
    if (outcome === undefined) return;
    if (!isAllowed(this.#stage.kind, outcome)) throw new TypeError(`${this.#stage.kind} does not allow this outcome`);
    if (outcome.kind === "next") this.#change(outcome.patch);
    else if (outcome.kind === "stop") this.#stop ??= outcome;
    else if (outcome.kind !== "patch") this.#first ??= outcome;
    else if (this.#stage.kind === "afterTool") this.#change({ result: { ...this.#stage.result, ...outcome.patch } });
  }

  /** Notes a failure; where the hook asked for it, the result is withheld. Rethrows a `Defect`. */
  fail(error: unknown, hook: PipelineHook): void {
    if (Defect.is(error)) throw error;
    this.#failures.push(error);
    if (this.#stage.kind !== "afterTool" || hook.onFailure?.afterTool !== "error-result") return;
    this.#change({
      result: errorResult(`The result is withheld: hook ${safeLabel(hook.name ?? "without a name")} failed.`),
    });
  }

  /** What all hooks together ask for. Throws what failed when there is nothing else to tell. */
  outcome(context: StageContext): StageOutcome | undefined {
    const patch = this.#patch;
    const changed: StageOutcome | undefined = patch && { kind: "next", patch };
    const stopped: StageOutcome | undefined = this.#stop && { ...this.#stop, ...(patch && { patch }) };
    const outcome = this.#first ?? stopped ?? changed;
    if (outcome === undefined && this.#failures.length === 1) throw this.#failures[0];
    if (outcome === undefined && this.#failures.length > 1)
      throw new AggregateError(this.#failures, "several hooks failed");
    for (const failure of this.#failures) {
      context.emit("secondary_failure", { stage: this.#stage.kind, errorCategory: errorCategory(failure) });
    }
    return outcome;
  }

  #change(patch: object): void {
    this.#patch = { ...this.#patch, ...patch };
    this.#stage = { ...this.#stage, ...patch } as Stage;
  }
}

function isAllowed(kind: StageKind, outcome: StageOutcome): boolean {
  const allowed: readonly OutcomeKind[] = STAGE_OUTCOMES[kind];
  return allowed.includes(outcome.kind);
}
