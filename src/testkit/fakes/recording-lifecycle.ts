import { Defect } from "../../domain/errors.js";
import type { Lifecycle } from "../../ports/lifecycle.js";

type Call = "start" | "shutdown";

/** Records when it was started and shut down, and fails where it is told to. */
export class RecordingLifecycle implements Lifecycle {
  readonly name: string;
  readonly #log: string[];
  readonly #calls: Call[] = [];
  readonly #failures = new Map<Call, { readonly error: unknown; fired: boolean }>();
  #open = false;

  /** Lifecycles that share a `log` write `<name> start` and `<name> shutdown` to it, which shows their order. */
  constructor(name = "recording", log: string[] = []) {
    this.name = name;
    this.#log = log;
  }

  /** Every call of this kind rejects with this value. */
  failOn(kind: Call, error: unknown = new Error(`${this.name} told to fail`)): this {
    this.#failures.set(kind, { error, fired: false });
    return this;
  }

  onStart(): Promise<void> {
    return this.#run("start");
  }

  onShutdown(): Promise<void> {
    return this.#run("shutdown");
  }

  /** In order. */
  get calls(): readonly Call[] {
    return [...this.#calls];
  }

  /**
   * Throws a `Defect` when it was started and nobody asked it to shut down since, or when a failure that was asked for never came about. A start
   * that failed left nothing open, and a shutdown may come without a start and again, as with any lifecycle.
   */
  assertDone(): void {
    const idle = [...this.#failures].find(([, { fired }]) => !fired)?.[0];
    const left = idle !== undefined ? `no ${idle} came` : this.#open ? "it was started and not shut down" : undefined;
    if (left !== undefined) throw new Defect(`recording_lifecycle_unfinished: ${this.name}: ${left}`);
  }

  async #run(kind: Call): Promise<void> {
    this.#calls.push(kind);
    this.#log.push(`${this.name} ${kind}`);
    const failure = this.#failures.get(kind);
    this.#open = kind === "start" && failure === undefined;
    if (failure === undefined) return;
    failure.fired = true;
    throw failure.error;
  }
}
