import { expect, test } from "vitest";
import { ModelError } from "../../src/domain/errors.js";
import { type AgentMessage, isMessage, userMessage } from "../../src/domain/message.js";
import {
  modelStep,
  stopResponse,
  testAgent,
  type TestAgentOptions,
  textStream,
  toolCallResponse,
  toolOutcome,
} from "../../src/testkit/index.js";
import { callingWith, reply, result, sent, stored, user } from "../support/conversations.js";
import { annotated, holding, ran, READ_ONLY } from "../support/resuming.js";
import { call, callsOf, expectLawful, hookAt, rejectionOf } from "../support/turns.js";

const note = { role: "note", id: "n", at: 1, text: "seen" } as unknown as AgentMessage;

const over: readonly (readonly [string, readonly AgentMessage[]])[] = [
  ["that nobody has written", []],
  ["whose last reply is whole", [user("go"), reply("a")]],
  ["whose last reply is whole and empty", [user("go"), reply("a", "")]],
  [
    "whose last reply is whole, after tools",
    [user("go"), callingWith("a", call("f", "c1")), result("r", "c1"), reply("b")],
  ],
  ["with a custom message behind the last reply", [user("go"), reply("a"), note, note]],
  ["that holds custom messages only", [note]],
  [
    "whose last reply is whole, with a stopped one behind",
    [user("go"), reply("a"), reply("b", "half", { stopped: "error" })],
  ],
  ["that went on after a call without a result", [user("go"), callingWith("a", call("f", "c1")), reply("b")]],
  ["that holds a stopped reply only", [reply("a", "half", { stopped: "error" })]],
];

test.each(over)("a session %s leaves nothing to resume: nothing is written or asked (S6)", async (_, messages) => {
  await using t = await holding(messages);
  const before = await t.sessions.load("s");
  const error = await rejectionOf(t.agent.resumeTurn("s"));
  expect(error.kind).toBe("nothing-to-resume");
  expect(error.partial).toMatchObject({ status: "stopped", messages: [] });
  expect(await t.sessions.load("s")).toEqual(before);
  expect(t.model.callCount).toBe(0);
  expect(t.observer.events.map(({ type }) => type)).toEqual(["turnStarted", "turnFailed"]);
});

test("a custom message behind a whole reply is answered where toModelMessages shows it to the model (S6, C2)", async () => {
  const config = {
    toModelMessages: (messages: readonly AgentMessage[]) =>
      messages.map((message) => (isMessage(message) ? message : userMessage("a note"))),
  };
  await using t = await holding([user("go"), reply("a"), note], { config });
  expect(await t.agent.resumeTurn("s")).toMatchObject({ status: "completed", text: "done" });
  expect(sent(t)).toEqual(["user go", "assistant a", "user a note"]);
});

test.each([
  ["behind a whole reply", [user("go"), reply("a"), note]],
  ["alone", [note]],
])("a custom message %s that toModelMessages drops leaves nothing to resume (S6, C2)", async (_, messages) => {
  const config = { toModelMessages: (all: readonly AgentMessage[]) => all.filter(isMessage) };
  await using t = await holding(messages, { config });
  const error = await rejectionOf(t.agent.resumeTurn("s"));
  expect(error.kind).toBe("nothing-to-resume");
  expect(t.model.callCount).toBe(0);
  expect((await t.agent.session("s")).messages).toEqual(messages);
});

test("a toModelMessages that throws fails the request, not the look at what is left (S6, C2)", async () => {
  const config = {
    toModelMessages: () => {
      throw new Error("no view");
    },
  };
  await using t = await holding([user("go"), reply("a"), note], { config });
  const error = await rejectionOf(t.agent.resumeTurn("s"));
  expect(error).toMatchObject({ kind: "model", cause: { kind: "request-build" } });
});

const asked: readonly (readonly [string, readonly AgentMessage[], readonly string[]])[] = [
  ["a user message", [user("go")], ["user go"]],
  ["a user message and custom ones", [user("go"), note], ["user go"]],
  [
    "a tool result",
    [user("go"), callingWith("a", call("f", "c1")), result("r", "c1")],
    ["user go", "calls c1", "c1 = c1 done"],
  ],
  ["a reply stopped by an abort", [user("go"), reply("a", "half", { stopped: "aborted" })], ["user go"]],
  ["a reply stopped by an error", [user("go"), reply("a", "half", { stopped: "error" })], ["user go"]],
  ["an interrupted reply", [user("go"), reply("a", "half", { stopped: "interrupted" })], ["user go"]],
  [
    "a stopped reply after tools",
    [user("go"), callingWith("a", call("f", "c1")), result("r", "c1"), reply("b", "half", { stopped: "error" })],
    ["user go", "calls c1", "c1 = c1 done"],
  ],
];

