import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { fusedScore, leastByWords } from "../../../src/adapters/memory/fused-score.js";
import { InMemoryMemory } from "../../../src/adapters/memory/in-memory.js";
import type { PostgresMemory } from "../../../src/adapters/memory/postgres.js";
import { SqliteMemory } from "../../../src/adapters/memory/sqlite.js";
import { describeWith, postgresUrl, stopServers } from "../../support/servers.js";
import { postgresMemoryFixture } from "./postgres-memory-fixture.js";

const server = await postgresUrl();
afterAll(stopServers);

/** The same numbers in every run, between 0 and 1. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Says little about which words a text has. */
function vectorOf(text: string): number[] {
  const random = numbers([...text].reduce((hash, sign) => Math.imul(hash, 31) + sign.charCodeAt(0), 7));
  return Array.from({ length: 24 }, () => (text.includes("word7") ? 0 : random() - 0.4));
}

function cosine(a: readonly number[], b: readonly number[]): number | undefined {
  const dot = (x: readonly number[], y: readonly number[]): number =>
    x.reduce((sum, value, n) => sum + value * (y[n] ?? 0), 0);
  const lengths = Math.sqrt(dot(a, a) * dot(b, b));
  return lengths === 0 ? undefined : dot(a, b) / lengths;
}

const random = numbers(1);
/** The first words are in many texts, the last in few. */
const text = (length: number): string =>
  Array.from({ length }, () => `word${Math.floor(random() ** 3 * 60)}`).join(" ");
const entries = Array.from({ length: 600 }, (_, n) => ({
  id: `${n}`,
  content: text(1 + (n % 9)),
  metadata: { third: n % 3 },
}));

type Asked = { readonly topK: number; readonly threshold?: number; readonly filter?: { readonly third: number } };

async function best(words: InMemoryMemory, query: string, { topK, threshold = -1, filter }: Asked): Promise<number[]> {
  const byWords = new Map((await words.search({ query, topK: 600 })).map(({ id, score = 0 }) => [id, score]));
  const among = entries.filter(({ metadata }) => filter === undefined || metadata.third === filter.third);
  const scores = among.flatMap(({ id, content }) => {
    const near = cosine(vectorOf(content), vectorOf(query));
    return near === undefined && !byWords.has(id) ? [] : [fusedScore(byWords.get(id) ?? 0, near)];
  });
  return scores
    .filter((score) => score >= threshold)
    .sort((a, b) => b - a)
    .slice(0, topK);
}

async function expectTheBest(memory: SqliteMemory | PostgresMemory, queries: number): Promise<void> {
  const words = new InMemoryMemory();
  await memory.storeAll(entries);
  for (const entry of entries) await words.store(entry);
  for (let n = 0; n < queries; n++) {
    const query = text(1 + (n % 5));
    const others: Asked[] = [{ topK: 60 }, { topK: 5, threshold: 0.93 }, { topK: 5, filter: { third: n % 3 } }];
    for (const asked of [{ topK: 5 }, ...others]) {
      const expected = await best(words, query, asked);
      const hits = await memory.search({ query, ...asked });
      expect(hits.length, query).toBe(expected.length);
      for (const [at, { score }] of hits.entries()) expect(score, query).toBeCloseTo(expected[at] ?? 0, 4);
    }
  }
}

it("leastByWords rules out no entry that would be among the best, up to so much nearer than the last of the nearest", () => {
  const share = fc.integer({ min: 0, max: 100 }).map((percent) => percent / 100);
  const others = fc.record({
    cosines: fc.array(share, { minLength: 1, maxLength: 8 }),
    missed: share,
    words: share,
    ahead: share,
  });
  fc.assert(
    fc.property(others, fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 8 }), (given, limit, topK) => {
      const cosines = new Map([...given.cosines.entries()].slice(0, limit));
      const scores = new Map([...cosines].map(([key, value]) => [key, fusedScore(0, value)]));
      const least = leastByWords({ cosines, scores, limit, topK, threshold: undefined, missed: given.missed });
      const last = cosines.size < limit ? 0 : Math.min(...cosines.values());
      const score = fusedScore(given.words, last + given.missed * given.ahead);
      const wanted = [...scores.values()].sort((a, b) => b - a)[topK - 1];
      if (wanted === undefined || score >= wanted + 1e-5) expect(given.words).toBeGreaterThanOrEqual(least);
    }),
    { numRuns: 2_000 },
  );
});

describe("hits by words and vectors are the best of all by both, whichever of them brings an entry there", () => {
  it("in SQLite", async () => {
    await using memory = new SqliteMemory({ path: ":memory:", embedding: { embed: vectorOf } });
    await expectTheBest(memory, 60);
  });

  describeWith("in PostgreSQL", server, (url) => {
    it("as well", async () => {
      await using fixture = postgresMemoryFixture(url, { embedding: { embed: vectorOf } });
      await expectTheBest(fixture.memory, 20);
    });
  });
});
