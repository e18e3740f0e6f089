import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/domain/json.js";
import { SESSION_KEYS } from "../../src/domain/session.js";
import { okResult } from "../../src/domain/tool.js";
import type { Decision } from "../../src/ports/hook.js";
import {
  RecordingSessionStore,
  stopResponse,
  testAgent,
  type TestAgentOptions,
  testRuntime,
  toolCallResponse,
  toolOutcome,
} from "../../src/testkit/index.js";
import { TEST_START } from "../../src/testkit/runtime.js";
import { sent, stored, user } from "../support/conversations.js";
import { approve, askingFor, payTool, pendingIn, ran, reject, STORES } from "../support/resuming.js";
import { callsOf, expectLawful, hookAt, rejectionOf, resultsIn, resultText } from "../support/turns.js";

const tools = { f: toolOutcome.ok("fine") };

/** Two agents on one store: the first has deferred these calls of its three, the second is another process's. */
async function deferred(ids: readonly string[], options: TestAgentOptions = {}) {
  const store = new RecordingSessionStore();
  const shared = { tools, sessions: [store], runtime: testRuntime(), hooks: [askingFor(...ids)] };
  const a = await testAgent({ script: [callsOf("f", "f", "f")], ...shared });
  const b = await testAgent({ script: [stopResponse("done")], ...shared, ...options });
  const first = await a.agent.runTurn("go", "s");
  const dispose = async (): Promise<void> => {
    await a[Symbol.asyncDispose]();
    await b[Symbol.asyncDispose]();
  };
  return { a, b, store, first, [Symbol.asyncDispose]: dispose };
}

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
  await using t = await testAgent({ script, tools, hooks: [askingFor("c1", "c3")], config });
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
  await using t = await testAgent({ script, tools, hooks: [askingFor("c1")], config });
  expect((await t.agent.runTurn("go", "s")).status).toBe("deferred");
  expect(pendingIn(await t.agent.session("s"))).toEqual(["c1"]);
  expect(await t.agent.resumeTurn("s", { decisions: [approve("c1")] })).toMatchObject({ status: "completed" });
  expect(pendingIn(await t.agent.session("s"))).toEqual([]);
  expect(t.sessions.saveSnapshots()).toHaveLength(2);
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

const noDecisions: readonly (readonly [string, unknown, string])[] = [
  ["about a call nobody knows", [approve("c9")], "decisions[0]: no call c9 waits"],
  ["about a call that has its result", [approve("c2")], "decisions[0]: no call c2 waits"],
  ["twice about one call", [approve("c1"), reject("c1")], "decisions[1]: call c1 is decided twice"],
  ["about one call that waits and one that does not", [approve("c1"), reject("c9")], "decisions[1]: no call c9"],
  ["that is nothing", [null], "decisions[0]: no decision"],
  ["that is a list", [[]], "decisions[0]: no decision"],
  ["that is a hole in the list", new Array<unknown>(1), "decisions[0]: no decision"],
  ["that is a text", ["c1"], "decisions[0]: no decision"],
  ["without a call id", [{ approve: true }], "decisions[0]: callId"],
  ["with a number for a call id", [{ callId: 1, approve: true }], "decisions[0]: callId"],
  ["without a word", [{ callId: "c1" }], "decisions[0]: approve"],
  ["with a text for a word", [{ callId: "c1", approve: "true" }], "decisions[0]: approve"],
  ["with one word for all arguments", [{ callId: "c1", approve: true, arguments: "x" }], "decisions[0]: arguments"],
  ["with a list of arguments", [{ callId: "c1", approve: true, arguments: [] }], "decisions[0]: arguments"],
  ["with null for arguments", [{ callId: "c1", approve: true, arguments: null }], "decisions[0]: arguments"],
  [
    "with arguments that are no JSON",
    [approve("c1"), { ...approve("c3", { n: 1 }), arguments: { n: 1n } }],
    "decisions[1]:",
  ],
  ["with a misspelt field", [{ callId: "c1", approve: true, args: {} }], "decisions[0]: args"],
  ["that rejects without a reason", [{ callId: "c1", approve: false }], "decisions[0]: a rejection needs a reason"],
  [
    "that rejects with a number",
    [{ callId: "c1", approve: false, reason: 1 }],
    "decisions[0]: a rejection needs a reason",
  ],
  ["in no list", { callId: "c1", approve: true }, "decisions are a list"],
  ["in null", null, "decisions are a list"],
];

