import { expect, test } from "vitest";
import type { StageKind } from "../../src/domain/stage.js";
import type { ModelPort } from "../../src/ports/model.js";
import type { ToolContext, ToolProvider } from "../../src/ports/tool-provider.js";
import {
  modelStep,
  RecordingSessionStore,
  RecordingToolProvider,
  stopResponse,
  testAgent,
  type TestAgent,
  type TestAgentOptions,
  textStream,
  toolCallResponse,
  toolDef,
  toolOutcome,
} from "../../src/testkit/index.js";
import {
  callsOf,
  expectLawful,
  hookAt,
  never,
  resultText,
  terminals,
  toldResults,
  unhandledDuring,
} from "../support/turns.js";

/** Starts a turn on "s" and goes on until nothing more happens without the clock. */
async function started(t: TestAgent, signal?: AbortSignal) {
  const turn = t.agent.startTurn("hi", "s", { signal });
  await t.runtime.advance(0);
  return turn;
}

/** The session works: another turn is answered, and what it sent was lawful. */
async function expectUsable(t: TestAgent): Promise<void> {
  t.model.push(stopResponse("back"));
  expect((await t.agent.runTurn("again", "s")).text).toBe("back");
  const sent = t.model.requests.at(-1)?.messages ?? [];
  expect(sent.filter((message) => message.role === "assistant" && message.parts.length === 0)).toEqual([]);
  await expectLawful(t, "s");
}

test("what was streamed is stored as an aborted reply, and half-streamed calls are dropped (L5)", async () => {
  const chunks = [
    ...textStream("so far").slice(0, -1),
    { type: "toolCallDelta", index: 0, id: "c1", name: "f", argumentsDelta: '{"a' } as const,
  ];
  await using t = await testAgent({ script: [modelStep.hang(chunks)], tools: { f: toolOutcome.ok() } });
  const turn = await started(t);
  turn.abort("enough");
  const result = await turn.result;
  expect(result).toMatchObject({ status: "aborted", stopReason: "enough", text: "so far" });
  expect((await t.agent.session("s")).messages.at(-1)).toMatchObject({
    stopped: "aborted",
    parts: [{ type: "text", text: "so far" }],
  });
  await expectUsable(t);
  expect(t.model.requests.at(-1)?.messages.map((message) => message.role)).toEqual(["user", "assistant", "user"]);
});

test("an abort before anything was streamed stores no reply (L5)", async () => {
  await using t = await testAgent({ script: [modelStep.hang()] });
  const turn = await started(t);
  turn.abort();
  expect((await turn.result).messages.map((message) => message.role)).toEqual(["user"]);
  await expectUsable(t);
});

test("a failure after output began stores what came, marked as an error (L5)", async () => {
  const { ModelError } = await import("../../src/domain/errors.js");
  const failing = modelStep.fail(new ModelError("transport", "lost"), textStream("half").slice(0, -1));
  await using t = await testAgent({ script: [failing] });
  await expect(t.agent.runTurn("hi", "s")).rejects.toMatchObject({ kind: "model" });
  expect((await t.agent.session("s")).messages.at(-1)).toMatchObject({ stopped: "error", parts: [{ text: "half" }] });
  await expectUsable(t);
});

const deaf: ModelPort = {
  chat: never,
  chatStreaming: (_, onChunk) => (onChunk({ type: "textDelta", text: "x" }), never()),
};

test("a model that ignores the signal is given up within a second, and what it says later is not told (L5)", async () => {
  let late: (text: string) => void = () => undefined;
  const model: ModelPort = {
    ...deaf,
    chatStreaming: (_, onChunk) => {
      late = (text) => onChunk({ type: "textDelta", text });
      late("in time");
      return never();
    },
  };
  await using t = await testAgent({ model });
  const turn = await started(t);
  turn.abort();
  await t.runtime.advance(1_000);
  expect((await turn.result).text).toBe("in time");
  const before = t.observer.events.length;
  late("too late");
  expect(t.observer.events).toHaveLength(before);
});

