import type { Usage } from "../../../domain/usage.js";
import { fieldOf } from "../wire/wire-json.js";

/**
 * Usage of this wire, which counts thoughts beside the reply and tool results beside the prompt: here both are parts of the whole. What
 * is no safe integer is no count, and a count the provider leaves out stays unknown. Undefined where it counted nothing.
 */
export function geminiUsage(usage: unknown): Usage | undefined {
  const reasoningTokens = count(usage, "thoughtsTokenCount");
  const inputTokens = sumOf(count(usage, "promptTokenCount"), count(usage, "toolUsePromptTokenCount"));
  const outputTokens = sumOf(count(usage, "candidatesTokenCount"), reasoningTokens);
  const both = inputTokens === undefined || outputTokens === undefined ? undefined : inputTokens + outputTokens;
  const found = {
    inputTokens,
    outputTokens,
    totalTokens: count(usage, "totalTokenCount") ?? both,
    cachedInputTokens: count(usage, "cachedContentTokenCount"),
    reasoningTokens,
  };
  const known = Object.entries(found).filter(([, value]) => value !== undefined);
  return known.length === 0 ? undefined : Object.fromEntries(known);
}

function count(usage: unknown, key: string): number | undefined {
  const value = fieldOf(usage, key);
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** Of what is known. */
function sumOf(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined && b === undefined ? undefined : (a ?? 0) + (b ?? 0);
}
