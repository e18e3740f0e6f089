import { expect, test } from "vitest";
import { ModelError } from "../../src/domain/errors.js";
import { type AgentMessage, systemMessage, userMessage } from "../../src/domain/message.js";
import { transcriptLaw } from "../../src/domain/transcript-law.js";
import type { CompressAction, ContextMessages } from "../../src/ports/compressor.js";
import {
  type CompressStep,
  modelStep,
  RecordingCompressor,
  stopResponse,
  testAgent,
  type TestAgentOptions,
  toolCallResponse,
  toolOutcome,
} from "../../src/testkit/index.js";
import { calling, linesOf, reply, result, sent, stored, user } from "../support/conversations.js";
import { thenNothing } from "../support/then-nothing.js";
import { hookAt } from "../support/turns.js";

const long = (word: string): string => `${word} ${"x".repeat(2_000)}`;
const history = [
  user("u0", long("u0")),
  reply("a0", long("a0")),
  user("u1"),
  calling("a1", "c1"),
  result("r1", "c1", "one"),
  reply("a2"),
];

/** An agent whose session "s" holds the history; the compressor makes these proposals, one a model call. */
async function compressing(steps: readonly CompressStep[], options: TestAgentOptions = {}) {
  const compressor = new RecordingCompressor(thenNothing(steps));
  const script = Array.from({ length: 4 }, (_, n) => stopResponse(`done ${n}`));
  const t = await testAgent({ script, compressors: [compressor], tools: { f: toolOutcome.ok("fine") }, ...options });
  t.sessions.seed("s", { messages: history });
  return Object.assign(t, { compressor });
}

const view =
  (pick: (messages: readonly AgentMessage[]) => ContextMessages): CompressStep =>
  (messages) => ({ type: "view", messages: pick(messages) });
const summary = userMessage("summary");
const byId = (messages: readonly AgentMessage[], ...ids: readonly string[]): AgentMessage[] =>
  messages.filter(({ id }) => ids.includes(id));

test("compressors see the conversation without the system prompt, which every request has first and once (C1, F153)", async () => {
  const replace: CompressStep = () => ({ type: "replace", messages: [summary] });
  await using t = await compressing([replace, replace], { config: { system: "RULE-7" } });
  for (const text of ["one", "two", "three"]) await t.agent.runTurn(text, "s");
  expect(t.observer.ofType("contextReplaced")).toHaveLength(2);
  for (const { messages } of t.compressor.records) expect(JSON.stringify(messages)).not.toContain("RULE-7");
  for (const { messages } of t.model.requests) {
    expect(messages.findIndex(({ role }) => role === "system")).toBe(0);
    expect(linesOf(messages).filter((line) => line.includes("RULE-7"))).toEqual(["system RULE-7"]);
    expect(transcriptLaw(messages)).toEqual([]);
  }
  expect(JSON.stringify(await t.agent.session("s"))).not.toContain("RULE-7");
});

test("a system prompt may be a function, which is asked before every model call (C1)", async () => {
  const asked: unknown[] = [];
  const system = async ({ round, sessionId }: { readonly round: number; readonly sessionId: string }) => {
    asked.push([sessionId, round]);
    return round === 3 ? "" : `round ${round}`;
  };
  const script = [toolCallResponse("f", "c8"), toolCallResponse("f", "c9"), stopResponse("done")];
  await using t = await compressing([], { script, config: { system } });
  await t.agent.runTurn("hi", "s");
  expect(asked).toEqual([
    ["s", 1],
    ["s", 2],
    ["s", 3],
  ]);
  expect([0, 1, 2].map((n) => sent(t, n)[0])).toEqual(["system round 1", "system round 2", `user ${long("u0")}`]);
});

test("a system prompt that cannot be made fails the turn before the model is asked (C1)", async () => {
  const system = (): string => {
    throw new Error("no prompt");
  };
  await using t = await compressing([], { config: { system } });
  await expect(t.agent.runTurn("hi", "s")).rejects.toMatchObject({ kind: "model", cause: { kind: "request-build" } });
  expect(t.model.callCount).toBe(0);
});

test("a view holds for its request only: nothing is stored or told, and the next request shows all (C1)", async () => {
  await using t = await compressing([view((messages) => [summary, ...messages.slice(2)])]);
  await t.agent.runTurn("hi", "s");
  expect(sent(t)).toEqual(["user summary", "user u1", "calls c1", "c1 = one", "assistant a2", "user hi"]);
  expect(t.observer.ofType("contextReplaced")).toEqual([]);
  expect(t.sessions.saveSnapshots().some(({ session }) => session.compaction !== undefined)).toBe(false);
  await t.agent.runTurn("more", "s");
  expect(sent(t)).toEqual([...linesOf(history), "user hi", "assistant done 0", "user more"]);
});

