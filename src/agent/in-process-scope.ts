import { Defect } from "../domain/errors.js";
import type { Runtime } from "../ports/runtime.js";
import { type Cuttable, type CutOff, NEVER, RunningStep } from "./cut-off.js";
import { Wave } from "./wave.js";
import type { NamedStep, Outcome, Settling, StepContext, StepOptions, StepScope } from "../ports/step-scope.js";

/**
 * How long after an abort user code that was running may go on before the turn goes on without it, and hooks that began then; saving may
 * take until `SAVE_MS`. What begins later must settle at once, so that many that never do cannot add up: a turn settles within 1 s (L5).
 */
const ABORT_GRACE_MS = 500;
const LATE_MS = 750;
const SAVE_MS = 950;
/** Who awaits a turn gets its end, even if nothing else is left to keep the process. */
const HOLD = { keepAlive: true };
const NO_OPTIONS: StepOptions = Object.freeze({});

type Alarm = { readonly at: number; readonly cancel: () => void };

/**
 * How an in-process scope is made. `signal` is what steps are given; it aborts nothing by itself. `strict` keeps the names of the
 * steps and rejects with a `Defect` for one used twice; with the names of an earlier run also for the first that differs (L7). A run
 * that goes on beyond them is fine.
 */
export type InProcessOptions = {
  readonly signal: AbortSignal;
  readonly runtime: Runtime;
  readonly strict?: boolean | { readonly names: readonly string[] } | undefined;
};

/**
 * Runs steps where they are, records nothing. Serves one turn at a time, which calls `abort` when its signal fires and `release` at
 * its end; it keeps no listener. A step costs one promise and one entry in a list.
 */
export class InProcessScope implements StepScope {
  readonly #runtime: Runtime;
  readonly #context: { readonly signal: AbortSignal };
  readonly #names: Set<string> | undefined;
  readonly #expected: readonly string[];
  /** In the order in which they began. */
  readonly #waiting: Cuttable[] = [];
  #alarm: Alarm | undefined;
  #grace: (() => void) | undefined;
  #interruption: (() => void) | undefined;
  #interruptions = 0;
  #over: "nothing" | "code" | "all" = "nothing";

  constructor(options: InProcessOptions) {
    this.#runtime = options.runtime;
    this.#context = { signal: options.signal };
    const { strict = false } = options;
    this.#names = strict === false ? undefined : new Set();
    this.#expected = typeof strict === "object" ? strict.names : [];
  }

