import type { Usage } from "../../../domain/usage.js";
import { fieldOf } from "../wire/wire-json.js";

/**
 * Usage on the wires of OpenAI, where cached tokens are a part of the input and reasoning tokens a part of the output.
 * What is no safe integer is no count. Undefined where the provider counted nothing.
 */
export function openAiUsage(usage: unknown): Usage | undefined {
  const input = count(usage, "prompt_tokens", "input_tokens");
  const output = count(usage, "completion_tokens", "output_tokens");
  const prompt = fieldOf(usage, "prompt_tokens_details") ?? fieldOf(usage, "input_tokens_details");
  const completion = fieldOf(usage, "completion_tokens_details") ?? fieldOf(usage, "output_tokens_details");
  const found = {
    inputTokens: input,
    outputTokens: output,
    totalTokens: count(usage, "total_tokens") ?? sumOf(input, output),
    cachedInputTokens: count(prompt, "cached_tokens") ?? count(usage, "prompt_cache_hit_tokens", "cached_tokens"),
    cacheWriteTokens: count(prompt, "cache_write_tokens", "cache_creation_tokens"),
    reasoningTokens: count(completion, "reasoning_tokens"),
  };
  const known = Object.entries(found).filter(([, value]) => value !== undefined);
  return known.length === 0 ? undefined : Object.fromEntries(known);
}

function count(usage: unknown, ...keys: readonly string[]): number | undefined {
  for (const key of keys) {
    const value = fieldOf(usage, key);
    if (isCount(value)) return value;
  }
  return undefined;
}

function sumOf(input: number | undefined, output: number | undefined): number | undefined {
  const sum = (input ?? Number.NaN) + (output ?? Number.NaN);
  return isCount(sum) ? sum : undefined;
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}
