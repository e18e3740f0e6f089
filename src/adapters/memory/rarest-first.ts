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

/** What a search does next: looks up every entry that has the term, or gives the whole scores of some entries as the value of the step. */
export type SearchStep<K, T extends WeighedTerm> =
  | { readonly type: "scan"; readonly term: T; readonly found: (key: K, share: number) => void }
  | { readonly type: "complete"; readonly keys: readonly K[] };

/**
 * The scores of the `limit` best entries and perhaps of some more, in no order. The rarest terms come first: once the entries found can be beaten by
 * none that has the rest only, that rest is looked up for them alone, so that a word nearly all entries have costs next to nothing.
 */
export function* searchSteps<K, T extends WeighedTerm>(
  terms: readonly T[],
  limit: number,
): Generator<SearchStep<K, T>, ReadonlyMap<K, number>, ReadonlyMap<K, number> | undefined> {
  const scores = new Map<K, number>();
  const sorted = [...terms].sort((a, b) => b.weight - a.weight);
  let left = sorted.reduce((sum, { weight }) => sum + weight, 0);
  for (const [scanned, term] of sorted.entries()) {
    const least = scores.size >= limit ? kthBest(scores, limit) : Number.NEGATIVE_INFINITY;
    const last = least < left && scanned === MOST_SCANS;
    if (least >= left || last) {
      const likely = last ? bestOnes(scores, limit + MOST_COMPLETED) : scores;
      const keys = [...likely].filter(([, score]) => score >= least - left).map(([key]) => key);
      return (yield { type: "complete", keys }) ?? scores;
    }
    const found = (key: K, share: number): void => void scores.set(key, (scores.get(key) ?? 0) + term.weight * share);
    yield { type: "scan", term, found };
    left -= term.weight;
  }
  return scores;
}

/** The same, of a source that answers at once. */
export function rarestFirst<K, T extends WeighedTerm>(
  terms: readonly T[],
  limit: number,
  source: TermSource<K, T>,
): ReadonlyMap<K, number> {
  const steps = searchSteps<K, T>(terms, limit);
  let step = steps.next();
  while (step.done !== true) {
    const { value } = step;
    if (value.type === "scan") source.scan(value.term, value.found);
    step = steps.next(value.type === "scan" ? undefined : new Map(value.keys.map((key) => [key, source.scoreOf(key)])));
  }
  return step.value;
}

function bestOnes<K>(scores: ReadonlyMap<K, number>, count: number): Map<K, number> {
  return new Map([...scores].sort(([, a], [, b]) => b - a).slice(0, count));
}

function kthBest<K>(scores: ReadonlyMap<K, number>, k: number): number {
  const sorted = Float64Array.from(scores.values()).sort();
  return sorted[sorted.length - k] ?? Number.NEGATIVE_INFINITY;
}
