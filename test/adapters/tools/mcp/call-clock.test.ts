import { expect, test } from "vitest";
import { CallClock } from "../../../../src/adapters/tools/mcp/call-clock.js";

test("a sign of life that comes when the time is over asks for no timer in the past", () => {
  let now = 0;
  const asked: number[] = [];
  const runtime = {
    elapsed: () => now,
    after: (ms: number) => {
      asked.push(ms);
      return () => undefined;
    },
  };
  const clock = new CallClock(new AbortController().signal, { silenceMs: 200, totalMs: 300 }, runtime as never);
  now = 150;
  clock.touch();
  now = 350;
  clock.touch();
  expect(asked).toEqual([200, 150, 0]);
  clock.end();
});