test("a tool that ignores the signal gets an unknown result within a second; late progress and results change nothing (U7)", async () => {
  const late = Promise.withResolvers<string>();
  let context: ToolContext | undefined;
  const provider: ToolProvider = {
    listTools: () => [toolDef("f")],
    execute: (_, given) => {
      context = given;
      return late.promise;
    },
  };
  await using t = await testAgent({ script: [toolCallResponse("f", "c1")], providers: [provider] });
  const turn = await started(t);
  turn.abort();
  await t.runtime.advance(1_000);
  const result = await turn.result;
  expect(result).toMatchObject({ status: "aborted", exchanges: [{ outcome: "unknown", cancellationRequested: true }] });
  const before = [t.observer.events.length, JSON.stringify(await t.agent.session("s"))];
  context?.progress({ late: true });
  const unhandled = await unhandledDuring(async () => late.reject(new Error("late")));
  expect([t.observer.events.length, JSON.stringify(await t.agent.session("s"))]).toEqual(before);
  expect(unhandled).toEqual([]);
  await expectUsable(t);
});

test("progress of a call that was given up is not told while its siblings still settle (U7)", async () => {
  let progress: ToolContext["progress"] = () => undefined;
  const provider: ToolProvider = {
    listTools: () => [toolDef("deaf")],
    execute: (_, context) => ((progress = context.progress), never()),
  };
  const slow = hookAt("settleTool", () => progress("late"));
  await using t = await testAgent({ script: [toolCallResponse("deaf", "c1")], providers: [provider], hooks: [slow] });
  const turn = await started(t);
  progress("early");
  turn.abort();
  await t.runtime.advance(1_000);
  await turn.result;
  expect(t.observer.ofType("toolCallProgress").map((event) => event.partial)).toEqual(["early"]);
});

test("a call that ends well after the abort keeps its result (L5)", async () => {
  const tools = new RecordingToolProvider().add("f", toolOutcome.held());
  await using t = await testAgent({ script: [toolCallResponse("f", "c1")], tools });
  const turn = await started(t);
  turn.abort();
  tools.settle("c1", toolOutcome.ok("made it"));
  const result = await turn.result;
  expect(result.exchanges).toMatchObject([{ outcome: "completed" }]);
  expect(result.toolResults.map(resultText)).toEqual(["made it"]);
});

test("after an abort no call begins: neither one that waits for a place nor one of a later wave (L5)", async () => {
  const one = { ...toolDef("one"), executionMode: "sequential" as const };
  const tools = new RecordingToolProvider().add("f", toolOutcome.hangs()).add(one, toolOutcome.ok());
  const config = { maxParallelTools: 1 };
  await using t = await testAgent({ script: [callsOf("f", "f", "one")], tools, config });
  const turn = await started(t);
  turn.abort();
  const result = await turn.result;
  expect(tools.execRecords.map(({ callId }) => callId)).toEqual(["c1"]);
  expect(t.observer.ofType("toolCallStarted").map(({ invocation }) => invocation.callId)).toEqual(["c1"]);
  expect(result.exchanges.map(({ outcome }) => outcome)).toEqual(["unknown", "not-started", "not-started"]);
  for (const { outcome, ...exchange } of result.exchanges)
    expect("executedInput" in exchange).toBe(outcome === "unknown");
  await expectUsable(t);
});

test("an abort in a beforeTool hook asks nobody about the calls behind it, and runs none (L5)", async () => {
  const asked: string[] = [];
  const controller = new AbortController();
  const hook = hookAt("beforeTool", ({ call }) => {
    asked.push(call.id);
    controller.abort();
  });
  await using t = await testAgent({ script: [callsOf("f", "f")], tools: { f: toolOutcome.ok() }, hooks: [hook] });
  const result = await t.agent.runTurn("hi", "s", { signal: controller.signal });
  expect(result.status).toBe("aborted");
  expect(asked).toEqual(["c1"]);
  expect(t.tools.execRecords).toEqual([]);
  await expectUsable(t);
});

test("an abort while a call is admitted keeps it from running (L5)", async () => {
  const controller = new AbortController();
  const hook = hookAt("admitTool", async () => controller.abort());
  await using t = await testAgent({ script: [callsOf("f")], tools: { f: toolOutcome.ok() }, hooks: [hook] });
  const result = await t.agent.runTurn("hi", "s", { signal: controller.signal });
  expect(result).toMatchObject({ status: "aborted", exchanges: [{ outcome: "not-started" }] });
  expect(t.tools.execRecords).toEqual([]);
});

