import { describe, expect, it } from "vitest";
import type { Embed } from "../../../src/adapters/memory/embedder.js";
import { SqliteMemory } from "../../../src/adapters/memory/sqlite.js";
import { letterVector, plannedVectors } from "./letter-vectors.js";
import { sqliteMemoryFixture } from "./sqlite-memory-fixture.js";

const vectors = { north: [0, 1], east: [1, 0], "north east": [1, 1], south: [0, -1], nowhere: [0, 0] };
const compass = plannedVectors({ ...vectors, up: [0, 1], "up south": [0, 1] });
const refusing: Embed = () => Promise.reject(new Error("the server of vectors is down"));

async function compassMemory(): Promise<SqliteMemory> {
  const memory = new SqliteMemory({ path: ":memory:", embedding: { embed: compass } });
  for (const content of Object.keys(vectors)) await memory.store({ id: content, content });
  return memory;
}

describe("the vectors of SqliteMemory", () => {
  it("find what is near without a word in common, with the cosine as score", async () => {
    await using memory = await compassMemory();
    const hits = await memory.search({ query: "up" });
    expect(hits.map(({ id, score = 0 }) => [id, Number(score.toFixed(6))])).toEqual([
      ["north", 1],
      ["north east", 0.707107],
      ["east", 0],
      ["south", -1],
    ]);
  });

  it("are raised towards 1 by words in common, and a vector of zeros leaves the words", async () => {
    await using memory = await compassMemory();
    const [south] = (await memory.search({ query: "up south" })).filter(({ id }) => id === "south");
    expect(south?.score).toBeGreaterThan(-1);
    expect(south?.score).toBeLessThan(0.5);
    await using words = new SqliteMemory({ path: ":memory:" });
    await words.store({ content: "nowhere" });
    await using zero = new SqliteMemory({ path: ":memory:", embedding: { embed: () => [0, 0] } });
    await zero.store({ content: "nowhere" });
    const scoreIn = async (one: SqliteMemory) => (await one.search({ query: "nowhere at all" }))[0]?.score;
    expect(await scoreIn(zero)).toBe(await scoreIn(words));
  });

  it("are compared among the entries of the filter only, before topK counts", async () => {
    await using memory = new SqliteMemory({ path: ":memory:", embedding: { embed: letterVector } });
    for (let n = 0; n < 200; n++) await memory.store({ content: "apple", metadata: { user: "ann" } });
    await memory.store({ id: "bob's", content: "zzz", metadata: { user: "bob" } });
    expect((await memory.search({ query: "apple", filter: { user: "bob" }, topK: 1 })).map(({ id }) => id)).toEqual([
      "bob's",
    ]);
  });

  it("of an entry that was replaced or deleted find nothing", async () => {
    await using memory = await compassMemory();
    await memory.store({ id: "north", content: "south" });
    await memory.delete("east");
    const hits = await memory.search({ query: "up", threshold: 0 });
    expect(hits.map(({ id }) => id)).toEqual(["north east"]);
  });

  it.each<[string, Embed, RegExp]>([
    ["that fails", refusing, /embed failed: the server of vectors is down/],
    [
      "that throws",
      () => {
        throw new Error("no key");
      },
      /embed failed: no key/,
    ],
    ["that gives no vector", () => "vector" as never, /it answered no vector/],
    ["that gives an empty one", () => [], /it answered no vector/],
    ["with what is no number", () => [1, Number.NaN], /what is no number/],
    ["with a text in it", () => [1, "2"] as never, /what is no number/],
    ["that never answers", () => new Promise(() => {}), /no vector within 20 ms/],
  ])("whose embed is one %s are a MemoryError, and store nothing", async (_title, embed, message) => {
    await using fixture = sqliteMemoryFixture();
    await fixture.memory.store({ id: "a", content: "apple old" });
    await using failing = fixture.open({ embedding: { embed, timeoutMs: 20 } });
    await expect(failing.store({ id: "a", content: "apple new" })).rejects.toThrow(message);
    await expect(failing.search({ query: "apple" })).rejects.toMatchObject({ name: "MemoryError", kind: "search" });
    expect(await fixture.memory.search({ query: "apple" })).toMatchObject([{ id: "a", content: "apple old" }]);
  });

  it("that cannot be had leave the words where that is asked for, and reembed() gives them later", async () => {
    await using fixture = sqliteMemoryFixture();
    await using failing = fixture.open({ embedding: { embed: refusing, failure: "text-only" } });
    await failing.store({ id: "a", content: "north" });
    await failing.store({ id: "b", content: "south" });
    expect(await failing.search({ query: "north" })).toMatchObject([{ id: "a" }]);
    await expect(failing.reembed()).rejects.toMatchObject({ name: "MemoryError", kind: "store" });
    await using mended = fixture.open({ embedding: { embed: compass } });
    expect([await mended.reembed(), await mended.reembed()]).toEqual([2, 0]);
    expect((await mended.search({ query: "up" })).map(({ id }) => id)).toEqual(["a", "b"]);
  });

  it("tell embed what a text is for, and abort it when the time is up or the memory is closed", async () => {
    const asked: string[] = [];
    const ended: unknown[] = [];
    const hanging: Embed = (_text, { purpose, signal }) => {
      asked.push(purpose);
      signal.addEventListener("abort", () => ended.push(signal.reason));
      return new Promise(() => {});
    };
    const memory = new SqliteMemory({ path: ":memory:", embedding: { embed: hanging, timeoutMs: 20 } });
    await expect(memory.store({ content: "a" })).rejects.toThrow();
    await expect(memory.search({ query: "a" })).rejects.toThrow();
    const patient = new SqliteMemory({ path: ":memory:", embedding: { embed: hanging } });
    const stored = patient.store({ content: "a" });
    const seen = expect(stored).rejects.toThrow(/the memory was closed/);
    while (asked.length < 3)
      await Promise.resolve().then(() => new Promise<void>((resolve) => void setImmediate(resolve)));
    await patient.close();
    await seen;
    await memory.close();
    expect([asked, ended.length]).toEqual([["store", "search", "store"], 3]);
  });
});

