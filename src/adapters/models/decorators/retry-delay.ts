import type { ModelError } from "../../../domain/errors.js";

/** How long to wait between attempts, in milliseconds. */
export type RetryDelays = {
  readonly baseDelayMs: number;
  readonly maxDelayMs: number;
  readonly maxRetryAfterMs: number;
};

/**
 * Milliseconds to wait after the `failed`th attempt (from 1): a random share of a ceiling that doubles,
 * never 0, or what the provider asks for where that is more: a server that asks for no wait at all would be asked again at once. Undefined where the provider asks for more than is waited for.
 */
export function retryDelay(
  error: ModelError,
  failed: number,
  delays: RetryDelays,
  random: () => number,
): number | undefined {
  const asked = error.retryAfterMs;
  if (asked !== undefined && asked > delays.maxRetryAfterMs) return undefined;
  const ceiling = Math.min(delays.maxDelayMs, delays.baseDelayMs * 2 ** (failed - 1));
  const share = Math.min(1, Math.max(0, random()));
  // A timer takes what is no number for no wait at all.
  return Math.max(asked ?? 0, 1, Math.round(ceiling * share) || 0);
}
