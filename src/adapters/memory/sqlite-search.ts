import { rarity, share, shareOfRank } from "./bm25.js";
import { numberOf, termsOf } from "./sqlite-entries.js";
import type { MemoryStatements } from "./sqlite-memory-file.js";

/** A term of a query that some entry has: its part of the score an entry could reach at most, and how many entries have it. */
type Wanted = { readonly term: string; readonly weight: number; readonly having: number };

/** Of a query with more terms that anything has, the rarest choose the entries, and all count for their scores. */
const MOST_SCANS = 100;

/** So many of the entries they choose, beside those asked for, get their whole score then. */
const MOST_COMPLETED = 1_000;

/** The search for some terms in one moment of the file: the scores of `InMemoryMemory`, without looking at every entry with a common word. */
export class SqliteTextSearch {
  readonly #sql: MemoryStatements;
  readonly #entries: number;
  readonly #averageLength: number;
  /** Rarest first. */
  readonly #wanted: readonly Wanted[];

  /** To be made and used in one read transaction. */
  constructor(sql: MemoryStatements, terms: readonly string[]) {
    this.#sql = sql;
    const totals = sql.totals.get() ?? {};
    this.#entries = numberOf(totals, "entries");
    this.#averageLength = numberOf(totals, "terms") / this.#entries;
    this.#wanted = this.#weighed(new Set(terms));
  }

  /** The best `limit` entries of `among`, or of all, in no order and perhaps some more. */
  best(limit: number, among: ReadonlySet<number> | undefined): Map<number, number> {
    const scores = new Map<number, number>();
    let left = this.#wanted.reduce((sum, { weight }) => sum + weight, 0);
    let scanned = 0;
    for (const wanted of this.#wanted) {
      // Who has only the terms left cannot reach that.
      if (scanned === MOST_SCANS || (scores.size >= limit && kthBest(scores, limit) >= left)) break;
      this.#scan(wanted, scores, among);
      left -= wanted.weight;
      scanned += 1;
    }
    return scanned === this.#wanted.length ? scores : this.#completed(scores, limit, left);
  }

  /** The score of one entry, 0 when it has none of the terms. */
  scoreOf(entry: number): number {
    const terms = termsOf(this.#sql, entry);
    const counts = new Map<string, number>();
    for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1);
    let score = 0;
    for (const { term, weight } of this.#wanted) {
      const count = counts.get(term);
      if (count !== undefined) score += weight * share(count, terms.length, this.#averageLength);
    }
    return score;
  }

  #scan({ term, weight, having }: Wanted, scores: Map<number, number>, among: ReadonlySet<number> | undefined): void {
    for (const row of this.#sql.ranks.iterate(`"${term}"`)) {
      const entry = numberOf(row, "entry");
      if (among?.has(entry) === false) continue;
      const part = weight * shareOfRank(numberOf(row, "rank"), this.#entries, having);
      scores.set(entry, (scores.get(entry) ?? 0) + part);
    }
  }

  /** The whole scores of those that may be among the best. */
  #completed(scores: ReadonlyMap<number, number>, limit: number, left: number): Map<number, number> {
    const least = scores.size >= limit ? kthBest(scores, limit) - left : Number.NEGATIVE_INFINITY;
    const kept = [...scores].filter(([, score]) => score >= least).sort((a, b) => b[1] - a[1]);
    const most = this.#wanted.length > MOST_SCANS ? limit + MOST_COMPLETED : kept.length;
    return new Map(kept.slice(0, most).map(([entry]) => [entry, this.scoreOf(entry)]));
  }

  #weighed(terms: ReadonlySet<string>): readonly Wanted[] {
    const rows = this.#sql.having.all(JSON.stringify([...terms]));
    const having = new Map(rows.map((row) => [row["term"], numberOf(row, "doc")]));
    const all = [...terms].map((term) => ({ term, having: having.get(term) ?? 0 }));
    const most = all.reduce((sum, term) => sum + rarity(this.#entries, term.having), 0);
    return all
      .filter((term) => term.having > 0)
      .map((term) => ({ ...term, weight: rarity(this.#entries, term.having) / most }))
      .sort((a, b) => b.weight - a.weight);
  }
}

function kthBest(scores: ReadonlyMap<number, number>, k: number): number {
  const sorted = Float64Array.from(scores.values()).sort();
  return sorted[sorted.length - k] ?? 0;
}
