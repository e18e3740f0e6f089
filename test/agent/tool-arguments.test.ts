import { Type } from "@sinclair/typebox";
import { expect, test } from "vitest";
import { defineTool } from "../../src/adapters/tools/index.js";
import { AgentError, ModelError } from "../../src/domain/errors.js";
import type { JsonObject } from "../../src/domain/json.js";
import type { ModelResponse } from "../../src/domain/model.js";
import type { ToolDef } from "../../src/domain/tool.js";
import {
  modelStep,
  RecordingHook,
  RecordingToolProvider,
  stopResponse,
  testAgent,
  type TestAgentOptions,
  toolCallResponse,
  toolCallsResponse,
  toolOutcome,
} from "../../src/testkit/index.js";
import { call, expectLawful, rejectionOf, toldResults } from "../support/turns.js";

const schema: JsonObject = {
  type: "object",
  properties: { city: { type: "string" }, days: { type: "integer", default: 3 } },
  required: ["city"],
};
const weather: ToolDef = { name: "weather", description: "Tells the weather.", inputSchema: schema };

/** One turn that calls `weather` with these arguments, then says "done". */
const asking = (args: JsonObject, options: TestAgentOptions = {}) =>
  testAgent({ script: [toolCallResponse("weather", "c1", args), stopResponse("done")], ...options });

test("arguments are prepared, then defaulted, then validated (U1)", async () => {
  const seen: [string, JsonObject][] = [];
  const tools = new RecordingToolProvider({
    prepareArguments: (_, raw) => {
      seen.push(["prepare", { ...raw }]);
      return { city: raw["town"] ?? "" };
    },
    validate: (_, args) => {
      seen.push(["validate", { ...args }]);
      return { ok: true, value: { ...args, checked: true } };
    },
  }).add(weather, toolOutcome.ok("sunny"));
  await using t = await asking({ town: "Bern" }, { tools });
  await t.agent.runTurn("hi", "s");
  expect(seen).toEqual([
    ["prepare", { town: "Bern" }],
    ["validate", { city: "Bern", days: 3 }],
  ]);
  expect(tools.execRecords).toMatchObject([{ arguments: { city: "Bern", days: 3, checked: true } }]);
  const [started] = t.observer.ofType("toolCallStarted");
  expect(started?.invocation).toMatchObject({ originalInput: { town: "Bern" }, executedInput: { checked: true } });
});

const defined = defineTool({
  name: "weather",
  description: "Tells the weather.",
  parameters: Type.Object({ city: Type.String(), days: Type.Optional(Type.Integer()) }),
  execute: ({ city, days }) => `${city} ${days ?? "today"}`,
});
const own = { providers: [defined] };

test("nothing is converted silently: a number in quotes is no number (U1)", async () => {
  await using t = await asking({ city: "Bern", days: "3" }, own);
  await t.agent.runTurn("hi", "s");
  expect(toldResults(t)["c1"]).toContain("/days");
  expect(toldResults(t)["c1"]).toContain("integer");
});

test("coerceArguments converts what loses nothing, and nothing else (U1)", async () => {
  const config = { coerceArguments: true };
  await using t = await asking({ city: "Bern", days: "3" }, { ...own, config });
  await t.agent.runTurn("hi", "s");
  expect(toldResults(t)["c1"]).toBe("Bern 3");
  t.model.push(toolCallResponse("weather", "c2", { city: "Bern", days: "3.5" }), stopResponse("done"));
  await t.agent.runTurn("again", "s");
  expect(toldResults(t)["c2"]).toContain("/days");
});

test("null for an optional property that refuses null counts as absent (U1)", async () => {
  await using t = await asking({ city: "Bern", days: null }, own);
  await t.agent.runTurn("hi", "s");
  expect(toldResults(t)["c1"]).toBe("Bern today");
});

test("null for a required property is told to the model as an error (U1)", async () => {
  await using t = await asking({ city: null }, own);
  await t.agent.runTurn("hi", "s");
  expect(toldResults(t)["c1"]).toContain("/city");
});

