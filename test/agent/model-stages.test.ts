import { expect, test } from "vitest";
import { ModelError } from "../../src/domain/errors.js";
import { textOf } from "../../src/domain/message.js";
import type { ModelResponse } from "../../src/domain/model.js";
import type { ModelPort } from "../../src/ports/model.js";
import {
  modelStep,
  RecordingHook,
  stopResponse,
  testAgent,
  textStream,
  toolCallResponse,
  toolOutcome,
  traceOf,
} from "../../src/testkit/index.js";
import { callsOf, expectLawful, hookAt, never, rejectionOf, toldResults } from "../support/turns.js";

const tools = { f: toolOutcome.ok("ran"), g: toolOutcome.ok("ran g") };
const lost = (chunks = textStream("half").slice(0, -1)) => modelStep.fail(new ModelError("transport", "lost"), chunks);

test("next at beforeModel changes this request only", async () => {
  const hook = hookAt("beforeModel", ({ options }, context) =>
    context.round === 1
      ? context.next({ options: { ...options, temperature: 1 }, requestContext: { trace: "t" } })
      : undefined,
  );
  await using t = await testAgent({
    script: [toolCallResponse("f", "c1"), stopResponse("done")],
    tools,
    hooks: [hook],
    config: { temperature: 0 },
  });
  await t.agent.runTurn("hi", "s");
  expect(t.model.requests.map(({ options }) => options.temperature)).toEqual([1, 0]);
  expect(t.model.requests.map(({ requestContext }) => requestContext)).toEqual([{ trace: "t" }, undefined]);
});

test("tools rewritten in beforeModel are what is advertised, and what this round's calls are looked up in", async () => {
  const hook = hookAt("beforeModel", ({ tools: defs }, context) =>
    context.round === 1 ? context.next({ tools: defs.filter(({ name }) => name !== "f") }) : undefined,
  );
  const script = [toolCallResponse("f", "c1"), toolCallResponse("f", "c2"), stopResponse("done")];
  await using t = await testAgent({ script, tools, hooks: [hook] });
  await t.agent.runTurn("hi", "s");
  expect(t.model.requests.map((request) => request.tools.map(({ name }) => name))).toEqual([
    ["g"],
    ["f", "g"],
    ["f", "g"],
  ]);
  expect(toldResults(t)).toEqual({ c1: expect.stringContaining("no tool named f") as string, c2: "ran" });
});

test("a tool made up in beforeModel that no provider has is unknown when it is called", async () => {
  const hook = hookAt("beforeModel", ({ tools: defs }, context) =>
    context.next({ tools: [...defs, { name: "ghost", description: "", inputSchema: { type: "object" } }] }),
  );
  const script = [toolCallResponse("ghost", "c1"), stopResponse("done")];
  await using t = await testAgent({ script, tools, hooks: [hook] });
  await t.agent.runTurn("hi", "s");
  expect(toldResults(t)["c1"]).toContain("ghost");
});

test("a reply rewritten in afterModel voids what was streamed before it is told and stored (C3)", async () => {
  const hook = hookAt("afterModel", ({ response }, context) =>
    context.next({ response: { ...response, parts: [{ type: "text", text: "clean" }] } }),
  );
  await using t = await testAgent({ script: [modelStep.stream(textStream("dirty"))], hooks: [hook] });
  expect((await t.agent.runTurn("hi", "s")).text).toBe("clean");
  const types = t.observer.events.map((event) => (event.type === "streamChunk" ? event.chunk.type : event.type));
  expect(types.slice(types.indexOf("reset"), types.indexOf("reset") + 2)).toEqual(["reset", "modelResponse"]);
  expect(t.observer.ofType("streamChunk").at(-1)?.chunk).toEqual({ type: "reset", reason: "rewritten" });
  expect(JSON.stringify(await t.agent.session("s"))).not.toContain("dirty");
});

test("a reply left as it is gives no reset", async () => {
  await using t = await testAgent({
    script: [modelStep.stream(textStream("fine"))],
    hooks: [hookAt("afterModel", () => undefined)],
  });
  await t.agent.runTurn("hi", "s");
  expect(t.observer.ofType("streamChunk").map(({ chunk }) => chunk.type)).not.toContain("reset");
});

