import { expect, test } from "vitest";
import type { SecondaryFailure } from "../../src/ports/agent-config.js";
import type { Budget } from "../../src/ports/budget.js";
import { modelStep, stopResponse, testAgent } from "../../src/testkit/index.js";
import { rejectionOf } from "../support/turns.js";

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
}, 30_000);
