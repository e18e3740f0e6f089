import { rarity, share } from "./bm25.js";
import { rarestFirst, type WeighedTerm } from "./rarest-first.js";

type Terms = { readonly counts: ReadonlyMap<string, number>; readonly length: number };

/** Which text has which terms, in memory. A search looks at the texts that have its rarest terms. */
export class TextIndex {
  readonly #texts = new Map<string, Terms>();
  readonly #idsByTerm = new Map<string, Set<string>>();
  #length = 0;

  /** Adds a text, or puts it in place of the one under that id. */
  set(id: string, terms: readonly string[]): void {
    this.delete(id);
    const counts = new Map<string, number>();
    for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1);
    for (const term of counts.keys()) {
      const ids = this.#idsByTerm.get(term);
      if (ids === undefined) this.#idsByTerm.set(term, new Set([id]));
      else ids.add(id);
    }
    this.#texts.set(id, { counts, length: terms.length });
    this.#length += terms.length;
  }

  /** An unknown id does nothing. */
  delete(id: string): void {
    const text = this.#texts.get(id);
    if (text === undefined) return;
    for (const term of text.counts.keys()) {
      const ids = this.#idsByTerm.get(term);
      ids?.delete(id);
      if (ids?.size === 0) this.#idsByTerm.delete(term);
    }
    this.#texts.delete(id);
    this.#length -= text.length;
  }

  /**
   * The scores, above 0 and below 1, of the `limit` texts of `among` that have the most of the terms, in no order and perhaps of some more.
   */
  best(terms: readonly string[], limit: number, among: (id: string) => boolean): ReadonlyMap<string, number> {
    const wanted = this.#weighed(new Set(terms));
    return rarestFirst(wanted, limit, {
      scan: ({ term }, found) => {
        for (const id of this.#idsByTerm.get(term) ?? []) if (among(id)) found(id, this.#share(id, term));
      },
      scoreOf: (id) => wanted.reduce((score, { term, weight }) => score + weight * this.#share(id, term), 0),
    });
  }

  #weighed(terms: ReadonlySet<string>): readonly WeighedTerm[] {
    const all = [...terms].map((term) => ({ term, weight: this.#rarity(term) }));
    const most = all.reduce((sum, { weight }) => sum + weight, 0);
    return all
      .filter(({ term }) => this.#idsByTerm.has(term))
      .map(({ term, weight }) => ({ term, weight: weight / most }));
  }

  #rarity(term: string): number {
    return rarity(this.#texts.size, this.#idsByTerm.get(term)?.size ?? 0);
  }

  /** What repetition and length make of one term in one text, 0 where it does not have it. */
  #share(id: string, term: string): number {
    const text = this.#texts.get(id);
    return share(text?.counts.get(term) ?? 0, text?.length ?? 0, this.#length / this.#texts.size);
  }
}