test.each(noDecisions)(
  "a decision %s is refused by name: nothing is written, nothing runs (U5)",
  async (_, given, told) => {
    await using s = await deferred(["c1", "c3"]);
    const before = await s.store.load("s");
    const decisions = given as readonly Decision[];
    const error = await rejectionOf(s.b.agent.resumeTurn("s", { decisions }));
    expect(error.kind).toBe("invalid-input");
    expect(error.message).toContain(told);
    expect(await s.store.load("s")).toEqual(before);
    expect([ran(s.b), s.b.model.callCount]).toEqual([[], 0]);
    // All that was pending can still be decided.
    const all = await s.b.agent.resumeTurn("s", { decisions: [approve("c1"), reject("c3")] });
    expect(all).toMatchObject({ status: "completed", text: "done" });
  },
);

test("a decision is copied when it is given: what the caller changes later counts for nothing (U5)", async () => {
  await using s = await deferred(["c1"]);
  const args: Record<string, number> = { n: 1 };
  const decisions: Decision[] = [approve("c1", args)];
  const turn = s.b.agent.resumeTurn("s", { decisions });
  args["n"] = 2;
  decisions.length = 0;
  await turn;
  expect(s.b.tools.execRecords).toMatchObject([{ callId: "c1", arguments: { n: 1 } }]);
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

test("hooks learn of the decision at beforeTool, for the decided call only (U5)", async () => {
  const seen: [string, Decision | undefined][] = [];
  const note = hookAt("beforeTool", ({ call }, context) => void seen.push([call.id, context.decision]));
  const hooks = [note, askingFor("c1", "c2")];
  await using s = await deferred(["c1", "c2"], { script: [callsOf("g"), stopResponse("done")], hooks });
  await s.b.agent.resumeTurn("s", { decisions: [approve("c1", { n: 1 }), reject("c2")] });
  // A rejected call runs nowhere, so that nobody is asked about it.
  expect(seen).toEqual([
    ["c1", { callId: "c1", approve: true, arguments: { n: 1 } }],
    ["c1", undefined],
  ]);
});

type Judge = (n: number, context: Parameters<Parameters<typeof hookAt>[1]>[1]) => unknown;
const judges: readonly (readonly [string, Judge, object])[] = [
  ["block", (n, context) => context.block(`no to ${n}`), { status: "completed", text: "no to 7" }],
  ["answer", (n, context) => context.answer(`${n}, told`), { status: "completed", text: "7, told" }],
  ["stop", (_, context) => context.stop("enough"), { status: "stopped", stopReason: "enough" }],
];

test.each(judges)(
  "another hook judges the final arguments of an approved call: %s (U5)",
  async (_, judge, expected) => {
    const other = hookAt("beforeTool", ({ call }, context) => judge(call.arguments["n"] as number, context));
    await using s = await deferred(["c1"], { hooks: [askingFor("c1"), other] });
    const result = await s.b.agent.resumeTurn("s", { decisions: [approve("c1", { n: 7 })] });
    const { text, ...rest } = expected as { readonly text?: string };
    expect(result).toMatchObject(rest);
    if (text !== undefined) expect(result.toolResults.map(resultText)).toEqual([text]);
    expect(result.exchanges).toMatchObject([{ callId: "c1", outcome: "not-started" }]);
    expect(ran(s.b)).toEqual([]);
    await expectLawful(s.b, "s");
  },
);

test("another hook rewrites an approved call: what it made runs (U5)", async () => {
  const other = hookAt("beforeTool", ({ call }, context) =>
    context.next({ call: { ...call, arguments: { n: (call.arguments["n"] as number) + 1 } } }),
  );
  await using s = await deferred(["c1"], { hooks: [askingFor("c1"), other] });
  const result = await s.b.agent.resumeTurn("s", { decisions: [approve("c1", { n: 7 })] });
  expect(s.b.tools.execRecords).toMatchObject([{ callId: "c1", arguments: { n: 8 } }]);
  expect(result.exchanges).toMatchObject([{ originalInput: {}, executedInput: { n: 8 } }]);
});

test("another hook aborts at an approved call: the turn fails and the call has its result (U5)", async () => {
  const other = hookAt("beforeTool", (_, context) => context.abort("no"));
  await using s = await deferred(["c1", "c2"], { hooks: [askingFor("c1", "c2"), other] });
  const error = await rejectionOf(s.b.agent.resumeTurn("s", { decisions: [approve("c1")] }));
  expect(error).toMatchObject({ kind: "hook-aborted", partial: { toolResults: [{ outcome: "not-started" }] } });
  expect(pendingIn(await s.store.load("s"))).toEqual(["c2"]);
  expect(ran(s.b)).toEqual([]);
  await expectLawful(s.b, "s");
});

test("another hook defers an approved call again, as it is by now (U5)", async () => {
  const other = hookAt("beforeTool", ({ call }, context) =>
    context.decision?.approve === true && call.arguments["n"] === 7 ? context.defer("ask the boss") : undefined,
  );
  await using s = await deferred(["c1"], { hooks: [askingFor("c1"), other] });
  const result = await s.b.agent.resumeTurn("s", { decisions: [approve("c1", { n: 7 })] });
  const again = { callId: "c1", arguments: { n: 7 }, reason: "ask the boss" };
  expect(result).toMatchObject({ status: "deferred", deferred: [again], exchanges: [] });
  expect((await s.store.load("s")).metadata[SESSION_KEYS.deferred]).toMatchObject([again]);
  const last = await s.b.agent.resumeTurn("s", { decisions: [approve("c1", { n: 8 })] });
  expect(last).toMatchObject({ status: "completed", exchanges: [{ executedInput: { n: 8 } }] });
});

test("admitTool is asked about every approved call, and its refusal means the tool did not run (U5)", async () => {
  const gate = hookAt("admitTool", ({ invocation }) => {
    if (invocation.executedInput["n"] === 7) throw new Error("not this one");
  });
  await using s = await deferred(["c1"], { hooks: [gate, askingFor("c1")] });
  const error = await rejectionOf(s.b.agent.resumeTurn("s", { decisions: [approve("c1", { n: 7 })] }));
  expect(error).toMatchObject({ kind: "runtime", partial: { exchanges: [{ callId: "c1", outcome: "not-started" }] } });
  expect(ran(s.b)).toEqual([]);
});

test("what hooks made of a call before it was deferred is what is approved, name and arguments (U5)", async () => {
  const rewrite = hookAt("beforeTool", ({ call }, context) =>
    context.decision === undefined
      ? context.next({ call: { ...call, name: "g", arguments: { safe: true } } })
      : undefined,
  );
  const store = new RecordingSessionStore();
  const both = { f: toolOutcome.ok("f"), g: toolOutcome.ok("g") };
  const shared = { tools: both, sessions: [store], runtime: testRuntime() };
  const script = [toolCallResponse("f", "c1", { safe: false })];
  await using a = await testAgent({ script, ...shared, hooks: [rewrite, askingFor()] });
  const first = await a.agent.runTurn("go", "s");
  expect(first.deferred).toMatchObject([{ toolName: "g", arguments: { safe: true } }]);
  await using b = await testAgent({ script: [stopResponse("done")], ...shared });
  const result = await b.agent.resumeTurn("s", { decisions: [approve("c1")] });
  expect(b.tools.execRecords).toMatchObject([{ toolName: "g", requestedName: "f", arguments: { safe: true } }]);
  expect(result.exchanges).toMatchObject([
    { toolName: "g", originalInput: { safe: false }, executedInput: { safe: true }, call: { name: "f" } },
  ]);
  expect(result.toolResults).toMatchObject([{ toolCallId: "c1", toolName: "f" }]);
});

const bye = toolOutcome.ok(okResult("bye", { terminate: true }));

test("an approved call that terminates does not end the turn while its sibling's result is to be answered (U5, U6)", async () => {
  const script = [callsOf("f", "g"), stopResponse("done")];
  await using t = await testAgent({
    script,
    tools: { f: bye, g: toolOutcome.ok("read me") },
    hooks: [askingFor("c1")],
  });
  await t.agent.runTurn("go", "s");
  expect(await t.agent.resumeTurn("s", { decisions: [approve("c1")] })).toMatchObject({ text: "done", rounds: 1 });
  expect(sent(t)).toEqual(["user go", "calls c1,c2", "c1 = bye", "c2 = read me"]);
});

test("approved calls that are a whole batch and all terminate end the turn (U5, U6)", async () => {
  await using t = await testAgent({ script: [callsOf("f", "f")], tools: { f: bye }, hooks: [askingFor()] });
  await t.agent.runTurn("go", "s");
  const last = await t.agent.resumeTurn("s", { decisions: [approve("c1"), approve("c2")] });
  expect(last).toMatchObject({ status: "completed", rounds: 0 });
  expect(t.model.callCount).toBe(1);
});

test("an approved call whose tool is gone gets an error result (U5, U1)", async () => {
  await using s = await deferred(["c1"], { tools: { g: toolOutcome.ok() } });
  const result = await s.b.agent.resumeTurn("s", { decisions: [approve("c1")] });
  expect(result).toMatchObject({ status: "completed", exchanges: [{ outcome: "not-started" }] });
  expect(resultText(result.toolResults[0])).toContain("there is no tool named f");
});

const record = { callId: "c1", executionId: "a.0", toolName: "f", arguments: {}, reason: "ask", at: 1 };
const damaged: readonly (readonly [string, unknown])[] = [
  ["is no list", "c1"],
  ["is an object", record],
  ["holds what is no record", [null, 7, "c1", []]],
  ["names no call id", [{ ...record, callId: undefined }]],
  ["names another call's id", [{ ...record, callId: "c2" }]],
  ["names an execution of nobody", [{ ...record, executionId: "a.7" }]],
  ["names no tool", [{ ...record, toolName: 7 }]],
  ["has arguments that are no object", [{ ...record, arguments: [] }]],
  ["has no arguments", [{ ...record, arguments: undefined }]],
  ["has no reason", [{ ...record, reason: undefined }]],
  ["has no time", [{ ...record, at: "now" }]],
];

test.each(damaged)(
  "a stored record that %s makes no call pending: its outcome is unknown (U5, S6)",
  async (_, value) => {
    await using t = await testAgent({ script: [stopResponse("done")], tools });
    const part = (id: string) => ({ type: "toolCall" as const, id, name: "f", arguments: {} });
    const reply = { role: "assistant" as const, id: "a", at: 1, parts: [part("c1")] };
    const metadata = JSON.parse(JSON.stringify({ [SESSION_KEYS.deferred]: value })) as JsonObject;
    t.sessions.seed("s", { messages: [user("go"), reply], metadata });
    const error = await rejectionOf(t.agent.resumeTurn("s", { decisions: [approve("c1")] }));
    expect(error.kind).toBe("invalid-input");
    const result = await t.agent.resumeTurn("s");
    expect(result).toMatchObject({ status: "completed", deferred: [], toolResults: [{ outcome: "unknown" }] });
    expect(ran(t)).toEqual([]);
    expect(await stored(t)).toHaveLength(4);
  },
);

test("of two stored records about one call the first counts, and one decision is enough (U5)", async () => {
  await using t = await testAgent({ script: [stopResponse("done")], tools });
  const reply = {
    role: "assistant" as const,
    id: "a",
    at: 1,
    parts: [{ type: "toolCall" as const, id: "c1", name: "f", arguments: {} }],
  };
  const records = [
    { ...record, arguments: { n: 1 } },
    { ...record, arguments: { n: 2 } },
  ];
  t.sessions.seed("s", { messages: [user("go"), reply], metadata: { [SESSION_KEYS.deferred]: records } });
  expect((await t.agent.resumeTurn("s")).deferred).toHaveLength(1);
  const result = await t.agent.resumeTurn("s", { decisions: [approve("c1")] });
  expect(result).toMatchObject({ status: "completed", exchanges: [{ executedInput: { n: 1 } }] });
  expect(pendingIn(await t.agent.session("s"))).toEqual([]);
});

test("a stale record that no open call belongs to is passed over (U5)", async () => {
  await using t = await testAgent({ script: [stopResponse("done")], tools });
  t.sessions.seed("s", { messages: [user("go")], metadata: { [SESSION_KEYS.deferred]: [record] } });
  expect(await t.agent.resumeTurn("s")).toMatchObject({ status: "completed", text: "done", deferred: [] });
});
