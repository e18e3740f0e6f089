import type { Usage } from "../../../domain/usage.js";
import { fieldOf } from "../wire/wire-json.js";

/**
 * Usage on the wires of OpenAI, where cached tokens are a part of the input and reasoning tokens a part of the output; of servers that
 * count them beside it too. What is no safe integer is no count. Undefined where the provider counted nothing.
 */
export function openAiUsage(usage: unknown): Usage | undefined {
  const prompt = fieldOf(usage, "prompt_tokens_details") ?? fieldOf(usage, "input_tokens_details");
  const completion = fieldOf(usage, "completion_tokens_details") ?? fieldOf(usage, "output_tokens_details");
  const found = wholeUsage({
    inputTokens: count(usage, "prompt_tokens", "input_tokens"),
    outputTokens: count(usage, "completion_tokens", "output_tokens"),
    totalTokens: count(usage, "total_tokens"),
    cachedInputTokens:
      count(prompt, "cached_tokens") ??
      count(usage, "prompt_cache_hit_tokens", "cached_tokens", "cache_read_input_tokens"),
    cacheWriteTokens:
      count(prompt, "cache_write_tokens", "cache_creation_tokens") ?? count(usage, "cache_creation_input_tokens"),
    reasoningTokens: count(completion, "reasoning_tokens"),
  });
  const known = Object.entries(found).filter(([, value]) => value !== undefined);
  return known.length === 0 ? undefined : Object.fromEntries(known);
}

type Counts = { readonly [K in keyof Usage]: number | undefined };

/** A part that is larger than its whole, or that the total counts once more, was counted beside it. */
function wholeUsage(told: Counts): Counts {
  const { inputTokens: input, outputTokens: output, totalTokens: total } = told;
  const cached = (told.cachedInputTokens ?? 0) + (told.cacheWriteTokens ?? 0);
  const reasoning = told.reasoningTokens ?? 0;
  const excess = (total ?? 0) - (input ?? 0) - (output ?? 0);
  const isBeside = (part: number, whole = 0): boolean =>
    part > 0 && (part > whole || excess === part || excess === cached + reasoning);
  const inputTokens = input !== undefined && isBeside(cached, input) ? sumOf(input, cached) : input;
  const outputTokens = output !== undefined && isBeside(reasoning, output) ? sumOf(output, reasoning) : output;
  const sum = sumOf(inputTokens, outputTokens);
  const isChanged = inputTokens !== input || outputTokens !== output;
  const totalTokens = isChanged ? Math.max(total ?? 0, sum ?? 0) : (total ?? sum);
  return { ...told, inputTokens, outputTokens, totalTokens };
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
