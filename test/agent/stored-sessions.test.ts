import { expect, test } from "vitest";
import { AgentError } from "../../src/domain/errors.js";
import { assistantMessage, toolResultMessage, userMessage } from "../../src/domain/message.js";
import { SESSION_KEYS } from "../../src/domain/session.js";
import { okResult } from "../../src/domain/tool.js";
import {
  modelStep,
  RecordingSessionStore,
  ScriptedModel,
  stopResponse,
  testAgent,
  toolCallResponse,
  toolOutcome,
} from "../../src/testkit/index.js";
import { calling, linesOf, reply, result, SaveOnlyStore, sent, stored, user } from "../support/conversations.js";
import { textFrom } from "../support/texts.js";
import { call, rejectionOf } from "../support/turns.js";

const history = [user("u0"), calling("a0", "c1"), result("r0", "c1"), reply("a1"), user("u1"), reply("a2")];
const usage = { inputTokens: 10, outputTokens: 5 };

test("a session nobody has written is empty, has no usage, and is not made by reading it", async () => {
  await using t = await testAgent();
  for (const id of ["nobody", "../../etc/passwd", "", "a\u0000b"]) {
    expect(await t.agent.session(id)).toEqual({ messages: [], metadata: {}, revision: 0 });
    expect(await t.agent.usage(id)).toBeUndefined();
  }
  expect((await t.agent.sessions.list()).items).toEqual([]);
  expect(t.sessions.saveSnapshots()).toEqual([]);
});

