import { expect, test } from "vitest";
import { ModelError } from "../../src/domain/errors.js";
import { EMPTY_TURN_VIEW, turnView } from "../../src/domain/turn-view.js";
import type { SecondaryFailure } from "../../src/ports/agent-config.js";
import type { Budget } from "../../src/ports/budget.js";
import { modelStep, stopResponse, testAgent, textStream, toolOutcome } from "../../src/testkit/index.js";
import { callsOf, hookAt, rejectionOf } from "../support/turns.js";

test("who unsubscribes from an agent hears no more of the turn that runs", async () => {
  const seen: string[] = [];
  await using t = await testAgent({ script: [stopResponse("done")] });
  const stop = t.agent.subscribe(({ type }) => {
    seen.push(type);
    stop();
  });
  await t.agent.runTurn("go", "s");
  expect(seen).toEqual(["turnStarted"]);
});

test("two that wait for the next event of one reader are both answered (T8)", async () => {
  await using t = await testAgent({ script: [modelStep.hang()] });
  const turn = t.agent.startTurn("go", "s");
  const reader = turn[Symbol.asyncIterator]();
  const both = [reader.next(), reader.next()];
  await t.runtime.advance(0);
  turn.abort();
  await turn.result;
  expect((await Promise.all(both)).map(({ value }) => value?.type)).toEqual(["turnStarted", "messageAdded"]);
});

test("a late listener that throws is reported once, however many events it missed (T4)", async () => {
  const reports: SecondaryFailure[] = [];
  const onSecondaryFailure = (failure: SecondaryFailure): void => void reports.push(failure);
  await using t = await testAgent({ script: [stopResponse("done")], config: { onSecondaryFailure } });
  const turn = t.agent.startTurn("go", "s");
  await turn.result;
  turn.subscribe(() => {
    throw new Error("no");
  });
  expect(reports).toHaveLength(1);
});

test.each([
  ["signal", {}],
  ["signal", null],
  ["budget", {}],
  ["singal", new AbortController().signal],
  ["decision", []],
])("a turn refuses an option %s that is none, and nothing is steered into it (L3)", async (name, value) => {
  await using t = await testAgent({ script: [stopResponse("done")] });
  const options = { [name]: value } as unknown as { readonly budget: Budget };
  const error = await rejectionOf(t.agent.runTurn("go", "s", options));
  expect([error.kind, error.message]).toEqual(["invalid-input", expect.stringContaining(name)]);
  expect(t.agent.steer("s", "hello?")).toBe(false);
});

test("an abort by the handle keeps its reason to one line of text", async () => {
  await using t = await testAgent({ script: [modelStep.hang()] });
  const turn = t.agent.startTurn("go", "s");
  turn.abort(`no\n${"x".repeat(500)}`);
  const { stopReason = "" } = await turn.result;
  expect([stopReason.startsWith("no"), stopReason.includes("\n"), stopReason.length < 100]).toEqual([
    true,
    false,
    true,
  ]);
});

test("as many messages as an input may hold are taken together (L3)", async () => {
  await using t = await testAgent({ script: [stopResponse("done")] });
  const many = Array.from({ length: 130_000 }, () => ({ role: "user" as const, content: "x" }));
  const { status, undelivered } = await t.agent.runTurn(many, "s");
  expect([status, undelivered]).toEqual(["completed", []]);
});

test("who reads only the text of a turn learns that it failed, behind what was said (F099)", async () => {
  const script = [modelStep.fail(new ModelError("server", "down"), textStream("so far", 1))];
  await using t = await testAgent({ script });
  const turn = t.agent.startTurn("go", "s");
  let told = "";
  const reading = (async () => {
    for await (const piece of turn.text()) told += piece;
  })();
  expect((await rejectionOf(reading)).kind).toBe("model");
  expect(told).toBe("so far");
});

test("a turn's error tells a typed error's text whole: it quotes one label of what came from outside already", async () => {
  const text = `the provider could not be reached at ${"host.".repeat(12)}example:443 (ECONNREFUSED)`;
  await using t = await testAgent({ script: [modelStep.fail(new ModelError("transport", text))] });
  expect((await rejectionOf(t.agent.runTurn("go", "s"))).message).toContain(text);
});

test("a turn that waits for another's lease says so once (S2)", async () => {
  const script = [modelStep.hang(), stopResponse("done")];
  await using t = await testAgent({ script, config: { turnLeaseMs: 1_000 } });
  await using other = await testAgent({
    script: [stopResponse("done")],
    sessions: [t.sessions],
    config: { turnLeaseMs: 1_000 },
  });
  const first = t.agent.startTurn("go", "s", { turnId: "one" });
  await t.runtime.advance(0);
  const second = other.agent.startTurn("go", "s", { turnId: "two" });
  for (let step = 0; step < 5; step++) await other.runtime.advance(150);
  const waits = other.observer.ofType("custom").filter(({ label }) => label === "waiting_for_session");
  expect(waits.map(({ data }) => data)).toEqual([{ sessionId: "s" }]);
  first.abort();
  await first.result;
  await other.runtime.advance(1_000);
  expect((await second.result).status).toBe("completed");
});

test("pendingCalls tells what waits for a decision, and nothing else (U5)", async () => {
  const hooks = [
    hookAt("beforeTool", (_, context) => (context.decision === undefined ? context.defer("ask") : undefined)),
  ];
  await using t = await testAgent({
    script: [callsOf("f"), stopResponse("done")],
    tools: { f: toolOutcome.ok() },
    hooks,
  });
  expect(await t.agent.pendingCalls("s")).toEqual([]);
  const { deferred } = await t.agent.runTurn("go", "s");
  expect(await t.agent.pendingCalls("s")).toEqual(deferred);
  await t.agent.resumeTurn("s", { decisions: [{ callId: "c1", approve: true }] });
  expect(await t.agent.pendingCalls("s")).toEqual([]);
});

test("a view of a turn whose calls wait for a decision says so", async () => {
  const hooks = [hookAt("beforeTool", (_, context) => context.defer("ask"))];
  await using t = await testAgent({ script: [callsOf("f")], tools: { f: toolOutcome.ok() }, hooks });
  await t.agent.runTurn("go", "s");
  const view = t.observer.events.reduce(turnView, EMPTY_TURN_VIEW);
  expect([view.status, view.pendingCalls.map(({ state }) => state)]).toEqual(["deferred", ["deferred"]]);
});
