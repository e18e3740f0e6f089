/** A term of a query that some entry has, and its part of the score an entry could reach at most. */
export type WeighedTerm = { readonly term: string; readonly weight: number };

/** Where terms are looked up; shares are those of `share`. */
export type TermSource<K, T extends WeighedTerm> = {
  /** Every entry that has the term, each once. */
  scan(term: T, found: (key: K, share: number) => void): void;
  /** The whole score of one entry. */
  scoreOf(key: K): number;
};

/** Of a query with more terms that anything has, the rarest choose the entries, and all count for their scores. */
const MOST_SCANS = 100;
/** So many of the entries they choose, beside those asked for, get their whole score then. */
const MOST_COMPLETED = 1_000;

/**
 * The scores of the `limit` best entries and perhaps of some more, in no order. The rarest terms come first: once the entries found can be beaten by
 * none that has the rest only, that rest is looked up for them alone, so that a word nearly all entries have costs next to nothing.
 */
export function rarestFirst<K, T extends WeighedTerm>(
  terms: readonly T[],
  limit: number,
  source: TermSource<K, T>,
): Map<K, number> {
  const scores = new Map<K, number>();
  const sorted = [...terms].sort((a, b) => b.weight - a.weight);
  let left = sorted.reduce((sum, { weight }) => sum + weight, 0);
  for (const [scanned, term] of sorted.entries()) {
    const least = scores.size >= limit ? kthBest(scores, limit) : Number.NEGATIVE_INFINITY;
    if (least >= left) return completed(scores, least - left, source);
    if (scanned === MOST_SCANS) return completed(bestOnes(scores, limit + MOST_COMPLETED), least - left, source);
    source.scan(term, (key, share) => scores.set(key, (scores.get(key) ?? 0) + term.weight * share));
    left -= term.weight;
  }
  return scores;
}

/** The whole scores of those that have at least so much of it. */
function completed<K>(
  scores: ReadonlyMap<K, number>,
  least: number,
  { scoreOf }: Pick<TermSource<K, WeighedTerm>, "scoreOf">,
): Map<K, number> {
  const kept = [...scores].filter(([, score]) => score >= least);
  return new Map(kept.map(([key]) => [key, scoreOf(key)]));
}

function bestOnes<K>(scores: ReadonlyMap<K, number>, count: number): Map<K, number> {
  return new Map([...scores].sort(([, a], [, b]) => b - a).slice(0, count));
}

function kthBest<K>(scores: ReadonlyMap<K, number>, k: number): number {
  const sorted = Float64Array.from(scores.values()).sort();
  return sorted[sorted.length - k] ?? Number.NEGATIVE_INFINITY;
}
