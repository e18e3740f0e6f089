import fc from "fast-check";
import { expect } from "vitest";
import type { MemoryQuery } from "../../../src/domain/memory.js";
import type { JsonObject } from "../../../src/domain/json.js";
import { matchesMetadata } from "../../../src/domain/session-rules.js";
import { textTerms } from "../../../src/domain/text-terms.js";
import type { MemoryPort } from "../../../src/ports/memory.js";

const words = ["the", "red", "apple", "tree", "日本", "🔥", "a_b", "x".repeat(300), "!"];
const text = fc.array(fc.constantFrom(...words), { maxLength: 8 }).map((list) => list.join(" "));
const id = fc.constantFrom("a", "b", "c", "d", "e", "f");

/** A store, or the id that is deleted. */
const change = fc.oneof(
  { weight: 4, arbitrary: fc.record({ id, content: text, n: fc.integer({ min: 0, max: 2 }) }) },
  fc.record({ forget: id }),
);

/** Any history of stores and deletes, and what is asked then. */
export const histories = fc.record({
  changes: fc.array(change, { maxLength: 16 }),
  query: text,
  topK: fc.integer({ min: 1, max: 6 }),
});

/** Hits with scores to nine places: sums depend on their order beyond. */
export async function hitsOf(memory: MemoryPort, query: MemoryQuery): Promise<unknown[]> {
  return (await memory.search(query)).map(({ score = 0, ...entry }) => ({ ...entry, score: Number(score.toFixed(9)) }));
}

/** BM25 over the most any entry could reach, worked out the long way. */
export class PlainReference {
  #entries: { readonly id: string; readonly content: string; readonly metadata: JsonObject }[] = [];

  store(entry: { readonly id: string; readonly content: string; readonly metadata: JsonObject }): void {
    this.delete(entry.id);
    this.#entries.unshift(entry);
  }

  delete(id: string): void {
    this.#entries = this.#entries.filter((entry) => entry.id !== id);
  }

  hits({ query, topK = 10, threshold = 0, filter = {} }: MemoryQuery): unknown[] {
    const texts = this.#entries.map((entry) => ({ entry, terms: textTerms(entry.content) }));
    const average = texts.reduce((sum, { terms }) => sum + terms.length, 0) / texts.length;
    const wanted = [...new Set(textTerms(query))].map((term) => {
      const having = texts.filter(({ terms }) => terms.includes(term)).length;
      return { term, weight: Math.log(1 + (texts.length - having + 0.5) / (having + 0.5)) };
    });
    const most = wanted.reduce((sum, { weight }) => sum + weight, 0);
    const scored = texts.map(({ entry, terms }) => {
      const parts = wanted.map(({ term, weight }) => {
        const count = terms.filter((other) => other === term).length;
        return (weight / most) * (count / (count + 1.2 * (0.25 + (0.75 * terms.length) / average)));
      });
      const score = parts.reduce((sum, part) => sum + part, 0);
      // Rounded twice, as the hits are: once by the memory, so that equals are equal, and once here.
      return { ...entry, score: Number((Math.round(score * 1e12) / 1e12).toFixed(9)) };
    });
    return scored
      .filter(({ score, metadata }) => score > 0 && score >= threshold && matchesMetadata(metadata, filter))
      .sort((a, b) => b.score - a.score)
      .slice(0, topK);
  }
}

/** Fails unless the memory, empty before, finds and scores as the reference does. */
export async function expectLikeReference(
  memory: MemoryPort,
  { changes, query, topK }: typeof histories extends fc.Arbitrary<infer T> ? T : never,
): Promise<void> {
  const reference = new PlainReference();
  for (const step of changes) {
    if ("forget" in step) {
      reference.delete(step.forget);
      await memory.delete(step.forget);
    } else {
      const entry = { id: step.id, content: step.content, metadata: { n: step.n } };
      reference.store(entry);
      await memory.store(entry);
    }
  }
  for (const asked of [
    { query, topK },
    { query, threshold: 0.2 },
    { query, filter: { n: 1 } },
  ]) {
    expect(await hitsOf(memory, asked)).toEqual(reference.hits(asked));
  }
}
