import { expect, test } from "vitest";
import { SESSION_KEYS } from "../../src/domain/session.js";
import { okResult } from "../../src/domain/tool.js";
import type { Decision } from "../../src/ports/hook.js";
import {
  RecordingSessionStore,
  stopResponse,
  testAgent,
  testRuntime,
  toolCallResponse,
  toolOutcome,
} from "../../src/testkit/index.js";
import { sent } from "../support/conversations.js";
import { approve, askingFor, deferred, pendingIn, ran, reject } from "../support/resuming.js";
import { callsOf, expectLawful, hookAt, rejectionOf, resultText } from "../support/turns.js";

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
