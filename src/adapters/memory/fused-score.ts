import { kthBest } from "./kth-best.js";

/**
 * One score of the words (0..1) and of the vector (cosine, -1..1): words raise what the vector says towards 1, in the measure in which
 * there is room. Without common words it is the cosine, without a vector the score of the words, so a threshold means the same for all.
 */
export function fusedScore(words: number, cosine: number | undefined): number {
  if (cosine === undefined) return words;
  const near = rounded(cosine);
  return near + words * (1 - near);
}

/** Vectors are of 32-bit numbers: what lies beyond would set a threshold against what is equal to it. */
function rounded(cosine: number): number {
  return Math.round(cosine * 1e6) / 1e6;
}

/**
 * The nearest by vector, up to `limit`; the scores of these alone, words included; and what the query asks for. `missed`: how much nearer than the last of
 * them an entry may be that was missed when they were looked for.
 */
export type Nearest = {
  readonly cosines: ReadonlyMap<number, number>;
  readonly scores: ReadonlyMap<number, number>;
  readonly limit: number;
  readonly missed: number;
  readonly topK: number;
  readonly threshold: number | undefined;
};

/** What words must give an entry beside the nearest to bring it among the best: even with the cosine of the last of them it has no more room than that. */
export function leastByWords({ cosines, scores, limit, missed, topK, threshold }: Nearest): number {
  // An entry without a vector has as much room as one of cosine 0.
  const last = missed + Math.max(0, rounded(kthBest(cosines.values(), limit)));
  const wanted = Math.max(threshold ?? -1, kthBest(scores.values(), topK));
  return last < 1 ? (wanted - last) / (1 - last) : 0;
}
