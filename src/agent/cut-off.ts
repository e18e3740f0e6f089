import { Defect } from "../domain/errors.js";
import type { Outcome, StepOptions } from "../ports/step-scope.js";

/** Why a step or hook was given up. */
export class CutOff extends Error {
  readonly why: "aborted" | "interrupted" | "timeout";
  constructor(why: CutOff["why"]) {
    super(why === "timeout" ? "took too long" : `gave no answer after it was ${why}`);
    this.name = "CutOff";
    this.why = why;
  }
}

/** The deadline of what has none. */
export const NEVER = Number.POSITIVE_INFINITY;

/** What a scope may give up. `interrupted`: an interruption met it, and it is given up soon unless it ends. */
export interface Cuttable {
  readonly keep: boolean;
  readonly interruptible: boolean;
  readonly deadline: number;
  interrupted: boolean;
  cut(why: CutOff["why"]): void;
}

/** A step or hook that runs, and who waits for it. Settles once, by its own end or by being cut off. */
export class RunningStep<T> implements Cuttable {
  readonly keep: boolean;
  readonly interruptible: boolean;
  readonly deadline: number;
  interrupted = false;
  readonly #over: (entry: Cuttable) => void;
  readonly #resolve: (outcome: Outcome<T>) => void;
  readonly #reject: (error: unknown) => void;

  constructor(
    options: StepOptions,
    deadline: number,
    over: (entry: Cuttable) => void,
    resolve: (outcome: Outcome<T>) => void,
    reject: (error: unknown) => void,
  ) {
    this.keep = options.keep ?? false;
    this.interruptible = options.interruptible ?? false;
    this.deadline = deadline;
    this.#over = over;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  done(value: T): void {
    this.#over(this);
    this.#resolve({ ok: true, value });
  }

  fail(error: unknown): void {
    this.#over(this);
    if (Defect.is(error)) this.#reject(error);
    else this.#resolve({ ok: false, error });
  }

  cut(why: CutOff["why"]): void {
    this.fail(new CutOff(why));
  }
}
