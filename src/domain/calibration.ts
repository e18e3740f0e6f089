import { decodeUsage } from "./usage.js";

/** How far a correction may go: beyond that a report is taken for wrong. */
const LEAST = 0.5;
const MOST = 4;
const FAR_OFF = 2 * MOST;
/** What a request must be estimated at before its report says anything about the estimate. */
const LEAST_SAMPLE = 200;

/**
 * What estimates of a session are to be multiplied by (0.5 to 4), after a request estimated at `estimated` tokens was reported as `usage`:
 * half of what was known before, half of what the report says. A report that is missing, zero, contradicts itself, or is far from any
 * estimate changes nothing.
 */
export function correctionAfter(before: number | undefined, estimated: number, usage: unknown): number | undefined {
  const { inputTokens = 0, cachedInputTokens = 0 } = decodeUsage(usage);
  if (estimated < LEAST_SAMPLE || inputTokens === 0 || cachedInputTokens > inputTokens) return before;
  const sample = inputTokens / estimated;
  if (sample < LEAST / 2 || sample > FAR_OFF) return before;
  const bounded = Math.min(MOST, Math.max(LEAST, sample));
  const correction = before === undefined ? bounded : (before + bounded) / 2;
  return Math.round(correction * 1_000) / 1_000;
}

/** A stored correction, which anybody may have written; nothing for what is none. */
export function decodeCorrection(value: unknown): number | undefined {
  return typeof value === "number" && value >= LEAST && value <= MOST ? value : undefined;
}
