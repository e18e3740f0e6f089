import type { Usage } from "../../../domain/usage.js";
import { encodeJson, fieldOf } from "../wire/wire-json.js";

/**
 * Usage as the AI SDK reports it. Its providers put 0 for what their wire does not say; where the wire's own usage is at hand and has no
 * such count, a 0 is unknown. What is no safe integer is no count. Undefined where nothing was counted.
 */
export function aiSdkUsage(usage: unknown): Usage | undefined {
  const raw = fieldOf(usage, "raw");
  const wire = raw === undefined || raw === null ? undefined : encodeJson(raw);
  const input = fieldOf(usage, "inputTokens");
  const output = fieldOf(usage, "outputTokens");
  const inputTokens = count(fieldOf(input, "total"), wire, /prompt|input/i);
  const outputTokens = count(fieldOf(output, "total"), wire, /completion|output|candidates/i);
  const found = {
    inputTokens,
    outputTokens,
    totalTokens: inputTokens === undefined || outputTokens === undefined ? undefined : inputTokens + outputTokens,
    cachedInputTokens: count(fieldOf(input, "cacheRead"), wire, /cache/i),
    cacheWriteTokens: count(fieldOf(input, "cacheWrite"), wire, /cache/i),
    reasoningTokens: count(fieldOf(output, "reasoning"), wire, /reason|think|thought/i),
  };
  const known = Object.entries(found).filter(([, value]) => value !== undefined);
  return known.length === 0 ? undefined : Object.fromEntries(known);
}

function count(value: unknown, wire: string | undefined, word: RegExp): number | undefined {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0) return undefined;
  return value === 0 && wire !== undefined && !word.test(wire) ? undefined : value;
}
