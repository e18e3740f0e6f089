import { expect, test } from "vitest";
import type { JsonObject } from "../../src/domain/json.js";
import {
  okResult,
  RecordingHook,
  RecordingToolProvider,
  stopResponse,
  testAgent,
  type ToolProviderMembers,
  toolCallsResponse,
  toolDef,
  toolOutcome,
} from "../../src/testkit/index.js";
import { call, callsOf, expectLawful, hookAt, rejectionOf, toldResults } from "../support/turns.js";

/** Held tools: `a` and `b` run side by side, `one` alone. */
const heldTools = (members: ToolProviderMembers = {}) =>
  new RecordingToolProvider(members)
    .add("a", toolOutcome.held())
    .add("b", toolOutcome.held())
    .add({ ...toolDef("one"), executionMode: "sequential" }, toolOutcome.held());

const running = (tools: RecordingToolProvider): string[] =>
  tools.execRecords.filter(({ outcome }) => outcome === "running").map(({ callId }) => callId);

test("neighbouring parallel calls run together, a sequential one alone, in source order (U2)", async () => {
  const tools = heldTools();
  await using t = await testAgent({ script: [callsOf("a", "b", "one", "one", "a"), stopResponse("done")], tools });
  const turn = t.agent.runTurn("hi", "s");
  for (const wave of [["c1", "c2"], ["c3"], ["c4"], ["c5"]]) {
    await t.runtime.advance(0);
    expect(running(tools)).toEqual(wave);
    for (const id of wave.toReversed()) tools.settle(id, toolOutcome.ok(id));
  }
  expect((await turn).exchanges.map(({ callId }) => callId)).toEqual(["c1", "c2", "c3", "c4", "c5"]);
  expect(Object.values(toldResults(t))).toEqual(["c1", "c2", "c3", "c4", "c5"]);
});

test("all calls are prepared before the first runs (U2)", async () => {
  const tools = heldTools();
  await using t = await testAgent({ script: [callsOf("a", "one"), stopResponse("done")], tools });
  const turn = t.agent.runTurn("hi", "s");
  await t.runtime.advance(0);
  expect(t.observer.ofType("toolCallPending").map((event) => event.call.id)).toEqual(["c1", "c2"]);
  tools.settle("c1", toolOutcome.ok());
  await tools.started("c2");
  tools.settle("c2", toolOutcome.ok());
  expect((await turn).status).toBe("completed");
});

test("toolExecution: sequential prepares, runs and settles each call before the next (U2)", async () => {
  const spy = new RecordingHook({ name: "spy", stages: ["beforeTool", "admitTool", "settleTool"] });
  await using t = await testAgent({
    script: [callsOf("a", "b"), stopResponse("done")],
    tools: { a: toolOutcome.ok(), b: toolOutcome.ok() },
    hooks: [spy],
    config: { toolExecution: "sequential" },
  });
  await t.agent.runTurn("hi", "s");
  expect(spy.kinds).toEqual(["beforeTool", "admitTool", "settleTool", "beforeTool", "admitTool", "settleTool"]);
});

test("in a sequential batch nothing is prepared after a call was not admitted, and the cause is told (U2)", async () => {
  const spy = new RecordingHook({ name: "spy", stages: ["beforeTool", "admitTool"] });
  spy.throwWhen("admitTool", new Error("no"));
  await using t = await testAgent({
    script: [callsOf("a", "b")],
    tools: { a: toolOutcome.ok(), b: toolOutcome.ok() },
    hooks: [spy],
    config: { toolExecution: "sequential" },
  });
  const error = await rejectionOf(t.agent.runTurn("hi", "s"));
  expect(spy.kinds).toEqual(["beforeTool", "admitTool"]);
  expect(error.message).toContain("not admitted");
  expect(t.tools.execRecords).toEqual([]);
  await expectLawful(t, "s");
});

test("no more than maxParallelTools calls run at once, and a free place is taken at once (U2)", async () => {
  const tools = heldTools();
  const config = { maxParallelTools: 2 };
  await using t = await testAgent({ script: [callsOf("a", "a", "a", "a"), stopResponse("done")], tools, config });
  const turn = t.agent.runTurn("hi", "s");
  await t.runtime.advance(0);
  expect(running(tools)).toEqual(["c1", "c2"]);
  tools.settle("c2", toolOutcome.ok());
  await t.runtime.advance(0);
  expect(running(tools)).toEqual(["c1", "c3"]);
  for (const id of ["c1", "c3"]) tools.settle(id, toolOutcome.ok());
  await t.runtime.advance(0);
  tools.settle("c4", toolOutcome.ok());
  expect((await turn).status).toBe("completed");
});

