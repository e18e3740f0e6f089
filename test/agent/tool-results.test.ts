import { describe, expect, test } from "vitest";
import type { ToolProvider, ToolReturn } from "../../src/ports/tool-provider.js";
import {
  okResult,
  RecordingToolProvider,
  stopResponse,
  testAgent,
  toolCallResponse,
  toolOutcome,
  toolDef,
} from "../../src/testkit/index.js";
import {
  callsOf,
  expectLawful,
  hookAt,
  never,
  rejectionOf,
  resultsIn,
  resultText,
  toldResults,
} from "../support/turns.js";

const script = () => [toolCallResponse("f", "c1"), stopResponse("done")];

const thrown: readonly (readonly [string, unknown, string])[] = [
  ["undefined", undefined, "undefined"],
  ["null", null, "null"],
  ["text", "plain", "plain"],
  ["an object", { code: 7, message: "obj" }, "obj"],
  ["an error", new Error("bad"), "bad"],
  ["a bigint", 7n, "7"],
  ["a symbol", Symbol("odd"), "odd"],
  ["a revoked proxy", revoked(), "cannot be read"],
];

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

describe.each(thrown)("a tool that throws %s", (_, value, text) => {
  test("gives an error result that says it, and the turn goes on (U3)", async () => {
    const provider: ToolProvider = {
      listTools: () => [toolDef("f")],
      execute: () => {
        throw value;
      },
    };
    await using t = await testAgent({ script: script(), providers: [provider] });
    const result = await t.agent.runTurn("hi", "s");
    expect(result.exchanges).toMatchObject([{ outcome: "failed", result: { isError: true } }]);
    expect(toldResults(t)["c1"]).toContain(text);
  });
});

const cyclic: Record<string, unknown> = { name: "x" };
cyclic["self"] = cyclic;

const returned: readonly (readonly [string, ToolReturn, string])[] = [
  ["nothing", undefined, ""],
  ["null", null, "null"],
  ["a frozen result", Object.freeze(okResult("cold")), "cold"],
  ["a cycle", cyclic, "x"],
  [
    "a proxy that throws",
    new Proxy(
      { a: 1 },
      {
        get: () => {
          throw new Error("trap");
        },
      },
    ),
    "trap",
  ], // prettier
  ["a revoked proxy", revoked(), "proxy"],
  ["a map of bigints", new Map([["n", 7n]]), "7"],
  ["an error", new Error("told"), "told"],
  ["a function", () => 1, "function"],
  ["NaN", Number.NaN, "NaN"],
  ["a result with a bad part", { content: [{ type: "image" }], isError: false } as unknown as object, "image"],
];

test.each(returned)("a tool that returns %s gives a result the model can read (U3)", async (_, value, text) => {
  await using t = await testAgent({ script: script(), tools: { f: toolOutcome.ok(value) } });
  expect((await t.agent.runTurn("hi", "s")).text).toBe("done");
  expect(toldResults(t)["c1"]).toContain(text);
  expect(JSON.parse(JSON.stringify((await t.agent.session("s")).messages))).toHaveLength(4);
});

test("a result beyond maxToolResultBytes is cut at a code point, with a note (U3)", async () => {
  const config = { maxToolResultBytes: 100 };
  await using t = await testAgent({ script: script(), tools: { f: toolOutcome.ok("🔥".repeat(5_000)) }, config });
  await t.agent.runTurn("hi", "s");
  const text = toldResults(t)["c1"] ?? "";
  expect(text.isWellFormed()).toBe(true);
  expect(new TextEncoder().encode(text).length).toBeLessThanOrEqual(100);
  expect(text).not.toBe("🔥".repeat(25));
});

test("what a tool throws is bounded too (U3)", async () => {
  const config = { maxToolResultBytes: 100 };
  const tools = { f: toolOutcome.throws(new Error("x".repeat(10_000))) };
  await using t = await testAgent({ script: script(), tools, config });
  await t.agent.runTurn("hi", "s");
  expect(toldResults(t)["c1"]?.length).toBeLessThanOrEqual(100);
});

test("a tool that fails leaves its siblings' results alone (U3)", async () => {
  const tools = { a: toolOutcome.ok("fine"), b: toolOutcome.throws(new Error("bad")) };
  await using t = await testAgent({ script: [callsOf("a", "b", "a"), stopResponse("done")], tools });
  await t.agent.runTurn("hi", "s");
  expect(toldResults(t)).toMatchObject({ c1: "fine", c2: expect.stringContaining("bad") as string, c3: "fine" });
});

const held = () =>
  new RecordingToolProvider().add("a", toolOutcome.held()).add("b", toolOutcome.held()).add("c", toolOutcome.held());
const stored = (t: Awaited<ReturnType<typeof testAgent>>): string[] =>
  resultsIn(t.sessions.saveSnapshots().at(-1)?.session.messages ?? []).map(resultText);

