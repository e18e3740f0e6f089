import type { NamedStep, Outcome, Settling, StepScope } from "../ports/step-scope.js";

type Failure = { readonly error: unknown };

/** One wave of steps: runs at most `limit` at once, settles them one at a time as they end, and is over when all is stored. */
export class Wave<T> {
  readonly #scope: Pick<StepScope, "step">;
  readonly #steps: readonly NamedStep<T>[];
  readonly #onSettled: (index: number, outcome: Outcome<T>) => Promise<Settling>;
  readonly #over: (failure: Failure | undefined) => void;
  readonly #ended: { readonly index: number; readonly outcome: Outcome<T> }[] = [];
  #next = 0;
  /** Steps that run, results that are being settled, and results on their way to the store. */
  #open = 0;
  #settling = false;
  #failure: Failure | undefined;

  constructor(
    scope: Pick<StepScope, "step">,
    steps: readonly NamedStep<T>[],
    onSettled: (index: number, outcome: Outcome<T>) => Promise<Settling>,
    over: (failure: Failure | undefined) => void,
  ) {
    this.#scope = scope;
    this.#steps = steps;
    this.#onSettled = onSettled;
    this.#over = over;
  }

  start(limit: number): void {
    for (let i = 0; i < Math.min(limit, this.#steps.length); i++) this.#startNext();
    if (this.#open === 0) this.#over(this.#failure);
  }

  /** Starts one more step, unless the wave failed: then nothing new begins. */
  #startNext(): void {
    const index = this.#next;
    const step = this.#steps[index];
    if (step === undefined || this.#failure !== undefined) return;
    this.#next += 1;
    this.#open += 1;
    this.#scope.step(step.name, step.run, step).then(
      (outcome) => {
        step.ended?.(outcome);
        this.#ended.push({ index, outcome });
        if (!this.#settling) this.#settleNext();
      },
      (error: unknown) => this.#close({ error }),
    );
  }

  /** One at a time; the next begins when this one is on its way to the store. */
  #settleNext(): void {
    const ended = this.#ended.shift();
    this.#settling = ended !== undefined;
    if (ended === undefined) return;
    this.#onSettled(ended.index, ended.outcome).then(
      ({ done }) => {
        this.#startNext();
        done.then(
          () => this.#close(undefined),
          (error: unknown) => this.#close({ error }),
        );
        this.#settleNext();
      },
      (error: unknown) => {
        this.#close({ error });
        this.#settleNext();
      },
    );
  }

  #close(failure: Failure | undefined): void {
    this.#failure ??= failure;
    this.#open -= 1;
    if (this.#open === 0) this.#over(this.#failure);
  }
}
