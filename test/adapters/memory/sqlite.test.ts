import { statSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { InMemoryMemory } from "../../../src/adapters/memory/in-memory.js";
import { SqliteMemory } from "../../../src/adapters/memory/sqlite.js";
import { SqliteSessionStore } from "../../../src/adapters/sessions/sqlite.js";
import { CompositionError } from "../../../src/domain/errors.js";
import { memoryPortClaims, runClaims } from "../../../src/testkit/index.js";
import { letterVector } from "./letter-vectors.js";
import { expectLikeReference, histories, hitsOf, PlainReference } from "./memory-histories.js";
import { sqliteMemoryFixture } from "./sqlite-memory-fixture.js";

describe("SqliteMemory", () => {
  runClaims({ test: it, claims: memoryPortClaims, make: () => sqliteMemoryFixture() });
});

describe("SqliteMemory with vectors", () => {
  runClaims({
    test: it,
    claims: memoryPortClaims,
    make: () => ({ ...sqliteMemoryFixture({ embedding: { embed: letterVector } }), scores: [-1, 1] as const }),
    capabilities: { words: { missing: "every entry has a vector, and so is a hit" } },
  });
});

describe("the words of SqliteMemory", () => {
  it("find and score any history of stores and deletes as the formula says", async () => {
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        await using sqlite = new SqliteMemory({ path: ":memory:" });
        await expectLikeReference(sqlite, history);
      }),
      { numRuns: 200 },
    );
  });

  it("answer with the best even where the search never looks at every entry with a common word", async () => {
    await using sqlite = new SqliteMemory({ path: ":memory:" });
    const reference = new PlainReference();
    const plain = new InMemoryMemory();
    for (let n = 0; n < 400; n++) {
      const content = `the ${n % 7 === 0 ? "red " : ""}${n % 40 === 0 ? "kiwi " : ""}${"filler ".repeat(n % 5)}`;
      const entry = { id: `${n}`, content, metadata: { odd: n % 2 } };
      reference.store(entry);
      for (const memory of [sqlite, plain]) await memory.store(entry);
    }
    for (const query of ["the red kiwi", "kiwi the", "the", "red the nothing"]) {
      for (const asked of [
        { query, topK: 3 },
        { query, topK: 200 },
        { query, topK: 5, filter: { odd: 1 } },
      ]) {
        for (const memory of [sqlite, plain]) expect(await hitsOf(memory, asked)).toEqual(reference.hits(asked));
      }
    }
  });

  it("find within a filter that many entries pass as within one that few pass", async () => {
    await using sqlite = new SqliteMemory({ path: ":memory:" });
    const reference = new PlainReference();
    const entries = Array.from({ length: 2_600 }, (_, n) => ({
      id: `${n}`,
      content: `tea ${n % 5 === 0 ? "green " : ""}${"leaf ".repeat(n % 3)}`,
      metadata: { user: n < 2_300 ? "ann" : "bob", odd: n % 2 },
    }));
    for (const entry of entries) reference.store(entry);
    await sqlite.storeAll(entries);
    for (const filter of [
      { user: "ann" },
      { user: "ann", odd: 1 },
      { user: "bob" },
      { user: "bob", odd: 0 },
      { user: "eve" },
    ]) {
      for (const query of ["green tea", "tea"]) {
        const asked = { query, filter, topK: 20 };
        expect(await hitsOf(sqlite, asked)).toEqual(reference.hits(asked));
      }
    }
  });

  it("score entries of any length, and at once what another process stored, as in memory", async () => {
    await using fixture = sqliteMemoryFixture();
    await using other = fixture.open();
    const plain = new InMemoryMemory();
    const lengths = [0, 1, 127, 128, 129, 1_000, 16_383, 16_384, 20_000, 3];
    for (const [n, length] of lengths.entries()) {
      const entry = { id: `${n}`, content: "tea ".repeat(Math.ceil(length / 7)) + "leaf ".repeat(length) };
      for (const memory of [n % 2 === 0 ? fixture.memory : other, plain]) await memory.store(entry);
      if (n === 4)
        for (const memory of [fixture.memory, plain]) await memory.store({ id: "0", content: "tea for two" });
      const asked = { query: "tea leaf", topK: 20 };
      for (const memory of [fixture.memory, other])
        expect(await hitsOf(memory, asked)).toEqual(await hitsOf(plain, asked));
    }
  });

  it("are those of a backup that is put back while the file is open", async () => {
    await using fixture = sqliteMemoryFixture();
    const plain = new InMemoryMemory();
    for (const memory of [fixture.memory, plain]) await memory.store({ id: "kept", content: "tea" });
    const restore = fixture.backup();
    for (const id of ["a", "b"]) await fixture.memory.store({ id, content: `tea ${"leaf ".repeat(50)}` });
    await fixture.memory.search({ query: "tea" });
    await restore();
    for (const memory of [fixture.memory, plain]) {
      await memory.store({ id: "c", content: "green tea" });
      await memory.store({ id: "d", content: "black tea with milk" });
    }
    expect(await hitsOf(fixture.memory, { query: "tea" })).toEqual(await hitsOf(plain, { query: "tea" }));
  });

  it("choose by the hundred rarest where a query has more, and find the last of them", async () => {
    await using sqlite = new SqliteMemory({ path: ":memory:" });
    const words = Array.from({ length: 300 }, (_, n) => `word${n}`);
    for (const word of words) await sqlite.store({ id: word, content: `${word} and` });
    await sqlite.store({ id: "most", content: words.join(" ") });
    const hits = await sqlite.search({ query: `and ${words.join(" ")}`, topK: 500 });
    expect(hits[0]?.id).toBe("most");
    expect(hits.length).toBeGreaterThan(100);
  });
});

