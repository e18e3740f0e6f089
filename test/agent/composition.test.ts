import { expect, test } from "vitest";
import { Agent } from "../../src/agent/agent.js";
import { MemorySessionStore } from "../../src/adapters/sessions/memory.js";
import { CompositionError } from "../../src/domain/errors.js";
import type { AgentConfig } from "../../src/ports/agent-config.js";
import type { ToolProvider } from "../../src/ports/tool-provider.js";
import {
  commandDef,
  modelStep,
  RecordingCommands,
  RecordingLifecycle,
  RecordingObserver,
  RecordingSessionStore,
  RecordingToolProvider,
  ScriptedModel,
  stopResponse,
  testAgent,
  toolCallResponse,
  toolDef,
  toolOutcome,
} from "../../src/testkit/index.js";
import { hookAt, rejectionOf, terminals } from "../support/turns.js";

type Ports = Parameters<typeof Agent.create>[0];
const ports = (change: Partial<Ports> = {}): Ports => ({
  model: new ScriptedModel(),
  sessions: [new RecordingSessionStore()],
  ...change,
});
const tools = (name?: string, source?: string): ToolProvider => ({
  ...(name === undefined ? undefined : { name }),
  listTools: () => [{ ...toolDef("search"), ...(source === undefined ? undefined : { source }) }],
  execute: () => "found",
});
const command = (id: string, aliases: readonly string[] = []) =>
  new RecordingCommands().add({ ...commandDef(id), aliases }, { type: "success", feedback: "ok" });

async function compositionError(change: object): Promise<CompositionError> {
  const error: unknown = await Agent.create(ports(change)).catch((thrown: unknown) => thrown);
  if (!(error instanceof CompositionError)) throw new Error(`expected a CompositionError, got ${String(error)}`);
  return error;
}

const misfits: readonly (readonly [string, object, CompositionError["kind"]])[] = [
  ["no model", { model: undefined }, "empty-port"],
  ["a model without chat", { model: {} }, "empty-port"],
  ["no store", { sessions: [] }, "empty-port"],
  ["no list of stores", { sessions: undefined }, "empty-port"],
  ["two tools of one name", { tools: [tools("a"), tools("b")] }, "tool-collision"],
  ["two commands of one id", { commands: [command("go"), command("go")] }, "duplicate-id"],
  ["a command's alias that is another's id", { commands: [command("go"), command("run", ["go"])] }, "duplicate-id"],
  [
    "a hook that stands before one that is not there",
    { hooks: [{ name: "a", before: ["b"], onStage: () => undefined }] },
    "hook-order",
  ],
  [
    "hooks that stand before each other",
    { hooks: ["a", "b"].map((name) => ({ name, before: [name === "a" ? "b" : "a"], onStage: () => undefined })) },
    "hook-order",
  ],
  ["a config field nobody knows", { config: { maxToolRound: 3 } as AgentConfig }, "invalid-config"],
  ["a limit that is no number", { config: { maxToolRounds: Number.NaN } }, "invalid-config"],
  ["no parallel tool", { config: { maxParallelTools: 0 } }, "invalid-config"],
  [
    "a schema that is no object",
    { tools: [{ listTools: () => [toolDef("f", "", { type: "string" })], execute: () => "" }] },
    "invalid-schema",
  ],
]; // prettier

test.each(misfits)("%s fails composition before any turn (A1)", async (_, change, kind) => {
  expect((await compositionError(change)).kind).toBe(kind);
});

test("a collision names the tool and both sources, and how to set the one that is missing (A1)", async () => {
  const named = await compositionError({ tools: [tools("local"), tools(undefined, "remote")] });
  expect(named.message).toMatch(/search.*local.*remote/);
  expect(named.message).not.toContain("set `source`");
  const unnamed = await compositionError({ tools: [tools(), tools("remote")] });
  expect(unnamed.message).toContain("set `source`");
});

