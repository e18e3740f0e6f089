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

/** Field by field sum; a field unknown on both sides stays unknown, one unknown on one side counts as what the other knows. */
export function addUsage(a: Usage | undefined, b: Usage | undefined): Usage {
  if (a === undefined || b === undefined) return a ?? b ?? {};
  const sum: { -readonly [K in keyof Usage]: Usage[K] } = {};
  for (const key of USAGE_KEYS) {
    const left = a[key];
    const right = b[key];
    if (left !== undefined || right !== undefined) sum[key] = (left ?? 0) + (right ?? 0);
  }
  return sum;
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
    if (typeof count === "number" && Number.isFinite(count) && count >= 0) usage[key] = count;
  }
  return usage;
}
