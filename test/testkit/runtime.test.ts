import { expect, test } from "vitest";
import { TEST_START, testRuntime } from "../../src/testkit/runtime.js";

test("time stands still until it is advanced, and ends where it was told to", async () => {
  const runtime = testRuntime();
  expect(runtime.now()).toBe(TEST_START);
  await runtime.advance(1_500);
  expect(runtime.now()).toBe(TEST_START + 1_500);
  await expect(runtime.advance(-1)).rejects.toThrow(RangeError);
});

test("due timers run in order of time, then of creation, each at its own moment", async () => {
  const runtime = testRuntime({ startAt: 0 });
  const log: string[] = [];
  const note = (name: string) => () => void log.push(`${name}@${runtime.now()}`);
  runtime.after(30, note("late"));
  runtime.after(10, note("first"));
  runtime.after(10, note("second"));
  runtime.after(31, note("not due"));
  await runtime.advance(30);
  expect(log).toEqual(["first@10", "second@10", "late@30"]);
  expect(runtime.pendingTimers).toBe(1);
});

test("timers set by what a timer wakes run in the same advance", async () => {
  const runtime = testRuntime({ startAt: 0 });
  const sleep = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      runtime.after(ms, resolve);
    });
  const woken: number[] = [];
  const sleeper = (async () => {
    for (let i = 0; i < 3; i++) {
      await sleep(10);
      await Promise.resolve();
      woken.push(runtime.now());
    }
  })();
  await runtime.advance(100);
  await sleeper;
  expect(woken).toEqual([10, 20, 30]);
});

test("a cancelled timer does not run, and what a timer throws comes out of advance", async () => {
  const runtime = testRuntime();
  const cancel = runtime.after(1, () => {
    throw new Error("cancelled");
  });
  cancel();
  cancel();
  await runtime.advance(10);
  runtime.after(1, () => {
    throw new Error("boom");
  });
  await expect(runtime.advance(10)).rejects.toThrow("boom");
});

test("ids look like UUIDv7, sort as they were made, and repeat from one runtime to the next", async () => {
  const make = async (): Promise<string[]> => {
    const runtime = testRuntime();
    const ids = Array.from({ length: 20 }, () => runtime.newId());
    await runtime.advance(5);
    return [...ids, runtime.newId()];
  };
  const ids = await make();
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(ids.toSorted()).toEqual(ids);
  expect(new Set(ids).size).toBe(ids.length);
  expect(await make()).toEqual(ids);
});
