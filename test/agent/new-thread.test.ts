import { expect, test } from "vitest";
import { ModelError, SessionError } from "../../src/domain/errors.js";
import type { AgentMessage } from "../../src/domain/message.js";
import { userMessage } from "../../src/domain/message.js";
import { SESSION_KEYS } from "../../src/domain/session.js";
import type { CompressAction, Compressor } from "../../src/ports/compressor.js";
import {
  RecordingCompressor,
  RecordingSessionStore,
  stopResponse,
  testAgent,
  type TestAgentOptions,
  toolCallResponse,
  toolOutcome,
} from "../../src/testkit/index.js";
import { leaseOf, linesOf, reply, sent, stored, user } from "../support/conversations.js";
import { thenNothing } from "../support/then-nothing.js";
import { hookAt, rejectionOf, terminals } from "../support/turns.js";

const long = "x".repeat(4_000);
const old = [user("u0", long), reply("a0", long), user("u1"), reply("a1")];

/** Goes on in "child" with a summary of what came before the newest message. */
const moving =
  (newSessionId = "child") =>
  (messages: readonly AgentMessage[]): CompressAction => ({
    type: "newThread",
    messages: [userMessage("summary"), ...messages.slice(-1)],
    newSessionId,
    messagesBefore: messages.length,
    messagesAfter: 2,
  });

async function moved(options: TestAgentOptions & { readonly metadata?: Record<string, string> } = {}) {
  const { metadata = { title: "t" }, ...rest } = options;
  const compressors = [new RecordingCompressor(thenNothing([moving()]))];
  const t = await testAgent({ script: [stopResponse("done")], compressors, ...rest });
  const seeded = (rest.sessions?.[0] as RecordingSessionStore | undefined) ?? t.sessions;
  seeded.seed("s", { messages: old, metadata });
  return t;
}

test("newThread goes on in a child that knows its parent; the parent knows where its conversation went (S5)", async () => {
  await using t = await moved();
  const result = await t.agent.runTurn("hi", "s");
  expect(result).toMatchObject({ status: "completed", finalSessionId: "child", text: "done" });
  expect(sent(t)).toEqual(["user summary", "assistant a1", "user hi"]);
  expect(await stored(t, "child")).toEqual(["user summary", "assistant a1", "user hi", "assistant done"]);
  expect(await stored(t, "s")).toEqual([...linesOf(old), "user hi"]);
  const [parent, child] = [await t.agent.session("s"), await t.agent.session("child")];
  expect(parent.metadata).toEqual({ title: "t", [SESSION_KEYS.redirectedTo]: "child" });
  expect(child.metadata).toEqual({
    ...{ title: "t", [SESSION_KEYS.parent]: "s" },
    [SESSION_KEYS.usage]: expect.objectContaining({ turn: expect.objectContaining({ turnId: result.turnId }) }),
  });
});

test("a child that cannot be written leaves neither session with a lease (S5, S2)", async () => {
  await using t = await moved();
  t.sessions.failSave("child");
  expect(await rejectionOf(t.agent.runTurn("hi", "s"))).toMatchObject({ kind: "session" });
  expect(leaseOf(await t.agent.session("s"))).toBeUndefined();
  expect(leaseOf(await t.agent.session("child"))).toBeUndefined();
});

test("the child is written first and holds the lease from then on; the parent loses its with the redirect (S5, S2)", async () => {
  await using t = await moved();
  await t.agent.runTurn("hi", "s");
  const writes = t.sessions.saveSnapshots().map(({ id, session }) => [id, leaseOf(session) !== undefined]);
  expect(writes).toEqual([
    ["s", true],
    ["child", true],
    ["s", false],
    ["child", true],
    ["child", false],
  ]);
});

test("the event of the redirect comes after both writes, and later events carry the child's id (S5)", async () => {
  let written: readonly string[] = [];
  const observer = {
    onEvent: ({ type }: { readonly type: string }) => {
      if (type === "sessionRedirect") written = t.sessions.saveSnapshots().map(({ id }) => id);
    },
  };
  await using t = await moved({ observers: [observer] });
  await t.agent.runTurn("hi", "s");
  expect(written).toEqual(["s", "child", "s"]);
  const { events } = t.observer;
  const at = events.findIndex(({ type }) => type === "sessionRedirect");
  expect(events[at]).toMatchObject({ from: "s", to: "child", messagesBefore: 5, messagesAfter: 2 });
  expect(new Set(events.slice(0, at).map(({ sessionId }) => sessionId))).toEqual(new Set(["s"]));
  expect(new Set(events.slice(at).map(({ sessionId }) => sessionId))).toEqual(new Set(["child"]));
  expect(t.observer.ofType("contextReplaced")).toEqual([]);
});

