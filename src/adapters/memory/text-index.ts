import { rarity, share } from "./bm25.js";
import { rarestFirst, type WeighedTerm } from "./rarest-first.js";

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

  /** The scores, above 0 and below 1, of the `limit` texts of `among` that are nearest to the terms, in no order and perhaps of some more. */
  best(terms: readonly string[], limit: number, among: (text: number) => boolean): ReadonlyMap<number, number> {
    const wanted = this.#weighed(new Set(terms));
    const average = this.#length / this.#texts.size;
    const lengthOf = (text: number): number => this.#texts.get(text)?.length ?? 0;
    return rarestFirst(wanted, limit, {
      scan: ({ term }, found) => {
        for (const [text, count] of this.#counts.get(term) ?? []) {
          if (among(text)) found(text, share(count, lengthOf(text), average));
        }
      },
      scoreOf: (text, some) =>
        some.reduce((score, { term, weight }) => {
          const count = this.#counts.get(term)?.get(text);
          return count === undefined ? score : score + weight * share(count, lengthOf(text), average);
        }, 0),
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
