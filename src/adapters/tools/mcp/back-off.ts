import type { McpRuntime } from "./mcp-runtime.js";

const FIRST_MS = 500;
const LONGEST_WAIT_MS = 60_000;
/** A connection that held that long makes the next failure a first one. */
const STABLE_MS = 30_000;

/** When a lost connection is tried again: doubled waits from half a second to a minute, and one timer at most. */
export class BackOff {
  readonly #runtime: McpRuntime;
  #attempts = 0;
  #upSince: number | undefined;
  #cancel: (() => void) | undefined;

  constructor(runtime: McpRuntime) {
    this.#runtime = runtime;
  }

  /** Nothing has failed since the connection was last stable: whoever needs it need not wait. */
  get fresh(): boolean {
    return this.#attempts <= 1;
  }

  get waiting(): boolean {
    return this.#cancel !== undefined;
  }

  up(): void {
    this.#upSince = this.#runtime.elapsed();
  }

  /** It has done what it is for: the next failure is a first one. */
  proved(): void {
    this.#attempts = 0;
  }

  /** Runs `retry` after the wait, which it returns. */
  schedule(retry: () => void): number {
    this.stop();
    const since = this.#upSince;
    if (since !== undefined && this.#runtime.elapsed() - since >= STABLE_MS) this.#attempts = 0;
    this.#upSince = undefined;
    const wait = Math.min(FIRST_MS * 2 ** this.#attempts, LONGEST_WAIT_MS);
    this.#attempts += 1;
    this.#cancel = this.#runtime.after(wait, () => {
      this.#cancel = undefined;
      retry();
    });
    return wait;
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }
}
