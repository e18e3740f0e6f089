import { inspect } from "node:util";
import { afterAll, expect, test, vi } from "vitest";
import { Agent } from "../../../src/agent/agent.js";
import { defineTool, Type } from "../../../src/adapters/tools/index.js";
import { orderResults } from "../../../src/domain/transcript.js";
import { transcriptLaw } from "../../../src/domain/transcript-law.js";
import { stopResponse, toolCallResponse } from "../../../src/testkit/builders.js";
import { deltaOf, note } from "../../../src/testkit/claims/session-samples.js";
import { PATIENCE_MS } from "../../support/patience.js";
import { describeWith, ownName, postgresUrl, redisUrl, stopServers } from "../../support/servers.js";
import { openAt, type StorePlace } from "../../support/store-place.js";
import { rejectionOf } from "../../support/turns.js";
import { tcpProxy } from "../../support/tcp-proxy.js";
import { serverFixture } from "./server-fixture.js";

const postgres = await postgresUrl();
const redis = await redisUrl();
afterAll(stopServers);

/** What a store sends last when it writes, and something it sends before. */
type Wire = { readonly kind: StorePlace["kind"]; readonly commit: string; readonly middle: string };

/** A store behind a proxy, and one beside it on the same data. */
async function disturbed(url: string, { kind }: Wire, timeoutMs = PATIENCE_MS) {
  const name = ownName();
  const fixture = serverFixture({ kind, url, name });
  const proxy = await tcpProxy(url);
  const store = openAt({ kind, url: proxy.url, name, timeoutMs });
  return {
    store,
    proxy,
    direct: fixture.store,
    async [Symbol.asyncDispose]() {
      proxy.silent = false;
      await store.close();
      await proxy[Symbol.asyncDispose]();
      await fixture[Symbol.asyncDispose]();
    },
  };
}

/** What a store answers whose own time is short: on a busy machine it may need more than one attempt. */
const inItsTime = <T>(ask: () => Promise<T>): Promise<T> => vi.waitFor(ask, PATIENCE_MS);

const saveError = { name: "SessionError", kind: "save" };
const loadError = { name: "SessionError", kind: "load" };

