import { afterAll, describe, expect, test } from "vitest";
import type { AgentMessage } from "../../src/domain/message.js";
import { orderResults } from "../../src/domain/transcript.js";
import { transcriptLaw } from "../../src/domain/transcript-law.js";
import type { SessionStore } from "../../src/ports/session-store.js";
import { deltaOf, note } from "../../src/testkit/claims/session-samples.js";
import { Agent } from "../../src/agent/agent.js";
import { MemorySessionStore } from "../../src/adapters/sessions/memory.js";
import type { SessionStoreFixture } from "../../src/testkit/claims/index.js";
import { ScriptedModel, stopResponse, toolCallResponse } from "../../src/testkit/index.js";
import { defineTool, Type } from "../../src/adapters/tools/index.js";
import { postgresFixture } from "../adapters/sessions/postgres-fixture.js";
import { redisFixture } from "../adapters/sessions/redis-fixture.js";
import { describeWith, postgresUrl, redisUrl, stopServers } from "../support/servers.js";
import { rejectionOf } from "../support/turns.js";
import { sessionCases, type WholeStore } from "./session-cases.js";

const postgres = await postgresUrl();
const redis = await redisUrl();
afterAll(stopServers);

type Fixture = AsyncDisposable & SessionStoreFixture & { readonly store: WholeStore };

const HOSTILE = "k\u0000v x\ud800y \u{1f600}";

function agentOn(
  store: SessionStore,
  ...script: ConstructorParameters<typeof ScriptedModel>[0] & object
): Promise<Agent> {
  const echo = defineTool({
    name: "echo",
    description: "Answers with hostile text.",
    parameters: Type.Object({}),
    execute: () => HOSTILE,
  });
  return Agent.create({ model: new ScriptedModel(script), tools: [echo], sessions: [store] });
}

