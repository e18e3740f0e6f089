import { randomBytes } from "node:crypto";
import { inspect } from "node:util";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Agent } from "../../../src/agent/agent.js";
import { defineTool, Type } from "../../../src/adapters/tools/index.js";
import { RedisSessionStore } from "../../../src/adapters/sessions/redis.js";
import { SessionError } from "../../../src/domain/errors.js";
import { orderResults } from "../../../src/domain/transcript.js";
import { transcriptLaw } from "../../../src/domain/transcript-law.js";
import { deltaOf, note } from "../../../src/testkit/claims/session-samples.js";
import { stopResponse, toolCallResponse } from "../../../src/testkit/index.js";
import { describeWith, ownName, privatePostgres, privateRedis, type PrivateServer } from "../../support/servers.js";
import { openAt, type StorePlace } from "../../support/store-place.js";
import { rejectionOf } from "../../support/turns.js";

type Start = () => Promise<PrivateServer>;

/** One server for the suite, and a place of its own for each test. */
function useServer(kind: StorePlace["kind"], start: Start) {
  let server: PrivateServer;
  beforeAll(async () => {
    server = await start();
  });
  afterAll(() => server[Symbol.asyncDispose]());
  const open = () => openAt({ kind, url: server.url, name: ownName() });
  return { open, server: () => server };
}

/** An agent whose tool `work` does what it is told to. */
function agentOn(store: ReturnType<typeof openAt>, work: () => Promise<void>): Promise<Agent> {
  const parameters = Type.Object({});
  const execute = async (): Promise<string> => {
    await work();
    return "done";
  };
  let calls = 0;
  return Agent.create({
    model: {
      chat: async ({ messages }) =>
        messages.at(-1)?.role === "tool" ? stopResponse("answered") : toolCallResponse("work", `c${calls++}`, {}),
    },
    tools: [defineTool({ name: "work", description: "Works.", parameters, execute })],
    sessions: [store],
  });
}

function suite(kind: StorePlace["kind"], start: Start): void {
  const { open, server } = useServer(kind, start);

  test("a server killed in mid-turn: the turn is a typed error, the session intact, the agent usable afterwards", async () => {
    await using store = open();
    let kill = true;
    await using agent = await agentOn(store, async () => {
      if (kill) await server().kill();
    });
    const error = await rejectionOf(agent.runTurn("one", "s"));
    expect(error).toMatchObject({ kind: "session", cause: { name: "SessionError", kind: "save" } });
    kill = false;
    await server().start();
    const before = (await store.load("s")).messages;
    expect(before.map(({ role }) => role)).toEqual(["user", "assistant"]);
    const result = await agent.runTurn("two", "s", { takeOver: true });
    expect([result.status, result.text]).toEqual(["completed", "answered"]);
    const { messages } = await store.load("s");
    expect(messages.slice(0, 2)).toEqual(before);
    expect(messages.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "tool",
      "user",
      "assistant",
      "tool",
      "assistant",
    ]);
    expect(transcriptLaw(orderResults(messages))).toEqual([]);
  });

  test("a server restarted between two turns, and in mid-turn while the tool runs, is not noticed", async () => {
    await using store = open();
    const restart = async (): Promise<void> => {
      await server().stop();
      await server().start();
    };
    await using agent = await agentOn(store, restart);
    expect((await agent.runTurn("one", "s")).status).toBe("completed");
    await restart();
    expect((await agent.runTurn("two", "s")).status).toBe("completed");
    expect((await store.load("s")).messages).toHaveLength(8);
  });

  test("a server killed again and again loses no acknowledged append, and a repeated one is never doubled", async () => {
    await using store = open();
    let killing = true;
    let refused = 0;
    let written = 0;
    const write = async (): Promise<void> => {
      let revision = 0;
      for (let n = 0; killing; n++) {
        const delta = deltaOf(`o${n}`, revision, [note(`m${n}`), note(`n${n}`)]);
        for (let stored = false; !stored; ) {
          try {
            revision = await store.append("s", delta);
            stored = true;
          } catch (error) {
            if (!(error instanceof SessionError) || error.kind !== "save") throw error;
            refused++;
            await new Promise<void>((resolve) => void setImmediate(resolve));
          }
        }
        written = n + 1;
      }
    };
    const writing = write();
    for (let round = 0; round < 5; round++) {
      const before = written;
      while (written < before + 3) await new Promise<void>((resolve) => void setImmediate(resolve));
      await server().kill();
      await server().start();
    }
    killing = false;
    await writing;
    const { messages, revision } = await store.load("s");
    const expected = Array.from({ length: written }, (_, n) => [`m${n}`, `n${n}`]).flat();
    expect(messages.map(({ id }) => id)).toEqual(expected);
    expect(revision).toBe(written);
    expect(refused).toBeGreaterThan(0);
  });
}

