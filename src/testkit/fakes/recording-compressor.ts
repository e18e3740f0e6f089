import { Defect } from "../../domain/errors.js";
import type { AgentMessage } from "../../domain/message.js";
import type { CompressAction, CompressContext, Compressor } from "../../ports/compressor.js";
import { frozen } from "./frozen.js";
import { ScriptExhausted } from "./script-exhausted.js";

/** A proposal, or how to make it of what the compressor was given; a function may throw. */
export type CompressStep =
  | CompressAction
  | ((messages: readonly AgentMessage[], context: CompressContext) => CompressAction);

/** One request, as it was, and what was answered; the signal is left out. */
export type CompressRecord = Omit<CompressContext, "signal"> & {
  readonly messages: readonly AgentMessage[];
  readonly answer: CompressAction | { readonly type: "throw"; readonly error: unknown };
};

const NONE: CompressStep = { type: "none" };

/**
 * Proposes what its script says: one step holds for every request, a list is used up one a request, and without a script it proposes
 * nothing. An agent asks before every model call.
 */
export class RecordingCompressor implements Compressor {
  readonly name: string;
  readonly #script: CompressStep | readonly CompressStep[];
  readonly #records: CompressRecord[] = [];
  #overrun: ScriptExhausted | undefined;

  /** An empty list is no script. */
  constructor(script: CompressStep | readonly CompressStep[] = NONE, name = "recording") {
    this.name = name;
    this.#script = !isList(script) ? script : script.length === 0 ? NONE : [...script];
  }

  compress(messages: readonly AgentMessage[], context: CompressContext): CompressAction {
    const { signal: _, ...rest } = context;
    const asked = { ...rest, messages: frozen(messages, "messages") };
    const step = this.#next();
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

  /** Throws a `Defect` when the script ran out, or when steps of a list are left. */
  assertDone(): void {
    if (this.#overrun !== undefined) throw this.#overrun;
    const used = this.#records.length;
    if (isList(this.#script) && used < this.#script.length) {
      throw new Defect(`recording_compressor_unfinished: ${used} of ${this.#script.length} steps were used`);
    }
  }

  #next(): CompressStep {
    if (!isList(this.#script)) return this.#script;
    const step = this.#script[this.#records.length];
    if (step !== undefined) return step;
    this.#overrun ??= new ScriptExhausted("recording_compressor", this.#records.length + 1, this.#script.length);
    throw this.#overrun;
  }
}

function isList(script: CompressStep | readonly CompressStep[]): script is readonly CompressStep[] {
  return Array.isArray(script);
}
