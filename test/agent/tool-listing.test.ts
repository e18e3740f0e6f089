import { expect, test } from "vitest";
import { CompositionError, Defect } from "../../src/domain/errors.js";
import type { ToolProvider } from "../../src/ports/tool-provider.js";
import {
  RecordingHook,
  RecordingToolProvider,
  stopResponse,
  testAgent,
  toolCallResponse,
  toolDef,
  toolOutcome,
} from "../../src/testkit/index.js";
import { hookAt, never, rejectionOf, toldResults } from "../support/turns.js";

const provider = (name: string, options: Partial<ToolProvider> = {}) =>
  new RecordingToolProvider({ name, ...options }).add(`${name}_tool`, toolOutcome.ok());

const shown = (t: Awaited<ReturnType<typeof testAgent>>): string[][] =>
  t.model.requests.map(({ tools }) => tools.map((def) => def.name));

test("providers are listed when a turn starts, and not again while nothing changes (U8)", async () => {
  const tools = provider("one");
  await using t = await testAgent({ script: [toolCallResponse("one_tool", "c1"), stopResponse("done")], tools });
  const before = tools.listCallCount;
  await t.agent.runTurn("hi", "s");
  expect(tools.listCallCount - before).toBe(1);
});

test("a list that changes in mid-turn is read again before the next model call, and hooks are asked why (U8)", async () => {
  const tools = provider("one");
  const spy = new RecordingHook({ name: "spy", stages: ["beforeTools", "chooseTools"] });
  const change = hookAt("settleTool", () => void tools.add("late", toolOutcome.ok()));
  await using t = await testAgent({
    script: [toolCallResponse("one_tool", "c1"), stopResponse("done")],
    tools,
    hooks: [spy, change],
  });
  await t.agent.runTurn("hi", "s");
  expect(shown(t)).toEqual([["one_tool"], ["one_tool", "late"]]);
  expect(spy.stagesOf("chooseTools").map(({ reason }) => reason)).toEqual(["turn-start", "tools-changed"]);
  expect(t.observer.ofType("toolsResolved").map(({ tools: defs }) => defs.length)).toEqual([1, 2]);
});

test("the lists of a turn's own providers count too, and so do changes while it has some (U8)", async () => {
  const [own, agents] = [provider("own"), provider("agents")];
  const change = hookAt("settleTool", () => {
    own.add("late_own", toolOutcome.ok());
    agents.add("late_agents", toolOutcome.ok());
  });
  await using t = await testAgent({
    script: [toolCallResponse("own_tool", "c1"), stopResponse("done")],
    tools: agents,
    hooks: [change],
  });
  await t.agent.runTurn("hi", "s", { tools: [own] });
  expect(shown(t)).toEqual([
    ["agents_tool", "own_tool"],
    ["agents_tool", "late_agents", "own_tool", "late_own"],
  ]);
});

test("a turn's own providers are listened to for the turn only, an agent's until it shuts down (U8)", async () => {
  const listening = { own: 0, agents: 0 };
  const watched = (name: keyof typeof listening): ToolProvider => ({
    name,
    listTools: () => [toolDef(name)],
    execute: () => "ok",
    onToolsChanged: () => {
      listening[name] += 1;
      return () => void (listening[name] -= 1);
    },
  });
  const t = await testAgent({ script: [stopResponse("done")], providers: [watched("agents")] });
  expect(listening).toEqual({ own: 0, agents: 1 });
  await t.agent.runTurn("hi", "s", { tools: [watched("own")] });
  expect(listening).toEqual({ own: 0, agents: 1 });
  await t.agent.shutdown();
  expect(listening).toEqual({ own: 0, agents: 0 });
});

const noLists: readonly (readonly [string, () => never])[] = [
  ["rejects", () => Promise.reject(new Error("offline")) as never],
  [
    "throws undefined",
    () => {
      throw undefined;
    },
  ], // prettier
  ["returns nothing", () => undefined as never],
  ["returns no list", () => ({ tools: [] }) as never],
];

test.each(noLists)("a provider that %s instead of listing fails the turn with its name (U8)", async (_, listTools) => {
  let broken = false;
  const weak: ToolProvider = { name: "weak", listTools: () => (broken ? listTools() : []), execute: () => "ok" };
  await using t = await testAgent({ providers: [weak] });
  broken = true;
  const error = await rejectionOf(t.agent.runTurn("hi", "s"));
  expect(error.message).toContain("weak");
  expect(t.model.callCount).toBe(0);
});

