import { expect, test } from "vitest";
import { Defect, ToolError } from "../../src/domain/errors.js";
import type { JsonObject } from "../../src/domain/json.js";
import { errorResult, okResult, toolDef } from "../../src/testkit/builders.js";
import { RecordingToolProvider } from "../../src/testkit/fakes/recording-tool-provider.js";
import { toolOutcome } from "../../src/testkit/fakes/tool-outcome.js";
import { testToolContext } from "../../src/testkit/tool-context.js";

const call = (id: string, name: string, args: JsonObject = {}) => ({ id, name, arguments: args });
const run = (tools: RecordingToolProvider, id: string, name: string) =>
  tools.execute(call(id, name), testToolContext({ callId: id, requestedName: name, executionId: `x.${id}` }));

test("a single outcome holds for every call, a list is used up one a call, and a call id has its own", async () => {
  const failure = new Error("no line");
  const tools = new RecordingToolProvider()
    .add("clock", toolOutcome.ok("noon"))
    .add(toolDef("pay", "Pays."), [toolOutcome.error("no money"), toolOutcome.ok(okResult("paid"))])
    .forCall("c9", toolOutcome.throws(failure));
  expect(await run(tools, "c1", "clock")).toBe("noon");
  expect(await run(tools, "c2", "clock")).toBe("noon");
  expect(await run(tools, "c3", "pay")).toEqual(errorResult("no money"));
  await expect(run(tools, "c9", "pay")).rejects.toBe(failure);
  expect(await run(tools, "c4", "pay")).toEqual(okResult("paid"));
  tools.assertDone();
  expect(tools.execRecords.map((record) => record.outcome)).toEqual(["ok", "ok", "error", "threw", "ok"]);
});

test("an unknown or removed tool rejects with ToolError(unknown-tool) and is recorded as that", async () => {
  const tools = new RecordingToolProvider().add("clock", toolOutcome.ok("noon")).remove("clock");
  const error = await run(tools, "c1", "clock").catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ToolError);
  expect(error).toMatchObject({ kind: "unknown-tool" });
  expect(tools.execRecords[0]?.outcome).toBe("unknown-tool");
});

test("listings and executions are recorded in one order", async () => {
  const tools = new RecordingToolProvider({ name: "fake", trustAnnotations: true }).add("clock", toolOutcome.ok());
  expect((await tools.listTools()).map((tool) => tool.name)).toEqual(["clock"]);
  await run(tools, "c1", "clock");
  await tools.listTools();
  expect(tools.ops).toEqual([{ kind: "list" }, { kind: "execute", callId: "c1", toolName: "clock" }, { kind: "list" }]);
  expect(tools.listCallCount).toBe(2);
  expect(tools).toMatchObject({ name: "fake", trustAnnotations: true });
});

test("a record keeps the arguments as they were, frozen, beside the name that was asked for", async () => {
  const tools = new RecordingToolProvider().add("clock", toolOutcome.ok());
  const args = { zone: { name: "UTC" } };
  const context = testToolContext({ requestedName: "watch", executionId: "x.0" });
  await tools.execute(call("c1", "clock", args), context);
  args.zone.name = "changed";
  expect(tools.execRecords).toEqual([
    {
      requestedName: "watch",
      callId: "c1",
      executionId: "x.0",
      toolName: "clock",
      arguments: { zone: { name: "UTC" } },
      outcome: "ok",
    },
  ]);
  expect(Object.isFrozen(tools.execRecords[0]?.arguments["zone"])).toBe(true);
});

test("a hanging call waits for the abort, or for ever when it ignores it", async () => {
  const controller = new AbortController();
  const tools = new RecordingToolProvider()
    .add("slow", toolOutcome.hangs())
    .add("deaf", toolOutcome.hangs({ ignoreAbort: true }));
  const context = testToolContext({ signal: controller.signal });
  const slow = tools.execute(call("c1", "slow"), context);
  void tools.execute(call("c2", "deaf"), context);
  controller.abort();
  await expect(slow).rejects.toThrow("ToolError(aborted)");
  expect(tools.execRecords.map((record) => record.outcome)).toEqual(["aborted", "running"]);
  expect(() => tools.assertDone()).toThrow("call c2 has not settled");
});

test("held calls settle in the order the test chooses", async () => {
  const tools = new RecordingToolProvider().add("held", toolOutcome.held());
  const order: string[] = [];
  const runs = ["a", "b"].map((id) =>
    run(tools, id, "held").then((value) => order.push(`${id} ${JSON.stringify(value)}`)),
  );
  await tools.started("a");
  await tools.started("b");
  tools.settle("b", toolOutcome.ok("second"));
  await runs[1];
  tools.settle("a", toolOutcome.ok("first"));
  await runs[0];
  expect(order).toEqual(['b "second"', 'a "first"']);
  expect(() => tools.settle("a", toolOutcome.ok())).toThrow(Defect);
});

test("started may be asked before the call comes, and settling before it does is a defect", async () => {
  const tools = new RecordingToolProvider().add("held", toolOutcome.held());
  const started = tools.started("a");
  expect(() => tools.settle("a", toolOutcome.ok())).toThrow("no call of this id is held");
  const running = run(tools, "a", "held");
  await started;
  tools.settle("a", toolOutcome.throws("told to"));
  await expect(running).rejects.toBe("told to");
});

test("progress is published before the outcome", async () => {
  const partials: unknown[] = [];
  const tools = new RecordingToolProvider().add("slow", toolOutcome.progress([1, { done: 2 }], toolOutcome.ok("end")));
  const context = testToolContext({ progress: (partial) => void partials.push(partial) });
  expect(await tools.execute(call("c1", "slow"), context)).toBe("end");
  expect(partials).toEqual([1, { done: 2 }]);
});

test("a failing listing fails once, and listeners hear of changes until they stop", async () => {
  const tools = new RecordingToolProvider().failList(new Error("offline"));
  let told = 0;
  const stop = tools.onToolsChanged(() => void told++);
  await expect(tools.listTools()).rejects.toThrow("offline");
  expect(await tools.listTools()).toEqual([]);
  tools.add("clock", toolOutcome.ok());
  stop();
  tools.remove("clock");
  expect(told).toBe(1);
});

test("a list of outcomes that runs out is a defect, and one that is left over fails assertDone", async () => {
  const tools = new RecordingToolProvider().add("pay", [toolOutcome.ok()]);
  expect(() => tools.assertDone()).toThrow("0 of 1 steps of pay were used");
  await run(tools, "c1", "pay");
  tools.assertDone();
  await expect(run(tools, "c2", "pay")).rejects.toThrow("tool_script_exhausted at call 2 of pay (script had 1 steps)");
  expect(() => tools.assertDone()).toThrow("tool_script_exhausted");
  const unused = new RecordingToolProvider().add("pay", toolOutcome.ok()).forCall("c7", toolOutcome.ok());
  expect(() => unused.assertDone()).toThrow("no call c7 came");
});
