import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/domain/json.js";
import { SESSION_KEYS } from "../../src/domain/session.js";
import type { Decision } from "../../src/ports/hook.js";
import { stopResponse, testAgent, testRuntime, toolCallResponse, toolOutcome } from "../../src/testkit/index.js";
import { TEST_START } from "../../src/testkit/runtime.js";
import { sent } from "../support/conversations.js";
import { approve, askingFor, deferred, FINE, payTool, pendingIn, ran, reject, STORES } from "../support/resuming.js";
import { callsOf, expectLawful, hookAt, rejectionOf, resultsIn } from "../support/turns.js";

test("in a batch the other calls run, and what is pending is told and recorded (U5)", async () => {
  await using s = await deferred(["c1", "c3"]);
  const reply = s.first.message?.id;
  const record = (callId: string, order: number) => ({
    callId,
    executionId: `${reply}.${order}`,
    toolName: "f",
    arguments: {},
    reason: "ask a person",
    at: TEST_START,
  });
  const expected = [record("c1", 0), record("c3", 2)];
  expect(s.first).toMatchObject({ status: "deferred", toolResults: [{ toolCallId: "c2" }], rounds: 1 });
  expect(s.first.deferred).toEqual(expected);
  expect((await s.store.load("s")).metadata[SESSION_KEYS.deferred]).toEqual(expected);
  expect(s.a.observer.ofType("toolCallDeferred").map(({ call, reason }) => [call.id, reason])).toEqual([
    ["c1", "ask a person"],
    ["c3", "ask a person"],
  ]);
  expect(s.a.observer.ofType("turnCompleted")[0]?.summary.deferred).toEqual(["c1", "c3"]);
  expect(ran(s.a)).toEqual(["c2"]);
});

test("one call at a time, what is pending is recorded just the same, and later calls run (U5, U2)", async () => {
  const script = [callsOf("f", "f", "f"), stopResponse("done")];
  const config = { toolExecution: "sequential" as const };
  await using t = await testAgent({ script, tools: FINE, hooks: [askingFor("c1", "c3")], config });
  const first = await t.agent.runTurn("go", "s");
  expect(first.deferred.map(({ callId }) => callId)).toEqual(["c1", "c3"]);
  expect([pendingIn(await t.agent.session("s")), ran(t)]).toEqual([["c1", "c3"], ["c2"]]);
  const last = await t.agent.resumeTurn("s", { decisions: [approve("c3"), approve("c1")] });
  expect(last).toMatchObject({ status: "completed", deferred: [] });
  // In source order, whatever the order of the decisions.
  expect(ran(t)).toEqual(["c2", "c1", "c3"]);
});

test("with everything stored at the end, what is pending is stored with it, and decided in the next turn (U5, S3)", async () => {
  const script = [callsOf("f", "f"), stopResponse("done")];
  const config = { persistence: "turn" as const };
  await using t = await testAgent({ script, tools: FINE, hooks: [askingFor("c1")], config });
  expect((await t.agent.runTurn("go", "s")).status).toBe("deferred");
  expect(pendingIn(await t.agent.session("s"))).toEqual(["c1"]);
  expect(await t.agent.resumeTurn("s", { decisions: [approve("c1")] })).toMatchObject({ status: "completed" });
  expect(pendingIn(await t.agent.session("s"))).toEqual([]);
  // The decision is taken before its call runs, also where all else is stored at the end.
  expect(t.sessions.saveSnapshots()).toHaveLength(3);
  await expectLawful(t, "s");
});

test("a message for a turn that ends with calls pending is undelivered: it would reject them (U5, L3)", async () => {
  await using s = await deferred(["c1", "c2"]);
  const turn = s.b.agent.startResume("s", { decisions: [approve("c1")] });
  expect([turn.steer("and?"), turn.followUp("later")]).toEqual([true, true]);
  const result = await turn.result;
  expect(result).toMatchObject({ status: "deferred", deferred: [{ callId: "c2" }] });
  expect(result.undelivered).toMatchObject([{ content: [{ text: "and?" }] }, { content: [{ text: "later" }] }]);
  expect(pendingIn(await s.store.load("s"))).toEqual(["c2"]);
});

