import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SqliteSessionStore } from "../../../src/adapters/sessions/sqlite.js";
import { runClaims, sessionStoreClaims } from "../../../src/testkit/claims/index.js";
import { deltaOf, note } from "../../../src/testkit/claims/session-samples.js";
import { expectLikeReference, sessionCommands } from "../../support/session-model.js";
import { sqliteFixture, sqlOn } from "./sqlite-fixture.js";

describe("SqliteSessionStore keeps the claims of its port", () => {
  runClaims({ test, claims: sessionStoreClaims, make: sqliteFixture });
});

describe("SqliteSessionStore", () => {
  test("answers any history of writes as the reference does", async () => {
    await fc.assert(
      fc.asyncProperty(sessionCommands, async (commands) => {
        await using store = new SqliteSessionStore({ path: ":memory:" });
        await expectLikeReference(store, commands);
      }),
      { numRuns: 100 },
    );
  });

  test("closes as often as it is asked and rejects what comes afterwards", async () => {
    await using fixture = sqliteFixture();
    const { store } = fixture;
    await store.save("s", { messages: [], metadata: {}, revision: 0 });
    await store.close();
    await store.close();
    await expect(store.load("s")).rejects.toMatchObject({ name: "SessionError", kind: "load" });
    await expect(store.append("s", deltaOf("o", 1, []))).rejects.toMatchObject({ name: "SessionError", kind: "save" });
    await expect(store.delete("s")).rejects.toThrow("the store is closed");
  });

  test("a store that was never used closes without making a file", async () => {
    await using fixture = sqliteFixture();
    await fixture.store.close();
    await expect(new SqliteSessionStore({ path: `${fixture.path}/x` }).close()).resolves.toBeUndefined();
  });

  test("a list is in the order of the last writes, an operation applied before being none", async () => {
    await using fixture = sqliteFixture();
    const { store } = fixture;
    for (const id of ["a", "b", "c"]) await store.append(id, deltaOf("o", 0, [note("m")]));
    await store.append("b", deltaOf("p", 1, [note("n")]));
    await store.append("a", deltaOf("o", 0, [note("m")]));
    expect((await store.list()).items.map(({ id }) => id)).toEqual(["b", "c", "a"]);
  });

  test("a write waits no longer than the busy timeout for another process's transaction", async () => {
    await using fixture = sqliteFixture();
    await fixture.store.save("s", { messages: [], metadata: {}, revision: 0 });
    const other = new DatabaseSync(fixture.path);
    other.exec("BEGIN IMMEDIATE");
    const impatient = new SqliteSessionStore({ path: fixture.path, busyTimeoutMs: 10 });
    const begin = performance.now();
    const failure = expect(impatient.append("s", deltaOf("o", 1, [note("m")])));
    await failure.rejects.toMatchObject({ kind: "save", message: expect.stringContaining("database is locked") });
    expect(performance.now() - begin).toBeLessThan(4_000);
    expect((await impatient.load("s")).revision).toBe(1);
    other.exec("ROLLBACK");
    other.close();
    expect(await impatient.append("s", deltaOf("o", 1, [note("m")]))).toBe(2);
    await impatient.close();
  });

  test("opens a file that is not yet in write-ahead mode and just being read, and switches it later", async () => {
    await using fixture = sqliteFixture();
    await fixture.store.save("s", { messages: [], metadata: {}, revision: 0 });
    await fixture.store.close();
    const other = new DatabaseSync(fixture.path);
    other.exec("PRAGMA journal_mode = DELETE; BEGIN; SELECT * FROM ennead_sessions");
    await using early = new SqliteSessionStore({ path: fixture.path, busyTimeoutMs: 10 });
    expect((await early.load("s")).revision).toBe(1);
    other.exec("ROLLBACK");
    other.close();
    await early.close();
    await using late = new SqliteSessionStore({ path: fixture.path });
    expect((await late.load("s")).revision).toBe(1);
    expect(sqlOn(fixture.path, "PRAGMA journal_mode")).toEqual([{ journal_mode: "wal" }]);
  });

  test("keeps its tables beside those of an application", async () => {
    await using fixture = sqliteFixture();
    sqlOn(fixture.path, "CREATE TABLE sessions (mine TEXT)");
    sqlOn(fixture.path, "INSERT INTO sessions VALUES ('kept')");
    await fixture.store.append("s", deltaOf("o", 0, [note("m")]));
    expect(sqlOn(fixture.path, "SELECT mine FROM sessions")).toEqual([{ mine: "kept" }]);
    expect(sqlOn(fixture.path, "PRAGMA journal_mode")).toEqual([{ journal_mode: "wal" }]);
  });

  test("delete leaves no row behind but the last revision, which no new session of the id may use", async () => {
    await using fixture = sqliteFixture();
    const { store, path } = fixture;
    await store.append("s", deltaOf("o", 0, [note("m")], { metadata: { k: 1 } }));
    await store.delete("s");
    for (const table of ["sessions", "messages", "fields", "operations"]) {
      expect(sqlOn(path, `SELECT * FROM ennead_${table}`)).toEqual([]);
    }
    expect(sqlOn(path, "SELECT * FROM ennead_deleted")).toEqual([{ id: "s", revision: 1 }]);
  });
});