test("the framework's own keys are not copied to the child, all others are (S5)", async () => {
  const metadata = { title: "t", "my.key": "v", [SESSION_KEYS.usage]: "u", [SESSION_KEYS.parent]: "grandparent" };
  await using t = await moved({ metadata });
  t.sessions.seed("s", { messages: old, metadata: { ...metadata, [SESSION_KEYS.deferred]: [] } });
  await t.agent.runTurn("hi", "s");
  const [first] = t.sessions.saveSnapshots().filter(({ id }) => id === "child");
  const { [SESSION_KEYS.turn]: lease, ...rest } = first?.session.metadata ?? {};
  expect(lease).toBeDefined();
  expect(rest).toEqual({ title: "t", "my.key": "v", [SESSION_KEYS.parent]: "s" });
});

test("metadata that somebody patched while the turn ran is copied too (S5)", async () => {
  const patch = { operationId: "title", messages: [], metadata: { title: "made of the first message" } };
  const compressor = new RecordingCompressor(thenNothing([moving()]));
  const compress: Compressor["compress"] = async (...given) => {
    await t.sessions.append("s", patch);
    return compressor.compress(...given);
  };
  await using t = await moved({ compressors: [{ compress }] });
  await t.agent.runTurn("hi", "s");
  for (const id of ["s", "child"]) expect((await t.agent.session(id)).metadata).toMatchObject(patch.metadata);
});

test("a turn on the parent is refused and says where it goes on; with fork it runs (S5)", async () => {
  await using t = await moved();
  await t.agent.runTurn("hi", "s");
  const before = t.sessions.saveSnapshots().length;
  const error = await rejectionOf(t.agent.runTurn("more", "s"));
  expect(error).toMatchObject({ kind: "session", message: expect.stringContaining("child") });
  expect(t.sessions.saveSnapshots()).toHaveLength(before);
  t.model.push(stopResponse("forked"));
  const result = await t.agent.runTurn("more", "s", { fork: true });
  expect(result).toMatchObject({ text: "forked", finalSessionId: "s" });
  expect(sent(t)).toEqual([...linesOf(old), "user hi", "user more"]);
  t.model.push(stopResponse("child goes on"));
  await t.agent.runTurn("more", "child");
  expect(sent(t)).toEqual(["user summary", "assistant a1", "user hi", "assistant done", "user more"]);
});

test("a turn in mid-flight moves between rounds and takes its calls and results along (S5)", async () => {
  const keep = (messages: readonly AgentMessage[]): CompressAction => ({
    ...{ type: "newThread", newSessionId: "child", messagesBefore: messages.length, messagesAfter: 4 },
    messages: [userMessage("summary"), ...messages.slice(-3)],
  });
  const compressors = [new RecordingCompressor([{ type: "none" }, keep])];
  const script = [toolCallResponse("f", "c1"), stopResponse("done")];
  await using t = await moved({ script, compressors, tools: { f: toolOutcome.ok("fine") } });
  const result = await t.agent.runTurn("hi", "s");
  expect(await stored(t, "child")).toEqual(["user summary", "user hi", "calls c1", "c1 = fine", "assistant done"]);
  expect((await stored(t, "s")).slice(-3)).toEqual(["user hi", "calls c1", "c1 = fine"]);
  expect(linesOf(result.messages)).toEqual(["user hi", "calls c1", "c1 = fine", "assistant done"]);
});

test("the child is written in all stores (S5, S1)", async () => {
  const sessions = [new RecordingSessionStore(), new RecordingSessionStore()] as const;
  await using t = await moved({ sessions });
  await t.agent.runTurn("hi", "s");
  for (const id of ["s", "child"]) {
    const [ours, theirs] = [await sessions[0].load(id), await sessions[1].load(id)];
    expect({ ...theirs, revision: 0 }).toEqual({ ...ours, revision: 0 });
  }
});

test("a child that cannot be written fails the turn, and the parent does not point at it (S5)", async () => {
  await using t = await moved();
  t.sessions.failSave("child", { error: new SessionError("save", "disk full") });
  expect(await rejectionOf(t.agent.runTurn("hi", "s"))).toMatchObject({ kind: "session" });
  expect(terminals(t.observer.events)).toEqual(["turnFailed"]);
  const { metadata } = await t.agent.session("s");
  expect(metadata).not.toHaveProperty([SESSION_KEYS.redirectedTo]);
  expect(leaseOf({ metadata })).toBeUndefined();
  t.model.push(stopResponse("here still"));
  const next = t.agent.runTurn("again", "s");
  await t.runtime.advance(0);
  expect((await next).finalSessionId).toBe("s");
});

