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
import { withheldResponse } from "../../domain/model-response.js";
import { errorResult } from "../../domain/tool.js";
import type { OnFailure, PipelineHook, StageContext } from "../../ports/hook.js";

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

  /** Notes a failure; where the hook asked for it, the reply or result is withheld. Rethrows a `Defect`. */
  fail(error: unknown, hook: PipelineHook): void {
    if (Defect.is(error)) throw error;
    this.#failures.push(error);
    if (!isWithheld(this.#stage.kind, hook.onFailure)) return;
    const why = `hook ${safeLabel(hook.name ?? "without a name")} failed`;
    if (this.#stage.kind === "afterModel") this.#change({ response: withheldResponse(this.#stage.response, why) });
    if (this.#stage.kind === "afterTool") this.#change({ result: errorResult(`The result is withheld: ${why}.`) });
  }

  /** What all hooks together ask for. Throws what failed when there is nothing else to tell, and the chain's own failure withholds nothing. */
  outcome(context: StageContext, chain: OnFailure | undefined): StageOutcome | undefined {
    const patch = this.#patch;
    const changed: StageOutcome | undefined = patch && { kind: "next", patch };
    const stopped: StageOutcome | undefined = this.#stop && { ...this.#stop, ...(patch && { patch }) };
    const outcome = this.#first ?? stopped ?? changed;
    const throws = outcome === undefined && !isWithheld(this.#stage.kind, chain);
    if (throws && this.#failures.length === 1) throw this.#failures[0];
    if (throws && this.#failures.length > 1) throw new AggregateError(this.#failures, "several hooks failed");
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

/** Whether a reply or result is not let pass by a hook that failed. */
function isWithheld(kind: StageKind, onFailure: OnFailure = {}): boolean {
  if (kind === "afterModel") return onFailure.afterModel === "withhold";
  return kind === "afterTool" && onFailure.afterTool === "error-result";
}

function isAllowed(kind: StageKind, outcome: StageOutcome): boolean {
  const allowed: readonly OutcomeKind[] = STAGE_OUTCOMES[kind];
  return allowed.includes(outcome.kind);
}
