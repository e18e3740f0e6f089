import { expect, test } from "vitest";
import { CompositionError } from "../../src/domain/errors.js";
import { stopResponse, testAgent } from "../../src/testkit/index.js";
import { hookAt, never, rejectionOf } from "../support/turns.js";

const patient = (timeoutMs: number, answer: Promise<undefined>) => ({
  ...hookAt("beforeModel", () => answer, "patient"),
  timeoutMs,
});

test("a hook's own timeout bounds it instead of hookTimeoutMs, longer or shorter (A4)", async () => {
  const answer = Promise.withResolvers<undefined>();
  const hooks = [patient(60_000, answer.promise)];
  await using t = await testAgent({ script: [stopResponse("late")], hooks, config: { hookTimeoutMs: 100 } });
  const slow = t.agent.runTurn("hi", "s");
  await t.runtime.advance(59_000);
  answer.resolve(undefined);
  expect((await slow).text).toBe("late");
  await using short = await testAgent({ hooks: [patient(50, never())] });
  const failed = rejectionOf(short.agent.runTurn("hi", "s"));
  await short.runtime.advance(50);
  expect((await failed).kind).toBe("hook-aborted");
});

test.each([0, -1, Number.NaN, "5"])(
  "a hook whose timeout is %s is refused when the agent is made (A1)",
  async (time) => {
    const hooks = [patient(time as number, Promise.resolve(undefined))];
    const refused = await testAgent({ hooks }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(CompositionError);
    expect(String(refused)).toContain("patient");
  },
);
