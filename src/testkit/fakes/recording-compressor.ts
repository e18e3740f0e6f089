import { Defect } from "../../domain/errors.js";
import type { AgentMessage } from "../../domain/message.js";
import type { CompressAction, CompressContext, Compressor } from "../../ports/compressor.js";
import { frozen } from "./frozen.js";

/** A proposal, or how to make it of what the compressor was given; a function may throw. */
export type CompressStep =
  | CompressAction
  | ((messages: readonly AgentMessage[], context: CompressContext) => CompressAction);

/** One request, as it was, and what was answered; the signal is left out. */
export type CompressRecord = Omit<CompressContext, "signal"> & {
  readonly messages: readonly AgentMessage[];
  readonly answer: CompressAction | { readonly type: "throw"; readonly error: unknown };
};

/** Proposes what its steps say, one a request, and `none` once they are used up: an agent asks before every model call. */
export class RecordingCompressor implements Compressor {
  readonly name: string;
  readonly #steps: CompressStep[];
  readonly #records: CompressRecord[] = [];

  constructor(steps: readonly CompressStep[] = [], name = "recording") {
    this.name = name;
    this.#steps = [...steps];
  }

  compress(messages: readonly AgentMessage[], context: CompressContext): CompressAction {
    const { signal: _, ...rest } = context;
    const asked = { ...rest, messages: frozen(messages, "messages") };
    const step = this.#steps[this.#records.length] ?? { type: "none" };
    try {
      const action = typeof step === "function" ? step(messages, context) : step;
      this.#records.push(Object.freeze({ ...asked, answer: frozen(action, "action") }));
      return action;
    } catch (error) {
      this.#records.push(Object.freeze({ ...asked, answer: Object.freeze({ type: "throw" as const, error }) }));
      throw error;
    }
  }

  get records(): readonly CompressRecord[] {
    return [...this.#records];
  }

  /** Throws a `Defect` when steps are left. */
  assertDone(): void {
    const used = this.#records.length;
    if (used < this.#steps.length) {
      throw new Defect(`recording_compressor_unfinished: ${used} of ${this.#steps.length} steps were used`);
    }
  }
}