function suite(make: () => Fixture): void {
  describe("as every store", () => sessionCases(make));

  test("F134: a turn on a damaged session is a typed error, and what is stored stays", async () => {
    await using fixture = make();
    const { store } = fixture;
    await store.save("s1", { messages: [note("a"), note("b")], metadata: {}, revision: 0 });
    await fixture.damage?.("s1");
    await using agent = await agentOn(store, stopResponse("never"));
    expect(await rejectionOf(agent.runTurn("hi", "s1"))).toMatchObject({
      kind: "session",
      cause: { name: "SessionError", kind: "corrupt" },
    });
    expect((await store.list()).items).toMatchObject([{ id: "s1", revision: 1, count: 2 }]);
    await expect(store.load("s1")).rejects.toMatchObject({ kind: "corrupt" });
  });

  test("F135: two agents on one session at the same time leave two whole turns", async () => {
    await using fixture = make();
    const { store } = fixture;
    await using a = await agentOn(store, toolCallResponse("echo", "c1"), stopResponse("a done"));
    await using b = await agentOn(store, toolCallResponse("echo", "c2"), stopResponse("b done"));
    await Promise.all([a.runTurn("one", "s1"), b.runTurn("two", "s1")]);
    const { messages } = await store.load("s1");
    const asked = messages.filter(({ role }) => role === "user").map((message) => JSON.stringify(message));
    expect(asked.toSorted().map((text) => /one|two/.exec(text)?.[0])).toEqual(expect.arrayContaining(["one", "two"]));
    const turnOf = ({ id }: AgentMessage): string => id.slice(0, id.lastIndexOf("."));
    expect(messages.map(turnOf)).toEqual([0, 4].flatMap((at) => Array(4).fill(turnOf(messages[at] as AgentMessage))));
    expect(transcriptLaw(orderResults(messages))).toEqual([]);
  });

  test("F139: what a newer version stored survives a turn", async () => {
    await using fixture = make();
    const { store } = fixture;
    const hologram = { type: "hologram", x: 1 };
    const message = { ...note("m"), content: [{ type: "text", text: "hi" }, hologram], tags: [1] };
    const later = { v2: { a: 1 } };
    await store.save("s", { messages: [message as unknown as AgentMessage], metadata: {}, revision: 0, ...later });
    await using agent = await agentOn(store, stopResponse("done"));
    await agent.runTurn("go on", "s");
    const loaded = await ((await fixture.reopen?.()) ?? store).load("s");
    expect(loaded).toMatchObject(later);
    expect(loaded.messages[0]).toEqual(message);
    expect(loaded.messages).toHaveLength(3);
  });

  test("a mirror has what the authority has after every turn, and one that fell behind is replaced (S1)", async () => {
    await using fixture = make();
    await using mirror = make();
    const script = [1, 2, 3].map((n) => stopResponse(`${HOSTILE} ${n}`));
    await using agent = await Agent.create({
      model: new ScriptedModel(script),
      sessions: [fixture.store, mirror.store],
    });
    const same = async (): Promise<void> => {
      const [authority, copy] = [await fixture.store.load("s"), await mirror.store.load("s")];
      expect([copy.messages, copy.metadata]).toEqual([authority.messages, authority.metadata]);
    };
    await agent.runTurn("one", "s");
    await same();
    const { revision, ...rest } = await mirror.store.load("s");
    await mirror.store.save("s", { ...rest, messages: [], revision });
    await agent.runTurn("two", "s");
    await same();
    await mirror.store.delete("s");
    await agent.runTurn("three", "s");
    await same();
    expect((await fixture.store.load("s")).messages).toHaveLength(6);
  });

  test("a session is forked at a message, and exported into a store in memory and back, as it is", async () => {
    await using fixture = make();
    const { store } = fixture;
    await using agent = await agentOn(store, toolCallResponse("echo", "c1"), stopResponse(HOSTILE), stopResponse("b"));
    await agent.runTurn("one", "s");
    await agent.runTurn("two", "s");
    const { messages } = await store.load("s");
    const fork = await agent.sessions.fork("s", messages[3]?.id);
    expect((await store.load(fork)).messages).toEqual(messages.slice(0, 4));
    expect((await store.load(fork)).metadata).toMatchObject({ parent_session_id: "s" });
    const elsewhere = new MemorySessionStore();
    await using other = await agentOn(elsewhere, stopResponse("unused"));
    await other.sessions.import(agent.sessions.export("s"));
    await agent.sessions.import(other.sessions.export("s"), { id: "back" });
    expect((await store.load("back")).messages).toEqual(messages);
  });

  test.each([
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
    "*",
    "{other}",
  ])("F140: the id %j round-trips, is listed as it is, and reaches no other session", async (id) => {
    await using fixture = make();
    const { store } = fixture;
    await store.save("other", { messages: [note("other")], metadata: {}, revision: 0 });
    await store.append(id, deltaOf("o", 0, [note("mine")]));
    expect((await store.load(id)).messages).toEqual([note("mine")]);
    expect((await store.list()).items.map((item) => item.id)).toEqual([id, "other"]);
    await store.delete(id);
    expect((await store.list()).items.map((item) => item.id)).toEqual(["other"]);
    expect((await store.load("other")).messages).toEqual([note("other")]);
  });

  test("F142, F144: a tool result with NUL and half an emoji is stored in a turn and comes back unchanged", async () => {
    await using fixture = make();
    const { store } = fixture;
    await using agent = await agentOn(store, toolCallResponse("echo", "c1"), stopResponse(HOSTILE));
    await agent.runTurn(HOSTILE, HOSTILE);
    const loaded = await ((await fixture.reopen?.()) ?? store).load(HOSTILE);
    expect(loaded.messages).toEqual((await agent.session(HOSTILE)).messages);
    const texts = JSON.stringify(loaded.messages).split(JSON.stringify(HOSTILE).slice(1, -1)).length - 1;
    expect(texts).toBe(3);
  });
}

describeWith("field cases on PostgreSQL", postgres, (url) => suite(() => postgresFixture(url)));
describeWith("field cases on Redis", redis, (url) => suite(() => redisFixture(url)));
