import { expect, test } from "vitest";
import { SESSION_KEYS } from "../../src/domain/session.js";
import type { AgentMessage } from "../../src/domain/message.js";
import type { ToolCall } from "../../src/domain/tool.js";
import { orderResults } from "../../src/domain/transcript.js";
import { transcriptLaw } from "../../src/domain/transcript-law.js";
import { stopResponse, testAgent, toolCallResponse, toolOutcome } from "../../src/testkit/index.js";
import { calling, callingWith, linesOf, reply, result, sent, stored, user } from "../support/conversations.js";
import { hookAt } from "../support/turns.js";

const UNKNOWN = expect.stringMatching(/^c1 = !.*unknown/);

/** Sends `next` on a stored history; answers what was sent and what is stored then. */
async function nextTurn(messages: readonly AgentMessage[]) {
  await using t = await testAgent({ script: [stopResponse("ok")], tools: { f: toolOutcome.ok() } });
  t.sessions.seed("s", { messages });
  const { status } = await t.agent.runTurn("next", "s");
  const request = t.model.requests[0]?.messages ?? [];
  expect(transcriptLaw(request)).toEqual([]);
  const violations = transcriptLaw(orderResults((await t.agent.session("s")).messages));
  expect(violations.filter(({ kind }) => kind !== "orphan-result")).toEqual([]);
  return { status, sent: sent(t, 0), stored: await stored(t) };
}

test("F060: a stored call without result has an error result behind it in the request, then comes the user (S4)", async () => {
  const history = [user("weather?"), calling("a", "c1"), user("weather please")];
  const turn = await nextTurn(history);
  expect(turn.status).toBe("completed");
  expect(turn.sent).toEqual(["user weather?", "calls c1", UNKNOWN, "user weather please", "user next"]);
  expect(turn.stored).toEqual([...linesOf(history), UNKNOWN, "user next", "assistant ok"]);
});

test("F062: a result whose call is gone is not sent, and stays stored (S4)", async () => {
  const history = [user("hi"), reply("hello"), result("r", "ghost", "late result"), user("more")];
  const turn = await nextTurn(history);
  expect(turn.sent).toEqual(["user hi", "assistant hello", "user more", "user next"]);
  expect(turn.stored.slice(0, 4)).toEqual(linesOf(history));
});

test("F064: a message appended while a call runs waits for the turn, and does not split the pair (S4)", async () => {
  const script = [toolCallResponse("f", "c1"), stopResponse("fine")];
  await using t = await testAgent({ script, tools: { f: toolOutcome.held() } });
  const turn = t.agent.startTurn("go", "s");
  await t.tools.started("c1");
  const appended = t.agent.appendMessage("s", user("use csv"));
  await t.runtime.advance(1_000);
  t.tools.settle("c1", toolOutcome.ok("done"));
  await Promise.all([turn.result, appended]);
  expect(sent(t)).toEqual(["user go", "calls c1", "c1 = done"]);
  expect(await stored(t)).toEqual(["user go", "calls c1", "c1 = done", "assistant fine", "user use csv"]);
});

test("F065: a user message inside a stored pair is sent behind it, with the one real result (S4)", async () => {
  const history = [user("go"), calling("a", "c1"), user("wait"), result("r", "c1", "ok"), user("again")];
  const turn = await nextTurn(history);
  expect(turn.sent).toEqual(["user go", "calls c1", "c1 = ok", "user wait", "user again", "user next"]);
  expect(turn.stored.slice(0, 5)).toEqual(linesOf(history));
});

test("results stored in the order in which the calls ended are sent in the order of the calls (S4, U4)", async () => {
  const history = [
    user("go"),
    calling("a", "c1", "c2", "c3"),
    result("r2", "c2"),
    result("r3", "c3"),
    result("r1", "c1"),
  ];
  const turn = await nextTurn(history);
  expect(turn.sent.slice(2, 5)).toEqual(["c1 = c1 done", "c2 = c2 done", "c3 = c3 done"]);
});

test("of a batch that broke off, what ended keeps its result and the rest is unknown, in source order (S4)", async () => {
  const turn = await nextTurn([user("go"), calling("a", "c1", "c2"), result("r2", "c2")]);
  expect(turn.sent.slice(1, 4)).toEqual(["calls c1,c2", UNKNOWN, "c2 = c2 done"]);
});

test("a second result of one call is left out of the request (S4)", async () => {
  const turn = await nextTurn([
    user("go"),
    calling("a", "c1"),
    result("r", "c1", "first"),
    result("q", "c1", "second"),
  ]);
  expect(turn.sent).toEqual(["user go", "calls c1", "c1 = first", "user next"]);
});

test("one id in two replies: each result stays with the call it was made for (S4)", async () => {
  const one = [calling("a", "c1"), result("r", "c1", "one")];
  const two = [calling("b", "c1"), result("q", "c1", "two")];
  const turn = await nextTurn([user("go"), ...one, ...two]);
  expect(turn.sent).toEqual(["user go", "calls c1", "c1 = one", "calls c1", "c1 = two", "user next"]);
});

test("one id in two replies, the first without result: a late result goes to the nearer call (S4)", async () => {
  const turn = await nextTurn([user("go"), calling("a", "c1"), calling("b", "c1"), result("q", "c1", "two")]);
  expect(turn.sent).toEqual(["user go", "calls c1", UNKNOWN, "calls c1", "c1 = two", "user next"]);
});

