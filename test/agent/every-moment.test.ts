import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { isMessage, textOf } from "../../src/domain/message.js";
import { orderResults } from "../../src/domain/transcript.js";
import { transcriptLaw } from "../../src/domain/transcript-law.js";
import type { TurnResult } from "../../src/domain/turn-result.js";
import type { TurnHandle } from "../../src/ports/agent-api.js";
import { type SlowAgent, slowAgent } from "../support/every-await.js";
import { terminals, unhandledDuring } from "../support/turns.js";

/** How a turn is ended from outside. */
type Lever = { readonly name: string; readonly pull: (turn: TurnHandle, controller: AbortController) => void };

const LEVERS: readonly Lever[] = [
  { name: "the handle", pull: (turn) => turn.abort("enough") },
  { name: "the caller's signal", pull: (_, controller) => controller.abort("enough") },
];

/** Long enough for what L5 promises, and no longer. */
const A_SECOND = 1_000;

/** Starts a turn, pulls the lever after so many microtasks, and gives the turn a second of the virtual clock. */
async function abortedAfter(slow: SlowAgent, ticks: number, lever: Lever): Promise<TurnResult> {
  const controller = new AbortController();
  const turn = slow.agent.startTurn("go", "s", { signal: controller.signal });
  let settled = false;
  const done = turn.result.finally(() => (settled = true));
  done.catch(() => undefined);
  for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
  lever.pull(turn, controller);
  await slow.runtime.advance(A_SECOND);
  expect(settled).toBe(true);
  expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
  return done;
}

/** What holds however a turn was ended (T3, S4, L5). */
async function expectSound(slow: SlowAgent, result: TurnResult): Promise<void> {
  const { events } = slow.observer;
  const started = events.some(({ type }) => type === "turnStarted");
  expect(terminals(events)).toHaveLength(started ? 1 : 0);
  if (started) expect(terminals([events.at(-1)].filter((event) => event !== undefined))).toHaveLength(1);
  const { messages } = await slow.store.load("s");
  expect(transcriptLaw(orderResults(messages))).toEqual([]);
  for (const message of messages) {
    if (!isMessage(message) || message.role !== "assistant") continue;
    expect(message.parts.length).toBeGreaterThan(0);
    if (message.stopped !== undefined) expect(message.parts.every(({ type }) => type === "text")).toBe(true);
  }
  const input = messages.filter(({ role }) => role === "user").length + result.undelivered.length;
  expect(input).toBe(1);
}

async function expectNextTurnWorks(slow: SlowAgent): Promise<void> {
  const ran = slow.ran.length;
  const next = await slow.agent.runTurn("again", "s");
  expect([next.status, next.text, slow.ran.length - ran]).toEqual(["completed", "half a wordall done", 3]);
  expect(transcriptLaw(orderResults((await slow.store.load("s")).messages))).toEqual([]);
  await slow.agent.shutdown();
  expect(slow.runtime.pendingTimers).toBe(0);
}

test.each(LEVERS)("an abort by $name at any microtask of a turn settles it whole (L5)", async (lever) => {
  let completed = 0;
  let [ticks, partial] = [0, 0];
  const unhandled = await unhandledDuring(async () => {
    for (; completed < 3; ticks++) {
      const slow = await slowAgent();
      const result = await abortedAfter(slow, ticks, lever);
      if (result.status === "completed") completed += 1;
      else expect([result.status, result.stopReason]).toEqual(["aborted", "enough"]);
      if (result.message?.stopped === "aborted") partial += 1;
      await expectSound(slow, result);
      await expectNextTurnWorks(slow);
    }
  });
  expect(unhandled).toEqual([]);
  // The turn has that many moments, and in some of them a reply was half said.
  expect([ticks > 200, partial > 5]).toEqual([true, true]);
});

