import type { Lifecycle } from "../../ports/lifecycle.js";

/**
 * Several lifecycles as one. Starts them in order; when one fails, those started are shut down in reverse and the start rejects with its
 * error, or with an `AggregateError` of that one and every failed roll-back. Shuts down in reverse, all of them whatever fails, and
 * rejects with one `AggregateError`. Both run once: later calls give the same promise. Without a start all are shut down.
 */
export class CompositeLifecycle implements Lifecycle {
  readonly name: string;
  readonly #parts: readonly Lifecycle[];
  /** How many count as open, from the front. */
  #open: number;
  #start: Promise<void> | undefined;
  #shutdown: Promise<void> | undefined;

  constructor(parts: readonly Lifecycle[], name = "composite") {
    this.name = name;
    this.#parts = [...parts];
    this.#open = parts.length;
  }

  onStart(): Promise<void> {
    this.#start ??= this.#shutdown ?? this.#startAll();
    return this.#start;
  }

  onShutdown(): Promise<void> {
    this.#shutdown ??= this.#shutdownAfterStart();
    return this.#shutdown;
  }

  async #startAll(): Promise<void> {
    for (const [index, part] of this.#parts.entries()) {
      this.#open = index;
      try {
        await part.onStart?.();
      } catch (error) {
        const failures = await this.#close();
        if (failures.length === 0) throw error;
        throw new AggregateError([error, ...failures], `${this.name}: start and roll-back failed`);
      }
    }
    this.#open = this.#parts.length;
  }

  async #shutdownAfterStart(): Promise<void> {
    // A start that failed has told its own caller, and has closed what it had opened.
    await this.#start?.catch(() => undefined);
    const failures = await this.#close();
    if (failures.length > 0) throw new AggregateError(failures, `${this.name}: ${failures.length} failed to shut down`);
  }

  async #close(): Promise<unknown[]> {
    const failures: unknown[] = [];
    while (this.#open > 0) {
      this.#open -= 1;
      try {
        await this.#parts[this.#open]?.onShutdown();
      } catch (error) {
        failures.push(error);
      }
    }
    return failures;
  }
}
