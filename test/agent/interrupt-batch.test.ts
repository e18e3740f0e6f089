import { expect, test } from "vitest";
import { SESSION_KEYS } from "../../src/domain/session.js";
import {
  RecordingToolProvider,
  stopResponse,
  testAgent,
  type TestAgent,
  type TestAgentOptions,
  toolCallResponse,
  toolDef,
  toolOutcome,
} from "../../src/testkit/index.js";
import { linesOf, sent } from "../support/conversations.js";
import { callsOf, expectLawful, hookAt, terminals, toldResults } from "../support/turns.js";

const INTERRUPTED = { status: "stopped", stopReason: "interrupted", undelivered: [] };
/** The conversation goes on where the interrupted turn left it, by a new turn or by the same one resumed. */
async function expectUsable(t: TestAgent, by: "runTurn" | "resumeTurn" = "runTurn"): Promise<void> {
  t.model.push(stopResponse("back"));
  const next = by === "runTurn" ? t.agent.runTurn("again", "s") : t.agent.resumeTurn("s");
  expect((await next).text).toBe("back");
  await expectLawful(t, "s");
}

/** A batch of which "c1" runs until the test settles it; interrupted then. */
async function interruptedBatch(names: readonly string[], options: TestAgentOptions = {}) {
  const tools = new RecordingToolProvider();
  tools.add("f", toolOutcome.held()).add("g", toolOutcome.ok("fine"));
  tools.add({ ...toolDef("one"), executionMode: "sequential" }, toolOutcome.ok("fine"));
  const t = await testAgent({ script: [callsOf(...names)], tools, ...options });
  const turn = t.agent.startTurn("hi", "s");
  await tools.started("c1");
  turn.interrupt();
  return { t, tools, turn, finish: () => tools.settle("c1", toolOutcome.ok("finished")) };
}

test("in a batch, running calls finish with their results and the others are skipped (L4)", async () => {
  const { t, tools, turn, finish } = await interruptedBatch(["f", "g", "one", "one", "g"]);
  await using _ = t;
  await t.runtime.advance(60_000);
  expect(terminals(t.observer.events)).toEqual([]);
  finish();
  const result = await turn.result;
  expect(result).toMatchObject(INTERRUPTED);
  const outcomes = ["completed", "completed", "not-started", "not-started", "not-started"];
  expect(result.exchanges.map(({ outcome }) => outcome)).toEqual(outcomes);
  expect(result.exchanges.every(({ cancellationRequested }) => !cancellationRequested)).toBe(true);
  expect(tools.execRecords.map(({ callId }) => callId)).toEqual(["c1", "c2"]);
  await expectUsable(t);
  const told = toldResults(t);
  expect([told["c1"], told["c2"]]).toEqual(["finished", "fine"]);
  for (const id of ["c3", "c4", "c5"]) expect(told[id]).toContain("skipped");
});

test.each([
  ["that wait for a free place", { maxParallelTools: 1 }],
  ["that run one by one", { toolExecution: "sequential" as const }],
])("in a batch, calls %s are skipped (L4)", async (_, config) => {
  const { t, tools, turn, finish } = await interruptedBatch(["f", "g", "g"], { config });
  await using _t = t;
  finish();
  expect((await turn.result).exchanges.map(({ outcome }) => outcome)).toEqual([
    "completed",
    "not-started",
    "not-started",
  ]);
  expect(tools.execRecords).toHaveLength(1);
  await expectUsable(t);
});

test("in a batch, calls that were deferred stay pending, and the turn is deferred (L4, L8, U5)", async () => {
  const defers = hookAt("beforeTool", ({ call }, context) =>
    call.id === "c2" && context.decision === undefined ? context.defer("ask") : undefined,
  );
  const { t, turn, finish } = await interruptedBatch(["f", "g", "one"], { hooks: [defers] });
  await using _ = t;
  turn.steer("psst");
  finish();
  const result = await turn.result;
  expect(result).toMatchObject({ status: "deferred", deferred: [{ callId: "c2" }] });
  expect(linesOf(result.undelivered)).toEqual(["user psst"]);
  expect((await t.agent.session("s")).metadata[SESSION_KEYS.deferred]).toMatchObject([{ callId: "c2" }]);
  await expectLawful(t, "s");
  t.model.push(stopResponse("more"));
  const resumed = await t.agent.resumeTurn("s", { decisions: [{ callId: "c2", approve: true }] });
  expect(resumed).toMatchObject({ status: "completed", text: "more" });
  expect(sent(t)).toContain("c2 = fine");
});

test("while calls are prepared, those that were not asked about are skipped, and nothing starts (L4)", async () => {
  const asked: string[] = [];
  const hook = hookAt("beforeTool", ({ call }) => {
    asked.push(call.id);
    turn.interrupt();
  });
  await using t = await testAgent({ script: [callsOf("f", "f")], tools: { f: toolOutcome.ok() }, hooks: [hook] });
  const turn = t.agent.startTurn("hi", "s");
  const result = await turn.result;
  expect(result).toMatchObject({ ...INTERRUPTED, exchanges: [{ outcome: "not-started" }, { outcome: "not-started" }] });
  expect([asked, t.tools.execRecords]).toEqual([["c1"], []]);
  await expectLawful(t, "s");
});

test.each(["afterTool", "settleTool", "beforeContinue"] as const)(
  "in %s, nothing is run again and the turn stops (L4)",
  async (kind) => {
    const hook = hookAt(kind, () => turn.interrupt());
    await using t = await testAgent({
      script: [toolCallResponse("f", "c1")],
      tools: { f: toolOutcome.ok() },
      hooks: [hook],
    });
    const turn = t.agent.startTurn("hi", "s");
    expect(await turn.result).toMatchObject({ ...INTERRUPTED, exchanges: [{ outcome: "completed" }] });
    expect(t.model.callCount).toBe(1);
    t.model.push(stopResponse("back"));
    await expectUsable(t, "resumeTurn");
  },
);

test("between rounds, the turn stops before the next (L4)", async () => {
  await using t = await testAgent({ script: [toolCallResponse("f", "c1")], tools: { f: toolOutcome.ok() } });
  const turn = t.agent.startTurn("hi", "s");
  turn.subscribe(({ type }) => (type === "roundEnded" ? turn.interrupt() : undefined));
  expect(await turn.result).toMatchObject(INTERRUPTED);
  expect(t.observer.ofType("roundStarted")).toHaveLength(1);
});

test("in a batch, steering that comes after the interruption and before the running call ends goes on (L4)", async () => {
  const { t, turn, finish } = await interruptedBatch(["f", "one"]);
  await using _ = t;
  await t.runtime.advance(0);
  turn.steer("psst");
  t.model.push(stopResponse("more"));
  finish();
  expect(await turn.result).toMatchObject({ status: "completed", text: "more" });
  expect(sent(t)).toEqual(["user hi", "calls c1,c2", "c1 = finished", expect.stringContaining("skipped"), "user psst"]);
});

test("a tool that never ends keeps an interrupted turn until somebody aborts it (L4, L5)", async () => {
  await using t = await testAgent({ script: [callsOf("f")], tools: { f: toolOutcome.hangs({ ignoreAbort: true }) } });
  const turn = t.agent.startTurn("hi", "s");
  await t.runtime.advance(0);
  turn.interrupt();
  await t.runtime.advance(60_000);
  expect(terminals(t.observer.events)).toEqual([]);
  turn.abort();
  await t.runtime.advance(1_000);
  expect((await turn.result).status).toBe("aborted");
});