test("what was started is shut down when composition fails afterwards, and the first failure is told (A1)", async () => {
  const log: string[] = [];
  const lifecycles = ["a", "b"].map((name) => new RecordingLifecycle(name, log));
  const error = await compositionError({ tools: [tools("a"), tools("b")], lifecycles });
  expect(error.kind).toBe("tool-collision");
  expect(log).toEqual(["a start", "b start", "b shutdown", "a shutdown"]);
});

test("a shut-down that fails after a failed composition hides nothing (A1)", async () => {
  const lifecycle = new RecordingLifecycle("weak").failOn("shutdown");
  const made = Agent.create(ports({ tools: [tools("a"), tools("b")], lifecycles: [lifecycle] }));
  const error: unknown = await made.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(AggregateError);
  expect((error as AggregateError).errors).toMatchObject([
    { kind: "tool-collision" },
    { message: "weak told to fail" },
  ]);
});

test("an onStart that fails rolls back what had started, in reverse, and nothing else runs (A1)", async () => {
  const log: string[] = [];
  const [a, b, c] = ["a", "b", "c"].map((name) => new RecordingLifecycle(name, log));
  c?.failOn("start");
  const lifecycles = [a, b, c].filter((lifecycle) => lifecycle !== undefined);
  await expect(Agent.create(ports({ lifecycles }))).rejects.toThrow("c told to fail");
  expect(log).toEqual(["a start", "b start", "c start", "b shutdown", "a shutdown"]);
});

test("a provider that is registered twice is one provider, also where a turn brings it again (A1)", async () => {
  const provider = tools("twice");
  await using t = await testAgent({ script: [stopResponse("hi")], providers: [provider, provider] });
  expect((await t.agent.runTurn("hi", "s", { tools: [provider] })).text).toBe("hi");
  expect(t.model.requests[0]?.tools.map(({ name }) => name)).toEqual(["search"]);
});

test("an observer or hook that is registered twice fires once (A4)", async () => {
  const observer = new RecordingObserver();
  let asked = 0;
  const hook = hookAt("beforeModel", () => void (asked += 1));
  await using t = await testAgent({
    script: [stopResponse("hi")],
    observers: [observer, observer],
    hooks: [hook, hook],
  });
  await t.agent.runTurn("hi", "s", { observers: [observer], hooks: [hook] });
  expect(observer.ofType("turnStarted")).toHaveLength(1);
  expect(asked).toBe(1);
});

test("shutdown refuses new turns, also one that was asked for in the same breath (A2)", async () => {
  const t = await testAgent();
  const closing = t.agent.shutdown();
  const turns = [t.agent.runTurn("hi", "s"), t.agent.startTurn("hi", "s").result];
  for (const turn of turns) expect((await rejectionOf(turn)).kind).toBe("shut-down");
  await closing;
  expect(t.observer.events).toEqual([]);
});

test("shutdown lets running turns end within drainMs, then aborts them; lifecycles close after that, in reverse (A2)", async () => {
  const log: string[] = [];
  const lifecycles = ["a", "b"].map((name) => new RecordingLifecycle(name, log));
  const gate = Promise.withResolvers<ReturnType<typeof stopResponse>>();
  const script = [modelStep.respond(gate.promise), modelStep.hang()];
  const t = await testAgent({ script, lifecycles, config: { drainMs: 1_000 } });
  const [quick, slow] = ["one", "two"].map((id) => t.agent.startTurn("hi", id));
  await t.runtime.advance(0);
  const closing = t.agent.shutdown();
  gate.resolve(stopResponse("just in time"));
  expect((await quick?.result)?.text).toBe("just in time");
  await t.runtime.advance(999);
  expect(log).toEqual(["a start", "b start"]);
  await t.runtime.advance(1);
  expect(await slow?.result).toMatchObject({ status: "aborted", stopReason: "the agent is shutting down" });
  await closing;
  expect(log.slice(2)).toEqual(["b shutdown", "a shutdown"]);
});

