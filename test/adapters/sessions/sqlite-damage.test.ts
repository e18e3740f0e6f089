import { closeSync, mkdirSync, openSync, readFileSync, truncateSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SqliteSessionStore } from "../../../src/adapters/sessions/sqlite.js";
import { openSessions } from "../../../src/adapters/sessions/sqlite-file.js";
import { loadSession } from "../../../src/adapters/sessions/sqlite-session.js";
import { deltaOf, note } from "../../../src/testkit/claims/session-samples.js";
import { sqlOn, temporaryDirectory } from "./sqlite-fixture.js";

let directory: ReturnType<typeof temporaryDirectory>;
let path: string;

beforeEach(() => {
  directory = temporaryDirectory();
  path = join(directory.path, "s.db");
});
afterEach(() => directory[Symbol.dispose]());

/** A sound file with one session of two hundred messages. */
async function soundFile(): Promise<void> {
  await using store = new SqliteSessionStore({ path });
  const messages = Array.from({ length: 200 }, (_, n) => note(`m${n}`, "x".repeat(200)));
  const compaction = { upTo: "m0", messages: [note("c")] };
  await store.append("s\nid", deltaOf("o", 0, messages, { metadata: { title: "t" }, compaction }));
}

function overwrite(position: number, bytes: Buffer): void {
  const file = openSync(path, "r+");
  writeSync(file, bytes, 0, bytes.length, position);
  closeSync(file);
}

const append = (store: SqliteSessionStore): Promise<number> => store.append("s\nid", deltaOf("p", 1, [note("n")]));

describe("a file that is no sound database", () => {
  test.each([
    ["text", () => writeFileSync(path, "not json, and no database either\n".repeat(100))],
    ["a cut file", () => truncateSync(path, 6_000)],
    ["a file with a page of garbage", () => overwrite(4_096, Buffer.alloc(40_960, 0xa5))],
  ])("%s is corrupt to load and save, and keeps its bytes", async (_title, damage) => {
    await soundFile();
    damage();
    const before = readFileSync(path);
    await using store = new SqliteSessionStore({ path });
    for (const attempt of [store.load("s\nid"), append(store), store.list(), store.delete("s\nid")]) {
      await expect(attempt).rejects.toMatchObject({ name: "SessionError", kind: "corrupt" });
    }
    await store.close();
    expect(readFileSync(path).equals(before)).toBe(true);
  });
});

describe("a file that cannot be used", () => {
  test("in a directory that is missing, it is not made, and becomes usable when the directory is there", async () => {
    const missing = join(directory.path, "missing");
    await using store = new SqliteSessionStore({ path: join(missing, "s.db") });
    await expect(store.load("s\nid")).rejects.toMatchObject({
      kind: "load",
      message: expect.stringMatching(
        /^SessionError\(load\): session "sid" in sqlite ".*": Error: unable to open database file$/,
      ),
    });
    await expect(append(store)).rejects.toMatchObject({ kind: "save" });
    mkdirSync(missing);
    expect((await store.load("s\nid")).revision).toBe(0);
  });

  test("being a directory is a typed error", async () => {
    await using store = new SqliteSessionStore({ path: directory.path });
    await expect(store.load("s")).rejects.toMatchObject({ name: "SessionError", kind: "load" });
  });

  test("being read-only is a save error, while sessions can be loaded", async () => {
    await soundFile();
    // A write version SQLite does not know makes a database read-only, for root too.
    overwrite(18, Buffer.from([3]));
    await using store = new SqliteSessionStore({ path });
    expect((await store.load("s\nid")).messages).toHaveLength(200);
    await expect(append(store)).rejects.toMatchObject({ kind: "save", message: expect.stringContaining("readonly") });
    expect((await store.load("s\nid")).revision).toBe(1);
  });

  test("being of a newer schema is a typed error that names both versions, and changes nothing", async () => {
    await soundFile();
    sqlOn(path, "UPDATE ennead_schema SET version = 2");
    const before = readFileSync(path);
    await using store = new SqliteSessionStore({ path });
    const message = expect.stringContaining("the file has schema 2, this version of the package reads 1");
    await expect(store.load("s\nid")).rejects.toMatchObject({ name: "SessionError", kind: "load", message });
    await expect(append(store)).rejects.toMatchObject({ name: "SessionError", message });
    await store.close();
    expect(readFileSync(path).equals(before)).toBe(true);
  });
});