test("a result before its call is no result of it (S4)", async () => {
  const turn = await nextTurn([user("go"), result("r", "c1", "early"), calling("a", "c1")]);
  expect(turn.sent).toEqual(["user go", "calls c1", UNKNOWN, "user next"]);
});

test("a reply without parts is stored and not sent (S4)", async () => {
  const history = [user("go"), reply("empty", ""), user("more")];
  const turn = await nextTurn(history);
  expect(turn.sent).toEqual(["user go", "user more", "user next"]);
  expect(turn.stored.slice(0, 3)).toEqual(linesOf(history));
});

test.each(["aborted", "interrupted", "error"] as const)(
  "of a reply that was %s its text is sent, neither reasoning nor calls nor their results (S6, L5)",
  async (stopped) => {
    const parts = [
      { type: "reasoning", text: "hm", signature: "sig" },
      { type: "text", text: "half" },
      { type: "toolCall", id: "c1", name: "f", arguments: {} },
    ] as const;
    const history = [user("go"), reply("p", "", { parts, stopped }), result("r", "c1"), reply("q", "", { stopped })];
    const turn = await nextTurn(history);
    expect(turn.sent).toEqual(["user go", "assistant half", "user next"]);
    expect(turn.stored.slice(0, 4)).toEqual(linesOf(history));
  },
);

test("a custom message inside a pair stays out of the request and does not split the pair (S4, C2)", async () => {
  const note = { role: "note", id: "n", at: 1, text: "x" } as unknown as AgentMessage;
  const turn = await nextTurn([user("go"), calling("a", "c1"), note, result("r", "c1")]);
  expect(turn.sent).toEqual(["user go", "calls c1", "c1 = c1 done", "user next"]);
});

test("a new message settles calls that waited for a decision as rejected, calls of a crash as unknown (S4, U5)", async () => {
  await using t = await testAgent({ script: [stopResponse("ok")] });
  const waiting = { callId: "c2", executionId: "a.1", toolName: "f", arguments: {}, reason: "ask", at: 1 };
  const metadata = { [SESSION_KEYS.deferred]: [waiting], title: "kept" };
  t.sessions.seed("s", { messages: [user("go"), calling("a", "c1", "c2", "c3"), result("r", "c3")], metadata });
  await t.agent.runTurn("never mind", "s");
  const rejected = "c2 = !rejected (needs approval)";
  expect(sent(t)).toEqual(["user go", "calls c1,c2,c3", UNKNOWN, rejected, "c3 = c3 done", "user never mind"]);
  const session = await t.agent.session("s");
  expect(session.metadata).not.toHaveProperty([SESSION_KEYS.deferred]);
  expect(session.metadata).toMatchObject({ title: "kept" });
  const outcomes = session.messages.flatMap((message) => (message.role === "tool" ? [message.outcome] : []));
  expect(outcomes).toEqual(["completed", "unknown", "not-started"]);
});

test("calls that never run, cut or malformed, are repaired as not executed: the model may simply ask again (S4, L6)", async () => {
  const bad: ToolCall = { id: "c2", name: "f", arguments: {}, malformed: { raw: "{", reason: "cut" } };
  const fine: ToolCall = { id: "c3", name: "f", arguments: {} };
  const cut = { ...calling("a", "c1"), finishReason: "length" as const };
  await using t = await testAgent({ script: [stopResponse("ok")] });
  t.sessions.seed("s", { messages: [user("go"), cut, user("on"), callingWith("b", bad, fine)] });
  await t.agent.runTurn("next", "s");
  const session = await t.agent.session("s");
  const outcomes = session.messages.flatMap((message) => (message.role === "tool" ? [message.outcome] : []));
  expect(outcomes).toEqual(["not-started", "not-started", "unknown"]);
  expect(sent(t)[2]).toBe("c1 = !The tool call was not executed.");
});

test("a deferred call of this agent is rejected by the next message, in memory as on disk (U5)", async () => {
  const hook = hookAt("beforeTool", (_, context) => context.defer("ask a person"));
  const script = [toolCallResponse("f", "c1"), stopResponse("ok")];
  await using t = await testAgent({ script, tools: { f: toolOutcome.ok() }, hooks: [hook] });
  expect((await t.agent.runTurn("go", "s")).status).toBe("deferred");
  await t.agent.runTurn("never mind", "s");
  expect(sent(t)).toEqual(["user go", "calls c1", "c1 = !rejected (needs approval)", "user never mind"]);
  expect(t.tools.execRecords).toEqual([]);
  const added = t.observer.ofType("messageAdded").map(({ message }) => linesOf([message])[0]);
  expect(added).toEqual(["user go", "c1 = !rejected (needs approval)", "user never mind"]);
});

test("repair is stored once: the next turn adds nothing more (S4)", async () => {
  await using t = await testAgent({ script: [stopResponse("one"), stopResponse("two")] });
  t.sessions.seed("s", { messages: [user("go"), calling("a", "c1")] });
  await t.agent.runTurn("first", "s");
  await t.agent.runTurn("second", "s");
  expect((await stored(t)).filter((line) => line.startsWith("c1 ="))).toHaveLength(1);
  expect(sent(t)).toEqual(["user go", "calls c1", UNKNOWN, "user first", "assistant one", "user second"]);
});
