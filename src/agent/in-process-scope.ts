import { Defect } from "../domain/errors.js";
import type { Runtime } from "../ports/runtime.js";
import type { NamedStep, Outcome, Settling, StepContext, StepOptions, StepScope } from "../ports/step-scope.js";

/**
 * How long after an abort user code that was running may go on before the turn goes on without it, and hooks that began then; saving may
 * take until `SAVE_MS`. What begins later must settle at once, so that many that never do cannot add up: a turn settles within 1 s (L5).
 */
export const ABORT_GRACE_MS = 500;
const LATE_MS = 750;
const SAVE_MS = 950;

/** Why a step or hook was given up. */
export class CutOff extends Error {
  readonly why: "aborted" | "timeout";
  constructor(why: "aborted" | "timeout") {
    super(why === "aborted" ? "gave no answer after the abort" : "took too long");
    this.name = "CutOff";
    this.why = why;
  }
}

type Waiting = { readonly cut: (why: CutOff["why"]) => void; readonly keep: boolean; readonly deadline: number };

/** How an in-process scope is made. `strict` throws a `Defect` for a step name used twice. */
export type InProcessOptions = {
  readonly signal: AbortSignal;
  readonly runtime: Runtime;
  readonly strict?: boolean | undefined;
};

/**
 * Runs steps where they are, records nothing. Owned by one turn, which calls `abort` when its signal fires and `close` at its end;
 * it keeps no listener. A step costs one promise and one entry in a set.
 */
export class InProcessScope implements StepScope {
  readonly #runtime: Runtime;
  readonly #context: { readonly signal: AbortSignal };
  readonly #names: Set<string> | undefined;
  readonly #waiting = new Set<Waiting>();
  #alarm: { readonly at: number; readonly cancel: () => void } | undefined;
  #grace: (() => void) | undefined;
  #over: "nothing" | "code" | "all" = "nothing";

  constructor(options: InProcessOptions) {
    this.#runtime = options.runtime;
    this.#context = { signal: options.signal };
    this.#names = options.strict === true ? new Set() : undefined;
  }

  step<T>(name: string, run: (context: StepContext) => Promise<T>, options?: StepOptions): Promise<Outcome<T>> {
    if (this.#names !== undefined) this.#claim(this.#names, name);
    const context: StepContext = { signal: this.#context.signal, attempt: 0, key: name };
    return this.#race(() => run(context), options?.keep === true, this.#deadline(options?.timeoutMs));
  }

  bounded<T>(run: () => PromiseLike<T>, ms?: number, options?: StepOptions): Promise<Outcome<T>> {
    return this.#race(run, options?.keep === true, this.#deadline(ms));
  }

  async all<T>(
    steps: readonly NamedStep<T>[],
    onSettled: (index: number, outcome: Outcome<T>) => Promise<Settling>,
    options: { readonly limit?: number } = {},
  ): Promise<void> {
    const limit = options.limit ?? steps.length;
    const published: Promise<void>[] = [];
    let turn: Promise<void> = Promise.resolve();
    let next = 0;
    const worker = async (): Promise<void> => {
      while (next < steps.length) {
        const index = next++;
        const step = steps[index] as NamedStep<T>;
        const outcome = await this.step(step.name, step.run);
        const settle = turn.then(async () => void published.push((await onSettled(index, outcome)).done));
        turn = settle.catch(() => undefined);
        await settle;
      }
    };
    const guarded = (): Promise<void> =>
      worker().catch((error: unknown) => {
        next = steps.length;
        throw error;
      });
    const workers = Array.from({ length: Math.min(limit, steps.length) }, guarded);
    const ends = await Promise.allSettled(workers);
    const stored = await Promise.allSettled(published);
    for (const end of [...ends, ...stored]) if (end.status === "rejected") throw end.reason;
  }

  /** Gives running code the grace, then settles what is left without it. */
  abort(): void {
    if (this.#grace !== undefined) return;
    const giveUp = (over: "nothing" | "code" | "all"): void => {
      this.#over = over;
      this.#cut((entry) => over === "all" || !entry.keep, "aborted");
    };
    const grace = this.#runtime.after(ABORT_GRACE_MS, () => giveUp("nothing"));
    const late = this.#runtime.after(LATE_MS, () => giveUp("code"));
    const save = this.#runtime.after(SAVE_MS, () => giveUp("all"));
    this.#grace = () => {
      grace();
      late();
      save();
    };
  }

  /** Cancels every timer. Nothing may be started afterwards. */
  close(): void {
    this.#alarm?.cancel();
    this.#alarm = undefined;
    this.#grace?.();
  }

  #deadline(ms: number | undefined): number {
    return ms === undefined ? Number.POSITIVE_INFINITY : this.#runtime.now() + ms;
  }

  #race<T>(run: () => PromiseLike<T>, keep: boolean, deadline: number): Promise<Outcome<T>> {
    return new Promise<Outcome<T>>((resolve, reject) => {
      const entry: Waiting = {
        keep,
        deadline,
        cut: (why) => resolve({ ok: false, error: new CutOff(why) }),
      };
      const fail = (error: unknown): void => {
        this.#waiting.delete(entry);
        if (Defect.is(error)) reject(error);
        else resolve({ ok: false, error });
      };
      try {
        const running = run();
        this.#waiting.add(entry);
        if (deadline !== Number.POSITIVE_INFINITY) this.#arm(deadline);
        if (this.#over === "all" || (this.#over === "code" && !keep)) this.#cutSoon(entry);
        running.then((value) => {
          this.#waiting.delete(entry);
          resolve({ ok: true, value });
        }, fail);
      } catch (error) {
        fail(error);
      }
    });
  }

  #cut(which: (entry: Waiting) => boolean, why: CutOff["why"]): void {
    for (const entry of [...this.#waiting]) {
      if (!which(entry)) continue;
      this.#waiting.delete(entry);
      entry.cut(why);
    }
  }

  #cutSoon(entry: Waiting): void {
    this.#runtime.after(0, () => this.#cut((waiting) => waiting === entry, "aborted"), { keepAlive: true });
  }

  /** One timer serves all deadlines: it is moved only for an earlier one, and set again for what is left when it fires. */
  #arm(deadline: number): void {
    if (this.#alarm !== undefined && this.#alarm.at <= deadline) return;
    this.#alarm?.cancel();
    const cancel = this.#runtime.after(Math.max(0, deadline - this.#runtime.now()), () => {
      this.#alarm = undefined;
      const now = this.#runtime.now();
      this.#cut((entry) => entry.deadline <= now, "timeout");
      const rest = Math.min(...[...this.#waiting].map((entry) => entry.deadline));
      if (rest !== Number.POSITIVE_INFINITY) this.#arm(rest);
    });
    this.#alarm = { at: deadline, cancel };
  }

  #claim(names: Set<string>, name: string): void {
    if (names.has(name)) throw new Defect(`step name used twice: ${name}`);
    names.add(name);
  }
}