test("a shutdown out of a running turn waits for that turn (A2)", async () => {
  const lifecycle = new RecordingLifecycle("db");
  let closing: Promise<void> | undefined;
  const seen: string[] = [];
  const hook = hookAt(["beforeTurn", "beforeModel"], (stage) => {
    if (stage.kind === "beforeTurn") closing = t.agent.shutdown();
    else seen.push(lifecycle.calls.join());
  });
  const t = await testAgent({ script: [stopResponse("done")], hooks: [hook], lifecycles: [lifecycle] });
  expect((await t.agent.runTurn("hi", "s")).text).toBe("done");
  await closing;
  expect(seen).toEqual(["start"]);
  expect(lifecycle.calls).toEqual(["start", "shutdown"]);
});

test("shutdown runs once however often it is asked, and tells all failures together (A2)", async () => {
  const lifecycles = ["a", "b", "c"].map((name) => new RecordingLifecycle(name));
  lifecycles[0]?.failOn("shutdown");
  lifecycles[2]?.failOn("shutdown", undefined);
  const stubborn: ToolProvider = {
    ...tools("stubborn"),
    onToolsChanged: () => () => {
      throw new Error("cannot stop");
    },
  };
  const t = await testAgent({ lifecycles, providers: [stubborn] });
  const [first, second] = [t.agent.shutdown(), t.agent.shutdown()];
  expect(first).toBe(second);
  const error: unknown = await first.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(AggregateError);
  expect((error as AggregateError).errors).toHaveLength(3);
  expect(lifecycles.map(({ calls }) => calls)).toEqual(Array(3).fill(["start", "shutdown"]));
});

test("agents share adapters and nothing else: turns, events, hooks and configs of one are not seen by the other (A3)", async () => {
  const store = new MemorySessionStore();
  const shared = new RecordingToolProvider({ name: "shared" }).add("f", toolOutcome.ok("shared"));
  const deny = hookAt("beforeTool", (_, context) => context.block("not here"));
  const script = () => [toolCallResponse("f", "c1"), stopResponse("done")];
  await using one = await testAgent({ script: script(), tools: shared, sessions: [store], hooks: [deny] });
  await using two = await testAgent({ script: script(), tools: shared, sessions: [store] });
  const [a, b] = await Promise.all([one.agent.runTurn("hi", "a"), two.agent.runTurn("hi", "b")]);
  expect([a, b].map(({ exchanges }) => exchanges[0]?.outcome)).toEqual(["not-started", "completed"]);
  expect(new Set(one.observer.events.map(({ sessionId }) => sessionId))).toEqual(new Set(["a"]));
  expect(terminals(two.observer.events)).toEqual(["turnCompleted"]);
  await one.agent.shutdown();
  two.model.push(stopResponse("still here"));
  expect((await two.agent.runTurn("again", "a")).text).toBe("still here");
});

test("two turns that fail in the same way have an error each, with what each did (A3)", async () => {
  const hook = hookAt("settleTool", () => {
    throw new Error("no");
  });
  const one = { ...toolDef("f"), executionMode: "sequential" as const };
  const provider = new RecordingToolProvider().add(one, toolOutcome.ok());
  await using t = await testAgent({
    script: ["x", "y"].map((id) => toolCallResponse("f", id)),
    tools: provider,
    hooks: [hook],
  });
  const errors = [await rejectionOf(t.agent.runTurn("hi", "a")), await rejectionOf(t.agent.runTurn("hi", "b"))];
  expect(errors[0]).not.toBe(errors[1]);
  expect(errors.map(({ partial }) => partial?.finalSessionId)).toEqual(["a", "b"]);
  expect(errors.map(({ partial }) => partial?.exchanges.map(({ callId }) => callId))).toEqual([["x"], ["y"]]);
});
