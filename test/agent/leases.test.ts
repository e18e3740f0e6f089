import { expect, test } from "vitest";
import { ModelError } from "../../src/domain/errors.js";
import { SESSION_KEYS } from "../../src/domain/session.js";
import {
  modelStep,
  RecordingSessionStore,
  stopResponse,
  testAgent,
  type TestAgentOptions,
  testRuntime,
  toolCallResponse,
  toolOutcome,
} from "../../src/testkit/index.js";
import { TEST_START } from "../../src/testkit/runtime.js";
import { leaseOf, sent, writeElsewhere } from "../support/conversations.js";
import { hookAt, rejectionOf, terminals } from "../support/turns.js";

const LEASE_MS = 60_000;

/** Two agents on one store, on one clock; `a` holds session "s" in a call of the tool `f`. */
async function holding(options: TestAgentOptions = {}) {
  const store = new RecordingSessionStore();
  const runtime = testRuntime();
  const shared = { sessions: [store], runtime };
  const script = [toolCallResponse("f", "c1"), stopResponse("a done")];
  const a = await testAgent({ script, tools: { f: toolOutcome.held() }, ...shared });
  const b = await testAgent({ script: [stopResponse("b done")], ...shared, ...options });
  const first = a.agent.startTurn("a asks", "s");
  await a.tools.started("c1");
  const finish = (): void => a.tools.settle("c1", toolOutcome.ok("fine"));
  const dispose = async (): Promise<void> => {
    for (const { agent } of [a, b]) {
      const closing = agent.shutdown();
      await runtime.advance(LEASE_MS);
      await closing;
    }
  };
  return { a, b, store, runtime, first, finish, [Symbol.asyncDispose]: dispose };
}

/** A session whose owner was killed: its lease is stored and nobody moves it. */
function orphaned(until: number) {
  const store = new RecordingSessionStore();
  store.seed("s", { metadata: { [SESSION_KEYS.turn]: { turnId: "killed", until } } });
  return store;
}

test("a turn of another agent waits until the session is free, also while a tool runs longer than a lease (S2)", async () => {
  await using s = await holding();
  const second = s.b.agent.runTurn("b asks", "s");
  await s.runtime.advance(5 * LEASE_MS);
  expect(s.b.model.callCount).toBe(0);
  s.finish();
  expect((await s.first.result).status).toBe("completed");
  await s.runtime.advance(1_000);
  expect((await second).text).toBe("b done");
  expect(sent(s.b)).toEqual(["user a asks", "calls c1", "c1 = fine", "assistant a done", "user b asks"]);
});

test("while a tool runs, the heartbeat moves the end of the lease, in compared writes (S2)", async () => {
  await using s = await holding();
  const before = s.store.ops.length;
  await s.runtime.advance(LEASE_MS);
  const beats = s.store.ops.slice(before);
  expect(beats.map((op) => op.type === "append" && op.delta?.baseRevision !== undefined)).toEqual([true, true, true]);
  const ends = beats.map(({ outcome }) => outcome.ok && leaseOf(outcome));
  expect(ends).toEqual(
    [1, 2, 3].map((n) => ({ turnId: s.first.id, until: TEST_START + (n * LEASE_MS) / 3 + LEASE_MS })),
  );
  s.finish();
  await s.first.result;
  const after = s.store.ops.length;
  await s.runtime.advance(LEASE_MS);
  expect(s.store.ops).toHaveLength(after);
});

test("where the config says so, a turn on a session that another agent holds is refused before anything runs (S2)", async () => {
  await using s = await holding({ config: { onBusy: "refuse" } });
  const writes = s.store.saveSnapshots().length;
  const error = await rejectionOf(s.b.agent.runTurn("b asks", "s"));
  expect(error).toMatchObject({ kind: "session", cause: { name: "SessionError", kind: "conflict" } });
  expect(error.partial?.undelivered).toMatchObject([{ role: "user" }]);
  expect([s.b.model.callCount, s.b.tools.execRecords.length, s.store.saveSnapshots().length]).toEqual([0, 0, writes]);
  s.finish();
  expect((await s.first.result).status).toBe("completed");
});

test("takeOver takes the session at once, and the turn that had it ends as a session failure (S2)", async () => {
  await using s = await holding();
  const second = await s.b.agent.runTurn("b asks", "s", { takeOver: true });
  expect(second.text).toBe("b done");
  expect(sent(s.b)).toEqual(["user a asks", "calls c1", expect.stringMatching(/^c1 = !.*unknown/), "user b asks"]);
  s.finish();
  const error = await rejectionOf(s.first.result);
  expect(error).toMatchObject({ kind: "session", cause: { kind: "conflict" } });
  expect(s.a.model.callCount).toBe(1);
  const { messages, metadata } = await s.store.load("s");
  expect(messages.filter((message) => message.role === "tool")).toHaveLength(1);
  expect(leaseOf({ metadata })).toBeUndefined();
});

test.each([-60_000, 0, 60_000])(
  "a killed turn's lease is dead a lease after it was first seen, by the reader's clock alone (owner's clock off by %i ms) (S2)",
  async (off) => {
    const store = orphaned(TEST_START + off + LEASE_MS);
    await using t = await testAgent({ script: [stopResponse("mine")], sessions: [store] });
    const turn = t.agent.runTurn("hi", "s");
    await t.runtime.advance(LEASE_MS - 1_000);
    expect(t.model.callCount).toBe(0);
    await t.runtime.advance(2_000);
    expect((await turn).text).toBe("mine");
    expect(leaseOf(await store.load("s"))).toBeUndefined();
  },
);