const byFile = { conflictKeys: ({ arguments: args }: { arguments: JsonObject }) => [String(args["file"])] };
const onFile = (id: string, file: string) => call("a", id, { file });

test("calls that share a conflict key run in successive waves (U2)", async () => {
  const tools = heldTools(byFile);
  const reply = toolCallsResponse(onFile("c1", "x"), onFile("c2", "y"), onFile("c3", "x"), onFile("c4", "y"));
  await using t = await testAgent({ script: [reply, stopResponse("done")], tools });
  const turn = t.agent.runTurn("hi", "s");
  for (const wave of [
    ["c1", "c2"],
    ["c3", "c4"],
  ]) {
    await t.runtime.advance(0);
    expect(running(tools)).toEqual(wave);
    for (const id of wave) tools.settle(id, toolOutcome.ok());
  }
  expect((await turn).status).toBe("completed");
});

test("conflict keys are made of the arguments that will run, and keys that cannot be told keep a call alone (U2)", async () => {
  const asked: JsonObject[] = [];
  const tools = heldTools({
    conflictKeys: ({ arguments: args }) => {
      asked.push(args);
      if (args["file"] === "?") throw new Error("no key");
      return [String(args["file"])];
    },
  });
  const rewrite = new RecordingHook({ name: "rewrite", stages: ["beforeTool"] }).rewriteWhen("beforeTool", (stage) => ({
    call: { ...stage.call, arguments: { file: stage.call.id === "c2" ? "?" : "x" } },
  }));
  const reply = toolCallsResponse(onFile("c1", "1"), onFile("c2", "2"), onFile("c3", "3"));
  await using t = await testAgent({ script: [reply, stopResponse("done")], tools, hooks: [rewrite] });
  const turn = t.agent.runTurn("hi", "s");
  for (const id of ["c1", "c2", "c3"]) {
    await t.runtime.advance(0);
    expect(running(tools)).toEqual([id]);
    tools.settle(id, toolOutcome.ok());
  }
  expect((await turn).status).toBe("completed");
  expect(asked.map((args) => args["file"])).toEqual(["x", "?", "x"]);
});

test("terminate on every result of a batch ends the turn after it (U6)", async () => {
  const ending = toolOutcome.ok(okResult("bye", { terminate: true }));
  await using t = await testAgent({ script: [callsOf("a", "a")], tools: { a: ending } });
  expect(await t.agent.runTurn("hi", "s")).toMatchObject({ status: "completed", rounds: 1 });
  expect(t.observer.ofType("turnCompleted")).toHaveLength(1);
  await expectLawful(t, "s");
});

test("terminate on some results only lets the turn go on (U6)", async () => {
  const ending = toolOutcome.ok(okResult("bye", { terminate: true }));
  await using t = await testAgent({
    script: [callsOf("a", "b"), stopResponse("on")],
    tools: { a: ending, b: toolOutcome.ok() },
  });
  expect((await t.agent.runTurn("hi", "s")).text).toBe("on");
});

test("a hook may take terminate off, or put it on (U6)", async () => {
  const ending = toolOutcome.ok(okResult("bye", { terminate: true }));
  const set = (terminate: boolean) => hookAt("afterTool", (_, context) => context.patch({ terminate }), "set");
  await using on = await testAgent({ script: [callsOf("a")], tools: { a: toolOutcome.ok() }, hooks: [set(true)] });
  expect((await on.agent.runTurn("hi", "s")).rounds).toBe(1);
  const script = [callsOf("a"), stopResponse("on")];
  await using off = await testAgent({ script, tools: { a: ending }, hooks: [set(false)] });
  expect((await off.agent.runTurn("hi", "s")).text).toBe("on");
});

test("a stop in an after stage keeps what has not begun from beginning in a sequential batch (U2)", async () => {
  const stop = new RecordingHook({ name: "stop", stages: ["afterTool"] }).stopWhen("afterTool", "seen enough");
  await using t = await testAgent({
    script: [callsOf("a", "b")],
    tools: { a: toolOutcome.ok(), b: toolOutcome.ok() },
    hooks: [stop],
    config: { toolExecution: "sequential" },
  });
  const result = await t.agent.runTurn("hi", "s");
  expect(result).toMatchObject({ status: "stopped", stopReason: "seen enough" });
  expect(result.exchanges.map(({ outcome }) => outcome)).toEqual(["completed", "not-started"]);
});
