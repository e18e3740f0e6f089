import { kthBest } from "./kth-best.js";

/** A term of a query that some entry has, its part of the score an entry could reach at most, and a share that no entry exceeds. */
export type WeighedTerm = { readonly term: string; readonly weight: number; readonly highest: number };

/** Where terms are looked up; shares are those of `share`. */
export type TermSource<T extends WeighedTerm> = {
  /** Every entry that has the term, each once. */
  scan(term: T, found: (key: number, share: number) => void): void;
  /** What some of the terms add to the scores of some entries; those without any of them may be left out. */
  scoresOf(keys: readonly number[], terms: readonly T[]): ReadonlyMap<number, number>;
};

/** Of a query with more terms that anything has, the rarest choose the entries, and all count for their scores. */
const MOST_SCANS = 100;
/** So many of the entries they choose, beside those asked for, get their whole score then. */
const MOST_COMPLETED = 1_000;

/** What a search does next: looks up every entry that has the term, or answers what the terms add to the scores of some entries. */
export type SearchStep<T extends WeighedTerm> =
  | { readonly type: "scan"; readonly term: T; readonly found: (key: number, share: number) => void }
  | { readonly type: "complete"; readonly keys: readonly number[]; readonly terms: readonly T[] };

type Steps<T extends WeighedTerm, R> = Generator<SearchStep<T>, R, ReadonlyMap<number, number> | undefined>;

/** How many of the best are wanted, and what score is too low to be of any use. */
export type Wished = { readonly limit: number; readonly least?: number | undefined };

/**
 * The scores of the best entries and perhaps of some more, in no order. The rarest terms come first, and the best of those found get their
 * whole score at once: as soon as they can be beaten by none that has the rest only, that rest is looked up for those found alone, so that a word
 * nearly all entries have costs next to nothing.
 */
export function searchSteps<T extends WeighedTerm>(
  terms: readonly T[],
  wished: Wished,
): Steps<T, ReadonlyMap<number, number>> {
  return new RarestFirst<T>(wished).steps([...terms].sort((a, b) => b.weight - a.weight));
}

class RarestFirst<T extends WeighedTerm> {
  readonly #limit: number;
  readonly #useless: number;
  readonly #scores = new Map<number, number>();
  /** Whose score has all terms. */
  readonly #whole = new Set<number>();

  constructor({ limit, least = Number.NEGATIVE_INFINITY }: Wished) {
    this.#limit = limit;
    this.#useless = least;
  }

  *steps(terms: readonly T[]): Steps<T, ReadonlyMap<number, number>> {
    for (const [scanned, term] of terms.entries()) {
      const rest = terms.slice(scanned);
      if (this.#scores.size >= this.#limit) yield* this.#complete(rest, bestOnes(this.#scores, this.#limit));
      if (this.#least() > highestOf(rest) + 1 / EXACTNESS) return yield* this.#finish(rest);
      if (scanned === MOST_SCANS) {
        yield* this.#complete(rest, bestOnes(this.#scores, this.#limit + MOST_COMPLETED));
        return rounded(this.#scores, this.#least());
      }
      const found = (key: number, share: number): void => {
        if (!this.#whole.has(key)) this.#add(key, term.weight * share);
      };
      yield { type: "scan", term, found };
    }
    return rounded(this.#scores, this.#least());
  }

  /** The first of the terms rules out most entries for which the others would have to be looked up. */
  *#finish(terms: readonly T[]): Steps<T, ReadonlyMap<number, number>> {
    yield* this.#raise(terms.slice(0, 1), this.#promising(terms));
    const others = terms.slice(1);
    yield* this.#raise(others, this.#promising(others));
    return rounded(this.#scores, this.#least());
  }

  /** Those that may be among the best once these terms are added. */
  #promising(terms: readonly T[]): readonly number[] {
    const least = this.#least() - highestOf(terms) - 1 / EXACTNESS;
    return [...this.#scores.keys()].filter((key) => !this.#whole.has(key) && (this.#scores.get(key) ?? 0) >= least);
  }

  *#complete(terms: readonly T[], likely: readonly number[]): Steps<T, void> {
    const keys = likely.filter((key) => !this.#whole.has(key));
    yield* this.#raise(terms, keys);
    for (const key of keys) this.#whole.add(key);
  }

  *#raise(terms: readonly T[], keys: readonly number[]): Steps<T, void> {
    if (keys.length === 0 || terms.length === 0) return;
    for (const [key, more] of (yield { type: "complete", keys, terms }) ?? []) this.#add(key, more);
  }

  #add(key: number, more: number): void {
    this.#scores.set(key, (this.#scores.get(key) ?? 0) + more);
  }

  /** What an entry must reach to be among the best. */
  #least(): number {
    return Math.max(this.#useless, kthBest(this.#scores.values(), this.#limit));
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
function rounded(scores: ReadonlyMap<number, number>, least: number): ReadonlyMap<number, number> {
  const reach = new Map<number, number>();
  for (const [key, score] of scores) if (score >= least - 1 / EXACTNESS) reach.set(key, roundedScore(score));
  return reach;
}

/** The same, of a source that answers at once. */
export function rarestFirst<T extends WeighedTerm>(
  terms: readonly T[],
  wished: Wished,
  source: TermSource<T>,
): ReadonlyMap<number, number> {
  const steps = searchSteps<T>(terms, wished);
  let step = steps.next();
  while (step.done !== true) {
    const { value } = step;
    if (value.type === "scan") source.scan(value.term, value.found);
    step = steps.next(value.type === "scan" ? undefined : source.scoresOf(value.keys, value.terms));
  }
  return step.value;
}

/** Some of the best, where there are more than `count` that are equal. */
function bestOnes(scores: ReadonlyMap<number, number>, count: number): readonly number[] {
  const least = kthBest(scores.values(), count);
  const better: number[] = [];
  const equal: number[] = [];
  for (const [key, score] of scores) {
    if (score > least) better.push(key);
    else if (score === least) equal.push(key);
  }
  return [...better, ...equal].slice(0, count);
}