describe("the file of SqliteMemory", () => {
  it("is for its owner alone", async () => {
    await using fixture = sqliteMemoryFixture();
    await fixture.memory.store({ content: "apple" });
    for (const path of [fixture.path, `${fixture.path}-wal`, `${fixture.path}-shm`])
      expect(statSync(path).mode & 0o777, path).toBe(0o600);
  });

  it("cannot be opened by a Node without SQLite, which the error says", async () => {
    const missing = vi.spyOn(process, "getBuiltinModule").mockReturnValue(undefined as never);
    try {
      const stored = new SqliteMemory({ path: ":memory:" }).store({ content: "apple" });
      await expect(stored).rejects.toThrow(/^MemoryError\(store\): .*has no node:sqlite; 22\.13 is the first/);
    } finally {
      missing.mockRestore();
    }
  });

  it("may be that of the sessions", async () => {
    await using fixture = sqliteMemoryFixture();
    await fixture.memory.store({ id: "a", content: "apple" });
    await using sessions = new SqliteSessionStore({ path: fixture.path });
    await sessions.append("s", { operationId: "o", baseRevision: 0, messages: [], metadata: { k: 1 } });
    await using again = fixture.open();
    expect(await again.search({ query: "apple" })).toMatchObject([{ id: "a" }]);
    expect((await sessions.load("s")).metadata).toEqual({ k: 1 });
  });

  it.each(["no database at all, but long enough to be looked at".repeat(40), ""])(
    "that is none is an error which names the memory, or is made one: %#",
    async (bytes) => {
      await using fixture = sqliteMemoryFixture();
      writeFileSync(fixture.path, bytes);
      if (bytes === "") expect(await fixture.memory.search({ query: "apple" })).toEqual([]);
      else
        await expect(fixture.memory.store({ content: "apple" })).rejects.toMatchObject({
          name: "MemoryError",
          kind: "store",
          message: expect.stringMatching(/^MemoryError\(store\): sqlite ".*": the file is damaged$/) as string,
        });
    },
  );

  it("of a newer version is refused and left as it is", async () => {
    await using fixture = sqliteMemoryFixture();
    await fixture.memory.store({ content: "apple" });
    fixture.sql("UPDATE ennead_schema SET version = 99 WHERE part = 'memory'");
    await using later = fixture.open();
    await expect(later.search({ query: "apple" })).rejects.toThrow(/MemoryError\(search\): .*schema 99/);
  });

  it("in a directory that is not there is an error now, and opened once it is", async () => {
    const memory = new SqliteMemory({ path: "/nowhere/at/all/memory.db" });
    await expect(memory.delete("a")).rejects.toMatchObject({ name: "MemoryError", kind: "delete" });
    await memory.close();
  });

  it("takes many entries at once, all or none", async () => {
    await using fixture = sqliteMemoryFixture();
    const entries = Array.from({ length: 30 }, (_, n) => ({ id: `${n}`, content: `apple ${n}` }));
    await expect(fixture.memory.storeAll([...entries, { id: "x", content: 5 as never }])).rejects.toMatchObject({
      kind: "store",
    });
    expect(await fixture.memory.search({ query: "apple" })).toEqual([]);
    const ids = await fixture.memory.storeAll([...entries, { id: "0", content: "apple again" }, { content: "pear" }]);
    expect(ids.slice(0, -1)).toEqual([...entries.map(({ id }) => id), "0"]);
    expect(await fixture.memory.search({ query: "apple", topK: 50 })).toHaveLength(30);
    expect(await fixture.memory.search({ query: "again" })).toMatchObject([{ id: "0" }]);
    expect(await fixture.memory.storeAll([])).toEqual([]);
  });

  it("takes no call once it is closed, and closing twice is none", async () => {
    await using fixture = sqliteMemoryFixture();
    await fixture.memory.store({ content: "apple" });
    await fixture.memory.close();
    await fixture.memory.close();
    await expect(fixture.memory.search({ query: "apple" })).rejects.toThrow(/MemoryError\(search\): .*closed/);
  });
});

describe("the options of SqliteMemory", () => {
  it.each([
    undefined,
    {},
    { path: "" },
    { path: 5 },
    { path: "a", embed: letterVector },
    { path: "a", embedding: {} },
    { path: "a", embedding: { embed: letterVector, failure: "never" } },
    { path: "a", embedding: { embed: letterVector, timeoutMs: 0 } },
  ])("are refused when they are %j", (options) => {
    expect(() => new SqliteMemory(options as never)).toThrow(CompositionError);
  });
});
