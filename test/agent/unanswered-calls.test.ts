import { expect, test } from "vitest";
import type { StageKind } from "../../src/domain/stage.js";
import type { ToolAnnotations, ToolCall } from "../../src/domain/tool.js";
import { UNKNOWN_OUTCOME } from "../../src/domain/transcript.js";
import { type TestAgentOptions, toolOutcome } from "../../src/testkit/index.js";
import { callingWith, result, sent, stored, user } from "../support/conversations.js";
import { annotated, holding, IDEMPOTENT, ran, READ_ONLY } from "../support/resuming.js";
import { call, expectLawful, hookAt, resultText, toldResults } from "../support/turns.js";

const unknown = (id: string): string => `${id} = !${UNKNOWN_OUTCOME}`;

type Unanswered = readonly [string, ToolAnnotations, boolean, boolean];
const unanswered: readonly Unanswered[] = [
  ["read-only", READ_ONLY, true, true],
  ["idempotent", IDEMPOTENT, true, true],
  ["neither", {}, true, false],
  ["destructive and not idempotent", { destructiveHint: true, idempotentHint: false }, true, false],
  ["read-only by its own word alone", READ_ONLY, false, false],
  ["idempotent by its own word alone", IDEMPOTENT, false, false],
];

test.each(unanswered)("an unanswered call of a tool that is %s (S6)", async (_, annotations, trusted, again) => {
  const tools = annotated({ f: annotations }, { trusted });
  await using t = await holding([user("go"), callingWith("a", call("f", "c1"))], { tools });
  const turn = await t.agent.resumeTurn("s");
  expect(turn).toMatchObject({ status: "completed", text: "done" });
  expect(ran(t)).toEqual(again ? ["c1"] : []);
  expect(sent(t)).toEqual(["user go", "calls c1", again ? "c1 = f done" : unknown("c1")]);
  expect(turn.exchanges).toMatchObject([{ executionId: "a.0", outcome: again ? "completed" : "unknown" }]);
  await expectLawful(t, "s");
});

test("unanswered calls run again beside those that do not, and finished results are kept (S6)", async () => {
  const calls = [call("read", "c1"), call("pay", "c2"), call("put", "c3"), call("gone", "c4"), call("pay", "c5")];
  const tools = annotated({ read: READ_ONLY, put: IDEMPOTENT, pay: {} });
  await using t = await holding([user("go"), callingWith("a", ...calls), result("r", "c5", "paid")], { tools });
  const turn = await t.agent.resumeTurn("s");
  const lines = [
    "user go",
    "calls c1,c2,c3,c4,c5",
    "c1 = read done",
    unknown("c2"),
    "c3 = put done",
    unknown("c4"),
    "c5 = paid",
  ];
  expect(sent(t)).toEqual(lines);
  expect(ran(t)).toEqual(["c1", "c3"]);
  expect(turn.toolResults.map(({ toolCallId, outcome }) => [toolCallId, outcome])).toEqual([
    ["c1", "completed"],
    ["c2", "unknown"],
    ["c3", "completed"],
    ["c4", "unknown"],
  ]);
  await expectLawful(t, "s");
});

test("an unanswered call that runs again does so through beforeTool and admitTool (S6)", async () => {
  const seen: string[] = [];
  const judge = hookAt("beforeTool", ({ kind, call: asked }, context) => {
    seen.push(kind);
    expect(context.decision).toBeUndefined();
    return context.next({ call: { ...asked, arguments: { n: 2 } } });
  });
  const gate = hookAt("admitTool", ({ kind }) => void seen.push(kind));
  const tools = annotated({ f: READ_ONLY });
  await using t = await holding([user("go"), callingWith("a", call("f", "c1", { n: 1 }))], {
    tools,
    hooks: [judge, gate],
  });
  const turn = await t.agent.resumeTurn("s");
  expect(seen).toEqual(["beforeTool", "admitTool"]);
  expect(turn.exchanges).toMatchObject([{ originalInput: { n: 1 }, executedInput: { n: 2 } }]);
});

test("an unanswered call that a hook keeps from running again stays of unknown outcome: it may have run before (S6)", async () => {
  const hook = hookAt("beforeTool", (_, context) => context.block("not now"));
  const tools = annotated({ f: IDEMPOTENT });
  await using t = await holding([user("go"), callingWith("a", call("f", "c1"))], { tools, hooks: [hook] });
  const turn = await t.agent.resumeTurn("s");
  expect(turn.toolResults).toMatchObject([{ outcome: "unknown", isError: true }]);
  expect(toldResults(t)).toEqual({ c1: "not now" });
  expect(ran(t)).toEqual([]);
});

