import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { ModelError } from "../../src/domain/errors.js";
import type { AssistantMessage } from "../../src/domain/message.js";
import type { StreamChunk } from "../../src/domain/stream-chunk.js";
import type { ModelPort } from "../../src/ports/model.js";
import {
  modelStep,
  RecordingCompressor,
  stopResponse,
  testAgent,
  type TestAgent,
  textStream,
  toolOutcome,
} from "../../src/testkit/index.js";
import { linesOf, sent, stored } from "../support/conversations.js";
import { callsOf, expectLawful, hookAt, terminals } from "../support/turns.js";

const INTERRUPTED = { status: "stopped", stopReason: "interrupted", undelivered: [] };
const spoken = textStream("so far").slice(0, -1);
const halfCall: StreamChunk = { type: "toolCallDelta", index: 0, id: "c1", name: "f", argumentsDelta: '{"a' };
const thought: StreamChunk = { type: "reasoningDelta", text: "hm" };

async function started(t: TestAgent) {
  const turn = t.agent.startTurn("hi", "s");
  await t.runtime.advance(0);
  return turn;
}

/** The conversation goes on where the interrupted turn left it, by a new turn or by the same one resumed. */
async function expectUsable(t: TestAgent, by: "runTurn" | "resumeTurn" = "runTurn"): Promise<void> {
  t.model.push(stopResponse("back"));
  const next = by === "runTurn" ? t.agent.runTurn("again", "s") : t.agent.resumeTurn("s");
  expect((await next).text).toBe("back");
  await expectLawful(t, "s");
}

test("in mid-stream, what was said is stored as interrupted, and half-streamed calls are dropped (L4)", async () => {
  const tools = { f: toolOutcome.ok() };
  await using t = await testAgent({ script: [modelStep.hang([thought, ...spoken, halfCall])], tools });
  const turn = await started(t);
  turn.interrupt();
  const result = await turn.result;
  expect(result).toMatchObject({ ...INTERRUPTED, text: "so far", exchanges: [] });
  const last = (await t.agent.session("s")).messages.at(-1);
  expect(last).toMatchObject({
    role: "assistant",
    stopped: "interrupted",
    parts: [
      { type: "reasoning", text: "hm" },
      { type: "text", text: "so far" },
    ],
  });
  expect(terminals(t.observer.events)).toEqual(["turnStopped"]);
  expect(t.tools.execRecords).toEqual([]);
  await expectUsable(t);
  const reply = t.model.requests.at(-1)?.messages[1] as AssistantMessage;
  expect(reply.parts).toEqual([{ type: "text", text: "so far" }]);
});

test("resumed, an interrupted reply stays stored and is left out of the request (L4, S6)", async () => {
  await using t = await testAgent({ script: [modelStep.hang(spoken)] });
  const turn = await started(t);
  turn.interrupt();
  await turn.result;
  await expectUsable(t, "resumeTurn");
  expect(sent(t)).toEqual(["user hi"]);
  expect(await stored(t)).toEqual(["user hi", "assistant so far", "assistant back"]);
});

test("before the first chunk, nothing is stored of a reply (L4)", async () => {
  await using t = await testAgent({ script: [modelStep.hang()] });
  const turn = await started(t);
  turn.interrupt();
  expect(await turn.result).toMatchObject({ ...INTERRUPTED, text: "" });
  expect(await stored(t)).toEqual(["user hi"]);
  await expectUsable(t, "resumeTurn");
});

test.each(["beforeContext", "beforeModel"] as const)("in %s, the model is not asked (L4)", async (kind) => {
  const hook = hookAt(kind, () => void (first ? turn.interrupt() : undefined));
  await using t = await testAgent({ hooks: [hook] });
  let first = true;
  const turn = t.agent.startTurn("hi", "s");
  expect(await turn.result).toMatchObject(INTERRUPTED);
  expect(t.model.callCount).toBe(0);
  expect(await stored(t)).toEqual(["user hi"]);
  first = false;
  await expectUsable(t);
});

