import { thrownLabel } from "../../domain/describe-thrown.js";
import { CompositionError, MemoryError } from "../../domain/errors.js";
import { isTimeLimit } from "../../domain/limits.js";
import type { Awaitable } from "../../ports/awaitable.js";

/**
 * The vector of a text, of the same number of dimensions for every text. `purpose` tells an entry from a query, for models that ask for
 * it. The signal is aborted when the memory no longer waits.
 */
export type Embed = (
  text: string,
  context: { readonly purpose: "store" | "search"; readonly signal: AbortSignal },
) => Awaitable<readonly number[] | Float32Array>;

/**
 * `model` names the model that `embed` asks: vectors of different models are never compared. `timeoutMs` bounds each call, 10,000 by
 * default. `failure` says what becomes of an entry or a query whose vector cannot be had: the call is rejected (the default), or goes on
 * with the words alone.
 */
export type EmbeddingOptions = {
  readonly embed: Embed;
  readonly model?: string | undefined;
  readonly timeoutMs?: number | undefined;
  readonly failure?: "reject" | "text-only" | undefined;
};

/** A vector, of which model it is, and whether one that fits no other leaves the words. */
export type Embedded = { readonly vector: Float32Array; readonly model: string; readonly wordsWillDo: boolean };

/** An `embed` function whose answers are checked and bounded in time. */
export class Embedder {
  readonly model: string;
  readonly #options: EmbeddingOptions;
  readonly #closed = new AbortController();

  /** Throws `CompositionError("invalid-config")` for options that cannot be. */
  constructor(options: EmbeddingOptions) {
    const { embed, model = "", timeoutMs = 10_000, failure = "reject" } = options;
    const fault =
      typeof embed !== "function" ||
      typeof model !== "string" ||
      !(isTimeLimit(timeoutMs) && timeoutMs >= 1 && timeoutMs < 2 ** 31) ||
      !["reject", "text-only"].includes(failure);
    if (fault) {
      const text = `embedding is { embed, model?, timeoutMs?, failure?: "reject" or "text-only" }`;
      throw new CompositionError("invalid-config", text);
    }
    this.model = model;
    this.#options = options;
  }

  /** Rejects with `MemoryError(purpose)` for a vector that is none, a failure, and one that does not come in time. */
  async vector(text: string, purpose: "store" | "search"): Promise<Float32Array> {
    try {
      return vectorOf(await this.#asked(text, purpose));
    } catch (cause) {
      throw new MemoryError(purpose, `embed failed: ${thrownLabel(cause)}`, { cause });
    }
  }

  /** The same, or nothing where the words are to do. */
  async embedded(text: string, purpose: "store" | "search"): Promise<Embedded | undefined> {
    const wordsWillDo = this.#options.failure === "text-only";
    try {
      return { vector: await this.vector(text, purpose), model: this.model, wordsWillDo };
    } catch (error) {
      if (wordsWillDo) return undefined;
      throw error;
    }
  }

  /** Ends calls under way. */
  close(): void {
    this.#closed.abort(new Error("the memory was closed"));
  }

  async #asked(text: string, purpose: "store" | "search"): Promise<unknown> {
    const { embed, timeoutMs = 10_000 } = this.#options;
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(new Error(`no vector within ${timeoutMs} ms`)), timeoutMs);
    const signal = AbortSignal.any([late.signal, this.#closed.signal]);
    try {
      return await new Promise((resolve, reject) => {
        signal.throwIfAborted();
        signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
        Promise.resolve(embed(text, { purpose, signal })).then(resolve, reject);
      });
    } finally {
      clearTimeout(timer);
    }
  }
}

function vectorOf(answer: unknown): Float32Array {
  if (!(answer instanceof Float32Array || Array.isArray(answer)) || answer.length === 0) {
    throw new TypeError("it answered no vector");
  }
  const numbers: readonly unknown[] = [...answer];
  if (!numbers.every((number) => typeof number === "number" && Number.isFinite(Math.fround(number)))) {
    throw new TypeError("its vector holds what is no number");
  }
  return Float32Array.from(answer as ArrayLike<number>);
}
