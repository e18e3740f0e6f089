import { describe, expect, test } from "vitest";
import { createBudget } from "../../src/agent/budget.js";
import { runLoop } from "../../src/agent/run-loop.js";
import { AgentError, CompositionError, ModelError } from "../../src/domain/errors.js";
import { estimateAll, estimateTools } from "../../src/domain/estimate.js";
import { userMessage } from "../../src/domain/message.js";
import type { ModelResponse } from "../../src/domain/model.js";
import type { Usage } from "../../src/domain/usage.js";
import type { BudgetLimits } from "../../src/ports/budget.js";
import type { ToolProvider } from "../../src/ports/tool-provider.js";
import {
  modelStep,
  ScriptedModel,
  stopResponse,
  testAgent,
  type TestAgent,
  textStream,
  toolCallResponse,
  toolDef,
  toolOutcome,
} from "../../src/testkit/index.js";
import { callsOf, expectLawful, hookAt, rejectionOf, resultsIn, resultText, terminals } from "../support/turns.js";

const using = (response: ModelResponse, usage: Usage | undefined): ModelResponse =>
  usage === undefined ? response : { ...response, usage };
const used = (totalTokens: number): Usage => ({ inputTokens: totalTokens - 1, outputTokens: 1, totalTokens });
const OUT = 4096;

/** What was reserved for the nth request. */
function reservedFor(t: TestAgent, nth: number, outputTokens = OUT): number {
  const { messages, tools } = t.model.requests[nth] ?? { messages: [], tools: [] };
  return estimateAll(messages) + estimateTools(tools) + outputTokens;
}

/** The limit that a turn ran into. */
const errorLimit = (error: unknown): unknown => (error instanceof AgentError ? error.limit : error);

/** The session works: another turn without the budget is answered. */
async function expectUsable(t: TestAgent, sessionId = "s"): Promise<void> {
  await expectLawful(t, sessionId);
  t.model.push(stopResponse("back"));
  expect((await t.agent.runTurn("again", sessionId, { budget: createBudget({}) })).text).toBe("back");
  await expectLawful(t, sessionId);
}

describe("before a model call its estimate and its output are reserved (A5)", () => {
  test.each([
    [undefined, OUT],
    [100, 100],
  ])("with maxOutputTokens %s that is %s tokens of output", async (maxOutputTokens, outputTokens) => {
    const answer = Promise.withResolvers<ModelResponse>();
    const budget = createBudget({ maxTotalTokens: 1_000_000 });
    const config = { system: "be brief", maxOutputTokens };
    await using t = await testAgent({
      script: [modelStep.respond(answer.promise)],
      tools: { f: toolOutcome.ok() },
      config,
    });
    const turn = t.agent.runTurn("a question", "s", { budget });
    await t.runtime.advance(0);
    expect(budget.spent().totalTokens).toBe(reservedFor(t, 0, outputTokens));
    answer.resolve(using(stopResponse("yes"), used(17)));
    await turn;
    expect(budget.spent()).toMatchObject({ totalTokens: 17, modelCalls: 1, estimated: false });
  });

  test("unknown usage stays at the reservation, and the budget says it is an estimate", async () => {
    const budget = createBudget({ maxTotalTokens: 1_000_000 });
    await using t = await testAgent({ script: [stopResponse("yes")] });
    await t.agent.runTurn("hi", "s", { budget });
    expect(budget.spent()).toMatchObject({ totalTokens: reservedFor(t, 0), estimated: true });
  });

  test("half-reported usage never counts less than the reservation", async () => {
    const budget = createBudget({ maxTotalTokens: 1_000_000 });
    await using t = await testAgent({ script: [using(stopResponse("yes"), { inputTokens: 3 })] });
    await t.agent.runTurn("hi", "s", { budget });
    expect(budget.spent()).toMatchObject({ totalTokens: reservedFor(t, 0), estimated: true });
  });

  test("a stream that broke off is charged what it had told", async () => {
    const budget = createBudget({ maxTotalTokens: 1_000_000 });
    const chunks = [{ type: "usage", usage: used(9) } as const, ...textStream("half").slice(0, -1)];
    await using t = await testAgent({ script: [modelStep.fail(new ModelError("transport", "lost"), chunks)] });
    await rejectionOf(t.agent.runTurn("hi", "s", { budget }));
    expect(budget.spent()).toMatchObject({ totalTokens: 9, modelCalls: 1, estimated: false });
  });

  test.each(["auth", "context-overflow", "invalid-request", "overloaded", "rate-limit"] as const)(
    "a request refused as %s costs no tokens",
    async (kind) => {
      const budget = createBudget({ maxTotalTokens: 1_000_000, price: () => 1 });
      await using t = await testAgent({ script: [modelStep.fail(new ModelError(kind, "no"))] });
      await rejectionOf(t.agent.runTurn("hi", "s", { budget }));
      expect(budget.spent()).toEqual({ totalTokens: 0, cost: 0, modelCalls: 1, toolCalls: 0, estimated: false });
    },
  );

  test.each(["transport", "timeout", "server"] as const)(
    "a request lost as %s may have been billed: it stays at its reservation",
    async (kind) => {
      const budget = createBudget({ maxTotalTokens: 1_000_000 });
      await using t = await testAgent({ script: [modelStep.fail(new ModelError(kind, "gone"))] });
      await rejectionOf(t.agent.runTurn("hi", "s", { budget }));
      expect(budget.spent()).toMatchObject({ totalTokens: reservedFor(t, 0), estimated: true });
    },
  );

  test("a call that an abort ended stays at its reservation, and holds nothing of the budget back", async () => {
    const budget = createBudget({ maxTotalTokens: 1_000_000 });
    await using t = await testAgent({ script: [modelStep.hang()] });
    const turn = t.agent.startTurn("hi", "s", { budget });
    await t.runtime.advance(0);
    turn.abort();
    await turn.result;
    expect(budget.spent()).toMatchObject({ totalTokens: reservedFor(t, 0), modelCalls: 1, estimated: true });
  });
});

