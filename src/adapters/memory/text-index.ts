import { rarity, share } from "./bm25.js";

type Terms = { readonly counts: ReadonlyMap<string, number>; readonly length: number };

/** Which text has which terms, in memory. A search costs one look at every text that has one of the terms. */
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

  /** The score of every text that has at least one of the terms, above 0 and at most 1. */
  scores(terms: readonly string[]): ReadonlyMap<string, number> {
    const scores = new Map<string, number>();
    const wanted = [...new Set(terms)].map((term) => ({ term, weight: this.#rarity(term) }));
    const most = wanted.reduce((sum, { weight }) => sum + weight, 0);
    for (const { term, weight } of wanted) {
      for (const id of this.#idsByTerm.get(term) ?? []) {
        scores.set(id, (scores.get(id) ?? 0) + (weight / most) * this.#share(id, term));
      }
    }
    return scores;
  }

  #rarity(term: string): number {
    return rarity(this.#texts.size, this.#idsByTerm.get(term)?.size ?? 0);
  }

  /** What repetition and length make of one term in one text, between 0 and 1. */
  #share(id: string, term: string): number {
    const text = this.#texts.get(id);
    return share(text?.counts.get(term) ?? 0, text?.length ?? 0, this.#length / this.#texts.size);
  }
}
