import { expect, test } from "vitest";
import { SessionError } from "../../src/domain/errors.js";
import { SESSION_KEYS } from "../../src/domain/session.js";
import {
  modelStep,
  RecordingSessionStore,
  stopResponse,
  testAgent,
  type TestAgentOptions,
  textStream,
  toolOutcome,
} from "../../src/testkit/index.js";
import { leaseOf, linesOf, stored, user, writeElsewhere } from "../support/conversations.js";
import { callsOf, expectLawful, rejectionOf, terminals } from "../support/turns.js";

const LEASE_MS = 60_000;

/** A turn on "s" whose two calls are running. */
async function running(options: TestAgentOptions = {}) {
  const script = [callsOf("f", "g"), stopResponse("never asked")];
  const t = await testAgent({ script, tools: { f: toolOutcome.held(), g: toolOutcome.hangs() }, ...options });
  const turn = t.agent.startTurn("hi", "s");
  await t.tools.started("c1");
  return { t, turn };
}

test("a conflict in mid-turn: running calls are aborted, finished results are added once on the newer revision, nothing new starts (S2)", async () => {
  const { t, turn } = await running();
  await using _ = t;
  await writeElsewhere(t.sessions, "s", { messages: [user("stray")] });
  t.tools.settle("c1", toolOutcome.ok("precious"));
  const error = await rejectionOf(turn.result);
  expect(error).toMatchObject({ kind: "session", cause: { kind: "conflict" } });
  expect(error.message).toContain("session s");
  expect(t.model.callCount).toBe(1);
  expect(t.tools.execRecords.map(({ outcome }) => outcome)).toEqual(["ok", "aborted"]);
  expect(terminals(t.observer.events)).toEqual(["turnFailed"]);
  const lines = await stored(t);
  expect(lines.slice(0, 3)).toEqual(["user hi", "calls c1,c2", "user stray"]);
  expect(lines.filter((line) => line === "c1 = precious")).toHaveLength(1);
  expect(error.partial?.toolResults.map(({ toolCallId }) => toolCallId)).toEqual(["c1", "c2"]);
});

test("what the newer revision has settled already is not added again (S2)", async () => {
  const { t, turn } = await running();
  await using _ = t;
  const { messages } = await t.agent.session("s");
  const settled = ["c1", "c2"].map((toolCallId) => ({
    ...{ role: "tool" as const, id: `theirs ${toolCallId}`, at: 1, toolCallId, toolName: "f" },
    ...{ content: [{ type: "text" as const, text: "theirs" }], isError: true, outcome: "unknown" as const },
  }));
  await writeElsewhere(t.sessions, "s", { messages: settled });
  t.tools.settle("c1", toolOutcome.ok("late"));
  await rejectionOf(turn.result);
  expect(await stored(t)).toEqual([...linesOf(messages), "c1 = !theirs", "c2 = !theirs"]);
});

test("a second conflict is left alone: nothing is lost that was stored, and the session works (S2)", async () => {
  const { t, turn } = await running();
  await using _ = t;
  t.sessions.conflictOnce("s");
  t.sessions.conflictOnce("s");
  t.tools.settle("c1", toolOutcome.ok("precious"));
  expect(await rejectionOf(turn.result)).toMatchObject({ kind: "session" });
  expect(terminals(t.observer.events)).toEqual(["turnFailed"]);
  t.model.push(stopResponse("again"));
  const next = t.agent.runTurn("still there?", "s");
  await t.runtime.advance(2 * LEASE_MS);
  expect((await next).status).toBe("completed");
  await expectLawful(t, "s");
});

test("a heartbeat that finds another writer ends the turn as well (S2)", async () => {
  await using t = await testAgent({ script: [callsOf("g")], tools: { g: toolOutcome.hangs() } });
  const turn = t.agent.startTurn("hi", "s");
  await t.runtime.advance(0);
  await writeElsewhere(t.sessions, "s", { messages: [user("stray")] });
  await t.runtime.advance(LEASE_MS / 3 + 1_000);
  expect(await rejectionOf(turn.result)).toMatchObject({ kind: "session", cause: { kind: "conflict" } });
  expect(t.tools.execRecords.map(({ outcome }) => outcome)).toEqual(["aborted"]);
});

test("a tool that ignores the abort holds a lost turn for a second at most (S2)", async () => {
  const { t, turn } = await running({ tools: { f: toolOutcome.held(), g: toolOutcome.hangs({ ignoreAbort: true }) } });
  await using _ = t;
  t.sessions.conflictOnce("s");
  t.tools.settle("c1", toolOutcome.ok("precious"));
  await t.runtime.advance(1_000);
  expect(await rejectionOf(turn.result)).toMatchObject({ kind: "session" });
  expect(await stored(t)).toContain("c1 = precious");
});

