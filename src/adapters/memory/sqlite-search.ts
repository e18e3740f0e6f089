import { highestShare, rarity, share, shareOfRank } from "./bm25.js";
import { rarestFirst, roundedScore, type WeighedTerm } from "./rarest-first.js";
import { numberOf, numbersOf, termsOf } from "./sqlite-entries.js";
import type { MemoryStatements } from "./sqlite-memory-file.js";

type Wanted = WeighedTerm & { readonly having: number };

/** The search for some terms in one moment of the file, with the scores of `InMemoryMemory`. */
export class SqliteTextSearch {
  readonly #sql: MemoryStatements;
  readonly #entries: number;
  readonly #averageLength: number;
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
  best(limit: number, among: ((entry: number) => boolean) | undefined): ReadonlyMap<number, number> {
    return rarestFirst<number, Wanted>(this.#wanted, limit, {
      scan: ({ term, having }, found) => {
        const row = this.#sql.ranks.get(`"${term}"`) ?? {};
        const ranks = numbersOf(row, "ranks");
        const ofRank = shareOfRank(this.#entries, having);
        for (const [n, entry] of numbersOf(row, "entries").entries()) {
          if (among?.(entry) !== false) found(entry, ofRank(ranks[n] ?? 0));
        }
      },
      scoreOf: (entry, terms) => this.#scoreOf(entry, terms),
    });
  }

  /** The score of one entry, 0 when it has none of the terms. */
  scoreOf(entry: number): number {
    return roundedScore(this.#scoreOf(entry, this.#wanted));
  }

  #scoreOf(entry: number, wanted: readonly Wanted[]): number {
    const terms = termsOf(this.#sql, entry);
    const counts = new Map<string, number>();
    for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1);
    let score = 0;
    for (const { term, weight } of wanted) {
      const count = counts.get(term);
      if (count !== undefined) score += weight * share(count, terms.length, this.#averageLength);
    }
    return score;
  }

  #weighed(terms: ReadonlySet<string>): readonly Wanted[] {
    const rows = this.#sql.having.all(JSON.stringify([...terms]));
    const counts = new Map(rows.map((row) => [row["term"], [numberOf(row, "doc"), numberOf(row, "cnt")] as const]));
    const all = [...terms].map((term) => {
      const [having, occurrences] = counts.get(term) ?? [0, 0];
      return { term, having, highest: highestShare(having, occurrences) };
    });
    const most = all.reduce((sum, term) => sum + rarity(this.#entries, term.having), 0);
    return all
      .filter((term) => term.having > 0)
      .map((term) => ({ ...term, weight: rarity(this.#entries, term.having) / most }));
  }
}
