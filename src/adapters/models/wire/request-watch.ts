import { type DecoratorRuntime, HOLD } from "../common/decorator-runtime.js";
import { ModelFailure } from "./model-failure.js";

/**
 * Ends one request early: when the caller aborts, or when nothing was heard for too long. One listener on the caller's signal and one
 * timer, both gone after `close`. The caller's signal itself is never handed on: fetch would leave listeners on it.
 */
export class RequestWatch {
  readonly #caller: AbortSignal;
  readonly #runtime: DecoratorRuntime;
  readonly #controller = new AbortController();
  readonly #onStop = new Set<() => void>();
  #cancelTimer = (): void => undefined;
  #patience = 0;
  #awaited = "";
  #heard = 0;
  #settled = false;
  #stopped = false;
  #failure: ModelFailure | undefined;

  constructor(caller: AbortSignal, runtime: DecoratorRuntime) {
    this.#caller = caller;
    this.#runtime = runtime;
    if (caller.aborted) this.#abort();
    else caller.addEventListener("abort", this.#abort);
  }

  /** Aborted as soon as the request must end, and by `close`. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** True when no more may be read; `check` tells whether that is a failure. */
  get stopped(): boolean {
    return this.#stopped;
  }

  /** True when what was read is a whole reply: a broken connection is the end then, no failure. */
  get settled(): boolean {
    return this.#settled;
  }

  /** Throws what ended the request early. */
  check(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** From now on silence longer than `ms` is a timeout, and no reply is whole; `awaited` says what did not come. */
  expect(ms: number, awaited: string): void {
    this.#settled = false;
    this.#await(ms, awaited);
  }

  /** Something that counts was heard. */
  progress(): void {
    this.#heard = this.#runtime.elapsed();
  }

  /** The reply is whole: from now on silence longer than `ms` ends the reading. */
  settle(ms: number): void {
    this.#settled = true;
    this.#await(Math.min(ms, this.#patience), "");
  }

  /** Runs `stop` once when the request ends early, at once if it already has. */
  onStop(stop: () => void): void {
    if (this.#stopped) stop();
    else this.#onStop.add(stop);
  }

  /** Settles like `work`, or rejects as soon as the request must end, whether `work` heeds the signal or not. */
  guard<T>(work: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const stop = (): void => reject(this.#failure);
      const settled = (): unknown => this.#onStop.delete(stop);
      this.onStop(stop);
      if (!this.#stopped) work().then(resolve, reject).finally(settled);
    });
  }

  /** Idempotent. Removes listener and timer and lets go of the connection. */
  close(): void {
    this.#cancelTimer();
    this.#caller.removeEventListener("abort", this.#abort);
    this.#onStop.clear();
    this.#controller.abort();
  }

  readonly #abort = (): void => this.#stop(new ModelFailure("aborted", "the request was aborted"));

  #stop(failure: ModelFailure | undefined): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#failure = failure;
    this.#cancelTimer();
    for (const stop of this.#onStop) stop();
    this.#onStop.clear();
    this.#controller.abort();
  }

  #await(ms: number, awaited: string): void {
    this.#awaited = awaited;
    this.#patience = ms;
    this.progress();
    this.#arm(ms);
  }

  #arm(ms: number): void {
    this.#cancelTimer();
    if (!this.#stopped) this.#cancelTimer = this.#runtime.after(ms, this.#ring, HOLD);
  }

  readonly #ring = (): void => {
    const left = this.#heard + this.#patience - this.#runtime.elapsed();
    if (left > 0) this.#arm(left);
    else if (this.#settled) this.#stop(undefined);
    else this.#stop(new ModelFailure("timeout", `no ${this.#awaited} within ${this.#patience} ms`));
  };
}
