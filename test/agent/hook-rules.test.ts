import { expect, test } from "vitest";
import { defineHook } from "../../src/adapters/hooks/define-hook.js";
import { CompositionError } from "../../src/domain/errors.js";
import type { StageKind } from "../../src/domain/stage.js";
import { okResult } from "../../src/domain/tool.js";
import type { ToolHooks } from "../../src/ports/tool-provider.js";
import {
  RecordingHook,
  RecordingToolProvider,
  stopResponse,
  testAgent,
  toolCallResponse,
  toolDef,
  toolOutcome,
} from "../../src/testkit/index.js";
import { callsOf, expectLawful, hookAt, never, rejectionOf, toldResults } from "../support/turns.js";

const script = () => [toolCallResponse("f", "c1"), stopResponse("done")];
const tools = { f: toolOutcome.ok("real") };
const spies = (stages: readonly StageKind[], ...names: readonly string[]): RecordingHook[] =>
  names.map((name) => new RecordingHook({ name, stages }));

test("after a stop in beforeTurn only hooks that were entered hear of the end, in reverse (H1)", async () => {
  const log: string[] = [];
  const hook = (name: string) =>
    hookAt(
      ["beforeTurn", "afterTurn"],
      (stage, context) => {
        log.push(`${name} ${stage.kind}`);
        return name === "b" && stage.kind === "beforeTurn" ? context.stop("b said so") : undefined;
      },
      name,
    ); // prettier
  const watcher = hookAt("afterTurn", () => void log.push("watcher afterTurn"), "watcher");
  await using t = await testAgent({ hooks: [hook("a"), hook("b"), hook("c"), watcher] });
  await t.agent.runTurn("hi", "s");
  expect(log).toEqual(["a beforeTurn", "b beforeTurn", "watcher afterTurn", "b afterTurn", "a afterTurn"]);
});

test("a call whose beforeTool aborted is heard of by the hooks that were entered; the calls behind it by all (H1)", async () => {
  const hooks = spies(["beforeTool", "afterTool"], "outer", "middle", "inner");
  hooks[1]?.abortWhen((stage) => stage.kind === "beforeTool" && stage.call.id === "c2", "no");
  await using t = await testAgent({ script: [callsOf("f", "f", "f")], tools, hooks });
  await rejectionOf(t.agent.runTurn("hi", "s"));
  const heard = hooks.map((hook) => hook.stagesOf("afterTool").map(({ call }) => call.id));
  expect(heard).toEqual([
    ["c1", "c2", "c3"],
    ["c1", "c2", "c3"],
    ["c1", "c3"],
  ]);
});

test.each(["parallel", "sequential"] as const)(
  "a call at which beforeTool stopped is heard of by the hooks that were entered, in %s batches (H1)",
  async (toolExecution) => {
    const hooks = spies(["beforeTool", "afterTool", "settleTool"], "outer", "inner");
    hooks[0]?.stopWhen("beforeTool", "enough");
    await using t = await testAgent({ script: [callsOf("f")], tools, hooks, config: { toolExecution } });
    expect((await t.agent.runTurn("hi", "s")).status).toBe("stopped");
    expect(hooks.map(({ kinds }) => kinds)).toEqual([["beforeTool", "afterTool", "settleTool"], []]);
    await expectLawful(t, "s");
  },
);

test("where a hook threw at beforeTool with error-result, hooks behind it hear nothing of the call (H1)", async () => {
  const outer = new RecordingHook({ name: "outer", onFailure: { beforeTool: "error-result" } });
  const [inner] = spies(["beforeTool", "afterTool"], "inner");
  outer.throwWhen("beforeTool", new Error("secret"));
  await using t = await testAgent({ script: script(), tools, hooks: inner === undefined ? [] : [outer, inner] });
  expect((await t.agent.runTurn("hi", "s")).text).toBe("done");
  expect(toldResults(t)["c1"]).toContain("refused");
  expect(toldResults(t)["c1"]).not.toContain("secret");
  expect(inner?.kinds).toEqual([]);
  expect(outer.stagesOf("afterTool")).toMatchObject([{ answered: true, result: { isError: true } }]);
});