test("a session that is there already is not taken for a child (S5)", async () => {
  await using t = await moved();
  t.sessions.seed("child", { messages: [user("mine")] });
  expect(await rejectionOf(t.agent.runTurn("hi", "s"))).toMatchObject({ kind: "session" });
  expect(await stored(t, "child")).toEqual(["user mine"]);
  expect((await t.agent.session("s")).metadata).toEqual({ title: "t", [SESSION_KEYS.usage]: expect.anything() });
});

test('with persistence "turn" the child is written before the parent points at it, and neither by a turn that fails (S5, S3)', async () => {
  const config = { persistence: "turn" } as const;
  await using t = await moved({ config });
  const result = await t.agent.runTurn("hi", "s");
  expect(result.finalSessionId).toBe("child");
  expect(t.sessions.saveSnapshots().map(({ id }) => id)).toEqual(["child", "s"]);
  expect(await stored(t, "child")).toEqual(["user summary", "assistant a1", "user hi", "assistant done"]);
  expect((await t.agent.session("s")).metadata).toMatchObject({ [SESSION_KEYS.redirectedTo]: "child" });

  await using failing = await moved({ config, script: [] });
  await expect(failing.agent.runTurn("hi", "s")).rejects.toThrow();
  expect(failing.sessions.saveSnapshots()).toEqual([]);
});

test('with persistence "turn" the redirect is told when it is stored, and a turn that fails has left its session nowhere (S5, S3)', async () => {
  const config = { persistence: "turn" } as const;
  await using t = await moved({ config });
  await t.agent.runTurn("hi", "s");
  expect(t.observer.events.slice(-2).map(({ type, sessionId }) => [type, sessionId])).toEqual([
    ["sessionRedirect", "child"],
    ["turnCompleted", "child"],
  ]);

  const model = { chat: () => Promise.reject(new ModelError("server", "down")) };
  await using failing = await moved({ config, model });
  const error = await rejectionOf(failing.agent.runTurn("hi", "s"));
  expect(error.partial).toMatchObject({ finalSessionId: "s", undelivered: [{ role: "user" }] });
  expect(failing.observer.ofType("sessionRedirect")).toEqual([]);

  await using lost = await moved({ config });
  lost.sessions.failSave("s");
  const conflict = await rejectionOf(lost.agent.runTurn("hi", "s"));
  expect(conflict.partial).toMatchObject({ finalSessionId: "s", undelivered: [{ role: "user" }] });
});

test("a message for a session whose conversation went on is refused, as a turn is, instead of being lost (S5)", async () => {
  await using t = await moved();
  await t.agent.runTurn("hi", "s");
  const before = await stored(t, "s");
  const error = await rejectionOf(t.agent.appendMessage("s", userMessage("late")));
  expect(error.message).toContain("session s goes on in child");
  expect(await stored(t, "s")).toEqual(before);
});

test("the calls that wait are those that resumeTurn decides, where the conversation is now (S5, U5)", async () => {
  const ask = hookAt("beforeTool", (_, context) => (context.decision === undefined ? context.defer("ask") : undefined));
  const script = [toolCallResponse("pay", "c1"), stopResponse("paid")];
  await using t = await moved({ script, tools: { pay: toolOutcome.ok("done") }, hooks: [ask] });
  expect(await t.agent.runTurn("hi", "s")).toMatchObject({ status: "deferred", finalSessionId: "child" });
  expect((await t.agent.pendingCalls("s")).map(({ callId }) => callId)).toEqual(["c1"]);
  const decisions = (await t.agent.pendingCalls("s")).map(({ callId }) => ({ callId, approve: true as const }));
  expect(await t.agent.resumeTurn("s", { decisions })).toMatchObject({ text: "paid", finalSessionId: "child" });
  expect(await t.agent.pendingCalls("s")).toEqual([]);

  t.sessions.seed("circle", { messages: [], metadata: { [SESSION_KEYS.redirectedTo]: "circle" } });
  expect(await t.agent.pendingCalls("circle")).toEqual([]);
});

test("metadata that is not the framework's survives turns as it was (S5)", async () => {
  const metadata = { title: "t", nested: { __proto: [1, null, { a: "" }] }, "ennead.future": 1 };
  await using t = await testAgent({ script: [stopResponse("one"), stopResponse("two")] });
  t.sessions.seed("s", { messages: old, metadata });
  await t.agent.runTurn("hi", "s");
  await t.agent.runTurn("hi", "s");
  const { [SESSION_KEYS.usage]: usage, ...rest } = (await t.agent.session("s")).metadata;
  expect(usage).toBeDefined();
  expect(rest).toEqual(metadata);
});
