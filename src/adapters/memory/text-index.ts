import { rarity, share } from "./bm25.js";
import { rarestFirst, type WeighedTerm, type Wished } from "./rarest-first.js";

type Text = { readonly terms: ReadonlySet<string>; readonly length: number };

/** Which text has which terms, in memory; texts go by numbers. A search looks at the texts that have its rarest terms. */
export class TextIndex {
  readonly #texts = new Map<number, Text>();
  /** By term, how often each text that has it has it. */
  readonly #counts = new Map<string, Map<number, number>>();
  #length = 0;

  /** A number may be added once. */
  add(text: number, terms: readonly string[]): void {
    for (const term of terms) {
      const counts = this.#counts.get(term);
      if (counts === undefined) this.#counts.set(term, new Map([[text, 1]]));
      else counts.set(text, (counts.get(text) ?? 0) + 1);
    }
    this.#texts.set(text, { terms: new Set(terms), length: terms.length });
    this.#length += terms.length;
  }

  /** An unknown number does nothing. */
  delete(text: number): void {
    const known = this.#texts.get(text);
    if (known === undefined) return;
    for (const term of known.terms) {
      const counts = this.#counts.get(term);
      counts?.delete(text);
      if (counts?.size === 0) this.#counts.delete(term);
    }
    this.#texts.delete(text);
    this.#length -= known.length;
  }

  /** The scores, above 0 and below 1, of the texts of `among`, or of all, that are nearest to the terms, in no order and perhaps of some more. */
  best(terms: readonly string[], wished: Wished, among: ReadonlySet<number> | undefined): ReadonlyMap<number, number> {
    const wanted = this.#weighed(new Set(terms));
    const average = this.#length / this.#texts.size;
    const lengthOf = (text: number): number => this.#texts.get(text)?.length ?? 0;
    return rarestFirst(wanted, wished, {
      scan: ({ term }, found) => {
        for (const [text, count] of countsAmong(this.#counts.get(term) ?? new Map<number, number>(), among)) {
          found(text, share(count, lengthOf(text), average));
        }
      },
      scoresOf: (texts, some) => {
        const scores = new Map<number, number>();
        for (const { term, weight } of some) {
          const counts = this.#counts.get(term);
          for (const text of texts) {
            const count = counts?.get(text);
            if (count === undefined) continue;
            scores.set(text, (scores.get(text) ?? 0) + weight * share(count, lengthOf(text), average));
          }
        }
        return scores;
      },
    });
  }

  #weighed(terms: ReadonlySet<string>): readonly WeighedTerm[] {
    const all = [...terms].map((term) => ({ term, having: this.#counts.get(term)?.size ?? 0 }));
    const most = all.reduce((sum, { having }) => sum + rarity(this.#texts.size, having), 0);
    return all
      .filter(({ having }) => having > 0)
      .map(({ term, having }) => ({ term, weight: rarity(this.#texts.size, having) / most, highest: 1 }));
  }
}

function* countsAmong(
  counts: ReadonlyMap<number, number>,
  among: ReadonlySet<number> | undefined,
): Iterable<readonly [text: number, count: number]> {
  if (among === undefined) return yield* counts;
  if (among.size > counts.size) {
    for (const both of counts) if (among.has(both[0])) yield both;
    return;
  }
  for (const text of among) {
    const count = counts.get(text);
    if (count !== undefined) yield [text, count];
  }
}