test("without a session id a turn makes a session and tells its id; each turn makes its own", async () => {
  await using t = await testAgent({ script: [stopResponse("one"), stopResponse("two")] });
  const ids = [await t.agent.runTurn("hi"), await t.agent.runTurn("hi")].map(({ finalSessionId }) => finalSessionId);
  expect(new Set(ids).size).toBe(2);
  expect(await stored(t, ids[0])).toEqual(["user hi", "assistant one"]);
  expect((await t.agent.sessions.list()).items.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
});

test("an appended message is stored with id and time, returned as stored, and sent with the next turn", async () => {
  await using t = await testAgent({ script: [stopResponse("one")] });
  const input = userMessage("by the way", { name: "ann", metadata: { from: "mail" } });
  const added = await t.agent.appendMessage("s", input);
  expect(added).toMatchObject({ ...input, id: expect.any(String), at: t.runtime.now() });
  expect(Object.isFrozen(input)).toBe(false);
  expect((await t.agent.session("s")).messages).toEqual([added]);
  await t.agent.runTurn("hi", "s");
  expect(sent(t)).toEqual(["user by the way", "user hi"]);
});

test.each([
  ["a reply with calls", calling("a", "c1")],
  ["a tool result", toolResultMessage(call("f", "c1"), okResult("x"))],
  ["no message", { role: "user" } as never],
  ["nothing", undefined as never],
])("appending %s is refused as invalid input, and nothing is stored", async (_, message) => {
  await using t = await testAgent();
  expect(await rejectionOf(t.agent.appendMessage("s", message))).toMatchObject({ kind: "invalid-input" });
  expect(t.sessions.ops).toEqual([]);
});

test("appending to a session whose turn runs waits for the turn; to one that another agent holds is refused (T1, S2)", async () => {
  const sessions = [new RecordingSessionStore()] as const;
  await using a = await testAgent({ script: [modelStep.hang()], sessions });
  await using b = await testAgent({ sessions });
  const turn = a.agent.startTurn("hi", "s", { turnId: "turn of a" });
  await a.runtime.advance(0);
  const appended = a.agent.appendMessage("s", user("mine"));
  const error = await rejectionOf(b.agent.appendMessage("s", user("theirs")));
  expect(error).toMatchObject({ kind: "session", cause: { kind: "conflict" } });
  turn.abort();
  await Promise.all([turn.result, appended]);
  expect(await stored(a)).toEqual(["user hi", "user mine"]);
});

test("appends that run at the same time are all stored, in the order in which they were asked for", async () => {
  await using t = await testAgent();
  const texts = Array.from({ length: 20 }, (_, n) => `m${n}`);
  await Promise.all(texts.map((text) => t.agent.appendMessage("s", userMessage(text))));
  expect(await stored(t)).toEqual(texts.map((text) => `user ${text}`));
});

test("a fork copies messages up to the one named, the user's metadata and whose child it is (S5)", async () => {
  await using t = await testAgent({ script: [stopResponse("forked"), stopResponse("parent")] });
  const metadata = {
    title: "t",
    [SESSION_KEYS.redirectedTo]: "x",
    [SESSION_KEYS.usage]: "u",
    [SESSION_KEYS.turn]: "l",
  };
  t.sessions.seed("s", { messages: history, metadata, compaction: { upTo: "r0", messages: [user("short")] } });
  const id = await t.agent.sessions.fork("s", "a1");
  const fork = await t.agent.session(id);
  expect(linesOf(fork.messages)).toEqual(linesOf(history.slice(0, 4)));
  expect(fork.metadata).toEqual({ title: "t", [SESSION_KEYS.parent]: "s" });
  await t.agent.runTurn("on", id);
  expect(sent(t)).toEqual(["user short", "assistant a1", "user on"]);
  expect(await stored(t)).toEqual(linesOf(history));
});

test("a fork before the end of a record shows the originals, one inside an exchange is repaired (S4)", async () => {
  await using t = await testAgent({ script: [stopResponse("forked")] });
  t.sessions.seed("s", { messages: history, compaction: { upTo: "a1", messages: [user("short")] } });
  await t.agent.runTurn("on", await t.agent.sessions.fork("s", "a0"));
  expect(sent(t)).toEqual(["user u0", "calls c1", expect.stringMatching(/^c1 = !/), "user on"]);
});

test("a fork of a message that is not there is a typed error and makes nothing", async () => {
  await using t = await testAgent();
  t.sessions.seed("s", { messages: history });
  await expect(t.agent.sessions.fork("s", "ghost")).rejects.toMatchObject({ name: "SessionError", kind: "load" });
  expect((await t.agent.sessions.list()).items).toHaveLength(1);
});

test("export, delete and import give the session back in all stores (S1)", async () => {
  const sessions = [new RecordingSessionStore(), new RecordingSessionStore()] as const;
  await using t = await testAgent({ script: [stopResponse("one"), stopResponse("two")], sessions });
  await t.agent.runTurn("hi", "s");
  const before = await t.agent.session("s");
  const saved = await textFrom(t.agent.sessions.export("s"));
  await t.agent.sessions.delete("s");
  for (const store of sessions) expect((await store.load("s")).messages).toEqual([]);
  await t.agent.sessions.import(saved);
  for (const store of sessions) expect((await store.load("s")).messages).toEqual(before.messages);
  await t.agent.runTurn("more", "s");
  expect(sent(t)).toEqual(["user hi", "assistant one", "user more"]);
});

test("a deleted session begins anew with the next turn", async () => {
  await using t = await testAgent({ script: [stopResponse("one"), stopResponse("two")] });
  await t.agent.runTurn("hi", "s");
  await t.agent.sessions.delete("s");
  await t.agent.runTurn("anew", "s");
  expect(sent(t)).toEqual(["user anew"]);
});

test("a store that cannot list says so with a typed error", async () => {
  await using t = await testAgent({ sessions: [new SaveOnlyStore(new RecordingSessionStore())] });
  await expect(t.agent.sessions.list()).rejects.toMatchObject({ name: "SessionError", kind: "load" });
});

test("usage sums up over the turns of a session, failed ones included", async () => {
  const script = [
    { ...toolCallResponse("f", "c1"), usage },
    { ...stopResponse("one"), usage },
    { ...toolCallResponse("f", "c2"), usage },
  ];
  await using t = await testAgent({ script, tools: { f: toolOutcome.ok() } });
  await t.agent.runTurn("hi", "s");
  expect(await t.agent.usage("s")).toMatchObject({
    session: { inputTokens: 20 },
    turn: { modelCalls: 2, toolCalls: 1 },
  });
  const { turnId } = (await t.agent.usage("s"))?.turn ?? {};
  await rejectionOf(t.agent.runTurn("more", "s", { config: { maxToolRounds: 0 } }));
  const record = await t.agent.usage("s");
  expect(record).toMatchObject({
    session: { inputTokens: 30, outputTokens: 15 },
    turn: { modelCalls: 1, toolCalls: 0 },
  });
  expect(record?.turn.turnId).not.toBe(turnId);
});

test("setModel holds for turns that start from now on, a name or a port; a running turn keeps its own", async () => {
  const gate = Promise.withResolvers<ReturnType<typeof toolCallResponse>>();
  const script = [modelStep.respond(gate.promise), stopResponse("old"), stopResponse("named")];
  await using t = await testAgent({ script, tools: { f: toolOutcome.ok() } });
  const running = t.agent.startTurn("hi", "s");
  await t.runtime.advance(0);
  const other = new ScriptedModel([stopResponse("new")]);
  t.agent.setModel(other);
  gate.resolve(toolCallResponse("f", "c1"));
  expect((await running.result).text).toBe("old");
  expect((await t.agent.runTurn("hi", "s")).text).toBe("new");
  t.agent.setModel(t.model);
  t.agent.setModel("small");
  await t.agent.runTurn("hi", "s");
  expect(t.model.requests.map(({ options }) => options.model)).toEqual([undefined, undefined, "small"]);
});

test("with another model the context window is that model's, unless the config names one", async () => {
  for (const config of [{}, { modelContextWindow: 7 }]) {
    const seen: (number | undefined)[] = [];
    const compressor = {
      compress: (_: unknown, context: { readonly modelContextWindow?: number | undefined }) => (
        seen.push(context.modelContextWindow), { type: "none" } as const
      ),
    };
    const [large, small] = [200, 100].map(
      (contextWindow) => new ScriptedModel([stopResponse("a"), stopResponse("b")], { contextWindow }),
    );
    await using t = await testAgent({ model: large, compressors: [compressor], config });
    await t.agent.runTurn("hi", "s");
    t.agent.setModel(small as ScriptedModel);
    await t.agent.runTurn("hi", "s");
    await t.agent.runTurn("hi", "s", { config: { system: "x" } });
    expect(seen).toEqual(config.modelContextWindow === undefined ? [200, 100, 100] : [7, 7, 7]);
  }
});

test("a turn's own config keeps the model name that setModel chose, unless it names another", async () => {
  await using t = await testAgent({ script: [stopResponse("a"), stopResponse("b")] });
  t.agent.setModel("small");
  await t.agent.runTurn("hi", "s", { config: { temperature: 0 } });
  await t.agent.runTurn("hi", "s", { config: { model: "large" } });
  expect(t.model.requests.map(({ options }) => options.model)).toEqual(["small", "large"]);
});

test("what an agent's methods reject with for a store that fails is an AgentError that names operation and session", async () => {
  await using t = await testAgent();
  t.sessions.failLoad("s");
  t.sessions.failSave("w");
  for (const work of [
    t.agent.session("s"),
    t.agent.usage("s"),
    t.agent.appendMessage("s", user("u")),
    t.agent.sessions.fork("s"),
  ]) {
    const error = await rejectionOf(work);
    expect(error).toBeInstanceOf(AgentError);
    expect(error.message).toContain("could not load session s");
  }
  expect((await rejectionOf(t.agent.appendMessage("w", assistantMessage("hm")))).message).toContain(
    "append to session w",
  );
  expect((await rejectionOf(t.agent.sessions.import(await t.agent.session("x"), { id: "w" }))).message).toContain(
    "save session w",
  );
});

test("another model port goes by its own model's name, not by one that was chosen for the port before", async () => {
  await using t = await testAgent({ script: [stopResponse("a"), stopResponse("b")], config: { model: "large" } });
  t.agent.setModel("small");
  await t.agent.runTurn("hi", "s");
  t.agent.setModel(t.model);
  await t.agent.runTurn("hi", "s");
  expect(t.model.requests.map(({ options }) => options.model)).toEqual(["small", undefined]);
});
