import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Embed } from "../../../src/adapters/memory/embedder.js";
import type { MemoryEntry } from "../../../src/domain/memory.js";
import { ownName, stopServers } from "../../support/servers.js";
import { runSql, vectorDatabase } from "../../support/vector-databases.js";
import { postgresMemoryFixture, type PostgresMemoryFixture } from "./postgres-memory-fixture.js";
import { watchedPool } from "./watched-pool.js";

/** More than are always compared one by one. */
const SIZE = 2_400;

const database = await vectorDatabase();
await runSql(database.url, "CREATE EXTENSION vector");
afterAll(async () => {
  await database[Symbol.asyncDispose]();
  await stopServers();
});

/** A vector of so many numbers that follows from the text; one without a letter or digit has zeros. */
function vectorsOf(dimensions: number, length = 1): Embed {
  return (text) => {
    let state = [...text].reduce((hash, sign) => Math.imul(hash, 31) + (sign.codePointAt(0) ?? 0), 7);
    return Array.from({ length: dimensions }, () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return text.includes("nowhere") ? 0 : (state / 2 ** 32 - 0.5) * length;
    });
  };
}

const embedding = { embed: vectorsOf(16), model: "m" };

/** Entries with a word that each has alone, of which 100 are of one team, one in ten is old, and two are nowhere. */
function entriesOf(count: number) {
  return Array.from({ length: count }, (_, n) => ({
    id: `${n}`,
    content: n < 2 ? `nowhere${n}` : `word${n}`,
    metadata: { team: Math.floor(n / 100), age: n % 10 === 0 ? "old" : "new" },
  }));
}

const idsOf = (hits: readonly MemoryEntry[]): string[] => hits.map(({ id }) => id);
const queries = Array.from({ length: 20 }, (_, n) => `question${n}`);

