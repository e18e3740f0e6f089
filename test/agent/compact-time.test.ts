import { expect, test } from "vitest";
import type { Compressor } from "../../src/ports/compressor.js";
import { modelStep, stopResponse, testAgent } from "../../src/testkit/index.js";
import { never, rejectionOf } from "../support/turns.js";

const hangs: Compressor = { name: "hangs", compress: () => never() };

test("a compaction whose compressor never answers ends with its signal, and lets the session go (C1)", async () => {
  const script = [stopResponse("one"), stopResponse("two")];
  let asked = 0;
  const slow: Compressor = { name: "slow", compress: () => (asked++ === 1 ? never() : { type: "none" }) };
  await using t = await testAgent({ script, compressors: [slow] });
  await t.agent.runTurn("hi", "s");
  const controller = new AbortController();
  const failed = rejectionOf(t.agent.compact("s", { signal: controller.signal }));
  await t.runtime.advance(0);
  controller.abort();
  await t.runtime.advance(1_000);
  expect((await failed).kind).toBe("runtime");
  expect((await t.agent.runTurn("again", "s")).text).toBe("two");
});

test("turnTimeoutMs bounds a compaction too (L2)", async () => {
  await using t = await testAgent({ compressors: [hangs], config: { turnTimeoutMs: 50 } });
  const failed = rejectionOf(t.agent.compact("s"));
  await t.runtime.advance(1_050);
  const { kind, limit } = await failed;
  expect([kind, limit]).toEqual(["budget-exceeded", "turnTimeoutMs"]);
});

test("a compaction that waits for a turn gives up with its signal, and takes no lock later (T1)", async () => {
  await using t = await testAgent({ script: [modelStep.hang(), stopResponse("next")] });
  const turn = t.agent.startTurn("hi", "s");
  await t.runtime.advance(0);
  const controller = new AbortController();
  const failed = rejectionOf(t.agent.compact("s", { signal: controller.signal }));
  controller.abort();
  await t.runtime.advance(1_000);
  expect((await failed).kind).toBe("runtime");
  turn.abort();
  await turn.result;
  expect((await t.agent.runTurn("again", "s")).text).toBe("next");
});

test("a signal that is aborted already compacts nothing", async () => {
  await using t = await testAgent({ compressors: [hangs] });
  expect((await rejectionOf(t.agent.compact("s", { signal: AbortSignal.abort() }))).kind).toBe("runtime");
});