test("a lease of long ago is waited out too: the clocks of two machines are never compared (S2)", async () => {
  await using t = await testAgent({ script: [stopResponse("mine")], sessions: [orphaned(0)] });
  const turn = t.agent.runTurn("hi", "s");
  await t.runtime.advance(LEASE_MS / 2);
  expect(t.model.callCount).toBe(0);
  await t.runtime.advance(LEASE_MS);
  expect((await turn).text).toBe("mine");
});

test("a turn that waited, lost to another and waits again tells of it once (S2)", async () => {
  const store = orphaned(0);
  const append = store.append.bind(store);
  store.append = async (id, delta) => {
    store.append = append;
    await writeElsewhere(store, id, { metadata: { [SESSION_KEYS.turn]: { turnId: "faster", until: 0 } } });
    return append(id, delta);
  };
  await using t = await testAgent({ script: [stopResponse("mine")], sessions: [store] });
  const turn = t.agent.runTurn("hi", "s");
  await t.runtime.advance(LEASE_MS + 1_000);
  expect(leaseOf(await store.load("s"))).toMatchObject({ turnId: "faster" });
  await t.runtime.advance(LEASE_MS + 1_000);
  expect((await turn).text).toBe("mine");
  expect(t.observer.ofType("custom").map(({ label }) => label)).toEqual(["waiting_for_session"]);
});

test("a lease that moves starts the wait again (S2)", async () => {
  const store = orphaned(1);
  await using t = await testAgent({ script: [stopResponse("mine")], sessions: [store] });
  const turn = t.agent.runTurn("hi", "s");
  for (let n = 2; n < 6; n++) {
    await t.runtime.advance(LEASE_MS - 1_000);
    const metadata = { [SESSION_KEYS.turn]: { turnId: "killed", until: n } };
    await store.append("s", { operationId: `beat ${n}`, messages: [], metadata });
  }
  await t.runtime.advance(LEASE_MS - 1_000);
  expect(t.model.callCount).toBe(0);
  await t.runtime.advance(2_000);
  expect((await turn).text).toBe("mine");
});

test("an abort ends the wait for another agent's lease within a second, and the input is undelivered (S2, L5)", async () => {
  await using s = await holding();
  const second = s.b.agent.startTurn("b asks", "s");
  await s.runtime.advance(2_000);
  second.abort("enough");
  await s.runtime.advance(1_000);
  expect(await second.result).toMatchObject({ status: "aborted", messages: [], undelivered: [{ role: "user" }] });
  s.finish();
  expect((await s.first.result).status).toBe("completed");
});

test("of two agents that begin at the same moment, one goes first and nothing of the other comes between (S2)", async () => {
  const store = new RecordingSessionStore();
  const runtime = testRuntime();
  const agents = await Promise.all(
    ["a", "b", "c"].map((name) =>
      testAgent({
        script: [toolCallResponse("f", name), stopResponse(`${name} done`)],
        tools: { f: toolOutcome.ok(name) },
        sessions: [store],
        runtime,
      }),
    ),
  );
  const turns = agents.map(({ agent }) => agent.runTurn("ask", "s"));
  await runtime.advance(10_000);
  await Promise.all(turns);
  const owners = (await store.load("s")).messages.map(({ id }) => id.slice(0, id.lastIndexOf(".")));
  expect(owners).toHaveLength(12);
  for (let turn = 0; turn < 3; turn++) expect(new Set(owners.slice(turn * 4, turn * 4 + 4)).size).toBe(1);
  for (const { agent } of agents) await agent.shutdown();
});

const endings: readonly (readonly [string, TestAgentOptions])[] = [
  ["completes", { script: [stopResponse("done")] }],
  ["is stopped by a hook", { script: [], hooks: [hookAt("beforeContext", (_, context) => context.stop("enough"))] }],
  ["is aborted by a hook", { script: [], hooks: [hookAt("beforeContext", (_, context) => context.abort("no"))] }],
  ["fails in the model", { script: [modelStep.fail(new ModelError("auth", "no key"))] }],
  [
    "exceeds its rounds",
    { script: [toolCallResponse("f", "c1")], tools: { f: toolOutcome.ok() }, config: { maxToolRounds: 0 } },
  ],
  [
    "defers a call",
    {
      script: [toolCallResponse("f", "c1")],
      tools: { f: toolOutcome.ok() },
      hooks: [hookAt("beforeTool", (_, context) => context.defer("ask"))],
    },
  ],
  ["fails to list tools", { script: [], tools: undefined }],
];

test.each(endings)(
  "a turn that %s holds the lease from its first write and removes it with its last (S2)",
  async (name, options) => {
    await using t = await testAgent(options);
    if (name === "fails to list tools") t.tools.failList(new Error("no list"));
    await t.agent.runTurn("hi", "s").catch(() => undefined);
    expect(terminals(t.observer.events)).toHaveLength(1);
    const leases = t.sessions.saveSnapshots().map(({ session }) => leaseOf(session) !== undefined);
    expect(leases.length).toBeGreaterThan(1);
    expect(leases).toEqual([...leases.slice(1).map(() => true), false]);
  },
);

test("an aborted turn removes its lease (S2, L5)", async () => {
  await using t = await testAgent({ script: [modelStep.hang()] });
  const turn = t.agent.startTurn("hi", "s");
  await t.runtime.advance(0);
  expect(leaseOf(await t.agent.session("s"))).toEqual({ turnId: turn.id, until: TEST_START + LEASE_MS });
  turn.abort();
  await turn.result;
  expect(leaseOf(await t.agent.session("s"))).toBeUndefined();
});
