import { expect, test } from "vitest";
import type { AgentMessage } from "../../src/domain/message.js";
import { SESSION_KEYS } from "../../src/domain/session.js";
import { UNKNOWN_OUTCOME } from "../../src/domain/transcript.js";
import {
  modelStep,
  RecordingSessionStore,
  stopResponse,
  testAgent,
  type TestAgentOptions,
  testRuntime,
  toolCallResponse,
  toolCallsResponse,
  toolOutcome,
} from "../../src/testkit/index.js";
import { TEST_START } from "../../src/testkit/runtime.js";
import { calling, callingWith, leaseOf, reply, result, sent, stored, user } from "../support/conversations.js";
import { annotated, approve, askingFor, IDEMPOTENT, ran, READ_ONLY } from "../support/resuming.js";
import { call, expectLawful, rejectionOf } from "../support/turns.js";

const LEASE_MS = 60_000;
const lease = { [SESSION_KEYS.turn]: { turnId: "killed", until: TEST_START + LEASE_MS } };
const goesOnIn = (id: string) => ({ [SESSION_KEYS.redirectedTo]: id });

/** An agent on a store that holds these sessions. */
async function holding(
  sessions: Readonly<Record<string, { messages?: readonly AgentMessage[]; metadata?: Record<string, string> }>>,
  options: TestAgentOptions = {},
) {
  const t = await testAgent({ script: [stopResponse("done")], ...options });
  for (const [id, session] of Object.entries(sessions)) t.sessions.seed(id, session);
  return t;
}

test("a redirected session is resumed where its conversation went on, through any number of steps (S5, S6)", async () => {
  await using t = await holding({
    s: { messages: [user("old")], metadata: goesOnIn("s2") },
    s2: { messages: [user("older")], metadata: goesOnIn("s3") },
    s3: { messages: [user("go")] },
  });
  const turn = await t.agent.resumeTurn("s");
  expect(turn).toMatchObject({ status: "completed", finalSessionId: "s3", text: "done" });
  expect(sent(t)).toEqual(["user go"]);
  expect([await stored(t, "s"), await stored(t, "s2")]).toEqual([["user old"], ["user older"]]);
  expect(await stored(t, "s3")).toEqual(["user go", "assistant done"]);
  const later = t.observer.events.filter(({ type }) => type === "modelResponse" || type === "turnCompleted");
  expect(later.map(({ sessionId }) => sessionId)).toEqual(["s3", "s3"]);
});

test("decisions follow a redirect to the session where their calls wait (S5, U5)", async () => {
  const tools = { f: toolOutcome.ok("fine") };
  const shared = { tools, hooks: [askingFor()] };
  await using t = await holding(
    { s: { metadata: goesOnIn("s2") } },
    { ...shared, script: [toolCallResponse("f", "c1"), stopResponse("done")] },
  );
  await t.agent.runTurn("go", "s2");
  const turn = await t.agent.resumeTurn("s", { decisions: [approve("c1")] });
  expect(turn).toMatchObject({ status: "completed", finalSessionId: "s2" });
  expect(ran(t)).toEqual(["c1"]);
});

test.each([
  ["itself", { s: { metadata: goesOnIn("s") } }],
  ["one that leads back", { s: { metadata: goesOnIn("s2") }, s2: { metadata: goesOnIn("s") } }],
  [
    "a circle further on",
    { s: { metadata: goesOnIn("s2") }, s2: { metadata: goesOnIn("s3") }, s3: { metadata: goesOnIn("s2") } },
  ],
])("a session that goes on in %s is a typed error, and frees all sessions (S5)", async (_, sessions) => {
  await using t = await holding(sessions);
  const error = await rejectionOf(t.agent.resumeTurn("s"));
  expect(error.kind).toBe("session");
  expect(error.message).toContain("leads back");
  expect(t.sessions.saveSnapshots()).toEqual([]);
  for (const id of Object.keys(sessions)) {
    // Said by whoever got the lock of the session.
    const refusal = await rejectionOf(t.agent.appendMessage(id, { role: "user", content: "free" }));
    expect(refusal.message).toContain(`session ${id} goes on in`);
  }
});

test("with fork a redirected session is resumed where it stands (S5)", async () => {
  await using t = await holding({ s: { messages: [user("old")], metadata: goesOnIn("s2") }, s2: {} });
  const turn = await t.agent.resumeTurn("s", { fork: true });
  expect(turn).toMatchObject({ status: "completed", finalSessionId: "s" });
  expect(sent(t)).toEqual(["user old"]);
});

/** A session whose owner was killed in the middle of its tools. */
const killed = () => {
  const store = new RecordingSessionStore();
  const messages = [user("go"), callingWith("a", call("read", "c1"), call("pay", "c2"))];
  store.seed("s", { messages, metadata: lease });
  return store;
};
const tools = () => annotated({ read: READ_ONLY, put: IDEMPOTENT, pay: {} });
const resumed = ["user go", "calls c1,c2", "c1 = read done", `c2 = !${UNKNOWN_OUTCOME}`];