describe("tables of another version", () => {
  const step =
    "ALTER TABLE ennead_sessions ADD COLUMN runs INTEGER; UPDATE ennead_sessions SET runs = coalesce(runs, 0) + 1";

  test("are brought from one version to the next once, whoever opens them first, and keep what is in them", async () => {
    await soundFile();
    const before = await new SqliteSessionStore({ path }).load("s\nid");
    const files = Array.from({ length: 3 }, () => openSessions(path, 5_000, ["SELECT never", step]));
    for (const file of files) {
      expect(file.read((sql) => loadSession(sql, "s\nid", undefined))).toEqual(before);
      file.close();
    }
    expect(sqlOn(path, "SELECT runs FROM ennead_sessions")).toEqual([{ runs: 1 }]);
    expect(sqlOn(path, "SELECT * FROM ennead_schema")).toEqual([{ part: "sessions", version: 2 }]);
  });

  test("whose migration fails are as they were, and usable", async () => {
    await soundFile();
    expect(() => openSessions(path, 5_000, ["SELECT never", `${step}; no SQL`])).toThrow();
    expect(sqlOn(path, "SELECT * FROM ennead_schema")).toEqual([{ part: "sessions", version: 1 }]);
    expect(sqlOn(path, "SELECT * FROM ennead_sessions")[0]).not.toHaveProperty("runs");
    await using store = new SqliteSessionStore({ path });
    expect(await append(store)).toBe(2);
  });

  test("with columns that a newer version added keep them, whatever an older one writes", async () => {
    await soundFile();
    sqlOn(path, "ALTER TABLE ennead_sessions ADD COLUMN colour TEXT DEFAULT 'blue'");
    sqlOn(path, "UPDATE ennead_sessions SET colour = 'red'");
    await using store = new SqliteSessionStore({ path });
    await append(store);
    await store.save("s\nid", { messages: [note("x")], metadata: {}, revision: 2 });
    expect((await store.list()).items).toHaveLength(1);
    expect(sqlOn(path, "SELECT colour FROM ennead_sessions")).toEqual([{ colour: "red" }]);
  });
});

describe("a damaged row", () => {
  test.each([
    [
      "a message that is no JSON",
      "UPDATE ennead_messages SET body = '{\"id\":' WHERE position = 7",
      "message 7 is damaged",
    ],
    [
      "a message that is no object",
      "UPDATE ennead_messages SET body = '[]' WHERE position = 7",
      "message 7 is damaged",
    ],
    ["a missing message", "DELETE FROM ennead_messages WHERE position = 7", "199 of 200 messages are there"],
    ["metadata that is no JSON", "UPDATE ennead_fields SET body = 't' WHERE name = 'title'", "title is damaged"],
    [
      "a compaction of another shape",
      "UPDATE ennead_fields SET body = '[1]' WHERE place = 'root'",
      "compaction is damaged",
    ],
  ])("%s is corrupt, named with its place, listed, and stays as it is", async (_title, damage, place) => {
    await soundFile();
    sqlOn(path, damage);
    const rows = (): unknown => [
      sqlOn(path, "SELECT * FROM ennead_messages"),
      sqlOn(path, "SELECT * FROM ennead_fields"),
    ];
    const before = rows();
    await using store = new SqliteSessionStore({ path });
    const message = expect.stringMatching(new RegExp(`session "sid" in sqlite ".*": .*${place}`));
    await expect(store.load("s\nid")).rejects.toMatchObject({ name: "SessionError", kind: "corrupt", message });
    const asNew = store.save("s\nid", { messages: [], metadata: {}, revision: 0 });
    await expect(asNew).rejects.toMatchObject({ kind: "conflict" });
    expect((await store.list()).items.map(({ id, count }) => [id, count])).toEqual([["s\nid", 200]]);
    expect(rows()).toEqual(before);
  });
});