test("while the system prompt is made, the model is not asked (L4)", async () => {
  const prompt = Promise.withResolvers<string>();
  await using t = await testAgent({ config: { system: () => prompt.promise } });
  const turn = await started(t);
  turn.interrupt();
  prompt.resolve("be brief");
  expect(await turn.result).toMatchObject(INTERRUPTED);
  expect(t.model.callCount).toBe(0);
});

test("before it starts, the turn stores its input and stops (L4)", async () => {
  await using t = await testAgent();
  const turn = t.agent.startTurn("hi", "s");
  turn.interrupt();
  expect(await turn.result).toMatchObject(INTERRUPTED);
  expect([t.model.callCount, await stored(t)]).toEqual([0, ["user hi"]]);
  await expectUsable(t, "resumeTurn");
});

/** A model that takes no notice of its signal and answers when the test says so. */
function deaf() {
  const answer = Promise.withResolvers<ReturnType<typeof stopResponse>>();
  let onChunk: (chunk: StreamChunk) => void = () => undefined;
  const signals: AbortSignal[] = [];
  const model: ModelPort = {
    chat: () => Promise.reject(new ModelError("request-build", "streams only")),
    chatStreaming: ({ signal }, listener) => {
      signals.push(signal);
      onChunk = listener;
      return signals.length === 1 ? answer.promise : Promise.resolve(stopResponse("back"));
    },
  };
  return { model, answer, signals, say: (text: string) => onChunk({ type: "textDelta", text }) };
}

test("a model that ignores its signal is left behind within a second, and what it says later changes nothing (L4)", async () => {
  const { model, answer, say } = deaf();
  await using t = await testAgent({ model });
  const turn = await started(t);
  say("so far");
  turn.interrupt();
  say(", and more");
  await t.runtime.advance(1_000);
  const result = await turn.result;
  expect(result).toMatchObject({ ...INTERRUPTED, text: "so far, and more" });
  const before = await t.agent.session("s");
  const events = t.observer.events.length;
  say("late");
  answer.resolve(callsOf("f"));
  await t.runtime.advance(0);
  expect([await t.agent.session("s"), t.observer.events.length]).toEqual([before, events]);
  expect((await t.agent.runTurn("again", "s")).text).toBe("back");
  await expectLawful(t, "s");
});

test("a model that is left behind does not keep steering from being answered (L4)", async () => {
  const { model, say } = deaf();
  await using t = await testAgent({ model });
  const turn = await started(t);
  say("so far");
  turn.steer("psst");
  turn.interrupt();
  await t.runtime.advance(1_000);
  expect(await turn.result).toMatchObject({ status: "completed", text: "back" });
  expect(await stored(t)).toEqual(["user hi", "assistant so far", "user psst", "assistant back"]);
});

test("a model that answers whole in spite of it keeps its reply, and its calls are skipped (L4)", async () => {
  const { model, answer } = deaf();
  const tools = { f: toolOutcome.ok() };
  await using t = await testAgent({ model, tools });
  const turn = await started(t);
  turn.interrupt();
  answer.resolve(callsOf("f", "f"));
  const result = await turn.result;
  expect(result).toMatchObject(INTERRUPTED);
  expect(result.message).not.toHaveProperty("stopped");
  expect(result.exchanges.map(({ outcome }) => outcome)).toEqual(["not-started", "not-started"]);
  const results = (await stored(t)).slice(1);
  expect(results).toEqual([
    "calls c1,c2",
    expect.stringMatching(/^c1 = !.*skipped/),
    expect.stringMatching(/^c2 = !.*skipped/),
  ]);
  expect(t.tools.execRecords).toEqual([]);
  await expectLawful(t, "s");
});

test("a model that answers whole and calls nothing ends the turn as interrupted, with its reply (L4)", async () => {
  const { model, answer } = deaf();
  await using t = await testAgent({ model });
  const turn = await started(t);
  turn.interrupt();
  answer.resolve(stopResponse("done"));
  expect(await turn.result).toMatchObject({ ...INTERRUPTED, text: "done" });
});

