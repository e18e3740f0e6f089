import { randomBytes } from "node:crypto";
import pg from "pg";
import { afterAll, describe, expect, test, vi } from "vitest";
import { PostgresSessionStore } from "../../../src/adapters/sessions/postgres.js";
import { PostgresDatabase } from "../../../src/adapters/databases/postgres-database.js";
import { migrate, tablesIn } from "../../../src/adapters/sessions/postgres-schema.js";
import { deltaOf, note } from "../../../src/testkit/claims/session-samples.js";
import { PATIENCE_MS } from "../../support/patience.js";
import { describeWith, ownName, postgresUrl, stopServers } from "../../support/servers.js";
import { type PostgresFixture, postgresFixture, sqlAt } from "./postgres-fixture.js";
import { serverContract } from "./server-contract.js";

const server = await postgresUrl();
afterAll(stopServers);

describeWith("PostgresSessionStore", server, (url) => {
  serverContract(() => postgresFixture(url), 40);

  describe("a pool that is given", () => {
    test("is used as it is, given back sound and with no listener left, and not closed", async () => {
      await using fixture = postgresFixture(url);
      // An application may read its own numbers as it likes.
      const types = { getTypeParser: () => () => "parsed by the application" };
      const pool = new pg.Pool({ connectionString: url, max: 2, types });
      const store = new PostgresSessionStore({ pool, schema: fixture.schema });
      await store.append("s", deltaOf("o", 0, [note("m")], { metadata: { n: 5 } }));
      await expect(store.append("s", deltaOf("p", 7, [note("n")]))).rejects.toMatchObject({ kind: "conflict" });
      await Promise.all(Array.from({ length: 20 }, () => store.load("s")));
      expect(await store.load("s")).toEqual({ messages: [note("m")], metadata: { n: 5 }, revision: 1 });
      expect([pool.totalCount, pool.idleCount, pool.waitingCount]).toEqual([2, 2, 0]);
      const client = await pool.connect();
      const listeners = client.listenerCount("error");
      expect((await client.query("SHOW lock_timeout")).rows).toEqual([{ lock_timeout: expect.anything() }]);
      client.release();
      await store.close();
      await expect(store.load("s")).rejects.toThrow("the store is closed");
      expect((await pool.query("SELECT 1")).rowCount).toBe(1);
      expect(listeners).toBe(0);
      await pool.end();
    });

    test("whose clients are all taken is a typed error in time, and a client that comes later goes back", async () => {
      await using fixture = postgresFixture(url);
      const pool = new pg.Pool({ connectionString: url, max: 1 });
      const store = new PostgresSessionStore({ pool, schema: fixture.schema, timeoutMs: 500 });
      const taken = await pool.connect();
      await expect(store.load("s")).rejects.toMatchObject({ name: "SessionError", kind: "load" });
      taken.release();
      // Its time is short, so that a busy machine may need more than one attempt.
      expect((await vi.waitFor(() => store.load("s"), PATIENCE_MS)).revision).toBe(0);
      expect([pool.idleCount, pool.waitingCount]).toEqual([1, 0]);
      await pool.end();
    });
  });

  describe("the schema", () => {
    test.each(['we"ird', "'; DROP TABLE x; --", "Grüße Welt", "select", "a.b", "x".repeat(63), "\\", "$1"])(
      "%j is taken literally",
      async (schema) => {
        await using fixture = postgresFixture(url, `${schema}`.slice(0, 63));
        await fixture.store.append("s", deltaOf("o", 0, [note("m")]));
        expect((await fixture.store.load("s")).messages).toEqual([note("m")]);
        expect(await sqlAt(url, "SELECT 1 AS there FROM pg_namespace WHERE nspname = $1", [schema])).toHaveLength(1);
        expect((await fixture.store.list()).items).toHaveLength(1);
      },
    );

    test.each(["", "x".repeat(64), "é".repeat(32), "a\0b", "\ud800"])("%j is refused", (schema) => {
      expect(() => new PostgresSessionStore({ url, schema })).toThrow(
        expect.objectContaining({ name: "CompositionError", kind: "invalid-config" }),
      );
    });

    test("keeps two stores of one database apart", async () => {
      await using one = postgresFixture(url);
      await using other = postgresFixture(url);
      await one.store.append("s", deltaOf("o", 0, [note("m")]));
      expect((await other.store.load("s")).revision).toBe(0);
      expect((await other.store.list()).items).toEqual([]);
    });
  });

  describe("the tables", () => {
    test("are usable by a role that may not make any, once they are there", async () => {
      await using fixture = postgresFixture(url);
      await fixture.store.append("s", deltaOf("o", 0, [note("m")]));
      const role = ownName();
      await sqlAt(url, `CREATE ROLE ${role} LOGIN`);
      try {
        await fixture.sql(`GRANT USAGE ON SCHEMA "${fixture.schema}" TO ${role}`);
        await fixture.sql(`GRANT ALL ON ALL TABLES IN SCHEMA "${fixture.schema}" TO ${role}`);
        await fixture.sql(`GRANT ALL ON ALL SEQUENCES IN SCHEMA "${fixture.schema}" TO ${role}`);
        const asRole = new URL(url);
        asRole.username = role;
        asRole.password = "";
        await using store = new PostgresSessionStore({ url: asRole.href, schema: fixture.schema });
        expect(await store.append("s", deltaOf("p", 1, [note("n")]))).toBe(2);
        await using elsewhere = new PostgresSessionStore({ url: asRole.href, schema: ownName() });
        const message = expect.stringContaining("permission denied");
        await expect(elsewhere.load("s")).rejects.toMatchObject({ name: "SessionError", kind: "load", message });
      } finally {
        await sqlAt(url, `DROP OWNED BY ${role}; DROP ROLE ${role}`);
      }
    });

    test("of a newer version are refused and left alone", async () => {
      await using fixture = postgresFixture(url);
      await fixture.store.append("s", deltaOf("o", 0, [note("m")]));
      await fixture.sql("UPDATE T.ennead_schema SET version = 9");
      const store = fixture.open();
      const message = expect.stringContaining("the tables have version 9, this version of the package reads 1");
      await expect(store.load("s")).rejects.toMatchObject({ name: "SessionError", kind: "load", message });
      await expect(store.append("s", deltaOf("p", 1, []))).rejects.toMatchObject({ name: "SessionError", message });
      await fixture.sql("UPDATE T.ennead_schema SET version = 1");
      expect(await store.append("s", deltaOf("p", 1, []))).toBe(2);
    });

    test("with columns that a newer version added keep them, whatever an older one writes", async () => {
      await using fixture = postgresFixture(url);
      const { store, sql } = fixture;
      await store.append("s", deltaOf("o", 0, [note("m")]));
      await sql("ALTER TABLE T.ennead_sessions ADD COLUMN colour text DEFAULT 'blue'");
      await sql("UPDATE T.ennead_sessions SET colour = 'red'");
      await store.append("s", deltaOf("p", 1, [note("n")]));
      await store.save("s", { messages: [], metadata: {}, revision: 2 });
      expect(await sql("SELECT colour FROM T.ennead_sessions")).toEqual([{ colour: "red" }]);
    });

    test("are made once by many stores that begin at the same time", async () => {
      await using fixture = postgresFixture(url);
      const stores = Array.from({ length: 8 }, () => fixture.open());
      const revisions = await Promise.all(stores.map((store, n) => store.append(`s${n}`, deltaOf("o", 0, []))));
      expect(revisions).toEqual(stores.map(() => 1));
      expect((await fixture.store.list()).items).toHaveLength(stores.length);
    });

    test("are brought from one version to the next once, by one of many, and keep what is in them", async () => {
      await using fixture = postgresFixture(url);
      await fixture.store.append("s", deltaOf("o", 0, [note("m")]));
      const tables = tablesIn(fixture.schema);
      const steps = [
        () => "SELECT never",
        () =>
          `ALTER TABLE ${tables.sessions} ADD COLUMN runs int DEFAULT 0; UPDATE ${tables.sessions} SET runs = runs + 1`,
      ];
      const databases = Array.from({ length: 6 }, () => new PostgresDatabase({ url }, PATIENCE_MS));
      await Promise.all(databases.map((database) => database.write((sql) => migrate(sql, tables, steps))));
      for (const database of databases) await database.close();
      expect(await fixture.sql("SELECT runs FROM T.ennead_sessions")).toEqual([{ runs: 1 }]);
      expect(await fixture.sql("SELECT part, version FROM T.ennead_schema")).toEqual([
        { part: "sessions", version: 2 },
      ]);
    });

    test("whose migration fails are as they were, and the next call tries again", async () => {
      await using fixture = postgresFixture(url);
      await sqlAt(
        url,
        `CREATE SCHEMA "${fixture.schema}"; CREATE TABLE "${fixture.schema}".ennead_operations (mine int)`,
      );
      await expect(fixture.store.load("s")).rejects.toMatchObject({ name: "SessionError", kind: "load" });
      expect(await sqlAt(url, "SELECT tablename FROM pg_tables WHERE schemaname = $1", [fixture.schema])).toEqual([
        { tablename: "ennead_operations" },
      ]);
      await fixture.sql("DROP TABLE T.ennead_operations");
      expect(await fixture.store.append("s", deltaOf("o", 0, [note("m")]))).toBe(1);
    });

    test("that are gone are made anew after the call that missed them", async () => {
      await using fixture = postgresFixture(url);
      await fixture.store.append("s", deltaOf("o", 0, [note("m")]));
      await sqlAt(url, `DROP SCHEMA "${fixture.schema}" CASCADE`);
      await expect(fixture.store.load("s")).rejects.toMatchObject({ name: "SessionError", kind: "load" });
      expect(await fixture.store.append("s", deltaOf("o", 0, [note("m")]))).toBe(1);
    });

    test("hold nothing of a deleted session but the highest revision of its id", async () => {
      await using fixture = postgresFixture(url);
      const { store } = fixture;
      await store.append("s", deltaOf("o", 0, [note("m")], { metadata: { k: "secret" } }));
      await store.save("s", { messages: [], metadata: { k: "secret" }, revision: 1, ...{ v2: "secret" } });
      await store.delete("s");
      expect(await fixture.sql("SELECT * FROM T.ennead_messages")).toEqual([]);
      expect(await fixture.sql("SELECT * FROM T.ennead_operations")).toEqual([]);
      const rows = await fixture.sql(
        "SELECT id, live, revision, retired, metadata, later_fields FROM T.ennead_sessions",
      );
      const row = { id: "s", live: false, revision: "0", retired: "2", metadata: "{}", later_fields: null };
      expect(rows).toEqual([row]);
    });
  });

  test("a write that is refused leaves no row", async () => {
    await using fixture = postgresFixture(url);
    await expect(fixture.store.append("s", deltaOf("o", 3, [note("m")]))).rejects.toMatchObject({ kind: "conflict" });
    expect(await fixture.sql("SELECT * FROM T.ennead_sessions")).toEqual([]);
  });

  test("a page with a filter reads on until it is full", async () => {
    await using fixture = postgresFixture(url);
    await fixture.store.load("s");
    await fixture.sql(`INSERT INTO T.ennead_sessions (id, live, metadata)
      SELECT 'n' || n, true, CASE WHEN n % 1100 = 0 THEN '{"k":1}' ELSE '{}' END FROM generate_series(1, 3500) AS n`);
    const first = await fixture.store.list({ metadata: { k: 1 }, limit: 2 });
    expect(first.items.map(({ id }) => id)).toEqual(["n3300", "n2200"]);
    const second = await fixture.store.list({ metadata: { k: 1 }, limit: 2, cursor: first.cursor });
    expect([second.items.map(({ id }) => id), second.cursor]).toEqual([["n1100"], undefined]);
    expect((await fixture.store.list({ limit: 3_500 })).items).toHaveLength(3_500);
  });

  test("an id that is longer than an index holds is refused with a typed error", async () => {
    await using fixture = postgresFixture(url);
    // Random, since one that repeats itself would be compressed.
    const long = randomBytes(3_000).toString("base64");
    const append = (id: string): Promise<number> => fixture.store.append(id, deltaOf("o", 0, [note("m")]));
    await expect(append(long)).rejects.toMatchObject({ name: "SessionError", kind: "save" });
    expect((await fixture.store.load(long)).revision).toBe(0);
    expect(await append(long.slice(0, 600))).toBe(1);
  });

  describe("a damaged row", () => {
    const damages: readonly (readonly [string, string, string])[] = [
      [
        "a message that is no JSON",
        "UPDATE T.ennead_messages SET body = '{\"id\":' WHERE position = 7",
        "message 7 is",
      ],
      ["a message that is no object", "UPDATE T.ennead_messages SET body = '[]' WHERE position = 7", "message 7 is"],
      ["a missing message", "DELETE FROM T.ennead_messages WHERE position = 7", "19 of 20 messages are there"],
      ["metadata that is no JSON", "UPDATE T.ennead_sessions SET metadata = 't' WHERE id = 's'", "metadata is damaged"],
      [
        "a compaction of another shape",
        "UPDATE T.ennead_sessions SET compaction = '[1]' WHERE id = 's'",
        "compaction is",
      ],
      ["later fields that are none", "UPDATE T.ennead_sessions SET later_fields = '1' WHERE id = 's'", "session is"],
    ];
    test.each(damages)(
      "%s is corrupt for its session alone, listed, and stays as it is",
      async (_title, damage, place) => {
        await using fixture = postgresFixture(url);
        const { store } = fixture;
        const messages = Array.from({ length: 20 }, (_, n) => note(`m${n}`));
        const compaction = { upTo: "m0", messages: [note("c")] };
        await store.append("other", deltaOf("o", 0, [note("fine")]));
        await store.append("s", deltaOf("o", 0, messages, { metadata: { title: "t" }, compaction }));
        await fixture.sql(damage);
        const before = await stored(fixture);
        const message = expect.stringMatching(new RegExp(`session "s" in postgres ".*": .*${place}`));
        await expect(store.load("s")).rejects.toMatchObject({ name: "SessionError", kind: "corrupt", message });
        const asNew = store.save("s", { messages: [], metadata: {}, revision: 0 });
        await expect(asNew).rejects.toMatchObject({ kind: "conflict" });
        expect((await store.list()).items.map(({ id, count }) => [id, count])).toEqual([
          ["s", 20],
          ["other", 1],
        ]);
        expect(await stored(fixture)).toEqual(before);
        expect((await store.load("other")).messages).toEqual([note("fine")]);
        await store.save("s", { messages: [note("new")], metadata: {}, revision: 0 }, { replace: true });
        expect((await store.load("s")).messages).toEqual([note("new")]);
      },
    );

    test("a message beyond the end makes an append corrupt, without effect", async () => {
      await using fixture = postgresFixture(url);
      const { store } = fixture;
      await store.append("s", deltaOf("o", 0, [note("m")]));
      await fixture.sql("INSERT INTO T.ennead_messages SELECT session, 1, 1, body FROM T.ennead_messages");
      await expect(store.append("s", deltaOf("p", 1, [note("n")]))).rejects.toMatchObject({ kind: "corrupt" });
      await expect(store.load("s")).rejects.toMatchObject({ kind: "corrupt" });
    });
  });

  test("a read-only server is a typed error for writes, and reads go on", async () => {
    await using fixture = postgresFixture(url);
    await fixture.store.append("s", deltaOf("o", 0, [note("m")]));
    const readOnly = new URL(url);
    readOnly.searchParams.set("options", "-c default_transaction_read_only=on");
    await using store = new PostgresSessionStore({ url: readOnly.href, schema: fixture.schema });
    const message = expect.stringContaining("read-only transaction");
    await expect(store.append("s", deltaOf("p", 1, []))).rejects.toMatchObject({ kind: "save", message });
    await expect(store.delete("s")).rejects.toMatchObject({ kind: "save" });
    expect((await store.load("s")).messages).toEqual([note("m")]);
    expect((await store.list()).items).toHaveLength(1);
  });
});

/** Everything that is kept of the session "s" and how. */
async function stored(fixture: PostgresFixture): Promise<unknown> {
  return [
    await fixture.sql("SELECT * FROM T.ennead_sessions ORDER BY key"),
    await fixture.sql("SELECT * FROM T.ennead_messages ORDER BY session, position"),
  ];
}