test("a malformed call that a crash left unanswered never ran, and is told what is wrong with it (S6, U1)", async () => {
  const malformed: ToolCall = { ...call("f", "c1"), malformed: { raw: "{", reason: "cut" } };
  await using t = await holding([user("go"), callingWith("a", malformed)], { tools: annotated({ f: READ_ONLY }) });
  const turn = await t.agent.resumeTurn("s");
  expect(turn.toolResults).toMatchObject([{ outcome: "not-started" }]);
  expect(resultText(turn.toolResults[0])).toContain("not valid JSON: cut");
  expect(ran(t)).toEqual([]);
});

test("calls of a reply that hit its length limit never run, also after a crash (S6, L6)", async () => {
  const cut = { ...callingWith("a", call("f", "c1"), call("f", "c2")), finishReason: "length" as const };
  await using t = await holding([user("go"), cut, result("r", "c1")], { tools: annotated({ f: READ_ONLY }) });
  const turn = await t.agent.resumeTurn("s");
  expect(turn.toolResults).toMatchObject([{ toolCallId: "c2", outcome: "not-started" }]);
  expect(resultText(turn.toolResults[0])).toContain("output limit");
  expect(ran(t)).toEqual([]);
});

test("calls of an older reply without a result are damage, and never run again (S6, S4)", async () => {
  const messages = [user("go"), callingWith("a", call("f", "c1")), user("on"), callingWith("b", call("f", "c2"))];
  await using t = await holding(messages, { tools: annotated({ f: READ_ONLY }) });
  const turn = await t.agent.resumeTurn("s");
  expect(turn.status).toBe("completed");
  expect(ran(t)).toEqual(["c2"]);
  expect(sent(t)).toEqual(["user go", "calls c1", unknown("c1"), "user on", "calls c2", "c2 = f done"]);
  await expectLawful(t, "s");
});

const cutShort: readonly (readonly [string, StageKind | undefined, TestAgentOptions, object])[] = [
  ["an abort", undefined, {}, { status: "aborted" }],
  ["a hook's stop at the tools", "chooseTools", {}, { status: "stopped" }],
  ["a hook's stop at the first call", "beforeTool", {}, { status: "stopped" }],
  ["a limit of rounds", undefined, { config: { maxToolRounds: 0, onToolRoundLimit: "stop" } }, { status: "stopped" }],
];

test.each(cutShort)(
  "%s before the calls of a resumed turn leaves each of unknown outcome (S6, L8)",
  async (title, stage, options, expected) => {
    const tools = annotated({ f: READ_ONLY, pay: {} });
    const hooks = stage === undefined ? [] : [hookAt(stage, (_, context) => context.stop("enough"))];
    const messages = [user("go"), callingWith("a", call("f", "c1"), call("pay", "c2"), call("f", "c3"))];
    await using t = await holding(messages, { tools, hooks, ...options });
    const turn = t.agent.startResume("s");
    turn.subscribe(({ type }) => {
      if (title === "an abort" && type === "toolsResolved") turn.abort("enough");
    });
    const ended = await turn.result;
    expect(ended).toMatchObject(expected);
    expect(ended.exchanges.map(({ outcome }) => outcome)).toEqual(["unknown", "unknown", "unknown"]);
    expect((await stored(t)).slice(2).sort()).toEqual([unknown("c1"), unknown("c2"), unknown("c3")]);
    expect(ran(t)).toEqual([]);
  },
);

test("a call that waits for a free place when a resumed turn is aborted stays of unknown outcome (S6, L5)", async () => {
  const tools = annotated({ f: READ_ONLY });
  const config = { maxParallelTools: 1 };
  await using t = await holding([user("go"), callingWith("a", call("f", "c1"), call("f", "c2"))], { tools, config });
  tools.forCall("c1", toolOutcome.hangs());
  const turn = t.agent.startResume("s");
  turn.subscribe(({ type }) => {
    if (type === "toolCallStarted") turn.abort("enough");
  });
  const ended = await turn.result;
  expect(ran(t)).toEqual(["c1"]);
  expect(ended.exchanges.map(({ callId, outcome }) => [callId, outcome])).toEqual([
    ["c1", "unknown"],
    ["c2", "unknown"],
  ]);
  expect(ended.exchanges[1]).not.toHaveProperty("executedInput");
});