test("calls that a hook takes out of a reply are not run, calls it puts in are", async () => {
  const hook = hookAt("afterModel", ({ response }, context) => {
    if (response.finishReason !== "tool-calls") return undefined;
    return context.next({ response: callsOf("g") });
  });
  await using t = await testAgent({ script: [callsOf("f", "f"), stopResponse("done")], tools, hooks: [hook] });
  await t.agent.runTurn("hi", "s");
  expect(t.tools.execRecords.map(({ toolName }) => toolName)).toEqual(["g"]);
  await expectLawful(t, "s");
});

test("retry asks once more and voids what was streamed; maxModelAttempts a round bounds it", async () => {
  const spy = new RecordingHook({ name: "spy", stages: ["modelError"] });
  spy.replyWhen("modelError", (_, context) => context.retry());
  await using t = await testAgent({ script: [lost(), lost(), lost()], hooks: [spy] });
  expect((await rejectionOf(t.agent.runTurn("hi", "s"))).kind).toBe("model");
  expect(t.model.callCount).toBe(3);
  expect(spy.stagesOf("modelError").map(({ attempt, phase }) => [attempt, phase])).toEqual([
    [1, "stream"],
    [2, "stream"],
    [3, "stream"],
  ]);
  expect(traceOf(t.observer).filter((line) => line.includes("reset"))).toHaveLength(2);
  const replies = (await t.agent.session("s")).messages.filter((message) => message.role === "assistant");
  expect(replies).toMatchObject([{ stopped: "error", parts: [{ text: "half" }] }]);
});

test("a retry that is answered leaves no trace of the failed attempt in the session", async () => {
  const hook = hookAt("modelError", (_, context) => context.retry());
  await using t = await testAgent({ script: [lost(), stopResponse("whole")], hooks: [hook] });
  expect((await t.agent.runTurn("hi", "s")).text).toBe("whole");
  expect((await t.agent.session("s")).messages.slice(1)).toMatchObject([{ parts: [{ type: "text", text: "whole" }] }]);
  expect((await t.agent.usage("s"))?.turn.modelCalls).toBe(2);
});

test("the first retry wins, and the other hooks are told all the same (H1)", async () => {
  const [outer, inner] = ["outer", "inner"].map((name) => new RecordingHook({ name, stages: ["modelError"] }));
  inner?.replyWhen("modelError", (_, context) => context.retry());
  const hooks = [outer, inner].filter((hook) => hook !== undefined);
  await using t = await testAgent({ script: [lost(), stopResponse("whole")], hooks });
  await t.agent.runTurn("hi", "s");
  expect(outer?.kinds).toEqual(["modelError"]);
});

const phases: readonly (readonly [string, object])[] = [
  [
    "prepare",
    {
      config: {
        toModelMessages: () => {
          throw new Error("no");
        },
      },
    },
  ], // prettier
  ["prepare", { config: { system: () => Promise.reject(new Error("no")) } }],
  ["send", { script: [lost([])] }],
  ["stream", { script: [lost()] }],
];

test.each(phases)("modelError hears of a failure in phase %s", async (phase, options) => {
  const spy = new RecordingHook({ name: "spy", stages: ["modelError"] });
  await using t = await testAgent({ ...options, hooks: [spy] });
  await rejectionOf(t.agent.runTurn("hi", "s"));
  expect(spy.stagesOf("modelError")).toMatchObject([{ phase, attempt: 1 }]);
  expect((await t.agent.usage("s"))?.turn.modelCalls).toBe(phase === "prepare" ? 0 : 1);
});

test("onSettled from beforeModel runs when that request ended, before a retry (H4)", async () => {
  const log: string[] = [];
  const hook = hookAt(["beforeModel", "modelError"], (stage, context) => {
    if (stage.kind === "modelError") return context.retry();
    log.push("before");
    context.onSettled(() => void log.push("settled"));
    return undefined;
  });
  await using t = await testAgent({ script: [lost(), stopResponse("whole")], hooks: [hook] });
  await t.agent.runTurn("hi", "s");
  expect(log).toEqual(["before", "settled", "before", "settled"]);
});

test("a failed attempt's usage counts like any other", async () => {
  const failing = modelStep.fail(new ModelError("transport", "lost", { usage: { outputTokens: 5 } }));
  const hook = hookAt("modelError", (_, context) => context.retry());
  const whole: ModelResponse = { ...stopResponse("whole"), usage: { outputTokens: 2 } };
  await using t = await testAgent({ script: [failing, whole], hooks: [hook] });
  expect((await t.agent.runTurn("hi", "s")).usage).toEqual({ outputTokens: 7 });
});