test("a session lost while the model writes ends the turn without another call, and the reply is not stored (S2)", async () => {
  await using t = await testAgent({ script: [modelStep.hang(textStream("half").slice(0, -1))] });
  const turn = t.agent.startTurn("hi", "s");
  await t.runtime.advance(0);
  await writeElsewhere(t.sessions, "s", { messages: [user("stray")] });
  await t.runtime.advance(LEASE_MS / 3 + 1_000);
  expect(await rejectionOf(turn.result)).toMatchObject({ kind: "session", cause: { kind: "conflict" } });
  expect(t.model.aborts).toEqual([0]);
  expect(await stored(t)).toEqual(["user hi", "user stray"]);
});

test("a conflict of the last write fails the turn: no success is told (S1, S2)", async () => {
  await using t = await testAgent({ script: [modelStep.stream(textStream("done"))] });
  const append = t.sessions.append.bind(t.sessions);
  t.sessions.append = (id, delta) => {
    if (delta.unset?.includes(SESSION_KEYS.turn) === true) t.sessions.conflictOnce(id);
    return append(id, delta);
  };
  const error = await rejectionOf(t.agent.runTurn("hi", "s"));
  expect(error).toMatchObject({ kind: "session", cause: { kind: "conflict" } });
  expect(error.partial?.text).toBe("done");
  expect(terminals(t.observer.events)).toEqual(["turnFailed"]);
});

test("a first write that loses is tried again on what the winner stored (S2)", async () => {
  await using t = await testAgent({ script: [stopResponse("done")] });
  await t.agent.appendMessage("s", user("old"));
  for (let n = 0; n < 5; n++) t.sessions.conflictOnce("s");
  expect((await t.agent.runTurn("hi", "s")).status).toBe("completed");
  expect(await stored(t)).toEqual(["user old", "user hi", "assistant done"]);
});

test("a first write loses as often as others get in before it, and reads what is new alone each time (S2)", async () => {
  await using t = await testAgent({ script: [stopResponse("done")] });
  await t.agent.appendMessage("s", user("old"));
  for (let n = 0; n < 100; n++) t.sessions.conflictOnce("s");
  expect((await t.agent.runTurn("hi", "s")).status).toBe("completed");
  const loads = t.sessions.ops.flatMap((op) => (op.type === "load" ? [op.known] : []));
  expect(loads.slice(-100)).toEqual(Array.from({ length: 100 }, (_, n) => n + 1));
  expect(await stored(t)).toEqual(["user old", "user hi", "assistant done"]);
});

test("a store that calls each first write a conflict, and where nobody else writes, fails the turn (S2)", async () => {
  await using t = await testAgent({ script: [stopResponse("never asked")] });
  t.sessions.failSave("s", { error: new SessionError("conflict", "always") });
  expect(await rejectionOf(t.agent.runTurn("hi", "s"))).toMatchObject({ kind: "session", cause: { kind: "conflict" } });
  expect(t.model.callCount).toBe(0);
});

test("a first write that a mirror calls a conflict fails the turn, and is not made again on the authority (S1, S2)", async () => {
  const authority = new RecordingSessionStore();
  const mirror = new RecordingSessionStore();
  mirror.failSave("s", { error: new SessionError("conflict", "always") });
  await using t = await testAgent({ script: [stopResponse("never asked")], sessions: [authority, mirror] });
  expect(await rejectionOf(t.agent.runTurn("hi", "s"))).toMatchObject({ kind: "session" });
  expect((await authority.load("s")).messages).toHaveLength(1);
  expect(t.model.callCount).toBe(0);
});

test("metadata that others patch while a turn runs is no conflict, and stays (S2, S5)", async () => {
  const { t, turn } = await running({ tools: { f: toolOutcome.held(), g: toolOutcome.ok() } });
  await using _ = t;
  for (let n = 0; n < 3; n++) {
    await t.sessions.append("s", {
      operationId: `title ${n}`,
      messages: [],
      metadata: { title: `t${n}`, [`k${n}`]: n },
    });
  }
  t.tools.settle("c1", toolOutcome.ok("fine"));
  expect((await turn.result).status).toBe("completed");
  const { metadata } = await t.agent.session("s");
  expect(metadata).toMatchObject({ title: "t2", k0: 0, k1: 1, k2: 2 });
  expect(leaseOf({ metadata })).toBeUndefined();
});

test("a write that takes longer than storeTimeoutMs fails the turn, which does not hang (S1)", async () => {
  class Slow extends RecordingSessionStore {
    override append(...args: Parameters<RecordingSessionStore["append"]>): Promise<number> {
      return args[1].messages.length === 0 ? Promise.withResolvers<number>().promise : super.append(...args);
    }
  }
  await using t = await testAgent({ script: [stopResponse("done")], sessions: [new Slow()] });
  const turn = t.agent.startTurn("hi", "s");
  await t.runtime.advance(31_000);
  const error = await rejectionOf(turn.result);
  expect(error).toMatchObject({ kind: "session", message: expect.stringContaining("append to session s") });
  expect(terminals(t.observer.events)).toEqual(["turnFailed"]);
});