/** The statement that the documentation gives to those who make the index themselves. */
function documentedIndex(schema: string, space: number, dimensions: number): string {
  const [, text = ""] = /```sql\n(CREATE INDEX [^`]*)```/.exec(readFileSync("docs/memory.md", "utf8")) ?? [];
  return text
    .replaceAll('"agents"', `"${schema}"`)
    .replaceAll("256", `${dimensions}`)
    .replaceAll(/hnsw_1|space = 1/g, (match) => match.replace("1", `${space}`));
}

async function indexesOf(fixture: PostgresMemoryFixture): Promise<unknown[]> {
  const rows = await fixture.sql(
    `SELECT i.relname FROM pg_index JOIN pg_class AS i ON i.oid = indexrelid JOIN pg_am AS a ON a.oid = i.relam
      WHERE amname = 'hnsw' AND indrelid = 'T.ennead_memory_vectors'::regclass`,
  );
  return rows.map(({ relname }) => relname);
}

describe("the index of vectors in PostgreSQL", () => {
  const fixture = postgresMemoryFixture(database.url, { embedding });
  const watched = watchedPool(database.url);
  const memory = fixture.open({ pool: watched.pool });
  beforeAll(() => fixture.memory.storeAll(entriesOf(SIZE)));
  afterAll(async () => {
    await watched[Symbol.asyncDispose]();
    await fixture[Symbol.asyncDispose]();
  });

  const search = async (query: string, filter?: Record<string, string | number>, topK = 10) => {
    watched.plans.length = 0;
    const hits = await memory.search({ query, filter: filter as never, topK });
    return { hits, byIndex: watched.plans.some((plan) => plan.includes("Index Scan using ennead_memory_hnsw_")) };
  };

  it("finds what comparing every vector finds, with the same scores", async () => {
    const found = [];
    for (const query of queries) found.push(await search(query));
    expect(found.every(({ byIndex }) => byIndex)).toBe(true);
    await fixture.sql("DROP INDEX T.ennead_memory_hnsw_1");
    let same = 0;
    for (const [n, query] of queries.entries()) {
      const { hits, byIndex } = await search(query);
      expect(byIndex).toBe(false);
      const scores = new Map(hits.map(({ id, score }) => [id, score]));
      for (const { id, score } of found[n]?.hits ?? []) if (scores.get(id) === score) same += 1;
    }
    expect(same).toBeGreaterThan(0.97 * 10 * queries.length);
    await fixture.sql(documentedIndex(fixture.schema, 1, 16));
    expect(await search("question0")).toEqual(found[0]);
  });

  it("is used behind a filter that leaves many, and not behind one that leaves few; all that is found passes it", async () => {
    const young = await search("question1", { age: "new" });
    expect(young.byIndex).toBe(true);
    expect(young.hits.map(({ metadata }) => metadata["age"])).toEqual(Array(10).fill("new"));
    for (const filter of [{ age: "old" }, { team: 3 }, { team: 3, age: "new" }, { team: 99 }]) {
      const { hits, byIndex } = await search("question1", filter);
      expect(byIndex).toBe(false);
      expect(hits).toHaveLength("team" in filter && filter.team === 99 ? 0 : 10);
      for (const { metadata } of hits) expect(metadata).toMatchObject(filter);
    }
  });

  it("finds no vector of zeros, and nothing by one", async () => {
    const { hits, byIndex } = await search("question2", undefined, SIZE);
    expect([hits.length, byIndex]).toEqual([SIZE - 2, false]);
    expect(idsOf((await search("nowhere0 word7")).hits).sort()).toEqual(["0", "7"]);
    expect(await search("nowhere")).toEqual({ hits: [], byIndex: true });
  });

  it("does without the index where it finds too few, and beyond the best that a scan gives", async () => {
    await using impatient = watchedPool(database.url, "SET LOCAL hnsw.max_scan_tuples = 1");
    await fixture.sql("UPDATE T.ennead_memory_vectors SET space = -1 WHERE entry > 50");
    const hits = await fixture.open({ pool: impatient.pool }).search({ query: "question3", topK: 60 });
    await fixture.sql("UPDATE T.ennead_memory_vectors SET space = 1 WHERE space = -1");
    expect(hits).toHaveLength(48);
    expect(impatient.plans.join("\n")).toContain("Index Scan using ennead_memory_hnsw_1");
    const many = await search("question3", undefined, 600);
    expect([many.hits.length, many.byIndex]).toEqual([600, false]);
  });

  it("is made once by many that begin at the same time, beside deletes and stores without a vector", async () => {
    await using begun = postgresMemoryFixture(database.url);
    await begun.memory.store({ id: "0", content: "red" });
    const memories = Array.from({ length: 3 }, () => begun.open({ embedding }));
    const some = [0, 1, 2].map((n) => ({ id: `${n}`, content: "red" }));
    await Promise.all([
      ...some.flatMap((entry) => [begun.memory.store(entry), begun.memory.delete(entry.id)]),
      begun.memory.storeAll(some),
      ...memories.flatMap((memory, n) => [memory.storeAll(some), memory.store({ id: `${n + 3}`, content: "red" })]),
    ]);
    expect(await indexesOf(begun)).toEqual(["ennead_memory_hnsw_1"]);
    expect((await memories[0]?.search({ query: "red", topK: 50 }))?.length).toBeGreaterThan(2);
  });

  it("of a model is dropped when reembed() begins another one of other dimensions, which gets its own", async () => {
    const other = { embedding: { embed: vectorsOf(8), model: "other" } };
    await using replaced = postgresMemoryFixture(database.url, { embedding });
    for (const content of ["red", "green"]) await replaced.memory.store({ id: content, content });
    expect(await indexesOf(replaced)).toEqual(["ennead_memory_hnsw_1"]);
    expect(await replaced.open(other).reembed()).toBe(2);
    expect(await indexesOf(replaced)).toEqual(["ennead_memory_hnsw_2"]);
    expect(idsOf(await replaced.open(other).search({ query: "red", topK: 1 }))).toEqual(["red"]);
  });

  it.each([
    [2_001, 103, ["ennead_memory_hnsw_1"]],
    [4_001, 20, []],
    [16_001, 20, []],
  ])(
    "of %d dimensions is of halves, or there is none, and the entries are found",
    async (dimensions, count, indexes) => {
      await using fixture = postgresMemoryFixture(database.url, { embedding: { embed: vectorsOf(dimensions, 1e6) } });
      await using watched = watchedPool(database.url);
      const memory = fixture.open({ pool: watched.pool });
      await memory.storeAll(entriesOf(count));
      expect(await indexesOf(fixture)).toEqual(indexes);
      const exact = await memory.search({ query: "question4" });
      expect(exact).toHaveLength(10);
      await fixture.sql("ANALYZE T.ennead_memory_vectors");
      await fixture.sql("UPDATE T.ennead_memory_totals SET entries = 1000000");
      expect(idsOf(await memory.search({ query: "question4" }))).toEqual(idsOf(exact));
      expect(watched.plans.some((plan) => plan.includes("Index Scan using ennead_memory_hnsw_1"))).toBe(
        indexes.length > 0,
      );
    },
  );
});

describe("the extension vector of a database", () => {
  it("may come after the vectors and lie in another schema: then the documented statement makes the index", async () => {
    await using late = await vectorDatabase();
    await using fixture = postgresMemoryFixture(late.url, { embedding });
    await using watched = watchedPool(late.url);
    const memory = fixture.open({ pool: watched.pool });
    await fixture.memory.storeAll(entriesOf(SIZE));
    const hits = await memory.search({ query: "question5" });
    await runSql(late.url, `CREATE SCHEMA "o""dd"`);
    await runSql(late.url, `CREATE EXTENSION vector SCHEMA "o""dd"`);
    const near = await memory.search({ query: "question5" });
    expect(idsOf(near)).toEqual(idsOf(hits));
    for (const [n, { score }] of near.entries()) expect(score).toBeCloseTo(hits[n]?.score ?? 0, 5);
    expect(watched.plans.join("\n")).not.toContain("hnsw");
    await fixture.sql(documentedIndex(fixture.schema, 1, 16).replaceAll('"public"', '"o""dd"'));
    watched.plans.length = 0;
    const found = await memory.search({ query: "question5" });
    expect(watched.plans.join("\n")).toContain("Index Scan using ennead_memory_hnsw_1");
    expect(idsOf(found).filter((id) => idsOf(hits).includes(id)).length).toBeGreaterThan(8);
    await fixture.memory.store({ id: "late", content: "question5" });
    expect(idsOf(await memory.search({ query: "question5", topK: 1 }))).toEqual(["late"]);
  });

  it("may be closed to a role, and so may the making of an index: its stores and searches compare all beside one that need not", async () => {
    await using own = await vectorDatabase();
    await runSql(own.url, "CREATE SCHEMA closed");
    await runSql(own.url, "CREATE EXTENSION vector SCHEMA closed");
    await using fixture = postgresMemoryFixture(own.url, { embedding });
    const role = ownName();
    await fixture.open({ embedding: undefined }).store({ id: "first", content: "first" });
    await runSql(own.url, `CREATE ROLE ${role}`);
    await fixture.sql(`GRANT USAGE ON SCHEMA "${fixture.schema}" TO ${role}`);
    await fixture.sql(`GRANT ALL ON ALL TABLES IN SCHEMA "${fixture.schema}" TO ${role}`);
    await fixture.sql(`GRANT ALL ON ALL SEQUENCES IN SCHEMA "${fixture.schema}" TO ${role}`);
    const { pool, ...watched } = watchedPool(own.url, `SET LOCAL ROLE ${role}`);
    const confined = fixture.open({ pool });
    await confined.store({ id: "second", content: "second" });
    expect(await indexesOf(fixture)).toEqual([]);
    await runSql(own.url, `GRANT USAGE ON SCHEMA closed TO ${role}`);
    expect(await fixture.open({ pool, embedding: { ...embedding, model: "n" } }).reembed()).toBe(2);
    expect(await indexesOf(fixture)).toEqual([]);
    expect(await fixture.memory.reembed()).toBe(2);
    expect(await indexesOf(fixture)).toEqual(["ennead_memory_hnsw_3"]);
    await runSql(own.url, `REVOKE USAGE ON SCHEMA closed FROM ${role}`);
    await confined.store({ id: "third", content: "third" });
    expect(idsOf(await fixture.memory.search({ query: "third" }))).toEqual(
      idsOf(await confined.search({ query: "third" })),
    );
    await watched[Symbol.asyncDispose]();
    await fixture.sql(`DROP OWNED BY ${role}`);
    await runSql(own.url, `DROP ROLE ${role}`);
  });
});
