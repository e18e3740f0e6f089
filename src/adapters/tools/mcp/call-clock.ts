import type { McpRuntime } from "./mcp-runtime.js";

/** Why a call was given up. */
export type GivenUp = "aborted" | "silent" | "too-long";

/**
 * The time one call may take: `silenceMs` since the last sign of life, `totalMs` altogether. Its signal fires when that is over, or with the
 * caller's. Time in which a person is asked does not count. Until `end` it is one listener and two timers.
 */
export class CallClock {
  readonly #controller = new AbortController();
  readonly #runtime: McpRuntime;
  readonly #caller: AbortSignal;
  readonly #limits: { readonly silenceMs: number; readonly totalMs: number };
  #left: number;
  #since = 0;
  #held = false;
  #stops: (() => void)[] = [];
  #givenUp: GivenUp | undefined;

  constructor(
    caller: AbortSignal,
    limits: { readonly silenceMs: number; readonly totalMs: number },
    runtime: McpRuntime,
  ) {
    this.#caller = caller;
    this.#limits = limits;
    this.#left = limits.totalMs;
    this.#runtime = runtime;
    if (caller.aborted) this.#abort();
    else {
      caller.addEventListener("abort", this.#abort, { once: true });
      this.#run();
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get givenUp(): GivenUp | undefined {
    return this.#givenUp;
  }

  /** A sign of life: the silence begins anew. */
  touch(): void {
    if (this.#held || this.#givenUp !== undefined) return;
    this.#stop();
    this.#run();
  }

  /** Stops the time until `release`. */
  hold(): void {
    if (this.#held) return;
    this.#stop();
    this.#held = true;
  }

  release(): void {
    if (!this.#held) return;
    this.#held = false;
    if (this.#givenUp === undefined) this.#run();
  }

  /** The call has settled. */
  end(): void {
    this.#stop();
    this.#held = true;
    this.#caller.removeEventListener("abort", this.#abort);
  }

  readonly #abort = (): void => this.#giveUp("aborted");

  #run(): void {
    const { silenceMs } = this.#limits;
    this.#since = this.#runtime.elapsed();
    const left = Math.max(0, this.#left);
    if (left <= silenceMs) this.#stops = [this.#runtime.after(left, () => this.#giveUp("too-long"))];
    else this.#stops = [this.#runtime.after(silenceMs, () => this.#giveUp("silent"))];
  }

  #stop(): void {
    if (this.#stops.length > 0) this.#left -= this.#runtime.elapsed() - this.#since;
    for (const stop of this.#stops) stop();
    this.#stops = [];
  }

  #giveUp(why: GivenUp): void {
    if (this.#givenUp !== undefined) return;
    this.#givenUp = why;
    this.end();
    // The server is told this text, so it holds nothing of the application's own reason.
    this.#controller.abort(why === "aborted" ? "the call was aborted" : "the call took too long");
  }
}