test("a replacement is stored as a record, the originals stay, and it is honoured after a restart (C1)", async () => {
  await using t = await compressing([() => ({ type: "replace", messages: [summary], upTo: "a0" })]);
  await t.agent.runTurn("hi", "s");
  const after = ["user summary", ...linesOf(history.slice(2)), "user hi"];
  expect(sent(t)).toEqual(after);
  expect(t.observer.ofType("contextReplaced")).toMatchObject([{ before: 7, after: 6, by: "recording" }]);
  const session = await t.agent.session("s");
  expect(linesOf(session.messages)).toEqual([...linesOf(history), "user hi", "assistant done 0"]);
  expect(session.compaction).toMatchObject({ upTo: "a0", messages: [{ role: "user" }] });
  await using restarted = await testAgent({ script: [stopResponse("ok")], sessions: [t.sessions] });
  await restarted.agent.runTurn("more", "s", { turnId: "another" });
  expect(sent(restarted)).toEqual([...after, "assistant done 0", "user more"]);
});

test("a cut between a call and its result moves back to the start of the exchange (C1)", async () => {
  const script = [stopResponse("done 0"), stopResponse("done 1")];
  await using t = await compressing([() => ({ type: "replace", messages: [summary], upTo: "a1" })], { script });
  await t.agent.runTurn("hi", "s");
  expect((await t.agent.session("s")).compaction?.upTo).toBe("u1");
  expect(sent(t)).toEqual(["user summary", "calls c1", "c1 = one", "assistant a2", "user hi"]);
});

test("a record may be replaced by another, also where the cut lies in what the first one shows (C1)", async () => {
  const first: CompressStep = () => ({
    type: "replace",
    messages: [userMessage(long("once")), userMessage("kept")],
    upTo: "r1",
  });
  const second: CompressStep = (messages) => ({
    type: "replace",
    messages: [userMessage("twice")],
    upTo: messages[0]?.id,
  });
  await using t = await compressing([first, second]);
  await t.agent.runTurn("hi", "s");
  expect(sent(t)).toEqual([`user ${long("once")}`, "user kept", "assistant a2", "user hi"]);
  await t.agent.runTurn("more", "s");
  const expected = ["user twice", "user kept", "assistant a2", "user hi", "assistant done 0", "user more"];
  expect(sent(t)).toEqual(expected);
  expect((await t.agent.session("s")).compaction?.upTo).toBe("r1");
  await t.agent.runTurn("again", "s");
  expect(sent(t)).toEqual([...expected, "assistant done 1", "user again"]);
});

test("what was stored inside an exchange and is shown behind it is not lost with the exchange (C1, S4)", async () => {
  await using t = await compressing([() => ({ type: "replace", messages: [summary], upTo: "r1" })]);
  const tangled = [
    user("u0", long("u0")),
    calling("a1", "c1"),
    user("wait"),
    result("r1", "c1"),
    reply("a2"),
    user("u2"),
  ];
  t.sessions.seed("s", { messages: tangled });
  await t.agent.runTurn("hi", "s");
  expect(sent(t)).toEqual(["user summary", "user wait", "assistant a2", "user u2", "user hi"]);
});

test("the newest user message and the last exchange stay, whatever is proposed (C1)", async () => {
  const nothing: CompressStep = () => ({ type: "view", messages: [summary] });
  const script = [toolCallResponse("f", "c9"), stopResponse("done")];
  await using t = await compressing([nothing, nothing], { script });
  await t.agent.runTurn("hi", "s");
  expect(sent(t, 0)).toEqual(["user summary", "assistant a2", "user hi"]);
  expect(sent(t, 1)).toEqual(["user summary", "user hi", "calls c9", "c9 = fine"]);
});

test("older exchanges of the running turn may be replaced; its input stays (C1)", async () => {
  const script = [toolCallResponse("f", "c8"), toolCallResponse("f", "c9"), stopResponse("done")];
  const replace: CompressStep = () => ({ type: "replace", messages: [summary] });
  await using t = await compressing([{ type: "none" }, { type: "none" }, replace], { script });
  await t.agent.runTurn("hi", "s");
  expect(sent(t)).toEqual(["user summary", "user hi", "calls c9", "c9 = fine"]);
  expect((await stored(t)).slice(6)).toEqual([
    "user hi",
    "calls c8",
    "c8 = fine",
    "calls c9",
    "c9 = fine",
    "assistant done",
  ]);
});

test("a view that leaves a result out gets it back: it does not become an unknown one (C1)", async () => {
  await using t = await compressing([view((messages) => [summary, ...byId(messages, "a1", "a2")])]);
  await t.agent.runTurn("hi", "s");
  expect(sent(t)).toEqual(["user summary", "calls c1", "c1 = one", "assistant a2", "user hi"]);
});

test("a view that keeps a result without its call loses the result (C1)", async () => {
  await using t = await compressing([view((messages) => [summary, ...byId(messages, "r1", "a2")])]);
  await t.agent.runTurn("hi", "s");
  expect(sent(t)).toEqual(["user summary", "assistant a2", "user hi"]);
});

