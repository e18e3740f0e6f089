import { Defect } from "../domain/errors.js";
import type { Outcome } from "../ports/step-scope.js";

/** Why a step or hook was given up. */
export class CutOff extends Error {
  readonly why: "aborted" | "interrupted" | "timeout";
  constructor(why: CutOff["why"]) {
    super(why === "timeout" ? "took too long" : `gave no answer after it was ${why}`);
    this.name = "CutOff";
    this.why = why;
  }
}

/** What a scope may give up. */
export type Cuttable = { readonly bounds: Bounds; cut(why: CutOff["why"]): void };

/** `deadline` is infinite where there is none. */
export type Bounds = {
  readonly keep: boolean;
  readonly interruptible: boolean;
  readonly deadline: number;
};

/** A step or hook that runs, and who waits for it. Settles once, by its own end or by being cut off. */
export class RunningStep<T> {
  readonly bounds: Bounds;
  readonly #over: (entry: Cuttable) => void;
  readonly #resolve: (outcome: Outcome<T>) => void;
  readonly #reject: (error: unknown) => void;

  constructor(
    bounds: Bounds,
    over: (entry: Cuttable) => void,
    resolve: (outcome: Outcome<T>) => void,
    reject: (error: unknown) => void,
  ) {
    this.#over = over;
    this.bounds = bounds;
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