const hostileModels: readonly (readonly [string, () => unknown])[] = [
  [
    "throws at once",
    () => {
      throw new TypeError("sync");
    },
  ], // prettier
  ["rejects with undefined", () => Promise.reject(undefined as unknown as Error)],
  ["answers with nothing", () => Promise.resolve()],
  ["answers with text", () => Promise.resolve("hi")],
  ["answers with parts that are none", () => Promise.resolve({ parts: [null], finishReason: "stop" })],
  [
    "answers what JSON cannot hold",
    () => Promise.resolve({ parts: [{ type: "text", text: 7n }], finishReason: "stop" }),
  ],
];

test.each(hostileModels)("a model port that %s fails the turn as a model, and the session goes on", async (_, chat) => {
  let broken = true;
  const model = { chat: () => (broken ? chat() : Promise.resolve(stopResponse("back"))) } as unknown as ModelPort;
  await using t = await testAgent({ model });
  const error = await rejectionOf(t.agent.runTurn("hi", "s"));
  expect(error.kind).toBe("model");
  expect(error.cause).toBeInstanceOf(ModelError);
  broken = false;
  expect((await t.agent.runTurn("again", "s")).text).toBe("back");
});

test("the loop is decided by the calls present, not by finishReason (L6)", async () => {
  const stopWithCalls: ModelResponse = { ...callsOf("f"), finishReason: "stop" };
  const callsWithout: ModelResponse = { ...stopResponse("done"), finishReason: "tool-calls" };
  await using t = await testAgent({ script: [stopWithCalls, callsWithout], tools });
  expect(await t.agent.runTurn("hi", "s")).toMatchObject({ status: "completed", text: "done", rounds: 2 });
  expect(t.tools.execRecords).toHaveLength(1);
});

test("a reply cut by the output limit runs none of its calls, and the model is told (L6)", async () => {
  const cut: ModelResponse = { ...callsOf("f", "g"), finishReason: "length" };
  const spy = new RecordingHook({ name: "spy", stages: ["beforeTool", "afterTool"] });
  await using t = await testAgent({ script: [cut, stopResponse("shorter")], tools, hooks: [spy] });
  const result = await t.agent.runTurn("hi", "s");
  expect(t.tools.execRecords).toEqual([]);
  expect(result.exchanges.map(({ outcome }) => outcome)).toEqual(["not-started", "not-started"]);
  expect(toldResults(t)["c1"]).toMatch(/output limit was hit/i);
  expect(spy.kinds).toEqual(["afterTool", "afterTool"]);
});

test("a model that is always cut stops at the round limit (L1, L6)", async () => {
  const cut: ModelResponse = { ...callsOf("f"), finishReason: "length" };
  await using t = await testAgent({ script: [cut, cut], tools, config: { maxToolRounds: 1 } });
  expect((await rejectionOf(t.agent.runTurn("hi", "s"))).kind).toBe("tool-loop-exceeded");
  await expectLawful(t, "s");
});

test("hooks that always go on stop at the limit of model calls (L1)", async () => {
  const hook = hookAt("beforeEnd", (_, context) => context.goOn());
  const script = Array.from({ length: 3 }, () => stopResponse("more"));
  await using t = await testAgent({ script, hooks: [hook], config: { maxToolRounds: 2 } });
  expect((await rejectionOf(t.agent.runTurn("hi", "s"))).kind).toBe("tool-loop-exceeded");
  expect(t.model.callCount).toBe(3);
});

test("a reply without parts is stored and left out of requests", async () => {
  await using t = await testAgent({ script: [stopResponse(""), stopResponse("two")] });
  expect(await t.agent.runTurn("hi", "s")).toMatchObject({ status: "completed", text: "" });
  await t.agent.runTurn("again", "s");
  expect((await t.agent.session("s")).messages).toHaveLength(4);
  expect(t.model.requests[1]?.messages.map((message) => textOf(message))).toEqual(["hi", "again"]);
});

test("a model that never answers and no abort keep only the turn waiting, not the agent (T1)", async () => {
  let deaf = true;
  const model: ModelPort = { chat: () => (deaf ? never() : Promise.resolve(stopResponse("other"))) };
  await using t = await testAgent({ model, config: { drainMs: 0 } });
  void t.agent.startTurn("hi", "s");
  await t.runtime.advance(0);
  deaf = false;
  expect((await t.agent.runTurn("hi", "other")).text).toBe("other");
  const closing = t.agent.shutdown();
  await t.runtime.advance(1_000);
  await closing;
});
