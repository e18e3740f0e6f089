import fc from "fast-check";
import pg from "pg";
import { afterAll, describe, expect, it } from "vitest";
import type { Embed } from "../../../src/adapters/memory/embedder.js";
import { PostgresMemory } from "../../../src/adapters/memory/postgres.js";
import { PostgresSessionStore } from "../../../src/adapters/sessions/postgres.js";
import { CompositionError } from "../../../src/domain/errors.js";
import { memoryPortClaims, runClaims } from "../../../src/testkit/index.js";
import { PATIENCE_MS } from "../../support/patience.js";
import { describeWith, ownName, postgresUrl, stopServers } from "../../support/servers.js";
import { letterVector, plannedVectors } from "./letter-vectors.js";
import { expectLikeReference, histories } from "./memory-histories.js";
import { postgresMemoryFixture } from "./postgres-memory-fixture.js";

const server = await postgresUrl();
afterAll(stopServers);

const byVector = { missing: "every entry has a vector, and so is a hit" };

describeWith("PostgresMemory", server, (url) => {
  describe("by words", () => {
    runClaims({ test: it, claims: memoryPortClaims, timeoutMs: PATIENCE_MS, make: () => postgresMemoryFixture(url) });

    it("finds and scores any history of stores and deletes as the formula says", async () => {
      await using fixture = postgresMemoryFixture(url);
      await fc.assert(
        fc.asyncProperty(histories, async (history) => {
          await expectLikeReference(fixture.memory, history);
          for (const id of ["a", "b", "c", "d", "e", "f"]) await fixture.memory.delete(id);
        }),
        { numRuns: 40 },
      );
      const rows = await fixture.sql("SELECT entries, terms FROM T.ennead_memory_totals");
      expect(rows).toEqual([{ entries: "0", terms: "0" }]);
      expect(await fixture.sql("SELECT * FROM T.ennead_memory_postings")).toEqual([]);
      expect(await fixture.sql("SELECT * FROM T.ennead_memory_frequencies")).toEqual([]);
      expect(await fixture.sql("SELECT * FROM T.ennead_memory_fields")).toEqual([]);
    });
  });

  describe("by words of a configuration", () => {
    runClaims({
      test: it,
      claims: memoryPortClaims,
      timeoutMs: PATIENCE_MS,
      make: () => postgresMemoryFixture(url, { configuration: "simple" }),
    });

    it("stems words and leaves out stop words, and keeps signs that it does not know", async () => {
      await using fixture = postgresMemoryFixture(url, { configuration: "english" });
      await fixture.memory.store({ id: "a", content: "she was running through the mountains 🚀 東京" });
      const found = async (query: string): Promise<number> => (await fixture.memory.search({ query })).length;
      expect([await found("run"), await found("mountain"), await found("🚀"), await found("東京")]).toEqual([
        1, 1, 1, 1,
      ]);
      expect(await found("the")).toBe(0);
    });

    it("is one for all entries: another one, or one that is not there, is an error", async () => {
      await using fixture = postgresMemoryFixture(url, { configuration: "english" });
      await fixture.memory.store({ content: "apples" });
      const other = fixture.open({ configuration: "german" });
      await expect(other.search({ query: "apple" })).rejects.toThrow(/configuration "english", not "german"/);
      await expect(other.store({ content: "apple" })).rejects.toMatchObject({ name: "MemoryError", kind: "store" });
      await using fresh = postgresMemoryFixture(url, { configuration: "'; DROP TABLE x; --" });
      await expect(fresh.memory.store({ content: "apple" })).rejects.toMatchObject({ name: "MemoryError" });
    });
  });

  describe("with vectors", () => {
    runClaims({
      test: it,
      claims: memoryPortClaims,
      timeoutMs: PATIENCE_MS,
      make: () => ({ ...postgresMemoryFixture(url, { embedding: { embed: letterVector } }), scores: [-1, 1] as const }),
      capabilities: { words: byVector },
    });

    it("finds what is near without a word in common, with the cosine as score, and a vector of zeros not at all", async () => {
      const vectors = { north: [0, 1], east: [1, 0], "north east": [1, 1], south: [0, -1], nowhere: [0, 0] };
      const embed = plannedVectors({ ...vectors, up: [0, 1] });
      await using fixture = postgresMemoryFixture(url, { embedding: { embed } });
      for (const content of Object.keys(vectors)) await fixture.memory.store({ id: content, content });
      const hits = await fixture.memory.search({ query: "up" });
      expect(hits.map(({ id, score }) => [id, score])).toEqual([
        ["north", 1],
        ["north east", 0.707107],
        ["east", 0],
        ["south", -1],
      ]);
    });

    it("refuses another model, stores nothing then, and reembed() replaces all vectors", async () => {
      const two: Embed = (text) => [text.length, 1];
      const three: Embed = (text) => [text.length, 1, 2];
      await using fixture = postgresMemoryFixture(url, { embedding: { embed: two, model: "old" } });
      await Promise.all(["a", "bb", "ccc"].map((content) => fixture.memory.store({ id: content, content })));
      const other = fixture.open({ embedding: { embed: three, model: "new" } });
      await expect(other.store({ id: "a", content: "changed" })).rejects.toThrow(/of the model "old".*reembed\(\)/);
      await expect(other.search({ query: "a" })).rejects.toMatchObject({ name: "MemoryError", kind: "search" });
      expect((await fixture.memory.search({ query: "a", topK: 1 })).map(({ content }) => content)).toEqual(["a"]);
      expect([await other.reembed(), await other.reembed()]).toEqual([3, 0]);
      expect(await other.search({ query: "zzzz" })).toHaveLength(3);
    });

    it("loses no vector by a reembed() of a former model that is still under way", async () => {
      await using fixture = postgresMemoryFixture(url);
      for (const content of ["a", "bb", "ccc"]) await fixture.memory.store({ id: content, content });
      const newer = fixture.open({ embedding: { embed: (text) => [text.length, 1, 2], model: "new" } });
      let calls = 0;
      const slow: Embed = async (text) => {
        if (++calls === 3) expect(await newer.reembed()).toBe(3);
        return [text.length, 1];
      };
      const former = fixture.open({ embedding: { embed: slow, model: "old" } });
      await expect(former.reembed()).rejects.toThrow(/3 dimensions of the model "new".*"old"/);
      expect(await newer.reembed()).toBe(0);
    });

    it("leaves the words where a vector cannot be had and that is asked for", async () => {
      const refusing: Embed = () => Promise.reject(new Error("the server of vectors is down"));
      await using fixture = postgresMemoryFixture(url, { embedding: { embed: refusing, failure: "text-only" } });
      await fixture.memory.store({ id: "a", content: "apple" });
      expect(await fixture.memory.search({ query: "apple" })).toMatchObject([{ id: "a" }]);
      const strict = fixture.open({ embedding: { embed: refusing } });
      await expect(strict.store({ id: "a", content: "pear" })).rejects.toThrow(/embed failed: the server of vectors/);
      expect(await fixture.memory.search({ query: "apple" })).toMatchObject([{ id: "a", content: "apple" }]);
    });
  });

  describe("the schema", () => {
    it("is taken literally, and may be that of the sessions", async () => {
      await using fixture = postgresMemoryFixture(url, {}, `${ownName()}'"; --`);
      await using sessions = new PostgresSessionStore({ url, schema: fixture.schema });
      await sessions.append("s", { operationId: "o", baseRevision: 0, messages: [], metadata: { k: 1 } });
      await fixture.memory.store({ id: "a", content: "apple" });
      expect(await fixture.memory.search({ query: "apple" })).toMatchObject([{ id: "a" }]);
      expect((await sessions.load("s")).metadata).toEqual({ k: 1 });
    });

    it("of a newer version is refused, and left as it is", async () => {
      await using fixture = postgresMemoryFixture(url);
      await fixture.memory.store({ content: "apple" });
      await fixture.sql("UPDATE T.ennead_schema SET version = 9");
      await expect(fixture.open().search({ query: "apple" })).rejects.toThrow(/MemoryError\(search\): .*version 9/);
    });

    it("of a version that counted no terms gets their counts, and finds with the same scores", async () => {
      await using fixture = postgresMemoryFixture(url);
      for (const content of ["red apple", "red red tree", "pear"]) await fixture.memory.store({ content });
      const before = await fixture.memory.search({ query: "red apple" });
      await fixture.sql("DROP TABLE T.ennead_memory_frequencies");
      await fixture.sql("ALTER TABLE T.ennead_memory_postings RENAME TO ennead_memory_terms");
      await fixture.sql("UPDATE T.ennead_schema SET version = 2 WHERE part = 'memory'");
      expect(before).toHaveLength(2);
      expect(await fixture.open().search({ query: "red apple" })).toEqual(before);
      expect(await fixture.sql("SELECT * FROM T.ennead_memory_frequencies WHERE term = 'red'")).toEqual([
        { term: "red", entries: "2", most: 2, shortest: "2" },
      ]);
    });

    it("is made once by many that begin at the same time, and their stores lose nothing", async () => {
      await using fixture = postgresMemoryFixture(url);
      const memories = Array.from({ length: 6 }, () => fixture.open());
      await Promise.all(
        memories.flatMap((memory, n) => [
          memory.store({ id: `${n}`, content: "apple" }),
          memory.store({ id: "shared", content: `pear ${n}` }),
        ]),
      );
      expect(await fixture.memory.search({ query: "apple" })).toHaveLength(6);
      expect(await fixture.memory.search({ query: "pear" })).toMatchObject([{ id: "shared" }]);
    });
  });

  it("stores many at once like one after the other, of those with one id the last, and all or none", async () => {
    await using fixture = postgresMemoryFixture(url);
    const entries = ["red apple", "red tree", "pear"].map((content, n) => ({
      id: `${n % 2}`,
      content,
      metadata: { n },
    }));
    expect(await fixture.memory.storeAll(entries)).toEqual(["0", "1", "0"]);
    await using one = postgresMemoryFixture(url);
    for (const entry of entries) await one.memory.store(entry);
    for (const query of ["red tree", "pear", "apple"])
      expect(await fixture.memory.search({ query })).toEqual(await one.memory.search({ query }));
    const broken = [{ content: "fine" }, { content: 5 as never }];
    await expect(fixture.memory.storeAll(broken)).rejects.toMatchObject({ name: "MemoryError", kind: "store" });
    expect(await fixture.memory.search({ query: "fine" })).toEqual([]);
    await Promise.all([fixture.memory.storeAll(entries), fixture.open().store({ id: "0", content: "plum" })]);
    const rows = await fixture.sql("SELECT entries FROM T.ennead_memory_totals");
    expect(rows).toEqual([{ entries: "2" }]);
    expect(await fixture.memory.storeAll([])).toEqual([]);
  });

  it("uses a pool it is given as it is, and does not close it", async () => {
    await using fixture = postgresMemoryFixture(url);
    const pool = new pg.Pool({ connectionString: url, max: 2 });
    const memory = new PostgresMemory({ pool, schema: fixture.schema });
    await Promise.all(Array.from({ length: 8 }, (_, n) => memory.store({ id: `${n}`, content: "apple" })));
    await memory.close();
    await memory.close();
    await expect(memory.search({ query: "apple" })).rejects.toThrow(/the store is closed/);
    expect((await pool.query("SELECT 1")).rowCount).toBe(1);
    await pool.end();
  });
});

describe("the options of PostgresMemory", () => {
  const url = "postgres://u:secret@127.0.0.1:1/none";

  it.each([
    undefined,
    {},
    { url: "http://secret" },
    { url, schema: "" },
    { url, configuration: 5 },
    { url, embed: letterVector },
    { url, timeoutMs: 0 },
  ])("are refused when they are %j, without a word of the URL", (options) => {
    expect(() => new PostgresMemory(options as never)).toThrow(CompositionError);
    expect(() => new PostgresMemory(options as never)).not.toThrow(/secret/);
  });

  it("that lead to no server are a MemoryError of each call, without the password", async () => {
    await using memory = new PostgresMemory({ url, timeoutMs: 2_000 });
    const failed = expect.not.stringContaining("secret") as string;
    await expect(memory.search({ query: "a" })).rejects.toMatchObject({ name: "MemoryError", message: failed });
    await expect(memory.delete("a")).rejects.toMatchObject({ name: "MemoryError", kind: "delete" });
  });
});