const stages: readonly StageKind[] = [
  "beforeTools",
  "chooseTools",
  "beforeSteering",
  "beforeContext",
  "beforeModel",
  "afterModel",
  "beforeTool",
  "admitTool",
  "afterTool",
  "settleTool",
  "beforeContinue",
  "beforeEnd",
];

test.each(stages)("a hook that never settles at %s is given up within a second of an abort (L5)", async (kind) => {
  const hook = hookAt(kind, never);
  const script = kind === "beforeEnd" ? [stopResponse("done")] : [toolCallResponse("f", "c1"), stopResponse("done")];
  await using t = await testAgent({
    script,
    tools: { f: toolOutcome.ok() },
    hooks: [hook, hookAt(kind, never, "two")],
  });
  const turn = t.agent.startTurn("hi", "s");
  if (kind === "beforeSteering") turn.steer("and now?");
  await t.runtime.advance(0);
  turn.abort();
  await t.runtime.advance(1_000);
  expect((await turn.result).status).toBe("aborted");
  expect(terminals(t.observer.events)).toEqual(["turnAborted"]);
  await expectLawful(t, "s");
});

test("many hooks that never settle do not add up: the turn still settles within a second (L5)", async () => {
  const kinds = ["afterTool", "settleTool", "toolError", "afterTurn"] as const;
  const hooks = ["a", "b", "c"].map((name) => hookAt(kinds, never, name));
  const tools = { f: toolOutcome.hangs({ ignoreAbort: true }) };
  await using t = await testAgent({ script: [callsOf("f", "f")], tools, hooks });
  const turn = await started(t);
  turn.abort();
  await t.runtime.advance(1_000);
  expect((await turn.result).status).toBe("aborted");
  await expectLawful(t, "s");
});

test("an abort during beforeTurn is an abort, and nothing was published (L8, T2)", async () => {
  const hook = hookAt("beforeTurn", never);
  await using t = await testAgent({ hooks: [hook] });
  const turn = await started(t);
  turn.abort("changed my mind");
  await t.runtime.advance(1_000);
  expect(await turn.result).toMatchObject({ status: "aborted", stopReason: "changed my mind" });
  expect(t.observer.events).toEqual([]);
});

test("an abort while the turn waits for its session's lock settles it and leaves the queue in order (L5, T1)", async () => {
  await using t = await testAgent({ script: [modelStep.hang(), stopResponse("third")] });
  const [first, second, third] = ["a", "b", "c"].map((text) => t.agent.startTurn(text, "s"));
  await t.runtime.advance(0);
  second?.abort();
  await t.runtime.advance(1_000);
  expect(await second?.result).toMatchObject({ status: "aborted", messages: [], undelivered: [{ role: "user" }] });
  first?.abort();
  expect((await first?.result)?.status).toBe("aborted");
  expect((await third?.result)?.text).toBe("third");
});

test("a store that hangs in a write does not keep an aborted turn (L5)", async () => {
  class Hanging extends RecordingSessionStore {
    hang = false;
    override append(...args: Parameters<RecordingSessionStore["append"]>): Promise<number> {
      return this.hang ? never() : super.append(...args);
    }
  }
  const store = new Hanging();
  const options: TestAgentOptions = { script: [toolCallResponse("f", "c1")], sessions: [store] };
  const hook = hookAt("admitTool", () => void (store.hang = true));
  await using t = await testAgent({ ...options, tools: { f: toolOutcome.ok() }, hooks: [hook] });
  const turn = await started(t);
  turn.abort();
  await t.runtime.advance(1_000);
  expect((await turn.result).status).toBe("aborted");
  expect(terminals(t.observer.events)).toEqual(["turnAborted"]);
});

test("a turn keeps one listener on the caller's signal, and takes it off at the end (L5)", async () => {
  const controller = new AbortController();
  const count = { on: 0, off: 0 };
  const { signal } = controller;
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  Object.assign(signal, {
    addEventListener: (...args: Parameters<typeof add>) => ((count.on += 1), add(...args)),
    removeEventListener: (...args: Parameters<typeof remove>) => ((count.off += 1), remove(...args)),
  });
  const tools = { f: toolOutcome.ok() };
  await using t = await testAgent({ script: [callsOf("f", "f", "f"), stopResponse("done")], tools });
  await t.agent.runTurn("hi", "s", { signal });
  expect(count).toEqual({ on: 1, off: 1 });
  expect(toldResults(t)).toHaveProperty("c3");
});
