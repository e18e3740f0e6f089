import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { MemorySessionStore } from "../../src/adapters/sessions/memory.js";
import { deltaOf, note } from "../../src/testkit/claims/session-samples.js";
import { sqliteFixture, sqlOn } from "../adapters/sessions/sqlite-fixture.js";
import { sessionCases } from "./session-cases.js";

const memoryFixture = () => ({ store: new MemorySessionStore(), [Symbol.asyncDispose]: async () => undefined });

describe.each([
  ["memory", memoryFixture],
  ["sqlite", sqliteFixture],
])("the %s store", (_name, make) => {
  sessionCases(make);
});

describe("the sqlite file", () => {
  test("F134: text in its place is told from a missing session, and is still there after a turn's writes", async () => {
    await using fixture = sqliteFixture();
    const { store, path } = fixture;
    writeFileSync(path, "not json");
    await expect(store.load("s1")).rejects.toMatchObject({ name: "SessionError", kind: "corrupt" });
    await expect(store.append("s1", deltaOf("o", 0, [note("m")]))).rejects.toMatchObject({ kind: "corrupt" });
    await expect(store.list()).rejects.toMatchObject({ kind: "corrupt" });
    expect(readFileSync(path, "utf8")).toBe("not json");
  });

  test("F134: a session of damaged text is corrupt, listed, and keeps its bytes", async () => {
    await using fixture = sqliteFixture();
    const { store, path } = fixture;
    await store.save("s1", { messages: [note("m")], metadata: {}, revision: 0 });
    sqlOn(path, "UPDATE ennead_messages SET body = 'not json'");
    const { revision } = (await store.list()).items[0] ?? { revision: 0 };
    await expect(store.load("s1")).rejects.toMatchObject({ name: "SessionError", kind: "corrupt" });
    await expect(store.append("s1", deltaOf("o", 0, [note("n")]))).rejects.toMatchObject({ kind: "conflict" });
    await store.append("s1", deltaOf("p", revision, [note("n")]));
    await expect(store.load("s1")).rejects.toMatchObject({ name: "SessionError", kind: "corrupt" });
    expect(sqlOn(path, "SELECT body FROM ennead_messages WHERE position = 0")).toEqual([{ body: "not json" }]);
  });

  test("F139: unknown fields are in the file after a save", async () => {
    await using fixture = sqliteFixture();
    const { store, path } = fixture;
    const session = { messages: [{ ...note("m"), tags: [1] }], metadata: {}, revision: 0, v2: { a: 1 } };
    await store.save("s", session);
    await store.save("s", await store.load("s"));
    expect(sqlOn(path, "SELECT place, name, body FROM ennead_fields")).toEqual([
      { place: "root", name: "v2", body: '{"a":1}' },
    ]);
    expect(sqlOn(path, "SELECT body FROM ennead_messages")).toEqual([{ body: JSON.stringify(session.messages[0]) }]);
  });

  test("F140: ids that look like paths round-trip and make no file", async () => {
    await using fixture = sqliteFixture();
    const { store, path } = fixture;
    const ids = [
      "../evil",
      "a/../../evil",
      "..\\evil",
      "..",
      ".",
      "",
      "a\u0000b",
      "%2e%2e/x",
      "C:evil",
      "x".repeat(300),
    ];
    const files = (): string[] => [...readdirSync(dirname(path)), ...readdirSync(dirname(dirname(path)))].sort();
    await store.load("s");
    const before = files();
    for (const id of ids) await store.save(id, { messages: [note(id)], metadata: {}, revision: 0 });
    for (const id of ids) expect((await store.load(id)).messages).toEqual([note(id)]);
    expect((await store.list()).items.map(({ id }) => id)).toEqual([...ids].reverse());
    for (const id of ids) await store.delete(id);
    expect((await store.list()).items).toEqual([]);
    expect(files()).toEqual(before);
  });

  test("F145: an append writes as many bytes to a long session as to a short one", { timeout: 60_000 }, async () => {
    await using fixture = sqliteFixture();
    const { store, path } = fixture;
    await store.save("s", { messages: [], metadata: { title: "x".repeat(20_000) }, revision: 0 });
    // While this reader stays, the log only grows: its size is what was written.
    const reader = new DatabaseSync(path);
    reader.exec("BEGIN; SELECT * FROM ennead_sessions");
    let revision = 1;
    const bytesOf = async (turns: number): Promise<number> => {
      const before = statSync(`${path}-wal`).size;
      for (let n = 0; n < turns; n++) {
        const message = note(`m${revision}`, "x".repeat(200));
        revision = await store.append("s", deltaOf(`o${revision}`, revision, [message], { metadata: { n: revision } }));
      }
      return (statSync(`${path}-wal`).size - before) / turns;
    };
    const early = await bytesOf(100);
    await bytesOf(500);
    const late = await bytesOf(100);
    reader.close();
    expect(late).toBeLessThan(early * 1.5);
    expect(late).toBeLessThan(40_000);
    expect(await store.load("s", revision - 1)).toMatchObject({ from: 699, messages: [{ id: `m${revision - 1}` }] });
  });
});

test("F145: an append to memory reads the new message only, whatever the length", async () => {
  const store = new MemorySessionStore();
  let reads = 0;
  for (let n = 0; n < 4_000; n++) {
    const message = note(`m${n}`);
    const { id } = message;
    Object.defineProperty(message, "id", { enumerable: true, get: () => (reads++, id) });
    await store.append("s", deltaOf(`o${n}`, n, [message]));
  }
  expect(reads).toBe(4_000);
  expect((await store.load("s", 3_999)).messages).toEqual([note("m3999")]);
});