test.each(["throws", "hangs"])(
  "a hook that %s at afterTool with error-result withholds the result from model, store and events (H1)",
  async (how) => {
    const redact = {
      ...hookAt(
        "afterTool",
        () => {
          if (how === "hangs") return never();
          throw new Error("cannot redact");
        },
        "redact",
      ), // prettier
      onFailure: { afterTool: "error-result" as const },
    };
    await using t = await testAgent({ script: script(), tools, hooks: [redact], config: { hookTimeoutMs: 50 } });
    const { result } = t.agent.startTurn("hi", "s");
    await t.runtime.advance(100);
    const told = [(await result).exchanges, t.observer.events, t.model.requests, await t.agent.session("s")];
    expect(JSON.stringify(told)).not.toContain('"real"');
    expect(toldResults(t)["c1"]).toContain("withheld");
  },
);

test("an answer at toolError takes the place of the error, the first one wins, and afterTool sees both (H1)", async () => {
  const hooks = spies(["toolError", "afterTool"], "outer", "inner");
  hooks[0]?.answerWhen("toolError", "outer says");
  hooks[1]?.answerWhen("toolError", "inner says");
  await using t = await testAgent({ script: script(), tools: { f: toolOutcome.throws(new Error("bad")) }, hooks });
  const result = await t.agent.runTurn("hi", "s");
  expect(toldResults(t)["c1"]).toBe("inner says");
  expect(hooks[0]?.stagesOf("afterTool")).toMatchObject([
    { error: { kind: "invocation-failed" }, result: { isError: false } },
  ]);
  expect(result.exchanges).toMatchObject([{ outcome: "failed" }]);
});

test("a hook that changes a call's name has it looked up and validated again; the id stays", async () => {
  const provider = new RecordingToolProvider({
    validate: (name, args) =>
      name === "g" && args["n"] !== 1
        ? { ok: false, issues: [{ path: "/n", expected: "1" }] }
        : { ok: true, value: args },
  }); // prettier
  provider.add("f", toolOutcome.ok()).add(toolDef("g"), toolOutcome.ok("g ran"));
  const targets = [
    { name: "g", arguments: { n: 1 } },
    { name: "g", arguments: {} },
    { name: "ghost", arguments: {} },
  ];
  const hook = hookAt("beforeTool", ({ call: { id } }, context) => context.next({ call: { id, ...targets.shift()! } }));
  await using t = await testAgent({
    script: [callsOf("f", "f", "f"), stopResponse("done")],
    tools: provider,
    hooks: [hook],
  });
  await t.agent.runTurn("hi", "s");
  expect(toldResults(t)).toEqual({
    c1: "g ran",
    c2: expect.stringContaining("/n") as string,
    c3: expect.stringContaining("no tool named ghost") as string,
  });
  expect(provider.execRecords).toMatchObject([{ requestedName: "f", toolName: "g", callId: "c1" }]);
  await expectLawful(t, "s");
});

const settledAt: readonly StageKind[] = [
  "beforeTurn",
  "beforeTools",
  "beforeContext",
  "beforeModel",
  "afterModel",
  "beforeTool",
  "afterTool",
  "beforeContinue",
  "beforeEnd",
]; // prettier

test.each(settledAt)("onSettled from %s runs once, however the turn ends (H4)", async (kind) => {
  for (const end of ["completes", "aborts", "fails"]) {
    const counts = { asked: 0, settled: 0 };
    const hook = hookAt([kind, "afterTurn"], (stage, context) => {
      if (stage.kind !== kind) return;
      counts.asked += 1;
      context.onSettled(() => void (counts.settled += 1));
      if (end === "aborts") turn.abort();
      if (end === "fails" && kind !== "afterModel" && kind !== "afterTool") throw new Error("no");
    });
    await using t = await testAgent({ script: script(), tools, hooks: [hook] });
    const turn = t.agent.startTurn("hi", "s");
    await turn.result.catch(() => undefined);
    expect(counts.asked).toBeGreaterThan(0);
    expect(counts.settled).toBe(counts.asked);
  }
});