  /** The names of the steps so far, in order; none where the scope is not strict. */
  get names(): string[] {
    return [...(this.#names ?? [])];
  }

  step<T>(name: string, run: (context: StepContext) => Promise<T>, options?: StepOptions): Promise<Outcome<T>> {
    const context: StepContext = { signal: this.#context.signal, attempt: 0, key: name };
    try {
      if (this.#names !== undefined) this.#claim(this.#names, name);
      const before = this.#interruptions;
      const running = run(context);
      return this.#race(running, options?.timeoutMs, options, before !== this.#interruptions);
    } catch (error) {
      return failed(error);
    }
  }

  bounded<T>(run: () => PromiseLike<T>, ms?: number, options?: StepOptions): Promise<Outcome<T>> {
    try {
      return this.#race(run(), ms, options);
    } catch (error) {
      return failed(error);
    }
  }

  all<T>(
    steps: readonly NamedStep<T>[],
    onSettled: (index: number, outcome: Outcome<T>) => Promise<Settling>,
    options: { readonly limit?: number } = {},
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      const wave = new Wave(this, steps, onSettled, (failure) =>
        failure === undefined ? resolve() : reject(failure.error),
      );
      wave.start(options.limit ?? steps.length);
    });
  }

  /** Gives running code the grace, then settles what is left without it. */
  abort(): void {
    if (this.#grace !== undefined) return;
    const giveUp = (over: "nothing" | "code" | "all"): void => {
      this.#over = over;
      this.#cut(({ keep }) => over === "all" || !keep, "aborted");
    };
    const grace = this.#runtime.after(ABORT_GRACE_MS, () => giveUp("nothing"), HOLD);
    const late = this.#runtime.after(LATE_MS, () => giveUp("code"), HOLD);
    const save = this.#runtime.after(SAVE_MS, () => giveUp("all"), HOLD);
    this.#grace = () => {
      grace();
      late();
      save();
    };
  }

  /** Gives what is interruptible and runs now the grace; what begins later is not meant. */
  interrupt(): void {
    this.#interruptions += 1;
    for (const entry of this.#waiting) if (entry.interruptible) entry.interrupted = true;
    this.#interruption ??= this.#runtime.after(
      ABORT_GRACE_MS,
      () => {
        this.#interruption = undefined;
        this.#cut(({ interrupted }) => interrupted, "interrupted");
      },
      HOLD,
    );
  }

  /** Cancels every timer, and forgets the abort: the scope may serve another turn. */
  release(): void {
    this.#alarm?.cancel();
    this.#alarm = undefined;
    this.#grace?.();
    this.#grace = undefined;
    this.#interruption?.();
    this.#interruption = undefined;
    for (const entry of this.#waiting) entry.interrupted = false;
    this.#over = "nothing";
  }

  /** `interrupted`: by what the step did as it began. */
  #race<T>(running: PromiseLike<T>, ms = NEVER, options = NO_OPTIONS, interrupted = false): Promise<Outcome<T>> {
    return new Promise<Outcome<T>>((resolve, reject) => {
      const deadline = ms === NEVER ? NEVER : this.#runtime.elapsed() + ms;
      const waiting = new RunningStep<T>(options, deadline, this.#settled, resolve, reject);
      this.#waiting.push(waiting);
      if (interrupted) waiting.interrupted = waiting.interruptible;
      running.then(
        (value) => waiting.done(value),
        (error: unknown) => waiting.fail(error),
      );
      if (deadline === NEVER) this.#relax();
      else this.#arm(deadline);
      if (this.#over === "all" || (this.#over === "code" && !waiting.keep)) this.#cutSoon(waiting);
    });
  }

  #cut(which: (entry: Cuttable) => boolean, why: CutOff["why"]): void {
    for (const entry of [...this.#waiting]) if (which(entry)) entry.cut(why);
  }

  #cutSoon(entry: Cuttable): void {
    this.#runtime.after(0, () => entry.cut("aborted"), HOLD);
  }

  readonly #settled = (entry: Cuttable): void => {
    const waiting = this.#waiting;
    if (waiting.at(-1) === entry) waiting.pop();
    else if (waiting.includes(entry)) waiting.splice(waiting.indexOf(entry), 1);
    if (waiting.length > 0) this.#relax();
  };

  /** The alarm holds the process, so it goes when only steps without a deadline are left. Between steps it stays, for the next. */
  #relax(): void {
    if (this.#alarm === undefined) return;
    for (const { deadline } of this.#waiting) if (deadline !== NEVER) return;
    this.#alarm.cancel();
    this.#alarm = undefined;
  }

  /** One timer serves all deadlines: it is moved only for an earlier one, and set again for what is left when it fires. */
  #arm(deadline: number): void {
    if (this.#alarm !== undefined && this.#alarm.at <= deadline) return;
    this.#alarm?.cancel();
    this.#set(deadline);
  }

  #rearm(): void {
    this.#alarm = undefined;
    let at = NEVER;
    for (const { deadline } of this.#waiting) at = Math.min(at, deadline);
    if (at !== NEVER) this.#set(at);
  }

  #set(at: number): void {
    const ring = (): void => {
      this.#alarm = undefined;
      const now = this.#runtime.elapsed();
      this.#cut(({ deadline }) => deadline <= now, "timeout");
      this.#rearm();
    };
    const cancel = this.#runtime.after(Math.max(0, at - this.#runtime.elapsed()), ring, HOLD);
    this.#alarm = { at, cancel };
  }

  #claim(names: Set<string>, name: string): void {
    if (names.has(name)) throw new Defect(`step name used twice: ${name}`);
    const expected = this.#expected[names.size];
    if (expected !== undefined && expected !== name)
      throw new Defect(`step ${names.size} is ${name}, and was ${expected} in the run before`);
    names.add(name);
  }
}

/** What threw before it gave a promise. */
function failed<T>(error: unknown): Promise<Outcome<T>> {
  return Defect.is(error) ? Promise.reject(error) : Promise.resolve({ ok: false, error });
}