test("invalid arguments skip beforeTool, and toolError and afterTool hear of them (U1)", async () => {
  const spy = new RecordingHook({ name: "spy", stages: ["beforeTool", "toolError", "afterTool", "settleTool"] });
  await using t = await asking({}, { ...own, hooks: [spy] });
  const result = await t.agent.runTurn("hi", "s");
  expect(spy.kinds).toEqual(["toolError", "afterTool", "settleTool"]);
  expect(spy.stagesOf("toolError")).toMatchObject([{ error: { kind: "invalid-arguments" } }]);
  expect(result.exchanges).toMatchObject([{ outcome: "not-started", result: { isError: true } }]);
  expect(result.exchanges[0]).not.toHaveProperty("executedInput");
});

test("prepareArguments and validate that throw make the arguments invalid, never the turn fail (U1)", async () => {
  for (const members of [
    { prepareArguments: () => Object.assign(Object.create(null), { toString: 1 }) as never },
    {
      prepareArguments: () => {
        throw new Error("cannot mend");
      },
    },
    {
      validate: () => {
        throw undefined;
      },
    },
    { validate: () => undefined as never },
    { prepareArguments: () => undefined as never },
  ]) {
    const tools = new RecordingToolProvider(members).add(weather, toolOutcome.ok("sunny"));
    await using t = await asking({ city: "Bern" }, { tools });
    expect((await t.agent.runTurn("hi", "s")).text).toBe("done");
    await expectLawful(t, "s");
  }
});

test("a call of an unknown tool gets an error result that names it; beforeTool runs without a tool (U1)", async () => {
  const spy = new RecordingHook({ name: "spy", stages: ["beforeTool", "toolError", "afterTool"] });
  await using t = await testAgent({
    script: [toolCallResponse("subtract", "c1"), stopResponse("sorry")],
    tools: { add: toolOutcome.ok() },
    hooks: [spy],
  });
  expect((await t.agent.runTurn("hi", "s")).text).toBe("sorry");
  expect(toldResults(t)["c1"]).toContain("subtract");
  expect(spy.kinds).toEqual(["beforeTool", "toolError", "afterTool"]);
  expect(spy.stagesOf("beforeTool")[0]).not.toHaveProperty("tool");
  expect(spy.stagesOf("toolError")).toMatchObject([{ error: { kind: "unknown-tool" } }]);
});

test.each(["__proto__", "constructor", "toString", "a\nb", "x".repeat(500)])(
  "a hostile tool name %j is only an unknown tool (U1)",
  async (name) => {
    await using t = await testAgent({
      script: [toolCallResponse(name, "c1"), stopResponse("sorry")],
      tools: { add: toolOutcome.ok() },
    });
    expect((await t.agent.runTurn("hi", "s")).text).toBe("sorry");
    expect(toldResults(t)["c1"]?.length).toBeLessThan(300);
    await expectLawful(t, "s");
  },
);

const cut: ModelResponse = toolCallsResponse(
  { ...call("weather", "c1"), malformed: { raw: '{"city": "Be', reason: "cut" } },
  call("weather", "c2", { city: "Bern" }),
);

test("a malformed call is never run; its sibling is, and the model is told why (U1)", async () => {
  await using t = await testAgent({ script: [cut, stopResponse("done")], ...own });
  const result = await t.agent.runTurn("hi", "s");
  expect(toldResults(t)).toEqual({ c1: expect.stringContaining("not valid JSON: cut") as string, c2: "Bern today" });
  expect(result.exchanges.map(({ outcome }) => outcome)).toEqual(["not-started", "completed"]);
});

