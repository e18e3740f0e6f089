import { expect, test } from "vitest";
import { createBudget } from "../../src/agent/budget.js";
import { stillRunning } from "../../src/agent/call-path.js";
import { defineTool, Type } from "../../src/adapters/tools/index.js";
import { ModelError } from "../../src/domain/errors.js";
import type { AgentMessage } from "../../src/domain/message.js";
import { SESSION_KEYS } from "../../src/domain/session.js";
import type { ToolProvider } from "../../src/ports/tool-provider.js";
import {
  modelStep,
  stopResponse,
  testAgent,
  toolCallsResponse,
  toolDef,
  toolOutcome,
} from "../../src/testkit/index.js";
import { callingWith, stored, user } from "../support/conversations.js";
import { annotated, approve, askingFor, holding, pendingIn, ran, READ_ONLY } from "../support/resuming.js";
import { call, callsOf, expectLawful, hookAt, never, rejectionOf, resultText } from "../support/turns.js";

test("an unanswered call that a hook makes one of an unsafe tool does not run again (S6)", async () => {
  const rename = hookAt("beforeTool", ({ call: asked }, context) =>
    context.next({ call: { ...asked, name: "charge" } }),
  );
  const tools = annotated({ find: READ_ONLY, charge: {} });
  await using t = await holding([user("go"), callingWith("a", call("find", "c1"))], { tools, hooks: [rename] });
  const turn = await t.agent.resumeTurn("s");
  expect([turn.status, ran(t), turn.exchanges[0]?.outcome]).toEqual(["completed", [], "unknown"]);
});

test("arguments are prepared once: what a person approved, or a hook gave, is what runs (U1, U5)", async () => {
  const paid: number[] = [];
  const pay: ToolProvider = {
    listTools: () => [toolDef("pay")],
    prepareArguments: (_, raw) => ({ cents: Number(raw["euros"] ?? raw["cents"]) * 100 }),
    execute: ({ arguments: { cents } }) => void paid.push(Number(cents)),
  };
  const calls = toolCallsResponse(call("pay", "c1", { euros: 3 }));
  const script = [calls, stopResponse("done"), calls, stopResponse("done")];
  const rewrite = hookAt("beforeTool", ({ call: asked }, context) =>
    context.decision === undefined
      ? undefined
      : context.next({ call: { ...asked, arguments: { ...asked.arguments } } }),
  );
  await using t = await testAgent({ script, providers: [pay], hooks: [askingFor(), rewrite] });
  const asked = await t.agent.runTurn("go", "s");
  const [record] = asked.deferred;
  await t.agent.resumeTurn("s", { decisions: [approve("c1")] });
  expect([record?.arguments, paid]).toEqual([{ cents: 300 }, [300]]);
  await t.agent.runTurn("again", "s");
  await t.agent.resumeTurn("s", { decisions: [approve("c1", { cents: 5 })] });
  expect(paid.at(-1)).toBe(5);
});

test("with everything stored at the end, a decision is still accepted once, whatever fails behind it (U5, S3)", async () => {
  const script = [callsOf("pay"), modelStep.fail(new ModelError("server", "down")), stopResponse("done")];
  const config = { persistence: "turn" as const };
  await using t = await testAgent({ script, tools: { pay: toolOutcome.ok("paid") }, hooks: [askingFor()], config });
  await t.agent.runTurn("go", "s");
  const decisions = [approve("c1")];
  expect((await rejectionOf(t.agent.resumeTurn("s", { decisions }))).kind).toBe("model");
  expect((await rejectionOf(t.agent.resumeTurn("s", { decisions }))).kind).toBe("invalid-input");
  // What was done is stored, though the turn that did it failed.
  await expectLawful(t, "s");
  expect([ran(t), pendingIn(await t.agent.session("s"))]).toEqual([["c1"], []]);
  expect((await t.agent.resumeTurn("s")).text).toBe("done");
});

test("with everything stored at the end, a call deferred anew goes on waiting though its turn fails (U5, S3)", async () => {
  const again = hookAt("beforeTool", ({ call: asked }, context) =>
    context.decision !== undefined && asked.id === "c2" ? context.defer("once more") : undefined,
  );
  let isBroken = false;
  const settle = hookAt("settleTool", () => {
    if (isBroken) throw new Error("broken");
  });
  const script = [callsOf("pay", "pay"), stopResponse("done")];
  const hooks = [askingFor(), { ...again, name: "again" }, { ...settle, name: "settle" }];
  const config = { persistence: "turn" as const };
  await using t = await testAgent({ script, tools: { pay: toolOutcome.ok("paid") }, hooks, config });
  await t.agent.runTurn("go", "s");
  isBroken = true;
  await rejectionOf(t.agent.resumeTurn("s", { decisions: [approve("c1"), approve("c2")] }));
  isBroken = false;
  const left = await t.agent.session("s");
  expect([ran(t), pendingIn(left)]).toEqual([["c1"], ["c2"]]);
  expect(left.messages.filter(({ role }) => role === "tool")).toMatchObject([{ toolCallId: "c1" }]);
});