test("an abort settles a turn within a second whichever call of a port hangs, and the next turn works (L5)", async () => {
  const whole = await slowAgent();
  await whole.agent.runTurn("go", "s");
  const calls = [...whole.passed];
  await whole.agent.shutdown();
  for (const kind of [
    "list",
    "load",
    "append",
    "compress",
    "system",
    "model",
    "model end",
    "tool a",
    "hook settleTool",
  ])
    expect(calls).toContain(kind);
  const unhandled = await unhandledDuring(async () => {
    for (const [index, where] of calls.entries()) {
      const slow = await slowAgent(index);
      const turn = slow.agent.startTurn("go", "s");
      let settled = false;
      const done = turn.result.finally(() => (settled = true));
      await slow.runtime.advance(0);
      expect([where, settled]).toEqual([where, false]);
      turn.abort("enough");
      await slow.runtime.advance(A_SECOND);
      expect([where, settled]).toEqual([where, true]);
      const result = await done;
      // What `afterTurn` is told is the result as it is.
      expect([where, result.status]).toEqual([where, where === "hook afterTurn" ? "completed" : "aborted"]);
      slow.relent();
      if (where !== "append") await expectSound(slow, result);
      await expectNextTurnWorks(slow);
    }
  });
  expect(unhandled).toEqual([]);
});

type Push = (turn: TurnHandle) => boolean;

/** A message that arrives after so many microtasks, and what happens to the turn so many later. */
async function steeredAfter(
  slow: SlowAgent,
  push: Push,
  ticks: number,
  then?: { readonly ticks: number; readonly pull: (turn: TurnHandle) => void },
): Promise<{ readonly result: TurnResult; readonly accepted: boolean }> {
  const turn = slow.agent.startTurn("go", "s");
  for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
  const accepted = push(turn);
  for (let tick = 0; tick < (then?.ticks ?? 0); tick++) await Promise.resolve();
  then?.pull(turn);
  await slow.runtime.advance(A_SECOND);
  return { result: await turn.result, accepted };
}

/** Accepted means once in the session or once among the undelivered, never between a call and its result (L3). */
async function expectOnce(slow: SlowAgent, result: TurnResult, accepted: boolean): Promise<void> {
  const { messages } = await slow.store.load("s");
  const said = [...messages, ...result.undelivered].filter((message) => isMessage(message) && textOf(message) === MORE);
  expect(said).toHaveLength(accepted ? 1 : 0);
  // Records are in the order in which calls ended; nothing else stands between them.
  expect(transcriptLaw(messages).filter(({ kind }) => kind !== "out-of-order")).toEqual([]);
  expect(terminals(slow.observer.events).length).toBeLessThan(2);
}

const MORE = "and more";
const PUSHES: readonly (readonly [string, Push])[] = [
  ["steer", (turn) => turn.steer(MORE)],
  ["followUp", (turn) => turn.followUp(MORE)],
];

test.each(PUSHES)(
  "a message by %s at any microtask of a turn is in the session once, or undelivered once (L3)",
  async (_, push) => {
    let [ticks, refused, delivered] = [0, 0, 0];
    for (; refused < 3; ticks++) {
      const slow = await slowAgent();
      const { result, accepted } = await steeredAfter(slow, push, ticks);
      if (!accepted) refused += 1;
      if (accepted && result.undelivered.length === 0) delivered += 1;
      expect(result.status).toBe("completed");
      await expectOnce(slow, result, accepted);
      await expectNextTurnWorks(slow);
    }
    expect([ticks > 200, delivered > 200]).toEqual([true, true]);
  },
);

test.each(PUSHES)("a message by %s is never lost nor doubled by an abort that follows it (L3)", async (_, push) => {
  for (let ticks = 0; ticks < 400; ticks += 3) {
    for (const later of [0, 1, 2, 5, 9, 14]) {
      const slow = await slowAgent();
      const then = { ticks: later, pull: (turn: TurnHandle) => turn.abort("enough") };
      const { result, accepted } = await steeredAfter(slow, push, ticks, then);
      await expectOnce(slow, result, accepted);
      await slow.agent.shutdown();
    }
  }
});

test("an interruption at any microtask of a turn stops it whole, and steering that waits goes on (L4)", async () => {
  for (const steered of [false, true]) {
    let [ticks, completed, stopped] = [0, 0, 0];
    for (; completed < 3 && ticks < 2_000; ticks++) {
      const slow = await slowAgent();
      const push: Push = (turn) => (turn.interrupt(), steered && turn.steer(MORE));
      const { result, accepted } = await steeredAfter(slow, push, ticks);
      if (result.stopReason === "interrupted") stopped += 1;
      else expect(result.status).toBe("completed");
      if (result.status === "completed" && result.undelivered.length === 0 && !accepted) completed += 1;
      await expectOnce(slow, result, accepted);
      await expectNextTurnWorks(slow);
    }
    if (!steered) expect(stopped).toBeGreaterThan(200);
  }
});
