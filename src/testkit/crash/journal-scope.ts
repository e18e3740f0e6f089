import { InProcessScope } from "../../agent/in-process-scope.js";
import { Wave } from "../../agent/wave.js";
import type { Runtime } from "../../ports/runtime.js";
import type { NamedStep, Outcome, Settling, StepContext, StepOptions, StepScope } from "../../ports/step-scope.js";
import type { Journal } from "./journal.js";

/**
 * Where the world stops: behind a step, whose effect has happened. `acknowledged`: its outcome was recorded and the turn knows it; else the
 * world stops before anybody hears of it.
 */
export type CrashPoint = { readonly step: string; readonly acknowledged: boolean };

/** How a scope on a journal is made. */
export type JournalOptions = {
  readonly journal: Journal;
  readonly runtime: Runtime;
  /** Default `"in-order"`: a wave is settled in input order when all of it has ended, as on an engine. `"as-they-end"`: as in one process. */
  readonly waves?: "in-order" | "as-they-end" | undefined;
  readonly crash?: CrashPoint | undefined;
  /** Told once when the crash point is reached. */
  readonly onCrash?: (() => void) | undefined;
};

const stopped = <T>(): Promise<T> => Promise.withResolvers<T>().promise;

/**
 * Runs the steps of one run of a turn and records them; those whose outcome is recorded already are not run again, their record answers. Serves
 * one run; the next, after a crash, has a scope of its own on the same journal. Behind its crash point nothing settles any more, whatever is called.
 */
export class JournalScope implements StepScope {
  readonly #options: JournalOptions;
  readonly #inner: InProcessScope;
  #place = 0;
  #stopped = false;

  constructor(options: JournalOptions) {
    this.#options = options;
    this.#inner = new InProcessScope({ signal: new AbortController().signal, runtime: options.runtime });
  }

  /** The world has stopped. */
  get crashed(): boolean {
    return this.#stopped;
  }

  async step<T>(name: string, run: (context: StepContext) => Promise<T>, options?: StepOptions): Promise<Outcome<T>> {
    if (this.#stopped) return stopped();
    const { journal, crash } = this.#options;
    const known = journal.begin(this.#place++, name);
    if (known !== undefined) return known as Outcome<T>;
    const attempt = journal.attempt(name);
    const outcome = await this.#inner.step(name, (context) => run({ ...context, attempt }), options);
    if (this.#stopped) return stopped();
    if (crash?.step !== name) return journal.record(name, outcome) as Outcome<T>;
    const recorded = crash.acknowledged ? (journal.record(name, outcome) as Outcome<T>) : stopped<Outcome<T>>();
    this.#stop();
    return recorded;
  }

  async all<T>(
    steps: readonly NamedStep<T>[],
    onSettled: (index: number, outcome: Outcome<T>) => Promise<Settling>,
    options: { readonly limit?: number } = {},
  ): Promise<void> {
    if (this.#options.waves === "as-they-end") return this.#wave(steps, onSettled, options);
    const outcomes: Outcome<T>[] = [];
    const keep = async (index: number, outcome: Outcome<T>): Promise<Settling> => {
      outcomes[index] = outcome;
      return { done: Promise.resolve() };
    };
    await this.#wave(steps, keep, options);
    let failure: { readonly error: unknown } | undefined;
    for (const [index, outcome] of outcomes.entries()) {
      try {
        await (await onSettled(index, outcome)).done;
      } catch (error) {
        failure ??= { error };
      }
    }
    if (failure !== undefined) throw failure.error;
  }

  async bounded<T>(run: () => PromiseLike<T>, ms?: number, options?: StepOptions): Promise<Outcome<T>> {
    if (this.#stopped) return stopped();
    const outcome = await this.#inner.bounded(run, ms, options);
    return this.#stopped ? stopped() : outcome;
  }

  abort(): void {
    this.#inner.abort();
  }

  interrupt(): void {
    this.#inner.interrupt();
  }

  release(): void {
    this.#inner.release();
  }

  #stop(): void {
    this.#stopped = true;
    this.#inner.release();
    this.#options.onCrash?.();
  }

  #wave<T>(
    steps: readonly NamedStep<T>[],
    onSettled: (index: number, outcome: Outcome<T>) => Promise<Settling>,
    { limit = steps.length }: { readonly limit?: number },
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      new Wave(this, steps, onSettled, (failure) => (failure === undefined ? resolve() : reject(failure.error))).start(
        limit,
      );
    });
  }
}
