import { expect, test } from "vitest";
import { ModelError } from "../../src/domain/errors.js";
import { toolCallsOf } from "../../src/domain/message.js";
import { SESSION_KEYS } from "../../src/domain/session.js";
import { orderResults, requestView } from "../../src/domain/transcript.js";
import { transcriptLaw } from "../../src/domain/transcript-law.js";
import {
  modelStep,
  RecordingSessionStore,
  ScriptedModel,
  stopResponse,
  testAgent,
  toolOutcome,
} from "../../src/testkit/index.js";
import { linesOf, sent, stored, user } from "../support/conversations.js";
import { callsOf, hookAt, rejectionOf, terminals } from "../support/turns.js";

const config = { persistence: "turn" } as const;
const tools = { f: toolOutcome.ok("fine") };

test("each message is stored when it exists: input, reply, result, reply (S3)", async () => {
  await using t = await testAgent({ script: [callsOf("f", "f"), stopResponse("done")], tools });
  await t.agent.runTurn("hi", "s");
  const sizes = t.sessions.saveSnapshots().map(({ session }) => session.messages.length);
  expect(sizes.slice(0, 3)).toEqual([1, 2, 3]);
  expect(sizes.at(-1)).toBe(5);
});

test("what is stored at every write can be sent after repair, and only grows (S3)", async () => {
  const script = [callsOf("f", "g"), callsOf("g", "f", "f"), stopResponse("done")];
  const both = { f: toolOutcome.ok("fine"), g: toolOutcome.throws(new Error("no")) };
  await using t = await testAgent({ script, tools: both });
  await t.agent.runTurn("hi", "s");
  let before: readonly unknown[] = [];
  for (const { session } of t.sessions.saveSnapshots()) {
    expect(transcriptLaw(requestView(session.messages))).toEqual([]);
    expect(session.messages.slice(0, before.length)).toEqual(before);
    before = session.messages;
    const agent = await testAgent({ script: [stopResponse("resumed")] });
    const { [SESSION_KEYS.turn]: _, ...metadata } = session.metadata;
    agent.sessions.seed("s", { ...session, metadata });
    expect((await agent.agent.runTurn("go on", "s")).text).toBe("resumed");
    expect(transcriptLaw(agent.model.requests[0]?.messages ?? [])).toEqual([]);
    expect(transcriptLaw(orderResults((await agent.agent.session("s")).messages))).toEqual([]);
    await agent.agent.shutdown();
  }
});

test("a call is stored before its tool runs, and its result before the model is asked again (S3)", async () => {
  const seen: string[][] = [];
  const note = async (): Promise<void> => void seen.push(await stored(t));
  const spy = hookAt(["admitTool", "beforeModel"], note);
  await using t = await testAgent({ script: [callsOf("f"), stopResponse("done")], tools, hooks: [spy] });
  await t.agent.runTurn("hi", "s");
  expect(seen).toEqual([["user hi"], ["user hi", "calls c1"], ["user hi", "calls c1", "c1 = fine"]]);
});

test('with persistence "turn" a turn writes once, at its end, without a lease (S3)', async () => {
  await using t = await testAgent({ script: [callsOf("f"), stopResponse("done"), stopResponse("two")], tools, config });
  await t.agent.runTurn("hi", "s");
  expect(t.sessions.saveSnapshots()).toHaveLength(1);
  await t.agent.runTurn("again", "s");
  expect(t.sessions.saveSnapshots()).toHaveLength(2);
  expect(t.sessions.saveSnapshots().map(({ session }) => SESSION_KEYS.turn in session.metadata)).toEqual([
    false,
    false,
  ]);
  expect(await stored(t)).toEqual([...sent(t), "assistant two"]);
});

const abortsInRoundTwo = hookAt("beforeContext", (_, context) =>
  context.round === 2 ? context.abort("no") : undefined,
);

const failing = [
  ["the model fails", { script: [callsOf("f"), modelStep.fail(new ModelError("auth", "no key"))], tools }],
  ["a hook aborts", { script: [callsOf("f")], tools, hooks: [abortsInRoundTwo] }],
  ["a round too many", { script: [callsOf("f"), callsOf("f")], tools, config: { maxToolRounds: 1 } }],
  ["the script runs out", { script: [callsOf("f")], tools }],
] as const;

test.each(failing)(
  'with persistence "turn" nothing is written when %s, and the next turn knows nothing of it (S3)',
  async (_, given) => {
    const options = { ...given, config: { ...("config" in given ? given.config : {}), ...config } };
    await using t = await testAgent(options);
    t.sessions.seed("s", { messages: [user("old")] });
    await expect(t.agent.runTurn("hi", "s")).rejects.toBeInstanceOf(Error);
    expect(terminals(t.observer.events)).toEqual(["turnFailed"]);
    expect(t.sessions.saveSnapshots()).toEqual([]);
    const model = new ScriptedModel([stopResponse("fresh")]);
    t.agent.setModel(model);
    await t.agent.runTurn("again", "s", { config: { maxToolRounds: 8 } });
    expect(linesOf(model.requests[0]?.messages)).toEqual(["user old", "user again"]);
  },
);

test('with persistence "turn" an abort and a stop are written, and what is written is lawful (S3, L5)', async () => {
  await using t = await testAgent({ script: [callsOf("f")], tools: { f: toolOutcome.hangs() }, config });
  const turn = t.agent.startTurn("hi", "s");
  await t.runtime.advance(0);
  turn.abort();
  expect((await turn.result).status).toBe("aborted");
  const { messages } = await t.agent.session("s");
  expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
  expect(transcriptLaw(messages)).toEqual([]);
});

test('with persistence "turn" another writer in between is a conflict at the end, and is not overwritten (S3, S2)', async () => {
  await using t = await testAgent({ script: [stopResponse("mine")], config });
  t.sessions.conflictOnce("s");
  expect(await rejectionOf(t.agent.runTurn("hi", "s"))).toMatchObject({ kind: "session", cause: { kind: "conflict" } });
  expect(await stored(t)).toEqual([]);
  t.model.push(stopResponse("two"));
  expect((await t.agent.runTurn("again", "s")).status).toBe("completed");
  expect(sent(t)).toEqual(["user again"]);
});

test('with persistence "turn" the mirrors get the one write too (S1, S3)', async () => {
  const [authority, mirror] = [new RecordingSessionStore(), new RecordingSessionStore()];
  authority.seed("s", { messages: [user("old")] });
  const script = [callsOf("f"), stopResponse("one"), stopResponse("two")];
  await using t = await testAgent({ script, tools, config, sessions: [authority, mirror] });
  await t.agent.runTurn("hi", "s");
  await t.agent.runTurn("again", "s");
  expect(linesOf((await mirror.load("s")).messages)).toEqual(await stored(t));
  expect(mirror.saveSnapshots()).toHaveLength(2);
});

test("a call and its result are stored under ids made of the turn's (S3)", async () => {
  await using t = await testAgent({ script: [callsOf("f"), stopResponse("done")], tools });
  const result = await t.agent.runTurn("hi", "s");
  const { messages } = await t.agent.session("s");
  expect(new Set(messages.map(({ id }) => id)).size).toBe(4);
  for (const { id } of messages) expect(id.startsWith(`${result.turnId}.`)).toBe(true);
  const [, reply] = messages;
  const calls = reply?.role === "assistant" ? toolCallsOf(reply) : [];
  expect(t.tools.execRecords.map(({ executionId }) => executionId)).toEqual(calls.map((_, n) => `${reply?.id}.${n}`));
});
