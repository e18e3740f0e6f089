import { Redis } from "ioredis";
import { afterAll, describe, expect, test } from "vitest";
import { RedisSessionStore } from "../../../src/adapters/sessions/redis.js";
import { RedisConnection } from "../../../src/adapters/sessions/redis-connection.js";
import { scriptsOf } from "../../../src/adapters/sessions/redis-scripts.js";
import { RedisSessions } from "../../../src/adapters/sessions/redis-session.js";
import { encodeDelta } from "../../../src/adapters/sessions/session-text.js";
import { deltaOf, note } from "../../../src/testkit/claims/session-samples.js";
import { describeWith, redisUrl, stopServers } from "../../support/servers.js";
import { type RedisFixture, redisFixture } from "./redis-fixture.js";
import { serverContract } from "./server-contract.js";

const server = await redisUrl();
afterAll(stopServers);

describeWith("RedisSessionStore", server, (url) => {
  serverContract(() => redisFixture(url), 100);

  describe("a client that is given", () => {
    test.each([
      ["with a prefix of its own", { keyPrefix: "app:" }],
      ["that reads numbers as text", { stringNumbers: true }],
      ["of the older protocol", { protocol: 2 as const }],
      ["with the newer shapes of replies", { replyMapping: "resp3" as const }],
    ])("%s serves, and is not closed", async (_title, options) => {
      await using fixture = redisFixture(url);
      const { prefix } = fixture;
      const client = new Redis(url, options);
      const store = new RedisSessionStore({ client, prefix: `${prefix}of-client:` });
      const metadata = { n: 5, ["__proto__"]: 1 };
      await store.append("s", deltaOf("o", 0, [note("m")], { metadata }));
      await store.append("t", deltaOf("o", 0, []));
      expect(await store.load("s")).toEqual({ messages: [note("m")], metadata, revision: 1 });
      const { items, cursor } = await store.list({ limit: 1 });
      expect((await store.list({ cursor })).items.concat(items).map(({ id }) => id)).toEqual(["s", "t"]);
      for (const id of ["s", "t"]) await store.delete(id);
      await store.close();
      await expect(store.load("s")).rejects.toThrow("the store is closed");
      expect(await client.ping()).toBe("PONG");
      const left = ["session:s", "session:t", "index", "writes"].map((key) => `${prefix}of-client:${key}`);
      expect(Number(await client.del(left))).toBe(3);
      client.disconnect();
    });

    test("that sends a save again whose answer it lost does not take its own write for another's", async () => {
      await using fixture = redisFixture(url);
      const direct = new Redis(url);
      const twice = {
        evalsha: async (hash: string, count: number, list: string[]) => {
          await direct.evalsha(hash, count, list);
          return direct.evalsha(hash, count, list);
        },
        eval: (script: string, count: number, list: string[]) => direct.eval(script, count, list),
      };
      const store = new RedisSessionStore({ client: twice, prefix: fixture.prefix });
      const session = { messages: [note("m")], metadata: {}, revision: 0 };
      expect(await store.save("s", session)).toBe(1);
      expect(await store.save("s", { ...session, revision: 1 })).toBe(2);
      await expect(store.save("s", { ...session, revision: 1 })).rejects.toMatchObject({ kind: "conflict" });
      expect(await store.append("s", deltaOf("o", 2, [note("n")]))).toBe(3);
      expect((await store.load("s")).messages).toEqual([note("m"), note("n")]);
      direct.disconnect();
    });
  });

  test("works on when the server has forgotten the scripts", async () => {
    await using fixture = redisFixture(url);
    await fixture.store.append("s", deltaOf("o", 0, [note("m")]));
    await fixture.client.script("FLUSH");
    expect(await fixture.store.append("s", deltaOf("p", 1, [note("n")]))).toBe(2);
  });

  test("every key begins with the prefix, and a deleted session leaves its highest revision only", async () => {
    await using fixture = redisFixture(url);
    const { store, client, prefix, key } = fixture;
    await store.append("s", deltaOf("o", 0, [note("m")], { metadata: { k: "secret" } }));
    await store.save("s", { messages: [note("m")], metadata: { k: "secret" }, revision: 1, ...{ v2: "secret" } });
    const keys = await client.keys(`${prefix}*`);
    const kinds = ["counts:s", "index", "messages:s", "metadata:s", "operations:s", "session:s", "writes"];
    expect(keys.sort()).toEqual(kinds.map((kind) => `${prefix}${kind}`));
    await store.delete("s");
    expect((await client.keys(`${prefix}*`)).sort()).toEqual([key("session", "s"), key("writes")]);
    expect(await client.hgetall(key("session", "s"))).toEqual({ format: "1", retired: "2" });
  });

  test("a refused write leaves no key", async () => {
    await using fixture = redisFixture(url);
    await expect(fixture.store.append("s", deltaOf("o", 3, [note("m")]))).rejects.toMatchObject({ kind: "conflict" });
    expect(await fixture.client.keys(`${fixture.prefix}*`)).toEqual([]);
  });

  test("a page with a filter reads on until it is full", async () => {
    await using fixture = redisFixture(url);
    const { store } = fixture;
    const count = 1_200;
    await Promise.all(
      Array.from({ length: count }, (_, n) =>
        store.save(`n${n}`, { messages: [], metadata: n % 400 === 0 ? { k: 1 } : {}, revision: 0 }),
      ),
    );
    const first = await store.list({ metadata: { k: 1 }, limit: 2 });
    const second = await store.list({ metadata: { k: 1 }, limit: 2, cursor: first.cursor });
    expect([...first.items, ...second.items].map(({ id }) => id).sort()).toEqual(["n0", "n400", "n800"]);
    expect([first.items.length, second.cursor]).toEqual([2, undefined]);
    expect((await store.list({ limit: count })).items).toHaveLength(count);
  });

  test("what an older version keeps is brought up to date by whatever meets it first, once, and keeps what is in it", async () => {
    await using fixture = redisFixture(url);
    const { store, client, key, prefix } = fixture;
    const upgrades = [
      "redis.call('HSET', session, 'title', redis.call('LINDEX', messages, 0)); redis.call('HINCRBY', session, 'runs', 1)",
      "redis.call('HINCRBY', session, 'runs', 10)",
    ];
    const later = new RedisConnection({ client }, 5_000, scriptsOf(upgrades));
    const sessions = new RedisSessions(later, prefix);
    for (const id of ["loaded", "written", "deleted"]) await store.append(id, deltaOf("o", 0, [note("m")]));
    const before = await store.load("loaded");
    for (let n = 0; n < 2; n++) expect(await sessions.load("loaded", undefined)).toEqual(before);
    const delta = deltaOf("p", 1, [note("n")]);
    expect(await sessions.append("written", delta, encodeDelta(delta))).toBe(2);
    await sessions.delete("deleted");
    for (const [id, runs] of [
      ["loaded", "11"],
      ["written", "11"],
      ["deleted", null],
    ] as const) {
      expect(await client.hmget(key("session", id), "format", "runs")).toEqual(["3", runs]);
    }
    expect(await client.hget(key("session", "loaded"), "title")).toBe(JSON.stringify(note("m")));
    await expect(store.load("loaded")).rejects.toMatchObject({
      kind: "load",
      message: expect.stringContaining("format 3"),
    });
  });

  test("fields that a newer version keeps beside a session survive what an older one writes", async () => {
    await using fixture = redisFixture(url);
    const { store, client, key } = fixture;
    await store.append("s", deltaOf("o", 0, [note("m")]));
    await client.hset(key("session", "s"), "colour", "red");
    await store.append("s", deltaOf("p", 1, [note("n")]));
    await store.save("s", { messages: [], metadata: {}, revision: 2 });
    expect(await client.hget(key("session", "s"), "colour")).toBe("red");
  });

  test("what a later version keeps is refused, not changed and not deleted", async () => {
    await using fixture = redisFixture(url);
    const { store, client, key } = fixture;
    await store.append("s", deltaOf("o", 0, [note("m")]));
    await client.hset(key("session", "s"), "format", "2");
    const message = expect.stringContaining("format 2");
    await expect(store.load("s")).rejects.toMatchObject({ name: "SessionError", kind: "load", message });
    for (const write of [
      () => store.append("s", deltaOf("p", 1, [])),
      () => store.save("s", { messages: [], metadata: {}, revision: 0 }, { replace: true }),
      () => store.delete("s"),
    ]) {
      await expect(write()).rejects.toMatchObject({ name: "SessionError", kind: "save", message });
    }
    await client.hset(key("session", "s"), "format", "1");
    expect((await store.load("s")).messages).toEqual([note("m")]);
  });

  describe("damage", () => {
    type Damage = (fixture: RedisFixture) => Promise<unknown>;
    const damages: readonly (readonly [string, Damage, string])[] = [
      [
        "a message that is no JSON",
        ({ client, key }) => client.lset(key("messages", "s"), 7, '{"id":'),
        "message 7 is",
      ],
      ["a message that is no object", ({ client, key }) => client.lset(key("messages", "s"), 7, "[]"), "message 7 is"],
      ["a missing message", ({ client, key }) => client.rpop(key("messages", "s")), "19 of 20 messages are there"],
      ["all messages gone", ({ client, key }) => client.del(key("messages", "s")), "0 of 20 messages are there"],
      ["messages of another type", ({ client, key }) => client.set(key("messages", "s"), "x"), "another type"],
      ["metadata that is no JSON", ({ client, key }) => client.hset(key("metadata", "s"), "title", "1 t"), "title is"],
      ["metadata without a place", ({ client, key }) => client.hset(key("metadata", "s"), "title", '"t"'), "title is"],
      [
        "a compaction of another shape",
        ({ client, key }) => client.hset(key("session", "s"), "compaction", "[]"),
        "compaction",
      ],
      [
        "a count that is none",
        ({ client, key }) => client.hset(key("session", "s"), "count", "many"),
        "own is damaged",
      ],
    ];
    test.each(damages)(
      "%s is corrupt for its session alone, listed, and stays as it is",
      async (_title, damage, place) => {
        await using fixture = redisFixture(url);
        const { store, client, key } = fixture;
        const messages = Array.from({ length: 20 }, (_, n) => note(`m${n}`));
        const compaction = { upTo: "m0", messages: [note("c")] };
        await store.append("other", deltaOf("o", 0, [note("fine")]));
        await store.append("s", deltaOf("o", 0, messages, { metadata: { title: "t" }, compaction }));
        if (_title === "messages of another type") await client.del(key("messages", "s"));
        await damage(fixture);
        const before = await dump(fixture);
        const message = expect.stringMatching(new RegExp(`session "s" in redis ".*": .*${place}`));
        await expect(store.load("s")).rejects.toMatchObject({ name: "SessionError", kind: "corrupt", message });
        const asNew = store.save("s", { messages: [], metadata: {}, revision: 0 });
        await expect(asNew).rejects.toMatchObject({ kind: expect.stringMatching(/^(conflict|corrupt)$/) });
        expect((await store.list()).items.map(({ id }) => id)).toEqual(["s", "other"]);
        expect(await dump(fixture)).toEqual(before);
        expect((await store.load("other")).messages).toEqual([note("fine")]);
      },
    );

    test.each(["messages", "metadata", "operations", "counts", "session", "index", "writes"])(
      "a key %s of another type makes an append fail before it has written anything",
      async (kind) => {
        await using fixture = redisFixture(url);
        const { store, client, key } = fixture;
        await store.append("s", deltaOf("o", 0, [note("m")], { metadata: { k: 1 } }));
        const damagedKey = ["index", "writes"].includes(kind) ? key(kind) : key(kind, "s");
        await client.del(damagedKey);
        await client.sadd(damagedKey, "x");
        const before = await dump(fixture);
        const append = store.append("s", deltaOf("p", 1, [note("n")], { metadata: { k: 2 } }));
        await expect(append).rejects.toMatchObject({ name: "SessionError", kind: "corrupt" });
        expect(await dump(fixture)).toEqual(before);
      },
    );

    test("a message that is missing is found by an append, which changes nothing", async () => {
      await using fixture = redisFixture(url);
      const { store, client, key } = fixture;
      await store.append("s", deltaOf("o", 0, [note("m"), note("n")]));
      await client.rpop(key("messages", "s"));
      const before = await dump(fixture);
      await expect(store.append("s", deltaOf("p", 1, [note("x")]))).rejects.toMatchObject({ kind: "corrupt" });
      expect(await dump(fixture)).toEqual(before);
    });

    test("of messages is mended by a save that replaces", async () => {
      await using fixture = redisFixture(url);
      const { store, client, key } = fixture;
      await store.append("s", deltaOf("o", 0, [note("m")]));
      await client.del(key("messages", "s"));
      await client.set(key("messages", "s"), "x");
      await store.save("s", { messages: [note("new")], metadata: {}, revision: 0 }, { replace: true });
      expect((await store.load("s")).messages).toEqual([note("new")]);
    });
  });
});

/** Every key of the fixture with its bytes. */
async function dump({ client, prefix }: RedisFixture): Promise<unknown> {
  const keys = (await client.keys(`${prefix}*`)).sort();
  return Promise.all(keys.map(async (key) => [key, (await client.dumpBuffer(key))?.toString("hex")]));
}
