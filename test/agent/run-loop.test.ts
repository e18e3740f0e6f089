import { expect, test } from "vitest";
import { runLoop } from "../../src/agent/run-loop.js";
import { assistantMessage, userMessage } from "../../src/domain/message.js";
import {
  modelStep,
  RecordingCompressor,
  RecordingHook,
  RecordingObserver,
  RecordingToolProvider,
  ScriptedModel,
  stopResponse,
  testConfig,
  testRuntime,
  toolOutcome,
} from "../../src/testkit/index.js";
import { calling, linesOf, reply, user } from "../support/conversations.js";
import { callsOf, rejectionOf, terminals } from "../support/turns.js";

const config = testConfig();
const ask = [userMessage("hi")];
const tools = () => [new RecordingToolProvider().add("f", toolOutcome.ok("fine"))];

test("a loop is one turn without session: the same events, hooks and result, and new messages only", async () => {
  const model = new ScriptedModel([callsOf("f"), stopResponse("done")]);
  const [observer, hook] = [new RecordingObserver(), new RecordingHook()];
  const given = [user("earlier"), reply("said"), userMessage("hi")];
  const result = await runLoop(given, { model, tools: tools(), observers: [observer], hooks: [hook], config });
  expect(result).toMatchObject({ status: "completed", text: "done", rounds: 2 });
  expect(linesOf(result.messages)).toEqual(["calls c1", "c1 = fine", "assistant done"]);
  expect(linesOf(model.requests[1]?.messages)).toEqual([
    "user earlier",
    "assistant said",
    "user hi",
    "calls c1",
    "c1 = fine",
  ]);
  expect(terminals(observer.events)).toEqual(["turnCompleted"]);
  expect(hook.kinds.at(0)).toBe("beforeTurn");
  expect(hook.kinds.at(-1)).toBe("afterTurn");
});

test("what was given is neither frozen nor changed", async () => {
  const given = [{ role: "user" as const, content: "hi" }];
  await runLoop(given, { model: new ScriptedModel([stopResponse("done")]), config });
  expect(given).toEqual([{ role: "user", content: "hi" }]);
  expect(Object.isFrozen(given[0])).toBe(false);
});

test("calls without result in what was given are repaired, and the results are among the new messages (S4)", async () => {
  const model = new ScriptedModel([stopResponse("done")]);
  const result = await runLoop([user("go"), calling("a", "c1"), userMessage("and now?")], { model, config });
  const repaired = expect.stringMatching(/^c1 = !.*unknown/);
  expect(linesOf(model.requests[0]?.messages)).toEqual(["user go", "calls c1", repaired, "user and now?"]);
  expect(linesOf(result.messages)).toEqual([repaired, "assistant done"]);
});

test.each([
  ["nothing", []],
  ["a reply at the end", [userMessage("hi"), assistantMessage("hello")]],
  ["no message", ["hi" as never]],
])("a loop over %s is refused as invalid input (T1)", async (_, given) => {
  const model = new ScriptedModel();
  expect(await rejectionOf(runLoop(given, { model, config }))).toMatchObject({ kind: "invalid-input" });
  expect(model.callCount).toBe(0);
});

test("a compressor may show or replace; to go on in a new session there is none (C1, S5)", async () => {
  const given = [user("u0", "x".repeat(4_000)), reply("a0"), user("u1"), reply("a1"), userMessage("hi")];
  const summary = userMessage("summary");
  const thread = {
    type: "newThread",
    messages: [summary],
    newSessionId: "child",
    messagesBefore: 5,
    messagesAfter: 1,
  } as const;
  for (const [action, first] of [
    [{ type: "replace", messages: [summary] }, "user summary"],
    [{ type: "view", messages: [summary] }, "user summary"],
    [thread, `user ${"x".repeat(4_000)}`],
  ] as const) {
    const model = new ScriptedModel([stopResponse("done")]);
    const result = await runLoop(given, { model, config, compressors: [new RecordingCompressor([action])] });
    expect(linesOf(model.requests[0]?.messages)[0]).toBe(first);
    expect(linesOf(result.messages)).toEqual(["assistant done"]);
  }
});

test("an abort ends a loop as aborted; one before it begins asks nobody (L5)", async () => {
  const runtime = testRuntime();
  const controller = new AbortController();
  const model = new ScriptedModel([modelStep.hang()]);
  const running = runLoop(ask, { model, config, runtime, signal: controller.signal });
  await runtime.advance(0);
  controller.abort();
  expect((await running).status).toBe("aborted");
  const early = await runLoop(ask, { model, config, runtime, signal: controller.signal });
  expect(early.status).toBe("aborted");
  expect(model.callCount).toBe(1);
  expect(runtime.pendingTimers).toBe(0);
});

test("loops share nothing: two at once over one list give each its own answer", async () => {
  const models = ["one", "two"].map((text) => new ScriptedModel([callsOf("f"), stopResponse(text)]));
  const results = await Promise.all(models.map((model) => runLoop(ask, { model, tools: tools(), config })));
  expect(results.map(({ text }) => text)).toEqual(["one", "two"]);
  expect(ask).toHaveLength(1);
});