describe("another model for a SqliteMemory", () => {
  const two: Embed = (text) => [text.length, 1];
  const three: Embed = (text) => [text.length, 1, 2];

  it.each([
    [
      "of another name",
      { embed: two, model: "new" },
      /2 dimensions of the model "old".*2 dimensions of the model "new"; reembed\(\)/,
    ],
    ["of another length", { embed: three, model: "old" }, /2 dimensions.*embed gave 3 dimensions/],
    [
      "of another name, where words would do",
      { embed: two, model: "new", failure: "text-only" as const },
      /reembed\(\)/,
    ],
  ])("%s is noticed by the first call, and nothing is mixed", async (_title, embedding, message) => {
    await using fixture = sqliteMemoryFixture({ embedding: { embed: two, model: "old" } });
    await fixture.memory.store({ id: "a", content: "apple" });
    await using other = fixture.open({ embedding });
    await expect(other.store({ id: "b", content: "apple" })).rejects.toThrow(message);
    await expect(other.search({ query: "apple" })).rejects.toThrow(message);
    expect((await fixture.memory.search({ query: "apple" })).map(({ id }) => id)).toEqual(["a"]);
  });

  it("replaces the vectors of the former by reembed(), which goes on where it failed", async () => {
    await using fixture = sqliteMemoryFixture({ embedding: { embed: two, model: "old" } });
    for (const content of ["a", "bb", "ccc"]) await fixture.memory.store({ id: content, content });
    let left = 3;
    const failingLater: Embed = (text) => (left-- > 0 ? [text.length, 1, 2] : Promise.reject(new Error("enough")));
    await using failing = fixture.open({ embedding: { embed: failingLater, model: "new" } });
    await expect(failing.reembed()).rejects.toThrow(/enough/);
    await using other = fixture.open({ embedding: { embed: three, model: "new" } });
    expect((await other.search({ query: "ccc" })).map(({ id }) => id)).toContain("ccc");
    expect([await other.reembed(), await other.reembed()]).toEqual([1, 0]);
    expect(await other.search({ query: "zzzz" })).toHaveLength(3);
    await expect(fixture.memory.search({ query: "a" })).rejects.toThrow(
      /of the model "new", embed gave 2 dimensions of the model "old"/,
    );
  });

  it("ends a reembed() of the former model that is still under way, and loses no vector by it", async () => {
    await using fixture = sqliteMemoryFixture({ embedding: undefined });
    for (const content of ["a", "bb", "ccc"]) await fixture.memory.store({ id: content, content });
    await using newer = fixture.open({ embedding: { embed: three, model: "new" } });
    let calls = 0;
    const slow: Embed = async (text) => {
      if (++calls === 3) expect(await newer.reembed()).toBe(3);
      return [text.length, 1];
    };
    await using former = fixture.open({ embedding: { embed: slow, model: "old" } });
    await expect(former.reembed()).rejects.toThrow(/^MemoryError\(store\): .*3 dimensions of the model "new".*"old"/);
    expect(await newer.reembed()).toBe(0);
  });

  it("keeps entries that a memory without a model stores and deletes beside it", async () => {
    await using fixture = sqliteMemoryFixture({ embedding: { embed: two } });
    await fixture.memory.store({ id: "a", content: "apple" });
    await using plain = fixture.open({ embedding: undefined });
    await plain.store({ id: "b", content: "apple" });
    await plain.delete("a");
    expect((await fixture.memory.search({ query: "apple" })).map(({ id }) => id)).toEqual(["b"]);
    expect(await fixture.memory.reembed()).toBe(1);
  });
});
