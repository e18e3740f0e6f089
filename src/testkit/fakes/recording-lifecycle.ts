import { Defect } from "../../domain/errors.js";
import type { Lifecycle } from "../../ports/lifecycle.js";

/** Records when it was started and shut down, and fails where it is told to. */
export class RecordingLifecycle implements Lifecycle {
  readonly name: string;
  readonly #log: string[];
  readonly #calls: ("start" | "shutdown")[] = [];
  readonly #failures = new Map<"start" | "shutdown", unknown>();

  /** Lifecycles that share a `log` write `<name> start` and `<name> shutdown` to it, which shows their order. */
  constructor(name = "recording", log: string[] = []) {
    this.name = name;
    this.#log = log;
  }

  /** Every call of this kind rejects with this value. */
  failOn(kind: "start" | "shutdown", error: unknown = new Error(`${this.name} told to fail`)): this {
    this.#failures.set(kind, error);
    return this;
  }

  onStart(): Promise<void> {
    return this.#run("start");
  }

  onShutdown(): Promise<void> {
    return this.#run("shutdown");
  }

  get calls(): readonly ("start" | "shutdown")[] {
    return [...this.#calls];
  }

  /** Throws a `Defect` unless it was shut down as often as it was started. */
  assertDone(): void {
    const count = (kind: string): number => this.#calls.filter((call) => call === kind).length;
    if (count("start") !== count("shutdown")) {
      throw new Defect(`recording_lifecycle_unfinished: ${count("start")} starts, ${count("shutdown")} shutdowns`);
    }
  }

  async #run(kind: "start" | "shutdown"): Promise<void> {
    this.#calls.push(kind);
    this.#log.push(`${this.name} ${kind}`);
    if (this.#failures.has(kind)) throw this.#failures.get(kind);
  }
}
