/** A term of a query that some entry has, its part of the score an entry could reach at most, and a share that no entry exceeds. */
export type WeighedTerm = { readonly term: string; readonly weight: number; readonly highest: number };

/** Where terms are looked up; shares are those of `share`. */
export type TermSource<K, T extends WeighedTerm> = {
  /** Every entry that has the term, each once. */
  scan(term: T, found: (key: K, share: number) => void): void;
  /** What some of the terms add to the score of one entry. */
  scoreOf(key: K, terms: readonly T[]): number;
};

/** Of a query with more terms that anything has, the rarest choose the entries, and all count for their scores. */
const MOST_SCANS = 100;
/** So many of the entries they choose, beside those asked for, get their whole score then. */
const MOST_COMPLETED = 1_000;

/** What a search does next: looks up every entry that has the term, or answers what the terms add to the scores of some entries. */
export type SearchStep<K, T extends WeighedTerm> =
  | { readonly type: "scan"; readonly term: T; readonly found: (key: K, share: number) => void }
  | { readonly type: "complete"; readonly keys: readonly K[]; readonly terms: readonly T[] };

type Steps<K, T extends WeighedTerm, R> = Generator<SearchStep<K, T>, R, ReadonlyMap<K, number> | undefined>;

/**
 * The scores of the `limit` best entries and perhaps of some more, in no order. The rarest terms come first, and the best of those found get their
 * whole score at once: as soon as they can be beaten by none that has the rest only, that rest is looked up for those found alone, so that a word
 * nearly all entries have costs next to nothing.
 */
export function searchSteps<K, T extends WeighedTerm>(
  terms: readonly T[],
  limit: number,
): Steps<K, T, ReadonlyMap<K, number>> {
  return new RarestFirst<K, T>(limit).steps([...terms].sort((a, b) => b.weight - a.weight));
}

class RarestFirst<K, T extends WeighedTerm> {
  readonly #limit: number;
  readonly #scores = new Map<K, number>();
  /** Whose score has all terms. */
  readonly #whole = new Set<K>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  *steps(terms: readonly T[]): Steps<K, T, ReadonlyMap<K, number>> {
    for (const [scanned, term] of terms.entries()) {
      const rest = terms.slice(scanned);
      if (this.#scores.size >= this.#limit) yield* this.#complete(rest, bestOnes(this.#scores, this.#limit));
      if (this.#least() >= highestOf(rest)) return yield* this.#finish(rest);
      if (scanned === MOST_SCANS) {
        yield* this.#complete(rest, bestOnes(this.#scores, this.#limit + MOST_COMPLETED));
        return rounded(this.#scores, this.#least());
      }
      const found = (key: K, share: number): void => {
        if (!this.#whole.has(key)) this.#add(key, term.weight * share);
      };
      yield { type: "scan", term, found };
    }
    return rounded(this.#scores, this.#least());
  }

  /** The first of the terms rules out most entries for which the others would have to be looked up. */
  *#finish(terms: readonly T[]): Steps<K, T, ReadonlyMap<K, number>> {
    yield* this.#raise(terms.slice(0, 1), this.#promising(terms));
    const others = terms.slice(1);
    yield* this.#raise(others, this.#promising(others));
    return rounded(this.#scores, this.#least());
  }

  /** Those that may be among the best once these terms are added. */
  #promising(terms: readonly T[]): readonly K[] {
    const least = this.#least() - highestOf(terms);
    return [...this.#scores.keys()].filter((key) => !this.#whole.has(key) && (this.#scores.get(key) ?? 0) >= least);
  }

  *#complete(terms: readonly T[], likely: readonly K[]): Steps<K, T, void> {
    const keys = likely.filter((key) => !this.#whole.has(key));
    yield* this.#raise(terms, keys);
    for (const key of keys) this.#whole.add(key);
  }

  *#raise(terms: readonly T[], keys: readonly K[]): Steps<K, T, void> {
    if (keys.length === 0 || terms.length === 0) return;
    for (const [key, more] of (yield { type: "complete", keys, terms }) ?? []) this.#add(key, more);
  }

  #add(key: K, more: number): void {
    this.#scores.set(key, (this.#scores.get(key) ?? 0) + more);
  }

  /** What an entry must reach to be among the best. */
  #least(): number {
    return this.#scores.size >= this.#limit ? kthBest(this.#scores, this.#limit) : Number.NEGATIVE_INFINITY;
  }
}

function highestOf(terms: readonly WeighedTerm[]): number {
  return terms.reduce((sum, { weight, highest }) => sum + weight * highest, 0);
}

/** Sums of the same parts in another order differ by less. */
const EXACTNESS = 1e12;

/** Equal entries must have equal scores, in whatever order their parts were added. */
export function roundedScore(score: number): number {
  return Math.round(score * EXACTNESS) / EXACTNESS;
}

/** Those that reach `least`. */
function rounded<K>(scores: ReadonlyMap<K, number>, least: number): ReadonlyMap<K, number> {
  const reach = [...scores].filter(([, score]) => score >= least - 1 / EXACTNESS);
  return new Map(reach.map(([key, score]) => [key, roundedScore(score)]));
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
    step = steps.next(value.type === "scan" ? undefined : added(source, value));
  }
  return step.value;
}

function added<K, T extends WeighedTerm>(
  source: TermSource<K, T>,
  { keys, terms }: { readonly keys: readonly K[]; readonly terms: readonly T[] },
): ReadonlyMap<K, number> {
  return new Map(keys.map((key) => [key, source.scoreOf(key, terms)]));
}

/** Some of the best, where there are more than `count` that are equal. */
function bestOnes<K>(scores: ReadonlyMap<K, number>, count: number): readonly K[] {
  const least = kthBest(scores, count);
  const better: K[] = [];
  const equal: K[] = [];
  for (const [key, score] of scores) {
    if (score > least) better.push(key);
    else if (score === least) equal.push(key);
  }
  return [...better, ...equal].slice(0, count);
}

function kthBest<K>(scores: ReadonlyMap<K, number>, k: number): number {
  const sorted = Float64Array.from(scores.values()).sort();
  return sorted[sorted.length - k] ?? Number.NEGATIVE_INFINITY;
}