describe("a budget with not enough left (A5)", () => {
  test.each<[string, BudgetLimits]>([
    ["maxModelCalls", { maxModelCalls: 0 }],
    ["maxTotalTokens", { maxTotalTokens: OUT }],
    ["maxCost", { maxCost: 1, price: () => 1.5 }],
  ])("refuses at once by %s: nothing is sent, the input stays, the next turn works", async (limit, limits) => {
    const budget = createBudget(limits);
    await using t = await testAgent();
    const error = await rejectionOf(t.agent.runTurn("hi", "s", { budget }));
    expect(error).toMatchObject({ kind: "budget-exceeded", limit });
    expect(error.partial?.messages.map(({ role }) => role)).toEqual(["user"]);
    expect(t.model.callCount).toBe(0);
    expect(terminals(t.observer.events)).toEqual(["turnFailed"]);
    expect(budget.spent()).toMatchObject({ totalTokens: 0, cost: 0, modelCalls: 0 });
    await expectUsable(t);
  });

  test("ends the turn between rounds with what it did so far", async () => {
    const budget = createBudget({ maxModelCalls: 1 });
    await using t = await testAgent({ script: [callsOf("f")], tools: { f: toolOutcome.ok("done") } });
    const error = await rejectionOf(t.agent.runTurn("hi", "s", { budget }));
    expect(error).toMatchObject({ kind: "budget-exceeded", limit: "maxModelCalls" });
    expect(error.partial?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
    expect(error.partial?.exchanges).toMatchObject([{ callId: "c1", outcome: "completed" }]);
    await expectUsable(t);
  });

  test("keeps what a failed attempt had said when there is no room for its retry, and tells why it failed", async () => {
    const lost = modelStep.fail(new ModelError("transport", "lost"), textStream("half").slice(0, -1));
    const hook = hookAt("modelError", (_, context) => context.retry());
    const budget = createBudget({ maxModelCalls: 1 });
    await using t = await testAgent({ script: [lost], hooks: [hook] });
    const error = await rejectionOf(t.agent.runTurn("hi", "s", { budget }));
    expect(error).toMatchObject({ kind: "budget-exceeded", limit: "maxModelCalls", cause: { kind: "transport" } });
    expect((await t.agent.session("s")).messages.at(-1)).toMatchObject({ stopped: "error", parts: [{ text: "half" }] });
    expect(t.observer.ofType("streamChunk").filter(({ chunk }) => chunk.type === "reset")).toEqual([]);
    await expectUsable(t);
  });
});

describe("retries draw from the budget (A5)", () => {
  test("those that hooks ask for", async () => {
    const hook = hookAt("modelError", (_, context) => context.retry());
    const budget = createBudget({ maxModelCalls: 2 });
    const failing = modelStep.fail(new ModelError("transport", "lost"));
    await using t = await testAgent({ script: [failing, failing, failing], hooks: [hook] });
    const error = await rejectionOf(t.agent.runTurn("hi", "s", { budget }));
    expect(error).toMatchObject({ kind: "budget-exceeded", limit: "maxModelCalls" });
    expect(t.model.callCount).toBe(2);
  });

  test("and those of the turn itself", async () => {
    const refusing = modelStep.fail(new ModelError("invalid-request", "bad tool", { toolName: "f" }));
    const budget = createBudget({ maxModelCalls: 1 });
    await using t = await testAgent({ script: [refusing, stopResponse("never")], tools: { f: toolOutcome.ok() } });
    const error = await rejectionOf(t.agent.runTurn("hi", "s", { budget }));
    expect(error).toMatchObject({ limit: "maxModelCalls", cause: { kind: "invalid-request" } });
    expect(t.model.callCount).toBe(1);
  });
});

describe("a shared budget (A5)", () => {
  test("is never over-committed by turns that run at the same time", async () => {
    const answer = Promise.withResolvers<ModelResponse>();
    const script = Array.from({ length: 10 }, () => modelStep.respond(answer.promise));
    const budget = createBudget({ maxTotalTokens: 3 * (OUT + 20) });
    await using t = await testAgent({ script, config: { budget } });
    const turns = Array.from({ length: 10 }, async (_, n) =>
      t.agent.runTurn("hi", `s${n}`).then(({ status }) => status, errorLimit),
    );
    await t.runtime.advance(0);
    expect(budget.spent().totalTokens).toBeLessThanOrEqual(3 * (OUT + 20));
    expect(t.model.callCount).toBe(3);
    answer.resolve(using(stopResponse("yes"), used(50)));
    const ends = await Promise.all(turns);
    expect(ends.filter((end) => end === "completed")).toHaveLength(3);
    expect(ends.filter((end) => end === "maxTotalTokens")).toHaveLength(7);
    expect(budget.spent()).toMatchObject({ totalTokens: 150, modelCalls: 3 });
  });

  test("counts once where the agent and the turn are given the same", async () => {
    const budget = createBudget({ maxModelCalls: 5 });
    await using t = await testAgent({ script: [stopResponse("yes")], config: { budget } });
    await t.agent.runTurn("hi", "s", { budget, config: { budget } });
    expect(budget.spent().modelCalls).toBe(1);
  });

  test("of the agent and one of the turn both have to agree, or neither is charged", async () => {
    const ofAgent = createBudget({ maxModelCalls: 5 });
    const ofTurn = createBudget({ maxModelCalls: 1 });
    await using t = await testAgent({
      script: [callsOf("f")],
      tools: { f: toolOutcome.ok() },
      config: { budget: ofAgent },
    });
    const error = await rejectionOf(t.agent.runTurn("hi", "s", { budget: ofTurn }));
    expect(error.limit).toBe("maxModelCalls");
    expect([ofAgent.spent().modelCalls, ofTurn.spent().modelCalls]).toEqual([1, 1]);
  });

  test("is given back what it let through when a later one throws", async () => {
    const ofAgent = createBudget({ maxModelCalls: 5 });
    const price = (): number => {
      throw new RangeError("no such model");
    };
    await using t = await testAgent({ config: { budget: ofAgent } });
    const error = await rejectionOf(t.agent.runTurn("hi", "s", { budget: createBudget({ price }) }));
    expect(error).toMatchObject({ kind: "runtime" });
    expect(error.cause).toBeInstanceOf(RangeError);
    expect(ofAgent.spent().modelCalls).toBe(0);
    expect(t.model.callCount).toBe(0);
    await expectUsable(t);
  });

  test("serves a turn without session too", async () => {
    const budget = createBudget({ maxModelCalls: 1 });
    const ports = { model: new ScriptedModel([stopResponse("yes")]), config: { budget } };
    expect((await runLoop([userMessage("hi")], ports)).text).toBe("yes");
    expect(await rejectionOf(runLoop([userMessage("hi")], ports))).toMatchObject({ limit: "maxModelCalls" });
    expect(budget.spent().modelCalls).toBe(1);
  });

  test("that is none is refused before the turn starts", async () => {
    await using t = await testAgent();
    const wrong = { budget: { maxModelCalls: 3 } } as never;
    expect(await rejectionOf(t.agent.runTurn("hi", "s", wrong))).toMatchObject({ kind: "invalid-input" });
    await expect(testAgent({ config: wrong })).rejects.toBeInstanceOf(CompositionError);
    expect(t.observer.events).toEqual([]);
  });
});

/** A tool that runs a turn of another agent and returns what it said. */
const delegating = (other: TestAgent): ToolProvider => ({
  name: "delegate",
  listTools: () => [toolDef("ask")],
  execute: async () => (await other.agent.runTurn("do it", "inner")).text,
});

describe("sub-agents inside tools draw from the budgets of the turn that called them (A5)", () => {
  test("with nothing said about it, at any depth", async () => {
    const budget = createBudget({ maxTotalTokens: 100_000 });
    await using inner = await testAgent({ script: [using(stopResponse("inner"), used(100))] });
    await using middle = await testAgent({
      script: [using(toolCallResponse("ask", "m1"), used(20)), using(stopResponse("middle"), used(3))],
      providers: [delegating(inner)],
    });
    await using outer = await testAgent({
      script: [using(toolCallResponse("ask", "o1"), used(1_000)), using(stopResponse("outer"), used(4_000))],
      providers: [delegating(middle)],
    });
    expect((await outer.agent.runTurn("hi", "s", { budget })).text).toBe("outer");
    expect(budget.spent()).toEqual({ totalTokens: 5_123, cost: 0, modelCalls: 5, toolCalls: 2, estimated: false });
  });

  test("and one that has no more to use fails as a tool does: the outer turn hears of it, and has no more either", async () => {
    const budget = createBudget({ maxModelCalls: 1 });
    await using inner = await testAgent();
    await using outer = await testAgent({
      script: [toolCallResponse("ask", "o1")],
      providers: [delegating(inner)],
    });
    const error = await rejectionOf(outer.agent.runTurn("hi", "s", { budget }));
    expect(error).toMatchObject({ kind: "budget-exceeded", limit: "maxModelCalls" });
    expect(inner.model.callCount).toBe(0);
    expect(resultText(resultsIn(error.partial?.messages ?? [])[0])).toContain("maxModelCalls is used up");
  });

  test("a limit of the outer turn's own is not theirs", async () => {
    await using inner = await testAgent({ script: [stopResponse("inner")] });
    await using outer = await testAgent({
      script: [toolCallResponse("ask", "o1"), stopResponse("outer")],
      providers: [delegating(inner)],
      config: { maxModelCalls: 2 },
    });
    expect((await outer.agent.runTurn("hi", "s")).text).toBe("outer");
  });

  test("a turn that a tool leaves behind when it returns draws from them as well", async () => {
    const budget = createBudget({ maxModelCalls: 10 });
    await using inner = await testAgent({ script: [stopResponse("inner")] });
    let left: Promise<unknown> | undefined;
    const leaving: ToolProvider = {
      name: "leaving",
      listTools: () => [toolDef("ask")],
      execute: () => ((left = inner.agent.runTurn("do it", "inner")), "started"),
    };
    await using outer = await testAgent({
      script: [toolCallResponse("ask", "o1"), stopResponse("outer")],
      providers: [leaving],
    });
    await outer.agent.runTurn("hi", "s", { budget });
    await left;
    expect(budget.spent().modelCalls).toBe(3);
  });
});