test.each(noLists)("an optional provider that %s is left out, and that is told (U8)", async (_, listTools) => {
  const weak: ToolProvider = { name: "weak", optional: true, listTools, execute: () => "ok" };
  const script = [toolCallResponse("one_tool", "c1"), stopResponse("done")];
  await using t = await testAgent({ script, tools: provider("one"), providers: [weak] });
  expect((await t.agent.runTurn("hi", "s")).text).toBe("done");
  expect(shown(t)[0]).toEqual(["one_tool"]);
  expect(t.observer.ofType("custom")).toMatchObject([
    { label: "secondary_failure", data: { stage: "tools", operation: "list weak" } },
  ]);
});

test("a collision found in mid-turn fails that turn, and the next one that has none works (U8)", async () => {
  const [one, two] = [provider("one"), provider("two")];
  const change = hookAt("settleTool", () => void two.add("one_tool", toolOutcome.ok()));
  await using t = await testAgent({
    script: [toolCallResponse("one_tool", "c1")],
    tools: one,
    providers: [two],
    hooks: [change],
  });
  const error = await rejectionOf(t.agent.runTurn("hi", "s"));
  expect(error.cause).toBeInstanceOf(CompositionError);
  expect(error.cause).toMatchObject({ kind: "tool-collision", message: expect.stringMatching(/one.*two/) as string });
  two.remove("one_tool");
  t.model.push(stopResponse("back"));
  expect((await t.agent.runTurn("again", "s")).text).toBe("back");
});

test("a name that a turn's own tool shares with the agent's fails the turn (U8)", async () => {
  await using t = await testAgent({ tools: provider("one") });
  const error = await rejectionOf(t.agent.runTurn("hi", "s", { tools: [provider("one")] }));
  expect(error.cause).toMatchObject({ kind: "tool-collision" });
});

test("a tool that is taken off the list while its call is prepared is the provider's to refuse (U8)", async () => {
  const tools = provider("one");
  const hook = hookAt("beforeTool", () => void tools.remove("one_tool"));
  const script = [toolCallResponse("one_tool", "c1"), stopResponse("done")];
  await using t = await testAgent({ script, tools, hooks: [hook] });
  await t.agent.runTurn("hi", "s");
  expect(toldResults(t)["c1"]).toContain("no tool");
  expect(shown(t)).toEqual([["one_tool"], []]);
});

test("a defect of a provider that lists is no failure to list (T5)", async () => {
  let broken = false;
  const listTools = () => {
    if (broken) throw new Defect("script");
    return [];
  };
  await using t = await testAgent({ providers: [{ optional: true, listTools, execute: () => "ok" }] });
  broken = true;
  await expect(t.agent.runTurn("hi", "s")).rejects.toBeInstanceOf(Defect);
});

/** Lists at once when an agent is made, and never again. */
const lostLater = (options: Partial<ToolProvider> = {}): ToolProvider => {
  let listed = 0;
  return { name: "far", listTools: () => (listed++ === 0 ? [] : never()), execute: () => "", ...options };
};

test("a provider that gives no answer fails the turn with its name after storeTimeoutMs, and hangs nothing (U8)", async () => {
  await using t = await testAgent({ script: [stopResponse("done")], providers: [lostLater()] });
  const turn = rejectionOf(t.agent.runTurn("hi", "s"));
  await t.runtime.advance(30_000);
  expect(await turn).toMatchObject({ kind: "runtime", message: expect.stringContaining("far could not list") });
  expect(t.model.callCount).toBe(0);
});

test("an optional provider that gives no answer is left out, and the others' tools are there (U8)", async () => {
  const providers = [lostLater({ optional: true }), provider("near")];
  const config = { storeTimeoutMs: 100 };
  await using t = await testAgent({ script: [stopResponse("done")], providers, config });
  const turn = t.agent.runTurn("hi", "s");
  await t.runtime.advance(100);
  expect((await turn).text).toBe("done");
  expect(shown(t)).toEqual([["near_tool"]]);
  expect(t.observer.ofType("custom").map(({ data }) => data["operation"])).toEqual(["list far"]);
});

test("an abort while a provider lists is no failure of the provider (L5, U8)", async () => {
  await using t = await testAgent({ script: [], providers: [lostLater({ optional: true })] });
  const turn = t.agent.startTurn("hi", "s");
  await t.runtime.advance(1);
  turn.abort("enough");
  await t.runtime.advance(1_000);
  expect((await turn.result).status).toBe("aborted");
  expect(t.observer.ofType("custom")).toEqual([]);
});
