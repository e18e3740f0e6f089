import { Defect } from "../../domain/errors.js";
import type { ToolStep } from "./tool-outcome.js";

type Held = {
  readonly started: PromiseWithResolvers<void>;
  readonly go: PromiseWithResolvers<ToolStep>;
  running: boolean;
};

/** Calls that wait for the test; one entry per call id, forgotten once it was let go. */
export class HeldCalls {
  readonly #calls = new Map<string, Held>();

  /** Resolves once a call of this id waits; may be asked before. */
  started(callId: string): Promise<void> {
    return this.#entry(callId).started.promise;
  }

  /** Waits for `settle`. */
  hold(callId: string): Promise<ToolStep> {
    const held = this.#entry(callId);
    held.running = true;
    held.started.resolve();
    return held.go.promise;
  }

  /** Throws a `Defect` when no call of this id waits. */
  settle(callId: string, step: ToolStep): void {
    const held = this.#calls.get(callId);
    if (held === undefined || !held.running) throw new Defect("settle: no call of this id is held");
    this.#calls.delete(callId);
    held.go.resolve(step);
  }

  #entry(callId: string): Held {
    const known = this.#calls.get(callId);
    if (known !== undefined) return known;
    const held: Held = { started: Promise.withResolvers(), go: Promise.withResolvers(), running: false };
    this.#calls.set(callId, held);
    return held;
  }
}