function suite(url: string, wire: Wire): void {
  test("an append whose answer is lost is a typed error; repeated under its operation id it tells what it did", async () => {
    await using s = await disturbed(url, wire);
    await s.store.append("s", deltaOf("o1", 0, [note("a")]));
    void s.proxy.disturb(wire.commit, "lose-answer");
    const delta = deltaOf("o2", 1, [note("b")], { metadata: { k: 1 } });
    await expect(s.store.append("s", delta)).rejects.toMatchObject(saveError);
    expect(await s.store.append("s", delta)).toBe(2);
    const whole = { messages: [note("a"), note("b")], metadata: { k: 1 }, revision: 2 };
    expect(await s.store.load("s")).toEqual(whole);
    expect(await s.direct.load("s")).toEqual(whole);
  });

  test.each(["commit", "middle"] as const)(
    "a request lost at its %s leaves nothing, and the store works on",
    async (at) => {
      await using s = await disturbed(url, wire);
      await s.store.append("s", deltaOf("o1", 0, [note("a")]));
      for (const write of [
        () => s.store.append("s", deltaOf("o2", 1, [note("b")], { metadata: { k: 1 } })),
        () => s.store.save("s", { messages: [], metadata: {}, revision: 1 }),
      ]) {
        void s.proxy.disturb(wire[at], "lose-request");
        await expect(write()).rejects.toMatchObject(saveError);
        expect(await s.direct.load("s")).toEqual({ messages: [note("a")], metadata: {}, revision: 1 });
      }
      expect(await s.store.append("s", deltaOf("o3", 1, [note("c")]))).toBe(2);
    },
  );

  test.each(["lose-request", "lose-answer"] as const)(
    "a connection cut in mid-turn (%s): the turn is a typed error, the session intact, and the agent usable afterwards",
    async (fault) => {
      await using s = await disturbed(url, wire);
      let cut = true;
      const execute = async (): Promise<string> => {
        if (cut) void s.proxy.disturb(wire.commit, fault);
        return "done";
      };
      let calls = 0;
      await using agent = await Agent.create({
        model: {
          chat: async ({ messages }) =>
            messages.at(-1)?.role === "tool" ? stopResponse("answered") : toolCallResponse("work", `c${calls++}`, {}),
        },
        tools: [defineTool({ name: "work", description: "Works.", parameters: Type.Object({}), execute })],
        sessions: [s.store],
      });
      const error = await rejectionOf(agent.runTurn("one", "s"));
      expect(error).toMatchObject({ kind: "session", cause: saveError });
      cut = false;
      const before = await s.direct.load("s");
      const stored = fault === "lose-answer" ? ["user", "assistant", "tool"] : ["user", "assistant"];
      expect(before.messages.map(({ role }) => role)).toEqual(stored);
      expect((await agent.runTurn("two", "s")).text).toBe("answered");
      const { messages, metadata } = await s.direct.load("s");
      expect(messages.slice(0, before.messages.length)).toEqual(before.messages);
      expect(transcriptLaw(orderResults(messages))).toEqual([]);
      expect(messages.filter(({ role }) => role === "tool")).toHaveLength(2);
      expect(metadata).not.toHaveProperty(["ennead.turn"]);
    },
  );

  test("a server that falls silent is a typed error in time, at every call, and the store works on when it answers again", async () => {
    await using s = await disturbed(url, wire, 1_000);
    await s.direct.append("s", deltaOf("o1", 0, [note("a")]));
    await inItsTime(() => s.store.load("s"));
    s.proxy.silent = true;
    const begin = performance.now();
    await Promise.all([
      expect(s.store.load("s")).rejects.toMatchObject(loadError),
      expect(s.store.list()).rejects.toMatchObject(loadError),
      expect(s.store.append("s", deltaOf("o2", 1, [note("b")]))).rejects.toMatchObject(saveError),
      expect(s.store.save("s", { messages: [], metadata: {}, revision: 1 })).rejects.toMatchObject(saveError),
      expect(s.store.delete("s")).rejects.toMatchObject(saveError),
    ]);
    await expect(s.store.load("s")).rejects.toMatchObject(loadError);
    // Twice the default would be twenty seconds.
    expect(performance.now() - begin).toBeLessThan(20_000);
    s.proxy.silent = false;
    expect((await inItsTime(() => s.store.load("s"))).revision).toBe(1);
    expect(await inItsTime(() => s.store.append("s", deltaOf("o2", 1, [note("b")])))).toBe(2);
    expect((await s.direct.load("s")).messages).toEqual([note("a"), note("b")]);
  });

  test("a write that hangs in its middle blocks no other writer beyond its timeout", async () => {
    await using s = await disturbed(url, wire, 1_000);
    await s.direct.append("s", deltaOf("o1", 0, [note("a")]));
    let isHeld = false;
    const held = s.proxy.disturb(wire.middle, "hold").then(() => (isHeld = true));
    const hangs = async (): Promise<void> => {
      const write = (): Promise<number> => s.store.append("s", deltaOf("o2", 1, [note("b")]));
      // On a busy machine its time may be over before it has come so far.
      do await expect(write()).rejects.toMatchObject(saveError);
      while (!isHeld);
    };
    const hanging = hangs();
    await held;
    expect(await s.direct.append("s", deltaOf("o3", 1, [note("c")]))).toBe(2);
    await hanging;
    expect((await inItsTime(() => s.store.load("s"))).messages).toEqual([note("a"), note("c")]);
  });

  test("an append to a long session and a load of what is new send and receive what they do for a short one (F145)", async () => {
    await using s = await disturbed(url, wire);
    const trafficOf = async (id: string, revision: number): Promise<number[]> => {
      const { sent, received } = s.proxy.traffic;
      await s.store.append(id, deltaOf("next", revision, [note("next")], { metadata: { k: 1 } }));
      await s.store.load(id, revision);
      return [s.proxy.traffic.sent - sent, s.proxy.traffic.received - received];
    };
    const filled = async (id: string, count: number): Promise<number> => {
      const messages = Array.from({ length: count }, (_, n) => note(`m${n}`, "x".repeat(200)));
      return s.direct.append(id, deltaOf("first", 0, messages));
    };
    const short = await filled("short", 10);
    const long = await filled("long0", 10_000);
    await s.store.load("warm up the connection");
    const [sentShort = 0, receivedShort = 0] = await trafficOf("short", short);
    const [sentLong = 0, receivedLong = 0] = await trafficOf("long0", long);
    expect(sentLong).toBeLessThan(sentShort + 100);
    expect(receivedLong).toBeLessThan(receivedShort + 100);
    expect(sentLong + receivedLong).toBeLessThan(8_000);
  });

  test("where nobody listens every call is a typed error at once", async () => {
    const nowhere = new URL(url);
    nowhere.port = "1";
    await using store = openAt({ kind: wire.kind, url: nowhere.href, name: "nowhere" });
    const begin = performance.now();
    await expect(store.load("s")).rejects.toMatchObject({
      ...loadError,
      message: expect.stringContaining("ECONNREFUSED"),
    });
    await expect(store.append("s", deltaOf("o", 0, []))).rejects.toMatchObject(saveError);
    expect(performance.now() - begin).toBeLessThan(PATIENCE_MS / 2);
  });

  test("a password in the URL is in no error, whatever is wrong with it", async () => {
    const secret = "geheim-0815";
    const urls = ["127.0.0.1:1", "no-such-host.invalid:1", `${new URL(url).host}`].map((host) => {
      const at = new URL(url);
      at.host = host;
      at.username = at.username === "" ? "default" : at.username;
      at.password = secret;
      if (wire.kind === "postgres") at.pathname = "/no_such_database";
      return at.href;
    });
    for (const broken of [`${wire.kind}://u:${secret}@`, `${wire.kind}://u:${secret}@h:port/`, `u:${secret}@h`]) {
      expect(() => openAt({ kind: wire.kind, url: broken, name: "n" })).toThrow(
        expect.objectContaining({ name: "CompositionError", kind: "invalid-config" }),
      );
      try {
        openAt({ kind: wire.kind, url: broken, name: "n" });
      } catch (error) {
        expect(inspect(error, { depth: 10, showHidden: true })).not.toContain(secret);
      }
    }
    const name = ownName();
    await using _ = serverFixture({ kind: wire.kind, url, name });
    for (const at of urls) {
      await using store = openAt({ kind: wire.kind, url: at, name, timeoutMs: 5_000 });
      const message = note("m", secret);
      const error: unknown = await store.append("s", deltaOf("o", 0, [message])).catch((thrown: unknown) => thrown);
      if (wire.kind === "postgres") expect(error).toMatchObject(saveError);
      expect(inspect(error, { depth: 10, showHidden: true })).not.toContain(secret);
    }
  });

  test("closes as often as it is asked, after the calls under way, and rejects what comes afterwards", async () => {
    await using s = await disturbed(url, wire);
    const under = s.store.append("s", deltaOf("o", 0, [note("m")]));
    await Promise.all([under, s.store.close(), s.store.close()]);
    expect(await under).toBe(1);
    await s.store.close();
    await expect(s.store.load("s")).rejects.toMatchObject({ ...loadError, message: expect.stringContaining("closed") });
    await expect(s.store.append("s", deltaOf("p", 1, []))).rejects.toMatchObject(saveError);
    await expect(s.store.list()).rejects.toMatchObject(loadError);
    const unused = openAt({ kind: wire.kind, url: s.proxy.url, name: "unused" });
    const { sent } = s.proxy.traffic;
    await unused.close();
    expect(s.proxy.traffic.sent).toBe(sent);
  });
}

describeWith("PostgresSessionStore on a network that fails", postgres, (url) =>
  suite(url, { kind: "postgres", commit: "COMMIT\0", middle: 'UPDATE "' }),
);
describeWith("RedisSessionStore on a network that fails", redis, (url) =>
  suite(url, { kind: "redis", commit: "evalsha", middle: "evalsha" }),
);
