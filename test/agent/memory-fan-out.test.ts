import { describe, expect, test } from "vitest";
import { InMemoryMemory } from "../../src/adapters/memory/in-memory.js";
import { Defect, MemoryError } from "../../src/domain/errors.js";
import type { MemoryEntry, MemoryEntryInput, MemoryQuery } from "../../src/domain/memory.js";
import type { MemoryPort } from "../../src/ports/memory.js";
import { RecordingMemory, testAgent } from "../../src/testkit/index.js";

const entry = (id: string, score?: number): MemoryEntry => ({
  id,
  content: `content of ${id}`,
  metadata: {},
  ...(score !== undefined && { score }),
});

/** A memory that finds what it is told to, and takes note of what it is asked. */
function planned(name: string, answers: Partial<MemoryPort> & { readonly finds?: readonly MemoryEntry[] } = {}) {
  const stored: MemoryEntryInput[] = [];
  const deleted: string[] = [];
  const asked: MemoryQuery[] = [];
  const memory: MemoryPort = {
    name,
    store: (given) => Promise.resolve((stored.push(given), given.id ?? `${name}-1`)),
    search: (query) => Promise.resolve((asked.push(query), answers.finds ?? [])),
    delete: (id) => Promise.resolve(void deleted.push(id)),
    ...answers,
  };
  return { memory, stored, deleted, asked };
}

const hanging = (): Promise<never> => new Promise(() => {});
const throwing = (): never => {
  throw new Error("unreadable");
};
const failing = (): Promise<never> => Promise.reject(new Error("the disk is full"));