test.each(asked)(
  "where the last message is %s the model is asked, and what is stored stays (S6)",
  async (_, messages, lines) => {
    await using t = await holding(messages);
    const turn = await t.agent.resumeTurn("s");
    expect(turn).toMatchObject({ status: "completed", text: "done", rounds: 1 });
    expect(turn.messages).toHaveLength(1);
    expect(sent(t)).toEqual(lines);
    expect((await t.agent.session("s")).messages.slice(0, -1)).toEqual(messages);
    expect((await rejectionOf(t.agent.resumeTurn("s"))).kind).toBe("nothing-to-resume");
  },
);

test("what a stopped reply said is sent once a user message follows, without its reasoning (S6)", async () => {
  const parts = [
    { type: "reasoning" as const, text: "hm" },
    { type: "text" as const, text: "half" },
  ];
  await using t = await holding([user("go"), reply("a", "", { parts, stopped: "aborted" })], {
    script: [stopResponse("whole"), stopResponse("more")],
  });
  await t.agent.resumeTurn("s");
  expect(sent(t)).toEqual(["user go"]);
  await using u = await holding([user("go"), reply("a", "", { parts, stopped: "aborted" }), user("and?")]);
  await u.agent.resumeTurn("s");
  expect(sent(u)).toEqual(["user go", "assistant half", "user and?"]);
  expect(JSON.stringify(u.model.requests[0]?.messages)).not.toContain("hm");
  expect(JSON.stringify(await u.agent.session("s"))).toContain("hm");
});

test("what a hook of beforeTurn adds to a resumed turn comes behind the calls that are left (S6, L3)", async () => {
  const hook = hookAt("beforeTurn", ({ input }, context) =>
    context.next({ input: [...input, userMessage("by the way")] }),
  );
  const messages = [user("go"), callingWith("a", call("f", "c1"))];
  await using t = await holding(messages, { tools: annotated({ f: READ_ONLY }), hooks: [hook] });
  expect((await t.agent.resumeTurn("s")).status).toBe("completed");
  expect(sent(t)).toEqual(["user go", "calls c1", "c1 = f done", "user by the way"]);
});

type Broken = readonly [string, TestAgentOptions, readonly string[]];
const broken: readonly Broken[] = [
  ["a model error", { script: [modelStep.fail(new ModelError("auth", "no"))] }, ["user go"]],
  [
    "a model error in mid-stream",
    { script: [modelStep.fail(new ModelError("auth", "no"), textStream("half").slice(0, 1))] },
    ["user go"],
  ],
  [
    "too many rounds of tools",
    { script: [callsOf("f")], config: { maxToolRounds: 0 } },
    ["user go", "calls c1", "c1 = !The tool call was not executed."],
  ],
  [
    "a hook's abort",
    { script: [callsOf("f")], hooks: [hookAt("beforeTool", (_, context) => context.abort("no"))] },
    ["user go", "calls c1", "c1 = !The tool call was not executed."],
  ],
  [
    "a budget",
    { script: [callsOf("f"), callsOf("f")], config: { maxModelCalls: 1 } },
    ["user go", "calls c1", "c1 = fine"],
  ],
];

test.each(broken)("a turn that failed by %s goes on by a resumed one (S6)", async (_, options, lines) => {
  const tools = { f: toolOutcome.ok("fine") };
  await using t = await testAgent({ tools, ...options, config: { maxModelAttempts: 1, ...options.config } });
  await rejectionOf(t.agent.runTurn("go", "s"));
  await using again = await testAgent({ script: [stopResponse("done")], tools, sessions: [t.sessions] });
  const turn = await again.agent.resumeTurn("s", { turnId: "resumed" });
  expect(turn).toMatchObject({ status: "completed", text: "done" });
  expect(sent(again)).toEqual(lines);
  await expectLawful(again, "s");
});

test("a turn aborted in mid-stream goes on by a resumed one, and its half reply stays stored (S6, L5)", async () => {
  const script = [modelStep.hang(textStream("half").slice(0, 1)), stopResponse("whole")];
  await using t = await testAgent({ script });
  const turn = t.agent.startTurn("go", "s");
  turn.subscribe(({ type }) => {
    if (type === "streamChunk") turn.abort("enough");
  });
  expect((await turn.result).status).toBe("aborted");
  expect(await t.agent.resumeTurn("s")).toMatchObject({ status: "completed", text: "whole" });
  expect(sent(t)).toEqual(["user go"]);
  expect(await stored(t)).toEqual(["user go", "assistant half", "assistant whole"]);
});

test("a turn that stopped at a checkpoint goes on by a resumed one (S6)", async () => {
  let rounds = 0;
  const hook = hookAt("beforeContinue", (_, context) => (++rounds === 1 ? context.checkpoint() : undefined));
  const script = [toolCallResponse("f", "c1"), stopResponse("done")];
  await using t = await testAgent({ script, tools: { f: toolOutcome.ok("fine") }, hooks: [hook] });
  expect(await t.agent.runTurn("go", "s")).toMatchObject({ status: "stopped", stopReason: "checkpoint" });
  expect(await t.agent.resumeTurn("s")).toMatchObject({ status: "completed", text: "done" });
  expect(sent(t)).toEqual(["user go", "calls c1", "c1 = fine"]);
  expect(ran(t)).toEqual(["c1"]);
});
