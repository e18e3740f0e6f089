import { expect, test } from "vitest";
import type { JsonObject } from "../../src/domain/json.js";
import {
  Journal,
  JournalScope,
  RecordingSessionStore,
  stopResponse,
  testAgent,
  testRuntime,
  toolCallResponse,
  toolOutcome,
} from "../../src/testkit/index.js";
import { sent } from "../support/conversations.js";
import { approve, askingFor, ran } from "../support/resuming.js";
import { expectLawful, rejectionOf } from "../support/turns.js";

const used = { usage: { inputTokens: 10, outputTokens: 1, totalTokens: 11 } };

test("a decided turn whose worker died is replayed as it began: its decision counts, and nothing is counted twice (L7, U5)", async () => {
  const sessions = [new RecordingSessionStore()];
  const runtime = testRuntime();
  const shared = { sessions, runtime, hooks: [askingFor()] };
  const calls = { ...toolCallResponse("f", "c1"), ...used };
  await using a = await testAgent({ script: [calls], tools: { f: toolOutcome.ok() }, ...shared });
  await a.agent.runTurn("go", "s");
  const journal = new Journal();
  const options = { decisions: [approve("c1")], turnId: "durable", startedAt: runtime.now() };
  const held = { f: toolOutcome.hangs() };
  await using b = await testAgent({ script: [], tools: held, ...shared });
  const died = b.agent.startResume("s", { ...options, stepScope: new JournalScope({ journal, runtime }) });
  await runtime.advance(0);
  expect(ran(b)).toEqual(["c1"]);
  await using c = await testAgent({
    script: [{ ...stopResponse("done"), ...used }],
    tools: { f: toolOutcome.ok("fine") },
    ...shared,
  });
  const left = Journal.fromJson(journal.toJSON());
  const turn = await c.agent.resumeTurn("s", { ...options, stepScope: new JournalScope({ journal: left, runtime }) });
  expect(turn).toMatchObject({ status: "completed", text: "done", deferred: [] });
  expect(sent(c)).toEqual(["user go", "calls c1", "c1 = fine"]);
  const { session, turn: own } = (await c.agent.usage("s")) ?? {};
  expect([session, own?.usage, own?.modelCalls]).toEqual([
    { inputTokens: 20, outputTokens: 2, totalTokens: 22 },
    { inputTokens: 20, outputTokens: 2, totalTokens: 22 },
    2,
  ]);
  died.abort();
  await runtime.advance(1_000);
  expect((await died.result).status).toBe("aborted");
  await expectLawful(c, "s");
});

test("a turn that rejected what was pending is replayed as it began, and counts nothing twice (L7, U5)", async () => {
  const store = new RecordingSessionStore();
  const runtime = testRuntime();
  const shared = { sessions: [store], runtime, hooks: [askingFor()], tools: { f: toolOutcome.ok() } };
  const calls = { ...toolCallResponse("f", "c1"), ...used };
  await using a = await testAgent({ script: [calls, { ...stopResponse("said"), ...used }], ...shared });
  await a.agent.runTurn("go", "s");
  const journal = new Journal();
  const options = { turnId: "durable", startedAt: runtime.now() };
  // The worker dies before its last write, behind those of the input and of the reply.
  store.failSave("s", { nth: 3 });
  await rejectionOf(
    a.agent.runTurn("never mind", "s", { ...options, stepScope: new JournalScope({ journal, runtime }) }),
  );
  const steps = journal.toJSON() as readonly JsonObject[];
  const recorded = Journal.fromJson(
    steps.slice(
      0,
      steps.findLastIndex(({ name }) => String(name).startsWith("append")),
    ),
  );
  await using c = await testAgent({ script: [], ...shared });
  const turn = await c.agent.runTurn("never mind", "s", {
    ...options,
    stepScope: new JournalScope({ journal: recorded, runtime }),
  });
  expect(turn).toMatchObject({ status: "completed", text: "said" });
  expect(turn.messages).toMatchObject([{ outcome: "not-started" }, { role: "user" }, { role: "assistant" }]);
  expect((await c.agent.usage("s"))?.session).toEqual({ inputTokens: 20, outputTokens: 2, totalTokens: 22 });
});