test("a resumed turn waits until the lease of a killed process is dead (S2, S6)", async () => {
  const store = killed();
  await using t = await testAgent({ script: [stopResponse("done")], tools: tools(), sessions: [store] });
  const turn = t.agent.resumeTurn("s");
  await t.runtime.advance(LEASE_MS - 1_000);
  expect([t.model.callCount, ran(t), store.saveSnapshots()]).toEqual([0, [], []]);
  await t.runtime.advance(2_000);
  expect((await turn).status).toBe("completed");
  expect(sent(t)).toEqual(resumed);
  expect(leaseOf(await store.load("s"))).toBeUndefined();
});

test("a resumed turn with takeOver does not wait (S2, S6)", async () => {
  const store = killed();
  await using t = await testAgent({ script: [stopResponse("done")], tools: tools(), sessions: [store] });
  expect((await t.agent.resumeTurn("s", { takeOver: true })).status).toBe("completed");
  expect(sent(t)).toEqual(resumed);
  await expectLawful(t, "s");
});

test("a resumed turn is refused before anything runs where the config says so (S2, S6)", async () => {
  const store = killed();
  const config = { onBusy: "refuse" as const };
  await using t = await testAgent({ script: [stopResponse("done")], tools: tools(), sessions: [store], config });
  const error = await rejectionOf(t.agent.resumeTurn("s"));
  expect(error).toMatchObject({ kind: "session", cause: { kind: "conflict" } });
  expect([t.model.callCount, ran(t), store.saveSnapshots()]).toEqual([0, [], []]);
});

test("a turn that was taken over while its tool ran leaves one result, and the resumed one goes on (S2, S6)", async () => {
  const store = new RecordingSessionStore();
  const runtime = testRuntime();
  const shared = { sessions: [store], runtime };
  await using a = await testAgent({
    script: [toolCallResponse("f", "c1")],
    tools: { f: toolOutcome.held() },
    ...shared,
  });
  await using b = await testAgent({ script: [stopResponse("b done")], tools: { f: toolOutcome.ok() }, ...shared });
  const first = a.agent.startTurn("go", "s");
  await a.tools.started("c1");
  expect((await b.agent.resumeTurn("s", { takeOver: true })).text).toBe("b done");
  a.tools.settle("c1", toolOutcome.ok("late"));
  await runtime.advance(1_000);
  expect(await rejectionOf(first.result)).toMatchObject({ kind: "session", cause: { kind: "conflict" } });
  expect(sent(b)).toEqual(["user go", "calls c1", `c1 = !${UNKNOWN_OUTCOME}`]);
  expect(ran(b)).toEqual([]);
  await expectLawful(b, "s");
  expect(await stored(b)).toHaveLength(4);
});

test("of two agents that resume one killed turn the second finds nothing left (S2, S6)", async () => {
  const store = killed();
  const runtime = testRuntime();
  const shared = { sessions: [store], runtime };
  await using a = await testAgent({ script: [stopResponse("a")], tools: tools(), ...shared });
  await using b = await testAgent({ script: [stopResponse("b")], tools: tools(), ...shared });
  const turns = Promise.allSettled([a, b].map(({ agent }) => agent.resumeTurn("s")));
  await runtime.advance(3 * LEASE_MS);
  const ends = await turns;
  const [lost] = ends.flatMap((end) => (end.status === "rejected" ? [end.reason as unknown] : []));
  expect(lost).toMatchObject({ kind: "nothing-to-resume" });
  expect([...ran(a), ...ran(b)]).toEqual(["c1"]);
  expect(a.model.callCount + b.model.callCount).toBe(1);
  await expectLawful(a, "s");
});

test("another's write between look and first write makes a resumed turn look again (S2, S6)", async () => {
  await using t = await holding(
    { s: { messages: [user("go"), calling("a", "c1")] } },
    { tools: annotated({ f: READ_ONLY }) },
  );
  t.sessions.conflictOnce("s");
  expect((await t.agent.resumeTurn("s")).status).toBe("completed");
  expect(ran(t)).toEqual(["c1"]);
  t.sessions.assertDone();
});

const used = (inputTokens: number, outputTokens: number) => ({
  usage: { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens },
});
const calls = { ...toolCallResponse("f", "c1"), ...used(10, 1) };

test("the usage record counts on through resumed turns, and counts nothing of the session twice (S6, A5)", async () => {
  const hooks = [askingFor()];
  const script = [{ ...stopResponse("one"), ...used(1, 1) }, calls, { ...stopResponse("two"), ...used(20, 2) }];
  await using t = await testAgent({ script, tools: { f: toolOutcome.ok("fine") }, hooks });
  await t.agent.runTurn("before", "s");
  const deferred = await t.agent.runTurn("go", "s");
  const pending = await t.agent.resumeTurn("s");
  expect(pending.usage).toEqual({});
  const last = await t.agent.resumeTurn("s", { decisions: [approve("c1")] });
  expect(last.usage).toEqual(used(20, 2).usage);
  expect(await t.agent.usage("s")).toEqual({
    session: used(31, 4).usage,
    turn: { turnId: last.turnId, usage: used(30, 3).usage, modelCalls: 2, toolCalls: 1 },
  });
  expect(new Set([deferred.turnId, pending.turnId, last.turnId]).size).toBe(3);
});