test("messages may be proposed as copies: a shortened result takes its place, nothing comes twice (C1)", async () => {
  const shorten = view(
    (messages) =>
      messages.map((message) => ({
        ...message,
        ...(message.role === "tool" || message.id === "u0"
          ? { content: [{ type: "text", text: "cut" } as const] }
          : {}),
      })) as AgentMessage[],
  );
  await using t = await compressing([shorten]);
  await t.agent.runTurn("hi", "s");
  expect(sent(t)).toEqual([
    "user cut",
    `assistant ${long("a0")}`,
    "user u1",
    "calls c1",
    "c1 = cut",
    "assistant a2",
    "user hi",
  ]);
});

test("a proposal that does not shrink the estimate is dropped, and its compressor is not asked again in this turn (C1)", async () => {
  const larger = view((messages) => [userMessage(long("more")), ...messages]);
  const script = [toolCallResponse("f", "c9"), stopResponse("done"), stopResponse("next")];
  await using t = await compressing([larger, larger, { type: "none" }], { script });
  await t.agent.runTurn("hi", "s");
  expect(sent(t, 0)).toEqual([...linesOf(history), "user hi"]);
  expect(t.compressor.records).toHaveLength(1);
  await t.agent.runTurn("more", "s");
  expect(t.compressor.records).toHaveLength(2);
});

const refused: readonly (readonly [string, CompressAction])[] = [
  [
    "begins with a reply of its own",
    { type: "view", messages: [{ role: "assistant", parts: [{ type: "text", text: "I" }] }] },
  ],
  ["names a message nobody knows", { type: "replace", messages: [summary], upTo: "ghost" }],
  ["holds no message", { type: "view", messages: [{ role: "user" } as unknown as AgentMessage] }],
  ["is larger", { type: "replace", messages: [userMessage(long("a").repeat(9))] }],
];

test.each(refused)("a proposal that %s is dropped, and the turn goes on with all (C1)", async (_, action) => {
  await using t = await compressing([action]);
  expect((await t.agent.runTurn("hi", "s")).status).toBe("completed");
  expect(sent(t)).toEqual([...linesOf(history), "user hi"]);
  expect((await t.agent.session("s")).compaction).toBeUndefined();
});

test("a system message of a proposal may come before the first user message (C1)", async () => {
  await using t = await compressing([view((messages) => [systemMessage("earlier"), ...messages.slice(2)])]);
  await t.agent.runTurn("hi", "s");
  expect(sent(t).slice(0, 2)).toEqual(["system earlier", "user u1"]);
});

test("compressors are asked in order, and the first action that is not none wins (C1)", async () => {
  const none = new RecordingCompressor([]);
  const first = new RecordingCompressor([view(() => [userMessage("first")])]);
  const second = new RecordingCompressor([view(() => [userMessage("second")])]);
  await using t = await compressing([], { compressors: [none, first, second] });
  await t.agent.runTurn("hi", "s");
  expect([none, first, second].map(({ records }) => records.length)).toEqual([1, 1, 0]);
  expect(sent(t)[0]).toBe("user first");
});

test("a compressor is told the window, the estimate and what the provider counted, and asked before every call (C1)", async () => {
  const usage = { inputTokens: 10, outputTokens: 2 };
  const script = [{ ...toolCallResponse("f", "c9"), usage }, stopResponse("done")];
  await using t = await compressing([], { script, config: { modelContextWindow: 5_000 } });
  await t.agent.runTurn("hi", "s");
  const [one, two] = t.compressor.records;
  expect(one).toMatchObject({ sessionId: "s", modelContextWindow: 5_000, reason: "before-model" });
  expect(two).toMatchObject({ usage });
  expect(one?.estimatedTokens).toBeGreaterThan(1_000);
  expect(two?.estimatedTokens).toBeGreaterThan(one?.estimatedTokens ?? 0);
});

test("a compressor that empties or refills the list it is given changes nothing (C1)", async () => {
  const greedy: CompressStep = (messages) => {
    (messages as AgentMessage[]).length = 0;
    return { type: "none" };
  };
  await using t = await compressing([greedy]);
  await t.agent.runTurn("hi", "s");
  expect(sent(t)).toEqual([...linesOf(history), "user hi"]);
});

test("a retry that asks for compression compresses once more, for that request (C3)", async () => {
  const hook = hookAt("modelError", (_, context) => context.retry({ compress: true }));
  const script = [modelStep.fail(new ModelError("context-overflow", "too long")), stopResponse("ok")];
  await using t = await compressing([{ type: "none" }, view((messages) => [summary, ...messages.slice(2)])], {
    script,
    hooks: [hook],
  });
  expect((await t.agent.runTurn("hi", "s")).text).toBe("ok");
  expect(t.compressor.records.map(({ reason }) => reason)).toEqual(["before-model", "overflow"]);
  expect(sent(t)[0]).toBe("user summary");
});