test("a model that fails because of it is not retried, and no hook makes an error of it (L4)", async () => {
  const retry = hookAt("modelError", (_, context) => context.retry());
  const answer = Promise.withResolvers<never>();
  const model: ModelPort = { chat: () => answer.promise };
  await using t = await testAgent({ model, hooks: [retry], config: { streaming: false } });
  const turn = await started(t);
  turn.interrupt();
  answer.reject(new ModelError("transport", "connection closed"));
  expect(await turn.result).toMatchObject(INTERRUPTED);
});

test("between two attempts, the second is not made (L4)", async () => {
  const retry = hookAt("modelError", (_, context) => (turn.interrupt(), context.retry()));
  const script = [modelStep.fail(new ModelError("transport", "lost"), spoken), stopResponse("second")];
  await using t = await testAgent({ script, hooks: [retry] });
  const turn = t.agent.startTurn("hi", "s");
  expect(await turn.result).toMatchObject({ ...INTERRUPTED, text: "so far" });
  expect(t.model.callCount).toBe(1);
  await expectLawful(t, "s");
});

test("between two attempts, nobody is asked to make the request smaller (L4, C3)", async () => {
  const compressor = new RecordingCompressor();
  const retry = hookAt("modelError", (_, context) => (turn.interrupt(), context.retry({ compress: true })));
  const script = [modelStep.fail(new ModelError("context-overflow", "too long"))];
  await using t = await testAgent({ script, hooks: [retry], compressors: [compressor] });
  const turn = t.agent.startTurn("hi", "s");
  expect(await turn.result).toMatchObject(INTERRUPTED);
  expect(compressor.records.map(({ reason }) => reason)).toEqual(["before-model"]);
});

test.each([
  ["in mid-stream", [modelStep.hang(spoken)], ["user hi", "assistant so far", "user psst", "assistant back"]],
  ["before the first chunk", [modelStep.hang()], ["user hi", "user psst", "assistant back"]],
] as const)("%s, steering that waits goes on as a new round (L4)", async (_, script, lines) => {
  await using t = await testAgent({ script: [...script, stopResponse("back")] });
  const turn = await started(t);
  turn.steer("psst");
  turn.interrupt();
  expect(await turn.result).toMatchObject({ status: "completed", text: "back", undelivered: [] });
  expect(await stored(t)).toEqual(lines);
  expect(sent(t)).toEqual(lines.slice(0, -1));
  expect(terminals(t.observer.events)).toEqual(["turnCompleted"]);
});

test("steering that comes when the interrupted turn has stopped is refused (L4, L3)", async () => {
  await using t = await testAgent({ script: [modelStep.hang(spoken)] });
  const turn = await started(t);
  turn.interrupt();
  await turn.result;
  expect(turn.steer("psst")).toBe(false);
});

test("a hook that goes on for ever is not asked any more (L4, L3)", async () => {
  let asked = 0;
  const goal = hookAt("beforeEnd", (_, context) => ((asked += 1), context.goOn()));
  await using t = await testAgent({ script: [stopResponse("one"), modelStep.hang(spoken)], hooks: [goal] });
  const turn = await started(t);
  turn.interrupt();
  expect(await turn.result).toMatchObject(INTERRUPTED);
  expect(asked).toBe(1);
  expect(await stored(t)).toEqual(["user hi", "assistant one", "user Continue.", "assistant so far"]);
});

test("while the turn waits for its session's lock, it stores its input and stops when it has it (L4, T1)", async () => {
  await using t = await testAgent({ script: [modelStep.hang()] });
  const first = await started(t);
  const second = t.agent.startTurn("second", "s");
  await t.runtime.advance(0);
  second.interrupt();
  await t.runtime.advance(0);
  expect(t.model.aborts).toEqual([]);
  first.abort();
  await first.result;
  expect(await second.result).toMatchObject(INTERRUPTED);
  expect(await stored(t)).toEqual(["user hi", "user second"]);
  await expectUsable(t, "resumeTurn");
});

