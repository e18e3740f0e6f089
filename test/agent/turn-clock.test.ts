import { describe, expect, test } from "vitest";
import { createBudget } from "../../src/agent/budget.js";
import { runLoop } from "../../src/agent/run-loop.js";
import { AgentError, ModelError } from "../../src/domain/errors.js";
import { orderResults } from "../../src/domain/transcript.js";
import { transcriptLaw } from "../../src/domain/transcript-law.js";
import type { TurnResult } from "../../src/domain/turn-result.js";
import type { ModelPort } from "../../src/ports/model.js";
import type { ToolProvider } from "../../src/ports/tool-provider.js";
import {
  modelStep,
  stopResponse,
  testAgent,
  type TestAgentOptions,
  testRuntime,
  TEST_START,
  toolDef,
} from "../../src/testkit/index.js";
import { user } from "../support/conversations.js";
import { type SlowAgent, slowAgent } from "../support/every-await.js";
import { A_SECOND, outOfTime, TIME, timed } from "../support/out-of-time.js";
import { callsOf, hookAt, never, rejectionOf, terminals, unhandledDuring } from "../support/turns.js";

const deaf: ModelPort = {
  chat: never,
  chatStreaming: (_, onChunk) => (onChunk({ type: "textDelta", text: "so far" }), never()),
};

describe("the clock of a turn (L2)", () => {
  test("is cancelled when the turn ends, however it ends", async () => {
    const ends: readonly (readonly [string, TestAgentOptions])[] = [
      ["completed", { script: [stopResponse("yes")] }],
      ["failed", { script: [modelStep.fail(new ModelError("auth", "no"))] }],
      ["refused by a hook", { hooks: [hookAt("beforeTurn", (_, context) => context.abort("no"))] }],
      ["stopped by a hook", { hooks: [hookAt("beforeTurn", (_, context) => context.stop("no"))] }],
      ["invalid", {}],
    ];
    for (const [name, options] of ends) {
      await using t = await testAgent(options);
      const turn = t.agent.runTurn(name === "invalid" ? "" : "hi", "s", { config: { turnTimeoutMs: 1e9 } });
      await turn.catch(() => undefined);
      await t.agent.shutdown();
      expect([name, t.runtime.pendingTimers]).toEqual([name, 0]);
    }
  });

  test("runs for a turn without session too", async () => {
    const runtime = testRuntime();
    const ports = { model: deaf, runtime, config: timed.config };
    const turn = rejectionOf(runLoop([user("u1")], ports));
    await runtime.advance(TIME + A_SECOND);
    expect(await turn).toMatchObject({ kind: "budget-exceeded", limit: "turnTimeoutMs", partial: { text: "so far" } });
    expect(runtime.pendingTimers).toBe(0);
    const quick = { ...ports, model: { chat: async () => stopResponse("yes") } };
    expect((await runLoop([user("u1")], quick)).text).toBe("yes");
    expect(runtime.pendingTimers).toBe(0);
  });

  test("of a turn of no time ends it before anything runs", async () => {
    await using t = await testAgent();
    const error = await rejectionOf(t.agent.runTurn("hi", "s", { config: { turnTimeoutMs: 0 } }));
    expect(error).toMatchObject({ kind: "budget-exceeded", limit: "turnTimeoutMs" });
    expect(error.partial?.undelivered).toHaveLength(1);
    expect([t.observer.events.length, t.sessions.ops.length]).toEqual([0, 0]);
  });
});

/** A turn whose time is up after so many microtasks, or what it came to before. */
async function expiredAfter(slow: SlowAgent, ticks: number): Promise<TurnResult | AgentError> {
  const { after } = slow.runtime;
  let ring: (() => void) | undefined;
  const held: SlowAgent["runtime"]["after"] = (ms, fn, options) => {
    if (ms !== TIME) return after(ms, fn, options);
    ring = fn;
    return () => (ring = undefined);
  };
  Object.assign(slow.runtime, { after: held });
  const turn = slow.agent.startTurn("go", "s", timed);
  let settled = false;
  const end = turn.result
    .catch((error: unknown) => {
      if (error instanceof AgentError) return error;
      throw error;
    })
    .finally(() => (settled = true));
  for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
  ring?.();
  await slow.runtime.advance(A_SECOND);
  expect([ticks, settled]).toEqual([ticks, true]);
  return end;
}

