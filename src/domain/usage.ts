/** Tokens of one or more model calls. Unknown stays absent, never 0. `inputTokens` includes cached ones on every provider. */
export type Usage = {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly totalTokens?: number;
  /** Part of `inputTokens` that was read from a cache. */
  readonly cachedInputTokens?: number;
  readonly cacheWriteTokens?: number;
  /** Part of `outputTokens`. */
  readonly reasoningTokens?: number;
};

const USAGE_KEYS = [
  "inputTokens",
  "outputTokens",
  "totalTokens",
  "cachedInputTokens",
  "cacheWriteTokens",
  "reasoningTokens",
] as const satisfies readonly (keyof Usage)[];

/**
 * Field by field sum; a field unknown on both sides stays unknown, one unknown on one side counts as what the other knows. A count that
 * is not finite is unknown, and no sum exceeds `Number.MAX_SAFE_INTEGER`.
 */
export function addUsage(a: Usage | undefined, b: Usage | undefined): Usage {
  const sum: { -readonly [K in keyof Usage]: Usage[K] } = {};
  for (const key of USAGE_KEYS) {
    const left = finite(a?.[key]);
    const right = finite(b?.[key]);
    if (left === undefined && right === undefined) continue;
    sum[key] = Math.min((left ?? 0) + (right ?? 0), Number.MAX_SAFE_INTEGER);
  }
  return sum;
}

function finite(count: number | undefined): number | undefined {
  return Number.isFinite(count) ? count : undefined;
}

/** Later defined fields replace earlier ones: providers report usage cumulatively within one call. */
export function mergeUsage(earlier: Usage | undefined, later: Usage): Usage {
  const merged: { -readonly [K in keyof Usage]: Usage[K] } = { ...earlier };
  for (const key of USAGE_KEYS) if (later[key] !== undefined) merged[key] = later[key];
  return merged;
}

/** The fields that are counts of tokens; anything else in a value from outside is unknown. */
export function decodeUsage(value: unknown): Usage {
  const usage: { -readonly [K in keyof Usage]: Usage[K] } = {};
  if (typeof value !== "object" || value === null) return usage;
  for (const key of USAGE_KEYS) {
    const count: unknown = Reflect.get(value, key);
    if (isCount(count)) usage[key] = count;
  }
  return usage;
}

/** Whether every field that is there is a count. */
export function isUsage(value: unknown): value is Usage {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  for (const key of USAGE_KEYS) {
    const count: unknown = Reflect.get(value, key);
    if (count !== undefined && !isCount(count)) return false;
  }
  return true;
}

/** A sum of such stays a number that is exact as long as anybody counts. */
function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