test("follow-ups do not go on where somebody interrupted; they are undelivered (L4, L3)", async () => {
  await using t = await testAgent({ script: [modelStep.hang(spoken)] });
  const turn = await started(t);
  turn.followUp("and");
  turn.interrupt();
  const result = await turn.result;
  expect([result.stopReason, linesOf(result.undelivered)]).toEqual(["interrupted", ["user and"]]);
});

test("twice at once is once, and a round that goes on may be interrupted again (L4)", async () => {
  const script = [modelStep.hang(spoken), modelStep.hang(textStream("second").slice(0, -1)), stopResponse("back")];
  await using t = await testAgent({ script });
  const turn = await started(t);
  turn.steer("a");
  turn.interrupt();
  turn.interrupt();
  await t.runtime.advance(0);
  expect(t.model.callCount).toBe(2);
  turn.steer("b");
  turn.interrupt();
  expect((await turn.result).text).toBe("back");
  expect(await stored(t)).toEqual([
    "user hi",
    "assistant so far",
    "user a",
    "assistant second",
    "user b",
    "assistant back",
  ]);
  for (const message of (await t.agent.session("s")).messages.filter(({ role }) => role === "assistant").slice(0, 2))
    expect(message).toMatchObject({ stopped: "interrupted" });
});

test("late, it does nothing: to the turn, nor to the next on the same session (L4)", async () => {
  await using t = await testAgent({ script: [stopResponse("one"), stopResponse("two")] });
  const turn = t.agent.startTurn("hi", "s");
  const inListener = turn.result.then(() => turn.interrupt());
  expect(await turn.result).toMatchObject({ status: "completed" });
  await inListener;
  expect((await t.agent.runTurn("again", "s")).text).toBe("two");
  expect(terminals(t.observer.events)).toEqual(["turnCompleted", "turnCompleted"]);
});

test("an abort wins over an interruption, whichever came first (L4, L5)", async () => {
  for (const levers of [["interrupt", "abort"] as const, ["abort", "interrupt"] as const]) {
    await using t = await testAgent({ script: [modelStep.hang(spoken)] });
    const turn = await started(t);
    for (const lever of levers) turn[lever]();
    expect(await turn.result).toMatchObject({ status: "aborted", text: "so far" });
    expect((await t.agent.session("s")).messages.at(-1)).toMatchObject({ stopped: "aborted" });
  }
});

test("no timer is left of it (L4)", async () => {
  await using t = await testAgent({ script: [stopResponse("one"), modelStep.hang(spoken)] });
  await t.agent.runTurn("hi", "s");
  const timers = t.runtime.pendingTimers;
  const turn = await started(t);
  turn.interrupt();
  await turn.result;
  expect(t.runtime.pendingTimers).toBe(timers);
});

test("it aborts the signal of the model call alone: that of hooks and tools stays, and no listener is left (L4, L5)", async () => {
  const signals: AbortSignal[] = [];
  const asked: AbortSignal[] = [];
  const { signal } = new AbortController();
  const model: ModelPort = {
    chat: async (request) => {
      asked.push(request.signal);
      const gone = Promise.withResolvers<never>();
      const onAbort = (): void => gone.reject(new ModelError("aborted", "stopped"));
      if (asked.length > 1) return stopResponse("back");
      request.signal.addEventListener("abort", onAbort, { once: true });
      return gone.promise;
    },
  };
  const hook = hookAt(["beforeModel", "afterTurn"], (_, context) => void signals.push(context.signal));
  await using t = await testAgent({ model, hooks: [hook], config: { streaming: false } });
  const turn = t.agent.startTurn("hi", "s", { signal });
  await t.runtime.advance(0);
  turn.steer("psst");
  turn.interrupt();
  expect((await turn.result).text).toBe("back");
  expect(signals.map(({ aborted }) => aborted)).toEqual([false, false, false]);
  expect(asked.map(({ aborted }) => aborted)).toEqual([true, false]);
  for (const each of [...signals, ...asked, signal]) expect(getEventListeners(each, "abort")).toEqual([]);
});