test("each result is stored and published when its call ends, not at the end of the batch (U4)", async () => {
  const tools = held();
  await using t = await testAgent({ script: [callsOf("a", "b", "c"), stopResponse("done")], tools });
  const turn = t.agent.runTurn("hi", "s");
  await t.runtime.advance(0);
  const order = ["c3", "c1", "c2"];
  for (const [index, id] of order.entries()) {
    tools.settle(id, toolOutcome.ok(id));
    await t.runtime.advance(0);
    const soFar = order.slice(0, index + 1);
    expect(t.observer.ofType("toolCallResult").map(({ exchange }) => exchange.callId)).toEqual(soFar);
    expect(stored(t)).toEqual(soFar);
  }
  expect((await turn).exchanges.map(({ callId }) => callId)).toEqual(["c1", "c2", "c3"]);
  expect(Object.keys(toldResults(t))).toEqual(["c1", "c2", "c3"]);
});

test("an event of a result comes after its write (U4)", async () => {
  const seen: string[][] = [];
  await using t = await testAgent({ script: script(), tools: { f: toolOutcome.ok("kept") } });
  t.agent.subscribe((event) => void (event.type === "toolCallResult" && seen.push(stored(t))));
  await t.agent.runTurn("hi", "s");
  expect(seen).toEqual([["kept"]]);
});

const hostileAfter: readonly (readonly [string, () => unknown])[] = [
  [
    "throws",
    () => {
      throw new Error("hook");
    },
  ], // prettier
  ["never settles", never],
  ["patches what JSON cannot hold", () => ({ kind: "patch", patch: { details: 7n } })],
  ["patches nothing", () => ({ kind: "patch" })],
  ["rewrites to no result", () => ({ kind: "next", patch: { result: 7 } })],
  ["asks for what afterTool does not allow", () => ({ kind: "goOn", messages: [] })],
  ["answers with text", () => "no outcome"],
];

test.each(hostileAfter)("a hook that %s at afterTool loses no result (U4)", async (_, onStage) => {
  const tools = held();
  const hook = hookAt("afterTool", ({ call: { id } }) => (id === "c1" ? onStage() : undefined), "hostile");
  const config = { hookTimeoutMs: 100 };
  await using t = await testAgent({ script: [callsOf("a", "b"), stopResponse("done")], tools, hooks: [hook], config });
  const { result: turn } = t.agent.startTurn("hi", "s");
  await t.runtime.advance(0);
  tools.settle("c1", toolOutcome.ok("first"));
  await t.runtime.advance(0);
  tools.settle("c2", toolOutcome.ok("second"));
  await t.runtime.advance(100);
  expect((await turn).exchanges.map(({ outcome }) => outcome)).toEqual(["completed", "completed"]);
  expect(toldResults(t)).toEqual({ c1: "first", c2: "second" });
  expect(t.observer.ofType("custom")).toMatchObject([{ label: "secondary_failure", data: { stage: "afterTool" } }]);
});

test("a write that fails aborts the siblings, and every call is told of once (U4)", async () => {
  const tools = held().add("hangs", toolOutcome.hangs());
  await using t = await testAgent({ script: [callsOf("a", "hangs", "b")], tools });
  const turn = t.agent.runTurn("hi", "s");
  await t.runtime.advance(0);
  tools.settle("c3", toolOutcome.ok("kept"));
  await t.runtime.advance(0);
  t.sessions.failSave("s");
  tools.settle("c1", toolOutcome.ok("lost in the store"));
  const error = await rejectionOf(turn);
  expect(error.kind).toBe("session");
  expect(tools.execRecords.map(({ outcome }) => outcome)).toEqual(["ok", "aborted", "ok"]);
  expect(error.partial?.exchanges.map(({ callId, outcome }) => [callId, outcome])).toEqual([
    ["c1", "completed"],
    ["c2", "unknown"],
    ["c3", "completed"],
  ]);
  expect(error.partial?.toolResults.map(({ toolCallId }) => toolCallId)).toEqual(["c1", "c2", "c3"]);
  expect(stored(t)).toEqual(["kept"]);
});

test("the cause of a settleTool that threw is the cause of the failed turn, also with waves behind it (U4)", async () => {
  const hook = hookAt("settleTool", ({ exchange }) => {
    if (exchange.callId === "c1") throw new Error("cannot settle");
  });
  const one = { ...toolDef("one"), executionMode: "sequential" as const };
  const tools = new RecordingToolProvider().add(one, toolOutcome.ok("ran"));
  await using t = await testAgent({ script: [callsOf("one", "one")], tools, hooks: [hook] });
  const error = await rejectionOf(t.agent.runTurn("hi", "s"));
  expect(error.message).toContain("settling a tool call failed");
  expect(tools.execRecords.map(({ callId }) => callId)).toEqual(["c1"]);
  expect(stored(t)).toEqual(["ran", expect.stringContaining("not executed")]);
  await expectLawful(t, "s");
});
