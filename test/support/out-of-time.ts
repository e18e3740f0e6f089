import { expect } from "vitest";
import type { AgentError } from "../../src/domain/errors.js";
import type { TestAgent } from "../../src/testkit/index.js";
import { rejectionOf } from "./turns.js";

/** What a turn of these tests may take, and what it may take beyond it to settle (L5), in milliseconds. */
export const TIME = 5_000;
export const A_SECOND = 1_000;
export const timed = { config: { turnTimeoutMs: TIME } };

/** A turn on "s" whose time runs out: nothing has settled before, and everything within a second. */
export async function outOfTime(t: TestAgent, options: object = timed, ms = TIME): Promise<AgentError> {
  const turn = t.agent.startTurn("hi", "s", options);
  let settled = false;
  const failure = rejectionOf(turn.result.finally(() => (settled = true)));
  failure.catch(() => undefined);
  await t.runtime.advance(ms - 1);
  expect(settled).toBe(false);
  await t.runtime.advance(1 + A_SECOND);
  expect(settled).toBe(true);
  return failure;
}
