import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InMemoryMemory } from "../../../src/adapters/memory/in-memory.js";
import { NoopMemory } from "../../../src/adapters/memory/noop.js";
import { MemoryError } from "../../../src/domain/errors.js";
import type { MemoryEntryInput, MemoryQuery } from "../../../src/domain/memory.js";
import { memoryPortClaims, runClaims } from "../../../src/testkit/index.js";
import { expectLikeReference, histories } from "./memory-histories.js";

async function memoryOf(...entries: (string | MemoryEntryInput)[]): Promise<InMemoryMemory> {
  const memory = new InMemoryMemory();
  for (const entry of entries) await memory.store(typeof entry === "string" ? { id: entry, content: entry } : entry);
  return memory;
}

const found = async (memory: InMemoryMemory, query: string | MemoryQuery): Promise<readonly string[]> =>
  (await memory.search(typeof query === "string" ? { query } : query)).map((entry) => entry.id);

describe("InMemoryMemory", () => {
  const gone = { missing: "it lives as long as the process" };
  runClaims({
    test: it,
    claims: memoryPortClaims,
    make: () => ({ memory: new InMemoryMemory() }),
    capabilities: { damage: gone, reopen: gone },
  });

  it("gives an id where there is none, and keeps one that is given", async () => {
    const memory = new InMemoryMemory();
    expect(await memory.store({ content: "a" })).toMatch(/^[0-9a-f-]{36}$/);
    expect(await memory.store({ id: "mine", content: "b" })).toBe("mine");
  });

  it("replaces an entry under the same id", async () => {
    const memory = await memoryOf({ id: "1", content: "old words", metadata: { v: 1 } });
    await memory.store({ id: "1", content: "new words" });
    expect(await memory.search({ query: "words" })).toMatchObject([{ id: "1", content: "new words", metadata: {} }]);
    expect(await found(memory, "old")).toEqual([]);
  });

  it("forgets what is deleted, and takes an unknown id for no error", async () => {
    const memory = await memoryOf("red apple", "red pear");
    await memory.delete("red apple");
    await memory.delete("nope");
    expect(await found(memory, "red apple")).toEqual(["red pear"]);
  });

  it("scores between 0 and 1, the nearest first", async () => {
    const memory = await memoryOf(
      "the cat sat on the mat",
      "the cat sat on the mat and then went on for a very long walk through the town",
      "the dog",
    );
    const hits = await memory.search({ query: "cat mat" });
    expect(hits.map((hit) => hit.content.length)).toEqual([22, 77]);
    for (const { score } of hits) expect(score).toSatisfy((value: number) => value > 0 && value <= 1);
  });

  it("prefers the rarer term, and the newer of equals", async () => {
    const memory = await memoryOf("deploy one", "deploy two", "rollback six");
    expect(await found(memory, "deploy rollback")).toEqual(["rollback six", "deploy two", "deploy one"]);
  });

  it("finds and scores any history of stores and deletes as the formula says", async () => {
    await fc.assert(
      fc.asyncProperty(histories, (history) => expectLikeReference(new InMemoryMemory(), history)),
      { numRuns: 300 },
    );
  });

  it("keeps every score within bounds, whatever is stored and asked", async () => {
    const words = fc
      .array(fc.constantFrom("a", "b", "c", "日本", "🔥", "!"), { maxLength: 12 })
      .map((list) => list.join(" "));
    await fc.assert(
      fc.asyncProperty(fc.array(words, { maxLength: 8 }), words, async (contents, query) => {
        const memory = new InMemoryMemory();
        for (const content of contents) await memory.store({ content });
        const scores = (await memory.search({ query })).map((hit) => hit.score ?? Number.NaN);
        for (const score of scores) expect(score > 0 && score <= 1).toBe(true);
        expect(scores).toEqual([...scores].sort((a, b) => b - a));
      }),
    );
  });

  it.each([
    ["case", "The Cat", "cAT"],
    ["accents", "Zoë au café", "zoe cafe"],
    ["width", "ＡＢＣ", "abc"],
    ["German", "Größe", "größe"],
    ["Russian", "Москва", "москва"],
    ["Japanese", "東京都に住む", "東京"],
    ["a single Chinese character", "黑猫喜欢鱼", "猫"],
    ["Korean with its particles", "서울에서 만나요", "서울"],
    ["Thai without spaces", "ผมชอบแมวมาก", "แมว"],
    ["Hindi with its vowel signs", "नमस्ते दुनिया", "दुनिया"],
    ["pictographs", "ship it 🚀", "🚀"],
    ["numbers", "ticket 4711", "4711"],
    ["mixed scripts", "我用TypeScript写代码", "typescript"],
  ])("matches %s", async (_title, content, query) => {
    const memory = await memoryOf(content, "nothing of the kind");
    expect(await found(memory, query)).toEqual([content]);
  });

  it.each(["NEAR", "a OR b", '"quoted', "col:x", "x*", "a AND (", "'; DROP TABLE", "-x", "\\", "a^2"])(
    "takes %s for text, never for query syntax",
    async (query) => {
      const memory = await memoryOf("zzz");
      expect(await found(memory, query)).toEqual([]);
    },
  );

  it("limits to topK, 10 by default, and gives nothing for 0", async () => {
    const memory = await memoryOf(...Array.from({ length: 12 }, (_, index) => `same ${index}`));
    expect(await found(memory, "same")).toHaveLength(10);
    expect(await found(memory, { query: "same", topK: 11 })).toHaveLength(11);
    expect(await found(memory, { query: "same", topK: 0 })).toEqual([]);
  });

  it.each([-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])("refuses a topK of %d", async (topK) => {
    for (const memory of [new InMemoryMemory(), new NoopMemory()]) {
      await expect(memory.search({ query: "x", topK })).rejects.toMatchObject({ kind: "search" });
    }
  });

  it("refuses a threshold that is no number", async () => {
    await expect(new InMemoryMemory().search({ query: "x", threshold: Number.NaN })).rejects.toThrow(MemoryError);
  });

  it("filters by equality of metadata, before topK counts", async () => {
    const memory = await memoryOf(
      { id: "1", content: "x", metadata: { n: 1, tags: ["a", { b: 2 }] } },
      { id: "2", content: "x", metadata: { n: "1" } },
      { id: "3", content: "x" },
    );
    expect(await found(memory, { query: "x", filter: { n: 1 }, topK: 1 })).toEqual(["1"]);
    expect(await found(memory, { query: "x", filter: { n: "1" } })).toEqual(["2"]);
    expect(await found(memory, { query: "x", filter: { tags: ["a", { b: 2 }] } })).toEqual(["1"]);
    expect(await found(memory, { query: "x", filter: { n: 1, m: 2 } })).toEqual([]);
    expect(await found(memory, { query: "x", filter: { toString: "x" } })).toEqual([]);
    expect(await found(memory, { query: "x", filter: {} })).toHaveLength(3);
  });

  it("keeps a copy of its own", async () => {
    const metadata = { list: ["a"] };
    const memory = await memoryOf({ id: "1", content: "x", metadata });
    metadata.list.push("b");
    expect((await memory.search({ query: "x" }))[0]?.metadata).toEqual({ list: ["a"] });
  });

  it.each([undefined, null, {}, { content: 5 }, { id: 5, content: "x" }, { content: "x", metadata: [] }])(
    "refuses the entry %j and keeps what it had",
    async (entry) => {
      const memory = await memoryOf({ id: "1", content: "old words" });
      const given = (entry === null ? entry : { id: "1", ...entry }) as never;
      await expect(memory.store(given)).rejects.toMatchObject({ name: "MemoryError", kind: "store" });
      expect(await found(memory, "old")).toEqual(["1"]);
    },
  );

  it.each([undefined, null, { query: undefined }, { query: "x", filter: null }, { query: "x", threshold: "1" }])(
    "refuses the query %j",
    async (query) => {
      const memory = await memoryOf("x");
      await expect(memory.search(query as never)).rejects.toMatchObject({ name: "MemoryError", kind: "search" });
    },
  );

  it("refuses what JSON cannot hold", async () => {
    const entry = { content: "x", metadata: { n: 1n } as never };
    await expect(new InMemoryMemory().store(entry)).rejects.toMatchObject({ kind: "store" });
  });

  it("takes a score of the application's own, and leaves out what it calls no hit", async () => {
    const scores: Record<string, number | undefined> = { a: 0.2, b: undefined, c: Number.NaN, d: -0.5, e: 1 / 0 };
    const memory = new InMemoryMemory({ score: async (_query, entry) => scores[entry.id] });
    for (const id of Object.keys(scores)) await memory.store({ id, content: "x" });
    expect(await found(memory, "anything")).toEqual(["a", "d"]);
  });

  it("asks a score of the application for what passes the filter alone", async () => {
    const asked: string[] = [];
    const memory = new InMemoryMemory({ score: (_query, { id }) => asked.push(id) });
    for (const id of ["ann's", "bob's"]) await memory.store({ id, content: "tea", metadata: { user: id } });
    const hits = await memory.search({ query: "tea", filter: { user: "bob's" } });
    expect([asked, hits.map(({ id }) => id)]).toEqual([["bob's"], ["bob's"]]);
  });

  it("turns a score that fails into a memory error", async () => {
    const memory = new InMemoryMemory({ score: () => Promise.reject(new Error("no embedding")) });
    await memory.store({ content: "x" });
    await expect(memory.search({ query: "x" })).rejects.toThrow(/MemoryError\(search\): .*no embedding/);
  });
});

describe("NoopMemory", () => {
  it("gives ids and finds nothing", async () => {
    const memory = new NoopMemory();
    expect(await memory.store({ id: "1", content: "x" })).toBe("1");
    expect(await memory.store({ content: "x" })).toMatch(/^[0-9a-f-]{36}$/);
    expect(await memory.search({ query: "x" })).toEqual([]);
    await expect(memory.delete()).resolves.toBeUndefined();
  });
});
