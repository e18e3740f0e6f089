/** BM25's usual constants, which SQLite's FTS5 has too: how soon repetition stops counting, and how much length counts. */
const SATURATION = 1.2;
const LENGTH_WEIGHT = 0.75;

/** What a term weighs that `having` of so many texts have: always above 0, the rarer the more. */
export function rarity(texts: number, having: number): number {
  return Math.log(1 + (texts - having + 0.5) / (having + 0.5));
}

/** What repetition and length make of one term in one text, from 0 to below 1. Lengths are counts of terms. */
export function share(count: number, length: number, averageLength: number): number {
  return count / (count + SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * (length / averageLength)));
}

/** What no share of a term exceeds that so many texts have, so often in all: one of them could have all that is over. */
export function highestShare(having: number, occurrences: number): number {
  return share(occurrences - having + 1, 0, 1);
}
