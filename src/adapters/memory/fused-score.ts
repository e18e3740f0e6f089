/**
 * One score of the words (0..1) and of the vector (cosine, -1..1): words raise what the vector says towards 1, in the measure in which
 * there is room. Without common words it is the cosine, without a vector the score of the words, so a threshold means the same for all.
 */
export function fusedScore(words: number, cosine: number | undefined): number {
  if (cosine === undefined) return words;
  // Vectors are of 32-bit numbers: what lies beyond would set a threshold against what is equal to it.
  const near = Math.round(cosine * 1e6) / 1e6;
  return near + words * (1 - near);
}