describe("all memories of an agent as one", () => {
  test("store under the id that the first one makes", async () => {
    const [first, second, third] = [planned("first"), planned("second"), planned("third")];
    await using t = await testAgent({ memory: [first.memory, second.memory, third.memory] });
    expect(await t.agent.memory.store({ content: "apple" })).toBe("first-1");
    expect([second.stored, third.stored].map(([given]) => given?.id)).toEqual(["first-1", "first-1"]);
    expect(await t.agent.memory.store({ id: "mine", content: "apple" })).toBe("mine");
    expect(first.stored).toEqual([{ content: "apple" }, { id: "mine", content: "apple" }]);
  });

  test("store under the id of the first one that takes the entry, where an optional one before it fails", async () => {
    const [first, second, third] = [planned("first", { optional: true, store: failing }), planned("b"), planned("c")];
    await using t = await testAgent({ memory: [first.memory, second.memory, third.memory] });
    expect(await t.agent.memory.store({ content: "apple" })).toBe("b-1");
    expect(third.stored).toEqual([{ id: "b-1", content: "apple" }]);
    await using none = await testAgent({ memory: [first.memory] });
    await expect(none.agent.memory.store({ content: "apple" })).rejects.toThrow(/MemoryError\(store\): no memory took/);
    await using empty = await testAgent({});
    expect(await empty.agent.memory.search({ query: "apple" })).toEqual([]);
  });

  test("are searched by one query, merged by id with the best score, best first, and cut to topK afterwards", async () => {
    const one = planned("one", { finds: [entry("a", 0.9), entry("b", 0.4), entry("c", 0.1)] });
    const two = planned("two", { finds: [entry("b", 0.8), entry("d", 0.5), entry("a", -0.2), entry("e")] });
    await using t = await testAgent({ memory: [one.memory, two.memory] });
    const hits = await t.agent.memory.search({ query: "apple", topK: 4, threshold: -1, filter: { k: 1 } });
    expect(hits.map(({ id, score, memory }) => [id, score, memory])).toEqual([
      ["a", 0.9, "one"],
      ["b", 0.8, "two"],
      ["d", 0.5, "two"],
      ["c", 0.1, "one"],
    ]);
    for (const { asked } of [one, two]) {
      expect(asked).toEqual([{ query: "apple", topK: 4, threshold: -1, filter: { k: 1 } }]);
    }
    expect((await t.agent.memory.search({ query: "apple" })).map(({ id }) => id)).toEqual(["a", "b", "d", "c", "e"]);
  });

  test("give what real memories hold, each entry once", async () => {
    const memories = [new InMemoryMemory({ name: "near" }), new InMemoryMemory({ name: "far" })] as const;
    await using t = await testAgent({ memory: memories });
    const id = await t.agent.memory.store({ content: "red apple" });
    await memories[1].store({ id: "only there", content: "green apple and a long tail of other words" });
    const hits = await t.agent.memory.search({ query: "apple" });
    expect(hits.map((hit) => hit.id)).toEqual([id, "only there"]);
    await t.agent.memory.delete(id);
    for (const memory of memories) expect(await memory.search({ query: "red" })).toEqual([]);
  });

  test("fail by name when one fails, whatever the others have; an optional one is left out", async () => {
    const good = planned("good", { finds: [entry("a", 0.5)] });
    const bad = { search: failing, store: failing, delete: failing };
    await using t = await testAgent({ memory: [good.memory, planned('bad"\n', bad).memory] });
    for (const call of [
      () => t.agent.memory.search({ query: "x" }),
      () => t.agent.memory.store({ content: "x" }),
      () => t.agent.memory.delete("x"),
    ]) {
      const error: unknown = await call().catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(MemoryError);
      expect((error as MemoryError).message).toMatch(/memory bad" failed$/);
    }
    await using soft = await testAgent({ memory: [planned("bad", { ...bad, optional: true }).memory, good.memory] });
    expect((await soft.agent.memory.search({ query: "x" })).map(({ id }) => id)).toEqual(["a"]);
    await soft.agent.memory.delete("x");
    expect(good.deleted).toEqual(["x", "x"]);
  });

  test("are searched at the same time", async () => {
    const order: string[] = [];
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const gated = gates.map((gate, n) =>
      planned(`${n}`, { search: () => (order.push(`asked ${n}`), gate.promise.then(() => [entry(`${n}`, n / 10)])) }),
    );
    await using t = await testAgent({ memory: gated.map(({ memory }) => memory) });
    const found = t.agent.memory.search({ query: "x" });
    gates[1]?.resolve();
    expect(order).toEqual(["asked 0", "asked 1"]);
    gates[0]?.resolve();
    expect((await found).map(({ id }) => id)).toEqual(["1", "0"]);
  });

  test.each([0, -1, Number.NaN, "20"])("are not searched within %s ms", async (timeoutMs) => {
    await using t = await testAgent({ memory: [planned("a").memory] });
    const searched = t.agent.memory.search({ query: "x" }, { timeoutMs: timeoutMs as number });
    await expect(searched).rejects.toMatchObject({ name: "MemoryError", kind: "search" });
  });

  test("that do not answer fail after storeTimeoutMs, an optional one is left out then", async () => {
    const mute = { search: hanging, store: hanging, delete: hanging };
    const good = planned("good", { finds: [entry("a", 0.5)] });
    for (const optional of [false, true]) {
      await using t = await testAgent({
        memory: [planned("mute", { ...mute, optional }).memory, good.memory],
        config: { storeTimeoutMs: 5_000 },
      });
      let settled = 0;
      const calls = [
        t.agent.memory.search({ query: "x" }),
        t.agent.memory.store({ content: "x" }),
        t.agent.memory.delete("x"),
      ].map((call) => call.finally(() => (settled += 1)));
      const outcomes = Promise.allSettled(calls);
      await t.runtime.advance(4_999);
      expect(settled).toBe(0);
      await t.runtime.advance(1);
      const reasons = (await outcomes).map((outcome) => (outcome.status === "rejected" ? String(outcome.reason) : ""));
      if (optional) expect(reasons).toEqual(["", "", ""]);
      else for (const reason of reasons) expect(reason).toMatch(/MemoryError\(\w+\): memory mute failed/);
    }
  });

  test("all get the entry as it was given, whatever its owner does to it meanwhile", async () => {
    const given = { content: "apple", metadata: { user: "ann" } };
    const first = planned("first", {
      store: async () => {
        Object.assign(given, { content: "pear", metadata: { user: "eve" } });
        return "1";
      },
    });
    const second = planned("second");
    await using t = await testAgent({ memory: [first.memory, second.memory] });
    await t.agent.memory.store(given);
    expect(second.stored).toEqual([{ id: "1", content: "apple", metadata: { user: "ann" } }]);
  });

  test("are all asked to delete, also behind one that fails", async () => {
    const asked = Promise.withResolvers<void>();
    const last = (): Promise<never> => {
      asked.resolve();
      return hanging();
    };
    const [first, second, third] = [planned("a", { delete: failing }), planned("b"), planned("c", { delete: last })];
    await using t = await testAgent({
      memory: [first.memory, second.memory, third.memory],
      config: { storeTimeoutMs: 50 },
    });
    const deleted = t.agent.memory.delete("x").catch(String);
    await asked.promise;
    await t.runtime.advance(50);
    expect(await deleted).toBe("MemoryError: MemoryError(delete): memory a failed");
    expect(second.deleted).toEqual(["x"]);
  });

  test.each<[string, unknown]>([
    ["no list", { 0: entry("a") }],
    ["a hole", new Array(1)],
    ["no entry", [null]],
    ["an entry without metadata", [{ id: "a", content: "c" }]],
    ["an endless score", [entry("a", Number.POSITIVE_INFINITY)]],
    ["a score that is none", [entry("a", Number.NaN)]],
    ["what JSON cannot hold", [{ ...entry("a"), metadata: { at: 1n } }]],
    ["what cannot be read", [Object.defineProperty({}, "id", { enumerable: true, get: throwing })]],
  ])("whose search answers %s fail by name, and are left out where they are optional", async (_, answer) => {
    const good = planned("good", { finds: [entry("b")] });
    const bad = planned("bad", { search: () => Promise.resolve(answer as never) });
    await using t = await testAgent({ memory: [good.memory, bad.memory] });
    await expect(t.agent.memory.search({ query: "q" })).rejects.toThrow(new MemoryError("search", "memory bad failed"));
    await using u = await testAgent({ memory: [good.memory, { ...bad.memory, optional: true }] });
    expect(await u.agent.memory.search({ query: "q" })).toEqual([{ ...entry("b"), memory: "good" }]);
  });

  test("give copies: an entry cannot change after it was looked at", async () => {
    let reads = 0;
    const shifty = {
      ...entry("a"),
      more: "not told",
      get content() {
        return reads++ === 0 ? "text" : 5;
      },
    };
    const { memory } = planned("m", { finds: [shifty as never] });
    await using t = await testAgent({ memory: [memory] });
    const [hit] = await t.agent.memory.search({ query: "q" });
    expect(hit).toEqual({ id: "a", content: "text", metadata: {}, memory: "m" });
    expect(hit?.content).toBe("text");
  });

  test("may tell more of an entry than there is to it, such as a row of a database, of which nothing is passed on", async () => {
    const row = { ...entry("a", 0.5), key: 7n, at: new Map(), decode: () => undefined };
    await using t = await testAgent({ memory: [planned("m", { finds: [row as never] }).memory] });
    expect(await t.agent.memory.search({ query: "q" })).toEqual([{ ...entry("a", 0.5), memory: "m" }]);
  });

  test("may delete without a promise, as nothing binds one to its types", async () => {
    await using t = await testAgent({ memory: [planned("first", { delete: () => undefined as never }).memory] });
    await expect(t.agent.memory.delete("a")).resolves.toBeUndefined();
  });

  test("pass on a mistake of a test as it is", async () => {
    const memory = new RecordingMemory();
    const defect = new Defect("a script ran out");
    await using t = await testAgent({
      memory: [memory, planned("b", { optional: true, search: () => Promise.reject(defect) }).memory],
    });
    await expect(t.agent.memory.search({ query: "x" })).rejects.toBe(defect);
  });
});

test("an agent without a memory says so to whoever stores something", async () => {
  await using t = await testAgent();
  await expect(t.agent.memory.store({ content: "apple" })).rejects.toThrow("the agent has no memory");
});
