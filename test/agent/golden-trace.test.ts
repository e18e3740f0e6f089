import { expect, test } from "vitest";
import type { Stage } from "../../src/domain/stage.js";
import {
  modelStep,
  RecordingHook,
  RecordingObserver,
  stopResponse,
  testAgent,
  textStream,
  toolCallResponse,
  toolCallsResponse,
  toolOutcome,
  traceOf,
} from "../../src/testkit/index.js";

const twoCalls = toolCallsResponse(
  { id: "c1", name: "weather", arguments: { city: "Bern" } },
  { id: "c2", name: "clock", arguments: {} },
);
const twoTools = { weather: toolOutcome.ok("sunny"), clock: toolOutcome.ok("noon") };

test("a turn with two tools, two hooks and two observers tells this story, to both observers", async () => {
  const second = new RecordingObserver();
  const hooks = [new RecordingHook({ name: "a" }), new RecordingHook({ name: "b" })];
  await using t = await testAgent({
    script: [twoCalls, stopResponse("done")],
    tools: twoTools,
    hooks,
    observers: [second],
  });
  const result = await t.agent.runTurn("hi");
  expect(traceOf(t.observer)).toEqual([
    "turnStarted",
    'messageAdded user "hi"',
    "toolsResolved weather clock",
    "roundStarted 1",
    "messageStarted",
    "modelResponse tool-calls",
    "toolCallPending c1 weather",
    "toolCallPending c2 clock",
    "toolCallStarted c1 weather",
    "toolCallStarted c2 clock",
    "toolCallResult c1 completed",
    "toolCallResult c2 completed",
    "roundEnded 1",
    "roundStarted 2",
    "messageStarted",
    "modelResponse stop",
    "roundEnded 2",
    "turnCompleted",
  ]);
  expect(second.events).toEqual(t.observer.events);
  expect(result).toMatchObject({ status: "completed", text: "done", rounds: 2 });
  t.assertDone();
});

test("a hook is asked at these stages of a turn with one call, in this order", async () => {
  const hook = new RecordingHook({ name: "a" });
  const script = [toolCallResponse("weather", "c1"), stopResponse("done")];
  await using t = await testAgent({ script, tools: twoTools, hooks: [hook] });
  await t.agent.runTurn("hi");
  expect(hook.kinds).toEqual([
    ...["beforeTurn", "beforeTools", "chooseTools"],
    ...["beforeContext", "beforeModel", "afterModel"],
    ...["beforeTool", "admitTool", "afterTool", "settleTool"],
    "beforeContinue",
    ...["beforeContext", "beforeModel", "afterModel"],
    ...["beforeContinue", "beforeEnd", "afterTurn"],
  ]);
  expect(hook.stagesOf("beforeContinue").map((stage) => [stage.round, stage.natural, stage.exchanges.length])).toEqual([
    [1, false, 1],
    [2, true, 0],
  ]);
});

test("two calls are prepared, then admitted in source order, and each is settled after its own after hooks", async () => {
  const hook = new RecordingHook({ name: "a", stages: ["beforeTool", "admitTool", "afterTool", "settleTool"] });
  await using t = await testAgent({ script: [twoCalls, stopResponse("done")], tools: twoTools, hooks: [hook] });
  await t.agent.runTurn("hi");
  const steps = hook.records.map(({ stage }) => `${stage.kind} ${callIdOf(stage) ?? ""}`);
  expect(steps.slice(0, 4)).toEqual(["beforeTool c1", "beforeTool c2", "admitTool c1", "admitTool c2"]);
  for (const id of ["c1", "c2"]) {
    expect(steps.filter((step) => step.endsWith(id)).slice(2)).toEqual([`afterTool ${id}`, `settleTool ${id}`]);
  }
});

function callIdOf(stage: Stage): string | undefined {
  if (stage.kind === "admitTool") return stage.invocation.callId;
  if (stage.kind === "settleTool") return stage.exchange.callId;
  return "call" in stage ? stage.call.id : undefined;
}

test("chunks come between the start of a message and its response, one event a chunk", async () => {
  await using t = await testAgent({ script: [modelStep.stream(textStream("done", 2))] });
  await t.agent.runTurn("hi");
  expect(traceOf(t.observer).slice(4, 9)).toEqual([
    "messageStarted",
    'streamChunk textDelta "do"',
    'streamChunk textDelta "ne"',
    "streamChunk finish stop",
    "modelResponse stop",
  ]);
});

test("results are told in the order in which the calls end, and returned in source order (U4)", async () => {
  await using t = await testAgent({
    script: [twoCalls, stopResponse("done")],
    tools: { weather: toolOutcome.held(), clock: toolOutcome.held() },
  });
  const running = t.agent.runTurn("hi");
  await Promise.all([t.tools.started("c1"), t.tools.started("c2")]);
  t.tools.settle("c2", toolOutcome.ok("noon"));
  await t.runtime.advance(0);
  expect(traceOf(t.observer).at(-1)).toBe("toolCallResult c2 completed");
  t.tools.settle("c1", toolOutcome.ok("sunny"));
  const result = await running;
  expect(result.toolResults.map((message) => message.toolCallId)).toEqual(["c1", "c2"]);
  expect(t.observer.ofType("toolCallResult").map((event) => event.exchange.callId)).toEqual(["c2", "c1"]);
});