test("a resumed turn is held to what its turn had left of its own limits (S6, A5)", async () => {
  const config = { maxModelCalls: 2 };
  const script = [calls, { ...toolCallResponse("f", "c2"), ...used(1, 1) }];
  await using t = await testAgent({ script, tools: { f: toolOutcome.ok("fine") }, hooks: [askingFor("c1")], config });
  await t.agent.runTurn("go", "s");
  const error = await rejectionOf(t.agent.resumeTurn("s", { decisions: [approve("c1")] }));
  expect(error).toMatchObject({ kind: "budget-exceeded", limit: "maxModelCalls" });
  expect(t.model.callCount).toBe(2);
  await expectLawful(t, "s");
});

test("a decided call is a tool call of the turn that asked for it: one too many does not run (S6, A5)", async () => {
  const config = { maxToolCalls: 1 };
  const script = [toolCallResponse("f", "c1"), toolCallResponse("g", "c2")];
  const both = { f: toolOutcome.ok("fine"), g: toolOutcome.ok("fine") };
  await using t = await testAgent({ script, tools: both, hooks: [askingFor("c2")], config });
  await t.agent.runTurn("go", "s");
  const error = await rejectionOf(t.agent.resumeTurn("s", { decisions: [approve("c2")] }));
  expect(error).toMatchObject({ kind: "budget-exceeded", limit: "maxToolCalls" });
  expect(ran(t)).toEqual(["c1"]);
});

test("a crash in mid-batch loses no finished tool call from the count (S6, A5)", async () => {
  const store = new RecordingSessionStore();
  const config = { maxToolCalls: 2 };
  const provider = tools().forCall("c2", toolOutcome.hangs({ ignoreAbort: true }));
  const script = [toolCallsResponse(call("read", "c1"), call("pay", "c2"))];
  await using a = await testAgent({ script, tools: provider, sessions: [store], config });
  const first = a.agent.startTurn("go", "s");
  await a.runtime.advance(0);
  const crashed = await store.load("s");
  expect(crashed.messages).toHaveLength(3);
  const after = new RecordingSessionStore();
  after.seed("s", crashed);
  const more = [toolCallsResponse(call("read", "c3"), call("read", "c4"))];
  await using b = await testAgent({ script: more, tools: tools(), sessions: [after], config });
  const error = await rejectionOf(b.agent.resumeTurn("s", { takeOver: true, turnId: "resumed" }));
  expect(error).toMatchObject({ kind: "budget-exceeded", limit: "maxToolCalls" });
  expect(ran(b)).toEqual(["c3"]);
  first.abort();
});

test("a new question after a turn begins with full limits, also when it is asked by resuming (S6, A5)", async () => {
  const config = { maxModelCalls: 1 };
  const script = [stopResponse("one"), stopResponse("two")];
  await using t = await testAgent({ script, config });
  await t.agent.runTurn("go", "s");
  await t.agent.appendMessage("s", { role: "user", content: "and?" });
  expect(await t.agent.resumeTurn("s")).toMatchObject({ status: "completed", text: "two" });
});

test("a resumed turn that is resumed again counts on from both (S6, A5)", async () => {
  const config = { maxModelCalls: 3, maxModelAttempts: 1 };
  const script = [calls, calls, modelStep.hang(), stopResponse("one too many")];
  await using t = await testAgent({ script, tools: { f: toolOutcome.ok("fine") }, config });
  const turns = [t.agent.startTurn("go", "s"), () => t.agent.startResume("s"), () => t.agent.startResume("s")];
  let rounds = 0;
  for (const next of turns) {
    const turn = typeof next === "function" ? next() : next;
    turn.subscribe(({ type }) => {
      if (type === "toolCallResult" || (type === "roundStarted" && ++rounds > 4)) turn.abort("enough");
    });
    await t.runtime.advance(0);
    turn.abort("late");
    expect((await turn.result).status).toBe("aborted");
  }
  const error = await rejectionOf(t.agent.resumeTurn("s"));
  expect(error).toMatchObject({ kind: "budget-exceeded", limit: "maxModelCalls" });
  expect(t.model.callCount).toBe(3);
});

test("a session with a whole reply costs a resumed turn no request, with or without results behind (S6)", async () => {
  const messages = [user("go"), calling("a", "c1"), result("r", "c1"), reply("b", "whole")];
  await using t = await holding({ s: { messages } });
  expect((await rejectionOf(t.agent.resumeTurn("s"))).kind).toBe("nothing-to-resume");
  expect(t.model.callCount).toBe(0);
});