const postgres = privatePostgres();
const redis = privateRedis();

describeWith("PostgresSessionStore on a server that goes away", postgres, (start) => suite("postgres", start));
describeWith("RedisSessionStore on a server that goes away", redis, (start) => suite("redis", start));

describeWith("PostgresSessionStore on a full disk", postgres, (start) => {
  // The server is refused every file beyond 4 MB, which is all it can notice of a full disk.
  const { open } = useServer("postgres", () => start(["wal_recycle=off"], "ulimit -f 8192;"));

  test("tells what it could not store, keeps what it has, and works on", async () => {
    await using store = open();
    const text = (): string => randomBytes(400_000).toString("base64");
    let revision = 0;
    const fill = async (): Promise<void> => {
      for (let n = 0; n < 20; n++)
        revision = await store.append("s", deltaOf(`o${n}`, revision, [note(`m${n}`, text())]));
    };
    const message = expect.stringMatching(/could not (extend|write)/);
    await expect(fill()).rejects.toMatchObject({ name: "SessionError", kind: "save", message });
    const { messages } = await store.load("s");
    expect(messages).toHaveLength(revision);
    expect(revision).toBeGreaterThan(2);
    expect(await store.append("s", deltaOf("small", revision, [note("small")]))).toBe(revision + 1);
    expect((await store.load("s", revision)).messages).toEqual([note("small")]);
  });
});

describeWith("RedisSessionStore on a server without room", redis, (start) => {
  const { open, server } = useServer("redis", () => start());

  test("tells what it could not store, stores nothing by halves, and works on where there is room again", async () => {
    await using store = open();
    await using admin = adminOf(server());
    await store.append("kept", deltaOf("o", 0, [note("m")], { metadata: { k: 1 } }));
    await admin.client.config("SET", "maxmemory", "8mb");
    let revision = 0;
    const fill = async (): Promise<void> => {
      for (let n = 0; n < 200; n++) {
        const messages = [note(`m${n}`, "x".repeat(200_000)), note(`n${n}`)];
        revision = await store.append("s", deltaOf(`o${n}`, revision, messages, { metadata: { n } }));
      }
    };
    const message = expect.stringContaining("OOM");
    await expect(fill()).rejects.toMatchObject({ name: "SessionError", kind: "save", message });
    const large = [note("large", "x".repeat(6_000_000))];
    await expect(store.save("kept", { messages: large, metadata: {}, revision: 1 })).rejects.toMatchObject({ message });
    const { messages, metadata } = await store.load("s");
    expect([messages.length, metadata]).toEqual([revision * 2, { n: revision - 1 }]);
    expect(await store.load("kept")).toEqual({ messages: [note("m")], metadata: { k: 1 }, revision: 1 });
    await store.delete("s");
    expect(await store.append("kept", deltaOf("p", 1, [note("n")]))).toBe(2);
    await admin.client.config("SET", "maxmemory", "0");
  });

  test("that is read-only is a typed error for writes, and reads go on", async () => {
    await using store = open();
    await using admin = adminOf(server());
    await store.append("s", deltaOf("o", 0, [note("m")]));
    await admin.client.replicaof("127.0.0.1", 1);
    const message = expect.stringContaining("READONLY");
    await expect(store.append("s", deltaOf("p", 1, []))).rejects.toMatchObject({ kind: "save", message });
    await expect(store.delete("s")).rejects.toMatchObject({ kind: "save", message });
    expect((await store.load("s")).messages).toEqual([note("m")]);
    expect((await store.list()).items).toHaveLength(1);
    await admin.client.replicaof("NO", "ONE");
    expect(await store.append("s", deltaOf("p", 1, []))).toBe(2);
  });

  test("a wrong password is a typed error that does not hold it", async () => {
    await using admin = adminOf(server());
    await admin.client.acl("SETUSER", "ann", "on", ">geheim-right", "~*", "+@all");
    const at = (password: string): string => `redis://ann:${password}@127.0.0.1:${server().port}`;
    await using wrong = new RedisSessionStore({ url: at("geheim-wrong"), prefix: "{p}:" });
    const error: unknown = await wrong.load("s").catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: "SessionError", kind: "load", message: expect.stringContaining("WRONGPASS") });
    expect(inspect(error, { depth: 10, showHidden: true })).not.toContain("geheim");
    await using right = new RedisSessionStore({ url: at("geheim-right"), prefix: "{p}:" });
    expect((await right.load("s")).revision).toBe(0);
  });
});

function adminOf({ url }: PrivateServer) {
  const client = new Redis(url);
  client.on("error", () => {});
  return { client, [Symbol.asyncDispose]: async () => client.disconnect() };
}
