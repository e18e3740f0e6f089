import type { Usage } from "../../../domain/usage.js";
import { fieldOf, objectField } from "../wire/wire-json.js";

const COUNTS = ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"] as const;

/**
 * Adds up the usage of one reply. The wire tells it at the start and again at the end, each time from the beginning, with fields left
 * out or null: of each count the largest is the last. `inputTokens` includes what was read from the cache or written to it, which the
 * wire counts beside it.
 */
export class UsageReader {
  readonly #counts = new Map<string, number>();

  /** The usage so far; undefined where `usage` counts nothing. What is no safe integer is no count. */
  read(usage: unknown): Usage | undefined {
    for (const key of COUNTS) this.#note(key, fieldOf(usage, key));
    this.#note("thinking_tokens", fieldOf(objectField(usage, "output_tokens_details"), "thinking_tokens"));
    const input = this.#counts.get("input_tokens");
    const cached = this.#counts.get("cache_read_input_tokens");
    const written = this.#counts.get("cache_creation_input_tokens");
    const output = this.#counts.get("output_tokens");
    const all = input === undefined ? undefined : input + (cached ?? 0) + (written ?? 0);
    const found = {
      inputTokens: all,
      outputTokens: output,
      totalTokens: all === undefined || output === undefined ? undefined : all + output,
      cachedInputTokens: cached,
      cacheWriteTokens: written,
      reasoningTokens: this.#counts.get("thinking_tokens"),
    };
    const known = Object.entries(found).filter(([, count]) => Number.isSafeInteger(count));
    return known.length === 0 ? undefined : Object.fromEntries(known);
  }

  #note(key: string, count: unknown): void {
    if (typeof count !== "number" || !Number.isSafeInteger(count) || count < 0) return;
    this.#counts.set(key, Math.max(count, this.#counts.get(key) ?? 0));
  }
}
