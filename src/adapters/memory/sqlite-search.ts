import { highestShare, rarity, share } from "./bm25.js";
import { rarestFirst, roundedScore, type WeighedTerm, type Wished } from "./rarest-first.js";
import { numberOf, numbersOf, termsOf } from "./sqlite-entries.js";
import { lengthsOf, type TextLengths } from "./sqlite-lengths.js";
import type { MemoryStatements } from "./sqlite-memory-file.js";

type Wanted = WeighedTerm & { readonly having: number; readonly occurrences: number };

/** To read the terms of one entry takes about as long as so many of the places where a term is. */
const OCCURRENCES_PER_ENTRY = 20;

/** The search for some terms in one moment of the file, with the scores of `InMemoryMemory`. */
export class SqliteTextSearch {
  readonly #sql: MemoryStatements;
  readonly #entries: number;
  readonly #averageLength: number;
  readonly #lengths: TextLengths;
  readonly #wanted: readonly Wanted[];

  /** To be made and used in one read transaction. */
  constructor(sql: MemoryStatements, terms: readonly string[]) {
    this.#sql = sql;
    const totals = sql.totals.get() ?? {};
    this.#entries = numberOf(totals, "entries");
    this.#averageLength = numberOf(totals, "terms") / this.#entries;
    this.#lengths = lengthsOf(sql);
    this.#wanted = this.#weighed(new Set(terms));
  }

  /** The best entries of `among`, or of all, in no order and perhaps some more. */
  best(wished: Wished, among: ((entry: number) => boolean) | undefined): ReadonlyMap<number, number> {
    return rarestFirst<Wanted>(this.#wanted, wished, {
      scan: (term, found) =>
        this.#scan(term, (entry, ofTerm) => {
          if (among?.(entry) !== false) found(entry, ofTerm);
        }),
      scoresOf: (entries, terms) => this.#scoresOf(entries, terms),
    });
  }

  /** The scores of some entries, but for those that have none of the terms. */
  scoresOf(entries: readonly number[]): ReadonlyMap<number, number> {
    return new Map([...this.#scoresOf(entries, this.#wanted)].map(([entry, score]) => [entry, roundedScore(score)]));
  }

  /** Every entry that has the term: it comes once for each place in it. */
  #scan({ term }: Wanted, found: (entry: number, share: number) => void): void {
    const entries = numbersOf(this.#sql.places.get(term) ?? {}, "entries");
    for (let n = 0; n < entries.length; ) {
      const entry = entries[n] as number;
      const first = n;
      while (entries[n] === entry) n += 1;
      found(entry, this.#share(n - first, this.#lengths.of(entry)));
    }
  }

  #scoresOf(entries: readonly number[], terms: readonly Wanted[]): ReadonlyMap<number, number> {
    const places = terms.reduce((sum, { occurrences }) => sum + occurrences, 0);
    return places > entries.length * OCCURRENCES_PER_ENTRY ? this.#read(entries, terms) : this.#picked(entries, terms);
  }

  #picked(entries: readonly number[], terms: readonly Wanted[]): ReadonlyMap<number, number> {
    const scores = new Map(entries.map((entry) => [entry, 0]));
    for (const term of terms) {
      this.#scan(term, (entry, ofTerm) => {
        const score = scores.get(entry);
        if (score !== undefined) scores.set(entry, score + term.weight * ofTerm);
      });
    }
    return scores;
  }

  #read(entries: readonly number[], wanted: readonly Wanted[]): ReadonlyMap<number, number> {
    const scores = new Map<number, number>();
    for (const [entry, terms] of termsOf(this.#sql, entries)) {
      let score = 0;
      for (const { term, weight } of wanted) {
        const count = terms.reduce((sum, other) => (other === term ? sum + 1 : sum), 0);
        if (count > 0) score += weight * this.#share(count, terms.length);
      }
      scores.set(entry, score);
    }
    return scores;
  }

  #share(count: number, length: number): number {
    return share(count, length, this.#averageLength);
  }

  #weighed(terms: ReadonlySet<string>): readonly Wanted[] {
    const rows = this.#sql.having.all(JSON.stringify([...terms]));
    const counts = new Map(rows.map((row) => [row["term"], [numberOf(row, "doc"), numberOf(row, "cnt")] as const]));
    const all = [...terms].map((term) => {
      const [having, occurrences] = counts.get(term) ?? [0, 0];
      return { term, having, occurrences, highest: highestShare(having, occurrences) };
    });
    const most = all.reduce((sum, term) => sum + rarity(this.#entries, term.having), 0);
    return all
      .filter((term) => term.having > 0)
      .map((term) => ({ ...term, weight: rarity(this.#entries, term.having) / most }));
  }
}
