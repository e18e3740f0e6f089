import { describe, expect, test } from "vitest";
import { createBudget } from "../../src/agent/budget.js";
import { AgentError, ModelError } from "../../src/domain/errors.js";
import type { ModelResponse } from "../../src/domain/model.js";
import type { Usage } from "../../src/domain/usage.js";
import {
  modelStep,
  RecordingToolProvider,
  stopResponse,
  testAgent,
  type TestAgent,
  toolDef,
  toolOutcome,
} from "../../src/testkit/index.js";
import { callsOf, expectLawful, hookAt, rejectionOf, resultText, terminals } from "../support/turns.js";

const using = (response: ModelResponse, usage: Usage | undefined): ModelResponse =>
  usage === undefined ? response : { ...response, usage };
const used = (totalTokens: number): Usage => ({ inputTokens: totalTokens - 1, outputTokens: 1, totalTokens });

/** The limit that a turn ran into. */
const errorLimit = (error: unknown): unknown => (error instanceof AgentError ? error.limit : error);

/** The session works: another turn without the budget is answered. */
async function expectUsable(t: TestAgent, sessionId = "s"): Promise<void> {
  await expectLawful(t, sessionId);
  t.model.push(stopResponse("back"));
  expect((await t.agent.runTurn("again", sessionId, { budget: createBudget({}) })).text).toBe("back");
  await expectLawful(t, sessionId);
}

describe("a turn's own limits (L2)", () => {
  test("maxModelCalls bounds the model calls of one turn, the next turn has its own", async () => {
    await using t = await testAgent({
      script: [callsOf("f"), callsOf("f")],
      tools: { f: toolOutcome.ok() },
      config: { maxModelCalls: 2 },
    });
    const error = await rejectionOf(t.agent.runTurn("hi", "s"));
    expect(error).toMatchObject({ kind: "budget-exceeded", limit: "maxModelCalls" });
    expect(t.model.callCount).toBe(2);
    expect(error.partial?.rounds).toBe(2);
    await expectUsable(t);
  });

  test("maxTotalTokens refuses the call that would exceed it", async () => {
    await using t = await testAgent({
      script: [using(callsOf("f"), used(500))],
      tools: { f: toolOutcome.ok() },
      config: { maxTotalTokens: 600, maxOutputTokens: 100 },
    });
    const error = await rejectionOf(t.agent.runTurn("hi", "s"));
    expect(error).toMatchObject({ kind: "budget-exceeded", limit: "maxTotalTokens" });
    expect(error.partial?.usage.totalTokens).toBe(500);
    await expectUsable(t);
  });

  test("a limit of 0 model calls lets a turn without any run", async () => {
    const stopping = hookAt("beforeModel", (_, context) => context.stop("enough"));
    await using t = await testAgent({ hooks: [stopping], config: { maxModelCalls: 0 } });
    expect((await t.agent.runTurn("hi", "s")).status).toBe("stopped");
  });

  test("they go on in a resumed turn from what the stored usage says, and not in a new turn (A5)", async () => {
    const lost = modelStep.fail(new ModelError("transport", "lost"));
    const call = using(callsOf("f"), used(500));
    await using t = await testAgent({ script: [call, lost], tools: { f: toolOutcome.ok() } });
    await rejectionOf(t.agent.runTurn("hi", "s"));
    const resumed = (config: object) => rejectionOf(t.agent.resumeTurn("s", { config }));
    expect((await resumed({ maxModelCalls: 2 })).limit).toBe("maxModelCalls");
    expect((await resumed({ maxTotalTokens: 550, maxOutputTokens: 40 })).limit).toBe("maxTotalTokens");
    expect(t.model.callCount).toBe(2);
    t.model.push(stopResponse("resumed"));
    expect((await t.agent.resumeTurn("s", { config: { maxModelCalls: 3 } })).text).toBe("resumed");
    expect((await t.agent.usage("s"))?.turn).toMatchObject({ modelCalls: 3, toolCalls: 1 });
    t.model.push(stopResponse("fresh"));
    expect((await t.agent.runTurn("new", "s", { config: { maxModelCalls: 1 } })).text).toBe("fresh");
    expect((await t.agent.usage("s"))?.turn).toMatchObject({ modelCalls: 1 });
  });

  test("what calls cost where a budget has a price is in the stored usage, and goes on when the turn does (A5)", async () => {
    const budget = createBudget({ price: ({ totalTokens = 0 }) => totalTokens / 4 });
    const lost = modelStep.fail(new ModelError("rate-limit", "wait"));
    const script = [using(callsOf("f"), used(20)), lost, using(stopResponse("yes"), used(40))];
    await using t = await testAgent({ script, tools: { f: toolOutcome.ok() }, config: { budget } });
    await rejectionOf(t.agent.runTurn("hi", "s"));
    expect((await t.agent.usage("s"))?.turn.cost).toBe(5);
    await t.agent.resumeTurn("s");
    expect((await t.agent.usage("s"))?.turn.cost).toBe(15);
    expect(budget.spent().cost).toBe(15);
    await using plain = await testAgent({ script: [stopResponse("yes")] });
    await plain.agent.runTurn("hi", "s");
    expect(await plain.agent.usage("s")).not.toHaveProperty("turn.cost");
  });
});