test("malformedCalls: fail ends the turn as response-parse, runs nothing and keeps no call (U1)", async () => {
  const stream = modelStep.stream([{ type: "textDelta", text: "let me see" }], {
    ...cut,
    parts: [{ type: "text", text: "let me see" }, ...cut.parts],
  });
  const tools = new RecordingToolProvider().add(weather, toolOutcome.ok("sunny"));
  await using t = await testAgent({ script: [stream], tools, config: { malformedCalls: "fail" } });
  const error = await rejectionOf(t.agent.runTurn("hi", "s"));
  expect(error).toBeInstanceOf(AgentError);
  expect(error.cause).toBeInstanceOf(ModelError);
  expect(error.cause).toMatchObject({ kind: "response-parse" });
  expect(tools.execRecords).toEqual([]);
  const { messages } = await t.agent.session("s");
  expect(messages.at(-1)).toMatchObject({ stopped: "error", parts: [{ type: "text", text: "let me see" }] });
  t.model.push(stopResponse("back"));
  expect((await t.agent.runTurn("again", "s")).text).toBe("back");
});

test("calls with one id, without id or without name each get an id of their own and a result (U1)", async () => {
  await using t = await testAgent({
    script: [
      toolCallsResponse(call("weather", "x"), call("weather", "x"), call("weather", ""), call("", "y")),
      stopResponse("done"),
    ],
    tools: { weather: toolOutcome.ok("sunny") },
  });
  const result = await t.agent.runTurn("hi", "s");
  expect(new Set(result.exchanges.map(({ callId }) => callId)).size).toBe(4);
  expect(result.exchanges.map(({ outcome }) => outcome)).toEqual([
    "completed",
    "completed",
    "completed",
    "not-started",
  ]);
  await expectLawful(t, "s");
});

test.each([
  ["prepareArguments", { prepareArguments: async () => ({ city: "Bern" }) }],
  ["prepareArguments", { prepareArguments: () => Promise.reject(new Error("late")) }],
  ["prepareArguments", { prepareArguments: () => new Promise(() => {}) }],
  ["validate", { validate: async () => ({ ok: true, value: {} }) }],
  ["validate", { validate: () => Promise.reject(new Error("late")) }],
])(
  "%s that answers a promise is no answer: the call does not run, and nothing else fails (U1)",
  async (name, members) => {
    const tools = new RecordingToolProvider(members as never).add(weather, toolOutcome.ok("sunny"));
    await using t = await asking({ city: "Bern" }, { tools });
    await t.agent.runTurn("hi", "s");
    expect(toldResults(t)["c1"]).toBe(
      `the arguments for weather are invalid: ${name} answered a promise, and has to answer at once`,
    );
    expect(tools.execRecords).toEqual([]);
  },
);

test.each([
  ["a map", () => new Map([["city", "Bern"]]), "(Map)"],
  ["a date", () => new Date(0), "/: object"],
  ["a bigint in it", () => ({ city: "Bern", days: 1n }), "arguments.days is a bigint"],
  ["a set in it", () => ({ city: "Bern", extra: new Set([1]) }), "arguments.extra is an instance"],
])("what prepareArguments makes is JSON, or the call does not run: %s (U1)", async (_, prepareArguments, told) => {
  const tools = new RecordingToolProvider({ prepareArguments: prepareArguments as never }).add(
    weather,
    toolOutcome.ok(),
  );
  await using t = await asking({ city: "Bern" }, { tools });
  await t.agent.runTurn("hi", "s");
  expect(toldResults(t)["c1"]).toContain(told);
  expect(tools.execRecords).toEqual([]);
});

test("a hook of the tool that has no result lets the call run, and one that answers later never counts as none (H2)", async () => {
  const run = async (hooks: unknown): Promise<unknown> => {
    const tools = new RecordingToolProvider({ hooks: () => hooks as never }).add(weather, toolOutcome.ok("sunny"));
    await using t = await asking({ city: "Bern" }, { tools });
    await t.agent.runTurn("hi", "s");
    return [toldResults(t)["c1"], tools.execRecords.map(({ arguments: args }) => args["city"])];
  };
  expect(await run({ beforeExecute: () => ({ result: undefined }) })).toEqual(["sunny", ["Bern"]]);
  expect(await run({ beforeExecute: () => ({ args: { city: "Rome" }, result: undefined }) })).toEqual([
    "sunny",
    ["Rome"],
  ]);
  expect(await run(Promise.resolve({}))).toEqual(["hooks answered a promise, and has to answer at once", []]);
});