test("what is pending is recorded before anything of the batch runs (U5)", async () => {
  await using s = await deferred(["c2"]);
  const kinds = s.store.ops.map((op) => {
    if (op.type !== "append") return op.type;
    if (op.delta?.metadata?.[SESSION_KEYS.deferred] !== undefined) return "deferred";
    return op.delta?.messages.map(({ role }) => role).join() ?? "";
  });
  expect(kinds.indexOf("deferred")).toBeGreaterThan(0);
  expect(kinds.indexOf("deferred")).toBeLessThan(kinds.indexOf("tool"));
});

type Case = readonly [string, Decision, string, readonly JsonObject[]];

const decisionCases: readonly Case[] = [
  ["approved: the call runs as asked, defaults applied", approve("c1"), "paid 5 to Eve", [{ to: "Eve", amount: 5 }]],
  [
    "approved with other arguments: those run",
    approve("c1", { to: "Bob" }),
    "paid 5 to Bob",
    [{ to: "Bob", amount: 5 }],
  ],
  ["approved with invalid arguments: an error result", approve("c1", { to: 7 }), "/to", []],
  ["rejected: the reason is the result", reject("c1"), "The call was rejected: too dear", []],
];

describe.each(STORES)("a call deferred in one agent and decided in another, %s", (_, makeStores) => {
  test.each(decisionCases)("%s (U5, U1)", async (_title, decision, told, expected) => {
    using stores = makeStores();
    const paid: JsonObject[] = [];
    const shared = { tools: {}, providers: [payTool(paid)], hooks: [askingFor()], runtime: testRuntime() };
    const script = [toolCallResponse("pay", "c1", { to: "Eve" })];
    await using a = await testAgent({ script, sessions: [stores.open()], ...shared });
    expect((await a.agent.runTurn("go", "s")).status).toBe("deferred");
    await a.agent.shutdown();
    await using b = await testAgent({ script: [stopResponse("done")], sessions: [stores.open()], ...shared });
    const result = await b.agent.resumeTurn("s", { decisions: [decision] });
    expect(result).toMatchObject({ status: "completed", text: "done", deferred: [] });
    expect(paid).toEqual(expected);
    expect(sent(b)).toEqual(["user go", "calls c1", expect.stringContaining(told)]);
    const isError = expected.length === 0;
    const outcome = isError ? "not-started" : "completed";
    expect(result.toolResults).toMatchObject([{ toolCallId: "c1", isError, outcome }]);
    const exchange = result.exchanges[0];
    expect(exchange).toMatchObject({ originalInput: { to: "Eve" }, call: { id: "c1", arguments: { to: "Eve" } } });
    expect(exchange?.executedInput).toEqual(expected[0]);
    const session = await b.agent.session("s");
    expect(session.metadata).not.toHaveProperty([SESSION_KEYS.deferred]);
    await expectLawful(b, "s");
    const again = await rejectionOf(b.agent.resumeTurn("s", { decisions: [decision] }));
    expect(again.kind).toBe("invalid-input");
    expect(paid).toEqual(expected);
    expect((await b.agent.session("s")).messages).toEqual(session.messages);
  });

  test("of two processes that decide at once exactly one is heard, and the tool runs once (U5, S2)", async () => {
    using stores = makeStores();
    const paid: JsonObject[] = [];
    const runtime = testRuntime();
    const shared = { tools: {}, providers: [payTool(paid)], hooks: [askingFor()], runtime };
    const script = [toolCallResponse("pay", "c1", { to: "Eve" })];
    await using a = await testAgent({ script, sessions: [stores.open()], ...shared });
    await a.agent.runTurn("go", "s");
    await using b = await testAgent({ script: [stopResponse("b")], sessions: [stores.open()], ...shared });
    await using c = await testAgent({ script: [stopResponse("c")], sessions: [stores.open()], ...shared });
    const turns = [b, c].map(({ agent }, index) =>
      agent.resumeTurn("s", { decisions: [approve("c1", { to: "Eve", amount: index })] }),
    );
    const settled = Promise.allSettled(turns);
    await runtime.advance(10_000);
    const ends = await settled;
    expect(ends.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    const [lost] = ends.flatMap((end) => (end.status === "rejected" ? [end.reason as unknown] : []));
    expect(lost).toMatchObject({ kind: "invalid-input", message: expect.stringContaining("decisions[0]") });
    expect(paid).toEqual([{ to: "Eve", amount: ends[0]?.status === "fulfilled" ? 0 : 1 }]);
    expect(resultsIn((await b.agent.session("s")).messages)).toHaveLength(1);
    await expectLawful(b, "s");
  });
});

test("calls without a decision stay pending, and the model is not asked before the last one (U5)", async () => {
  await using s = await deferred(["c1", "c2", "c3"]);
  const some = await s.b.agent.resumeTurn("s", { decisions: [approve("c2")] });
  expect(some).toMatchObject({ status: "deferred", rounds: 0, toolResults: [{ toolCallId: "c2" }] });
  expect(some.deferred.map(({ callId }) => callId)).toEqual(["c1", "c3"]);
  expect(pendingIn(await s.store.load("s"))).toEqual(["c1", "c3"]);
  const more = await s.a.agent.resumeTurn("s", { decisions: [reject("c3")] });
  expect(more.deferred.map(({ callId }) => callId)).toEqual(["c1"]);
  expect(s.b.model.callCount).toBe(0);
  const last = await s.b.agent.resumeTurn("s", { decisions: [approve("c1")] });
  expect(last).toMatchObject({ status: "completed", text: "done", deferred: [] });
  expect(sent(s.b)).toEqual([
    "user go",
    "calls c1,c2,c3",
    "c1 = fine",
    "c2 = fine",
    "c3 = !The call was rejected: too dear",
  ]);
  expect([ran(s.a), ran(s.b)]).toEqual([[], ["c2", "c1"]]);
  await expectLawful(s.b, "s");
});

test("without any decision a resumed turn says what is pending, and changes nothing (U5)", async () => {
  await using s = await deferred(["c1"]);
  const before = await s.store.load("s");
  const result = await s.b.agent.resumeTurn("s");
  expect(result).toMatchObject({ status: "deferred", messages: [], deferred: [{ callId: "c1" }] });
  expect(result.deferred).toEqual(s.first.deferred);
  const after = await s.store.load("s");
  expect(after.messages).toEqual(before.messages);
  expect(after.metadata[SESSION_KEYS.deferred]).toEqual(before.metadata[SESSION_KEYS.deferred]);
  expect([ran(s.b), s.b.model.callCount]).toEqual([[], 0]);
});

test("a new user message settles what is pending as rejected, and no decision comes too late for that (U5)", async () => {
  await using s = await deferred(["c1", "c3"]);
  await s.b.agent.runTurn("never mind", "s");
  const rejected = (id: string) => `${id} = !rejected (needs approval)`;
  const expected = ["user go", "calls c1,c2,c3", rejected("c1"), "c2 = fine", rejected("c3"), "user never mind"];
  expect(sent(s.b)).toEqual(expected);
  expect(ran(s.b)).toEqual([]);
  const error = await rejectionOf(s.a.agent.resumeTurn("s", { decisions: [approve("c1")] }));
  expect(error).toMatchObject({ kind: "invalid-input" });
  expect(ran(s.a)).toEqual(["c2"]);
});

test("an abort while a decided call runs leaves the others pending (U5, L5)", async () => {
  await using s = await deferred(["c1", "c2", "c3"], { tools: { f: toolOutcome.hangs() } });
  const turn = s.b.agent.startResume("s", { decisions: [approve("c1")] });
  await s.b.runtime.advance(0);
  turn.subscribe(({ type }) => {
    if (type === "toolCallStarted") turn.abort("enough");
  });
  const result = await turn.result;
  expect(result).toMatchObject({ status: "aborted", toolResults: [{ toolCallId: "c1", outcome: "unknown" }] });
  expect(result.deferred.map(({ callId }) => callId)).toEqual(["c2", "c3"]);
  expect(pendingIn(await s.store.load("s"))).toEqual(["c2", "c3"]);
  await expectLawful(s.b, "s");
});

test("a decided call that an abort kept from running is told so, and cannot be decided again (U5, L5)", async () => {
  const stop = hookAt("beforeTools", () => undefined);
  await using s = await deferred(["c1", "c2"], { hooks: [stop] });
  const turn = s.b.agent.startResume("s", { decisions: [approve("c1")] });
  turn.subscribe(({ type }) => {
    if (type === "toolsResolved") turn.abort("enough");
  });
  const result = await turn.result;
  expect(result).toMatchObject({ status: "aborted", toolResults: [{ toolCallId: "c1", outcome: "not-started" }] });
  expect(pendingIn(await s.store.load("s"))).toEqual(["c2"]);
  expect(ran(s.b)).toEqual([]);
  const error = await rejectionOf(s.b.agent.resumeTurn("s", { decisions: [approve("c1")] }));
  expect(error.kind).toBe("invalid-input");
});
