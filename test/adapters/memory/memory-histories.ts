import fc from "fast-check";
import { expect } from "vitest";
import { InMemoryMemory } from "../../../src/adapters/memory/in-memory.js";
import type { MemoryQuery } from "../../../src/domain/memory.js";
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

/** Fails unless the memory, empty before, finds and scores as `InMemoryMemory` does. */
export async function expectLikeReference(
  memory: MemoryPort,
  { changes, query, topK }: typeof histories extends fc.Arbitrary<infer T> ? T : never,
): Promise<void> {
  const reference = new InMemoryMemory();
  for (const step of changes) {
    for (const each of [memory, reference]) {
      if ("forget" in step) await each.delete(step.forget);
      else await each.store({ id: step.id, content: step.content, metadata: { n: step.n } });
    }
  }
  for (const asked of [
    { query, topK },
    { query, threshold: 0.2 },
    { query, filter: { n: 1 } },
  ]) {
    expect(await hitsOf(memory, asked)).toEqual(await hitsOf(reference, asked));
  }
}