describe("maxToolCalls (L2)", () => {
  const outcomes = (t: { readonly exchanges: readonly { callId: string; outcome: string }[] } | undefined) =>
    t?.exchanges.map(({ callId, outcome }) => `${callId} ${outcome}`);

  test("in the middle of a wave lets the first calls in source order run; the others get results and did not run", async () => {
    await using t = await testAgent({
      script: [callsOf("a", "b", "c")],
      tools: { a: toolOutcome.ok("A"), b: toolOutcome.ok("B"), c: toolOutcome.ok("C") },
      config: { maxToolCalls: 2 },
    });
    const error = await rejectionOf(t.agent.runTurn("hi", "s"));
    expect(error).toMatchObject({ kind: "budget-exceeded", limit: "maxToolCalls" });
    expect(outcomes(error.partial)).toEqual(["c1 completed", "c2 completed", "c3 not-started"]);
    expect(t.tools.execRecords.map(({ toolName }) => toolName)).toEqual(["a", "b"]);
    expect(resultText(error.partial?.toolResults[2])).toContain("budget for tool calls is used up");
    expect((await t.agent.usage("s"))?.turn.toolCalls).toBe(2);
    expect(terminals(t.observer.events)).toEqual(["turnFailed"]);
    await expectUsable(t);
  });

  test.each(["parallel", "sequential"] as const)(
    "holds for later waves of the batch (%s), and for later rounds",
    async (toolExecution) => {
      const tools = new RecordingToolProvider()
        .add({ ...toolDef("a"), executionMode: "sequential" }, toolOutcome.ok("A"))
        .add({ ...toolDef("b"), executionMode: "sequential" }, toolOutcome.ok("B"));
      await using t = await testAgent({
        script: [callsOf("a"), callsOf("a", "b", "a")],
        tools,
        config: { maxToolCalls: 2, toolExecution },
      });
      const error = await rejectionOf(t.agent.runTurn("hi", "s"));
      expect(error.limit).toBe("maxToolCalls");
      expect(tools.execRecords).toHaveLength(2);
      expect(error.partial?.exchanges.map(({ outcome }) => outcome)).toEqual([
        "completed",
        "completed",
        "not-started",
        "not-started",
      ]);
      expect(t.model.callCount).toBe(2);
      await expectUsable(t);
    },
  );

  test("counts calls that start: refused, blocked and answered ones are free", async () => {
    const hook = hookAt("beforeTool", ({ call: { id } }, context) =>
      id === "c1" ? context.block("no") : id === "c2" ? context.answer("given") : undefined,
    );
    await using t = await testAgent({
      script: [callsOf("a", "a", "missing", "a"), stopResponse("yes")],
      tools: { a: toolOutcome.ok("A") },
      hooks: [hook],
      config: { maxToolCalls: 1 },
    });
    expect((await t.agent.runTurn("hi", "s")).text).toBe("yes");
    expect(t.tools.execRecords.map(({ callId }) => callId)).toEqual(["c4"]);
  });

  test("is given back for calls that an abort kept from starting", async () => {
    const budget = createBudget({ maxToolCalls: 10 });
    await using t = await testAgent({
      script: [callsOf("a", "b", "c")],
      tools: { a: toolOutcome.hangs(), b: toolOutcome.ok(), c: toolOutcome.ok() },
      config: { budget, maxParallelTools: 1 },
    });
    const turn = t.agent.startTurn("hi", "s");
    await t.runtime.advance(0);
    expect(budget.spent().toolCalls).toBe(3);
    turn.abort();
    expect(outcomes(await turn.result)).toEqual(["c1 unknown", "c2 not-started", "c3 not-started"]);
    expect(budget.spent().toolCalls).toBe(1);
  });

  test("of a budget that turns share is taken by all of them together", async () => {
    const budget = createBudget({ maxToolCalls: 3 });
    await using t = await testAgent({
      script: [callsOf("a", "a"), callsOf("a", "a"), stopResponse("yes")],
      tools: { a: toolOutcome.ok("A") },
      config: { budget },
    });
    const turns = ["s", "r"].map(async (id) => t.agent.runTurn("hi", id).then(({ text }) => text, errorLimit));
    expect(await Promise.all(turns)).toEqual(["yes", "maxToolCalls"]);
    expect(t.tools.execRecords).toHaveLength(3);
    expect(budget.spent().toolCalls).toBe(3);
    await expectLawful(t, "s");
    await expectLawful(t, "r");
  });

  test("counts on through a decision: the approved call that is one too many is answered, and did not run (U5, A5)", async () => {
    const asking = hookAt("beforeTool", ({ call: { id } }, context) =>
      id === "c2" && context.decision === undefined ? context.defer("ask") : undefined,
    );
    await using t = await testAgent({
      script: [callsOf("a", "b")],
      tools: { a: toolOutcome.ok("A"), b: toolOutcome.ok("B") },
      hooks: [asking],
      config: { maxToolCalls: 1 },
    });
    expect((await t.agent.runTurn("hi", "s")).status).toBe("deferred");
    const decisions = [{ callId: "c2", approve: true as const }];
    const error = await rejectionOf(t.agent.resumeTurn("s", { decisions }));
    expect(error).toMatchObject({ kind: "budget-exceeded", limit: "maxToolCalls" });
    expect(outcomes(error.partial)).toEqual(["c2 not-started"]);
    expect(t.tools.execRecords.map(({ toolName }) => toolName)).toEqual(["a"]);
    expect((await t.agent.session("s")).metadata).not.toHaveProperty(["ennead.deferred"]);
    await expectUsable(t);
  });
});