test("time that is up at any microtask of a turn ends it whole, as what it is (L2, S4)", async () => {
  let [ticks, completed, partial] = [0, 0, 0];
  const unhandled = await unhandledDuring(async () => {
    for (; completed < 3; ticks++) {
      const slow = await slowAgent();
      const end = await expiredAfter(slow, ticks);
      if (end instanceof AgentError) expect(end).toMatchObject({ kind: "budget-exceeded", limit: "turnTimeoutMs" });
      else completed += 1;
      const result = end instanceof AgentError ? end.partial : end;
      if (result?.message?.stopped !== undefined) partial += 1;
      const started = slow.observer.ofType("turnStarted").length;
      const told = end instanceof AgentError ? "turnFailed" : "turnCompleted";
      expect([ticks, ...terminals(slow.observer.events)]).toEqual(started === 0 ? [ticks] : [ticks, told]);
      const { messages } = await slow.store.load("s");
      expect([ticks, ...transcriptLaw(orderResults(messages))]).toEqual([ticks]);
      const input = messages.filter(({ role }) => role === "user").length + (result?.undelivered.length ?? 0);
      expect([ticks, input]).toEqual([ticks, 1]);
      expect((await slow.agent.runTurn("again", "s")).text).toBe("half a wordall done");
      await slow.agent.shutdown();
      expect(slow.runtime.pendingTimers).toBe(0);
    }
  });
  expect(unhandled).toEqual([]);
  expect([ticks > 200, partial > 5]).toEqual([true, true]);
});

describe("a deadline (A5)", () => {
  const deadline = TEST_START + TIME;

  test.each<[string, (budget: ReturnType<typeof createBudget>) => TestAgentOptions]>([
    ["of the agent's budget", (budget) => ({ config: { budget } })],
    ["of the turn's budget", () => ({})],
  ])("%s ends the turn when it comes", async (name, made) => {
    const budget = createBudget({ deadline });
    await using t = await testAgent({ model: deaf, ...made(budget) });
    const options = name.includes("turn's") ? { budget } : {};
    const error = await outOfTime(t, options);
    expect(error).toMatchObject({ kind: "budget-exceeded", limit: "deadline", partial: { text: "so far" } });
    expect(terminals(t.observer.events)).toEqual(["turnFailed"]);
  });

  test("that has passed lets no turn begin, and nothing is sent", async () => {
    const budget = createBudget({ deadline: TEST_START - 1 });
    await using t = await testAgent({ config: { budget } });
    const error = await rejectionOf(t.agent.runTurn("hi", "s"));
    expect(error).toMatchObject({ kind: "budget-exceeded", limit: "deadline" });
    expect([t.model.callCount, t.observer.events.length]).toEqual([0, 0]);
  });

  test("and a timeout: the earlier one ends the turn and is named", async () => {
    await using t = await testAgent({ model: deaf });
    const late = createBudget({ deadline: deadline + 1 });
    expect((await outOfTime(t, { ...timed, budget: late })).limit).toBe("turnTimeoutMs");
    const soon = createBudget({ deadline: t.runtime.now() + TIME - 1 });
    const turn = rejectionOf(t.agent.runTurn("hi", "s", { ...timed, budget: soon }));
    await t.runtime.advance(TIME + A_SECOND);
    expect((await turn).limit).toBe("deadline");
  });

  test("ends the turns that tools started too, and the outer one hears of its own", async () => {
    const budget = createBudget({ deadline });
    const runtime = testRuntime();
    await using inner = await testAgent({ model: deaf, runtime });
    const ends: unknown[] = [];
    const delegate: ToolProvider = {
      name: "delegate",
      listTools: () => [toolDef("ask")],
      execute: () => inner.agent.runTurn("do it", "inner").catch((error: unknown) => void ends.push(error)),
    };
    const options = { script: [callsOf("ask")], providers: [delegate], config: { budget }, runtime };
    await using t = await testAgent(options);
    const turn = rejectionOf(t.agent.runTurn("hi", "s"));
    await runtime.advance(TIME + A_SECOND);
    expect((await turn).limit).toBe("deadline");
    expect(ends).toMatchObject([{ kind: "budget-exceeded", limit: "deadline" }]);
  });
});
