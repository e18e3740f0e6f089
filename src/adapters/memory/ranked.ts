import type { EncodedFields } from "./stored-entry.js";

/** A query whose terms and filter are as the database holds them. */
export type Asked = {
  readonly terms: readonly string[];
  readonly topK: number;
  readonly threshold: number | undefined;
  readonly filter: EncodedFields;
};

const CANDIDATES_PER_HIT = 4;
const LEAST_CANDIDATES = 100;

/** How many of the nearest by words, and how many by vector, are looked at for so many hits. */
export function candidateLimit(topK: number): number {
  return Math.min(Math.max(LEAST_CANDIDATES, topK * CANDIDATES_PER_HIT), Number.MAX_SAFE_INTEGER);
}

/** Best first, of equals the one stored last; what the threshold and topK of the query leave. */
export function bestOf(
  scores: ReadonlyMap<number, number>,
  { topK, threshold = Number.NEGATIVE_INFINITY }: Pick<Asked, "topK"> & Partial<Pick<Asked, "threshold">>,
): (readonly [key: number, score: number])[] {
  return [...scores]
    .filter(([, score]) => score >= threshold)
    .sort(([a, x], [b, y]) => y - x || b - a)
    .slice(0, topK);
}