test("two calls of a stored reply that share an id are told apart: one decision runs one of them, once (U5)", async () => {
  const seen: unknown[] = [];
  const pay = defineTool({
    name: "pay",
    description: "pays",
    parameters: Type.Object({ n: Type.Number() }),
    execute: ({ n }, { executionId }) => void seen.push([n, executionId]),
  });
  const twice = callingWith("a", call("pay", "x", { n: 1 }), call("pay", "x", { n: 2 }));
  const record = (order: number, n: number) => ({
    callId: "x",
    executionId: `a.${order}`,
    toolName: "pay",
    arguments: { n },
    reason: "ask",
    at: 0,
  });
  const metadata = { [SESSION_KEYS.deferred]: [record(0, 1), record(1, 2)] };
  await using t = await testAgent({ script: [stopResponse("done")], providers: [pay] });
  t.sessions.seed("s", { messages: [user("go"), twice], metadata, revision: 1 });
  const half = await t.agent.resumeTurn("s", { decisions: [approve("x")] });
  expect([half.status, seen]).toEqual(["deferred", [[1, "a.0"]]]);
  await t.agent.resumeTurn("s", { decisions: [approve("x")] });
  expect(seen).toEqual([
    [1, "a.0"],
    [2, "a.1"],
  ]);
});

test("a projection that ends with a reminder of its own does not make a finished conversation answerable (S6)", async () => {
  const remind = (messages: readonly AgentMessage[]) => [...messages, user("be brief")] as never;
  await using t = await testAgent({ script: [stopResponse("done")], config: { toModelMessages: remind } });
  await t.agent.runTurn("go", "s");
  expect((await rejectionOf(t.agent.resumeTurn("s"))).kind).toBe("nothing-to-resume");
  expect(await stored(t)).toHaveLength(2);
});

test("an interruption does not wait for a hook that asks about a call: the call is skipped (L4)", async () => {
  const asked = Promise.withResolvers<void>();
  const ask = { ...hookAt("beforeTool", () => (asked.resolve(), never()), "ask"), timeoutMs: 1e9 };
  const script = [callsOf("f"), stopResponse("heard")];
  await using t = await testAgent({ script, tools: { f: toolOutcome.ok("ran") }, hooks: [ask] });
  const turn = t.agent.startTurn("go", "s");
  await asked.promise;
  turn.steer("stop that");
  turn.interrupt();
  await t.runtime.advance(1_000);
  const { status, text, toolResults } = await turn.result;
  expect([status, text, ran(t)]).toEqual(["completed", "heard", []]);
  expect(resultText(toolResults[0])).toContain("skipped");
});

test("an interruption does not wait for a compressor or a system prompt that hangs (L4)", async () => {
  for (const where of ["compress", "system"] as const) {
    const asked = Promise.withResolvers<void>();
    let calls = 0;
    const once = <T>(value: T): T | Promise<T> => (calls++ === 0 ? (asked.resolve(), never()) : value);
    const compressors = where === "compress" ? [{ name: "slow", compress: () => once({ type: "none" as const }) }] : [];
    const config = where === "system" ? { system: () => once("be brief") } : {};
    await using t = await testAgent({ script: [stopResponse("heard")], compressors, config });
    const turn = t.agent.startTurn("go", "s");
    await asked.promise;
    turn.steer("now");
    turn.interrupt();
    await t.runtime.advance(1_000);
    expect([where, (await turn.result).text]).toEqual([where, "heard"]);
  }
});

test("a hook that would wait for its own session is refused at once, and shares the budgets of its turn (T1, A5)", async () => {
  const budget = createBudget({ maxModelCalls: 1 });
  await using inner = await testAgent({ script: [stopResponse("in"), stopResponse("in")] });
  const refusals: string[] = [];
  const note = (error: Error): void => void refusals.push(error.message);
  const hook = hookAt("beforeModel", async () => {
    await t.agent.appendMessage("s", user("more")).catch(note);
    await t.agent.compact("s").catch(note);
    await t.agent.runTurn("more", "s").catch(note);
    await inner.agent.runTurn("guard", "g").catch(note);
    await inner.agent.runTurn("guard", "g").catch(note);
  });
  await using t = await testAgent({ script: [stopResponse("done")], hooks: [hook] });
  expect((await rejectionOf(t.agent.runTurn("go", "s", { budget }))).limit).toBe("maxModelCalls");
  expect(refusals).toEqual([
    expect.stringContaining("cannot become free"),
    expect.stringContaining("cannot become free"),
    expect.stringContaining("its own session"),
    expect.stringContaining("maxModelCalls"),
  ]);
  expect(budget.spent().modelCalls).toBe(1);
});

test("the way to a tool does not grow by turns that are over (A3)", () => {
  const path = (held: readonly string[], outer: ReturnType<typeof stillRunning>) => ({
    turnId: "t",
    host: undefined,
    held,
    budgets: [],
    outer,
  });
  const live = path(["s"], undefined);
  expect(stillRunning(path([], path([], live)))).toBe(live);
  expect(stillRunning(path([], path([], undefined)))).toBeUndefined();
});
