import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { CompositionError, ToolError } from "../../src/domain/errors.js";
import { RecordingToolProvider, stopResponse, testAgent, toolDef, toolOutcome } from "../../src/testkit/index.js";
import { callsOf, expectLawful, hookAt, never, toldResults } from "../support/turns.js";

const UNANSWERED = "The call was given up after 100 ms. It is unknown whether its effect happened";

test("a tool that never answers is given up after its timeout, its outcome is unknown, and the loop goes on (U7, F112)", async () => {
  const tools = new RecordingToolProvider()
    .add({ ...toolDef("slow"), timeoutMs: 100 }, toolOutcome.hangs({ ignoreAbort: true }))
    .add("fast", toolOutcome.ok("fine"));
  const kinds: string[] = [];
  const hook = hookAt("toolError", (stage) => void kinds.push(stage.error.kind));
  await using t = await testAgent({ script: [callsOf("slow", "fast"), stopResponse("done")], tools, hooks: [hook] });
  const turn = t.agent.runTurn("hi", "s");
  await t.runtime.advance(99);
  expect(t.model.callCount).toBe(1);
  await t.runtime.advance(1);
  const { status, exchanges } = await turn;
  expect(status).toBe("completed");
  expect(exchanges.map(({ outcome, cancellationRequested }) => [outcome, cancellationRequested])).toEqual([
    ["unknown", true],
    ["completed", false],
  ]);
  expect(toldResults(t)).toEqual({ c1: expect.stringContaining(UNANSWERED), c2: "fine" });
  expect(kinds).toEqual(["timeout"]);
  await expectLawful(t, "s");
});

test("config.toolTimeoutMs bounds every tool that has no timeout of its own (U7)", async () => {
  const tools = new RecordingToolProvider()
    .add({ ...toolDef("patient"), timeoutMs: 1_000 }, toolOutcome.held())
    .add("plain", toolOutcome.hangs({ ignoreAbort: true }));
  await using t = await testAgent({
    script: [callsOf("patient", "plain"), stopResponse("done")],
    tools,
    config: { toolTimeoutMs: 100 },
  });
  const turn = t.agent.runTurn("hi", "s");
  await t.runtime.advance(500);
  tools.settle("c1", toolOutcome.ok("late but in time"));
  expect((await turn).exchanges.map(({ outcome }) => outcome)).toEqual(["completed", "unknown"]);
});

test("what a tool does after its timeout changes nothing: no result, no progress, no second event (U7)", async () => {
  const late = Promise.withResolvers<string>();
  const told: ((partial: string) => void)[] = [];
  const provider = {
    listTools: () => [{ ...toolDef("slow"), timeoutMs: 100 }],
    execute: (_: unknown, context: { readonly progress: (partial: string) => void }) => {
      told.push(context.progress);
      return late.promise;
    },
  };
  await using t = await testAgent({ script: [callsOf("slow"), stopResponse("done")], providers: [provider] });
  const turn = t.agent.runTurn("hi", "s");
  await t.runtime.advance(100);
  await turn;
  const stored = await t.agent.session("s");
  const count = t.observer.events.length;
  for (const tell of told) tell("still here");
  late.resolve("too late");
  await t.runtime.advance(1_000);
  expect(t.observer.events).toHaveLength(count);
  expect(await t.agent.session("s")).toEqual(stored);
});

test("the timeout aborts the signal of that tool at once and of no other; the turn's signal keeps no listener (U7, L5)", async () => {
  const signals: AbortSignal[] = [];
  const turnSignals: AbortSignal[] = [];
  const slow = {
    listTools: () => [{ ...toolDef("slow"), timeoutMs: 100 }, toolDef("free"), { ...toolDef("quick"), timeoutMs: 100 }],
    execute: (call: { readonly name: string }, context: { readonly signal: AbortSignal }) => {
      signals.push(context.signal);
      return call.name === "slow" ? never() : "fine";
    },
  };
  const hook = hookAt(["beforeTool", "afterTool"], (stage, context) => {
    turnSignals.push(context.signal);
    return stage.kind === "afterTool" ? never() : undefined;
  });
  await using t = await testAgent({
    script: [callsOf("slow", "free", "quick"), stopResponse("done")],
    providers: [slow],
    hooks: [hook],
    config: { hookTimeoutMs: 1_000 },
  });
  const turn = t.agent.runTurn("hi", "s");
  await t.runtime.advance(100);
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, false, false]);
  expect(signals[0]?.reason).toMatchObject({ name: "TimeoutError" });
  await t.runtime.advance(5_000);
  await turn;
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, false, false]);
  const [own] = turnSignals;
  if (own === undefined) throw new Error("no hook was asked");
  expect(signals[1]).toBe(own);
  expect(getEventListeners(own, "abort")).toEqual([]);
});

test("an abort of the turn reaches a tool that has a timeout (U7, L5)", async () => {
  const tools = new RecordingToolProvider().add({ ...toolDef("slow"), timeoutMs: 60_000 }, toolOutcome.hangs());
  await using t = await testAgent({ script: [callsOf("slow")], tools });
  const turn = t.agent.startTurn("hi", "s");
  await t.runtime.advance(0);
  turn.abort("enough");
  await t.runtime.advance(0);
  expect(await turn.result).toMatchObject({ status: "aborted", exchanges: [{ outcome: "unknown" }] });
});

test.each([0, -1, Number.NaN, "100"])("config.toolTimeoutMs %s is refused when the agent is made (A1)", async (ms) => {
  const config = { toolTimeoutMs: ms as number };
  const error: unknown = await testAgent({ config }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(CompositionError);
  expect(error).toMatchObject({ kind: "invalid-config", message: expect.stringContaining("toolTimeoutMs") });
});

test.each([0, -1, "100"])("a tool whose timeoutMs is %s is refused when it is listed (A1)", async (ms) => {
  const providers = [{ listTools: () => [{ ...toolDef("f"), timeoutMs: ms as number }], execute: () => "x" }];
  await expect(testAgent({ providers })).rejects.toMatchObject({ kind: "invalid-schema" });
});

test.each(["timeout", "transport", "aborted"] as const)(
  "a provider that gave a call up (%s) knows no more of its effect than the agent does: the outcome is unknown (U7)",
  async (kind) => {
    const execute = () => Promise.reject(new ToolError(kind, "server s went away"));
    const provider = { listTools: () => [toolDef("pay")], execute };
    await using t = await testAgent({ script: [callsOf("pay"), stopResponse("done")], providers: [provider] });
    const { exchanges } = await t.agent.runTurn("hi", "s");
    expect(exchanges.map(({ outcome }) => outcome)).toEqual(["unknown"]);
    expect(toldResults(t)["c1"]).toBe(
      `ToolError(${kind}): server s went away. It is unknown whether its effect happened; check before calling it again.`,
    );
  },
);