test("what onSettled runs comes last first, and one that throws or hangs is secondary (H4)", async () => {
  const log: string[] = [];
  const hook = hookAt("beforeTool", (_, context) => {
    context.onSettled(() => void log.push("first"));
    context.onSettled(() => never());
    context.onSettled(() => {
      log.push("last");
      throw new Error("cleanup");
    });
  });
  await using t = await testAgent({ script: script(), tools, hooks: [hook], config: { hookTimeoutMs: 50 } });
  const { result } = t.agent.startTurn("hi", "s");
  await t.runtime.advance(100);
  expect((await result).text).toBe("done");
  expect(log).toEqual(["last", "first"]);
  expect(t.observer.ofType("custom")).toHaveLength(2);
});

test("defineHook takes part in its stages only, and drives a turn like any hook (H5)", async () => {
  const hook = defineHook("define", {
    beforeTool: ({ call }, context) => context.answer(`answered ${call.name}`),
    beforeContinue: (_, context) => context.finish(),
  });
  expect(hook.stages).toEqual(["beforeTool", "beforeContinue"]);
  await using t = await testAgent({ script: [callsOf("f")], tools, hooks: [hook] });
  expect((await t.agent.runTurn("hi", "s")).toolResults).toMatchObject([{ content: [{ text: "answered f" }] }]);
  expect(() => defineHook("typo", { beforeTol: () => undefined } as never)).toThrow(CompositionError);
});

const owned = (hooks: ToolHooks) => new RecordingToolProvider({ hooks: () => hooks }).add("f", toolOutcome.ok("real"));
const boom = () => {
  throw new Error("own hook");
};
const hostileOwn: readonly (readonly [string, RecordingToolProvider, string])[] = [
  ["beforeExecute that throws", owned({ beforeExecute: boom }), "own hook"],
  ["beforeExecute that rejects", owned({ beforeExecute: () => Promise.reject(new Error("own hook")) }), "own hook"],
  ["beforeExecute that hangs", owned({ beforeExecute: never }), "took too long"],
  ["beforeExecute with invalid arguments", owned({ beforeExecute: () => ({ args: 7 as never }) }), "invalid"],
  ["beforeExecute with half a wish", owned({ beforeExecute: () => ({}) as never }), "invalid"],
  ["beforeExecute that returns text", owned({ beforeExecute: () => "no wish" as never }), "real"],
  ["beforeExecute that returns null", owned({ beforeExecute: () => null as never }), "real"],
  ["beforeExecute with a result", owned({ beforeExecute: () => ({ result: okResult("cached") }) }), "cached"],
  ["afterExecute that throws", owned({ afterExecute: boom }), "own hook"],
  ["afterExecute that hangs", owned({ afterExecute: never }), "took too long"],
  ["afterExecute with another result", owned({ afterExecute: () => okResult("shorter") }), "shorter"],
  ["afterExecute that returns what is no result", owned({ afterExecute: () => 7n as never }), "7"],
  [
    "hooks that throw when asked for",
    new RecordingToolProvider({ hooks: boom }).add("f", toolOutcome.ok()),
    "own hook",
  ],
];

test.each(hostileOwn)(
  "a tool with %s gives its call a result, and outer hooks still run (H2)",
  async (_, provider, text) => {
    const [outer] = spies(["beforeTool", "afterTool", "settleTool"], "outer");
    const hooks = outer === undefined ? [] : [outer];
    await using t = await testAgent({ script: script(), tools: provider, hooks, config: { hookTimeoutMs: 50 } });
    const { result } = t.agent.startTurn("hi", "s");
    await t.runtime.advance(100);
    expect((await result).text).toBe("done");
    expect(toldResults(t)["c1"]).toContain(text);
    expect(outer?.kinds).toEqual(["beforeTool", "afterTool", "settleTool"]);
    await expectLawful(t, "s");
  },
);

test("a tool's own hooks do not run where an outer hook answered (H2)", async () => {
  const provider = owned({ beforeExecute: boom, afterExecute: boom });
  const hook = hookAt("beforeTool", (_, context) => context.answer("outer"));
  await using t = await testAgent({ script: script(), tools: provider, hooks: [hook] });
  await t.agent.runTurn("hi", "s");
  expect(toldResults(t)["c1"]).toBe("outer");
});
