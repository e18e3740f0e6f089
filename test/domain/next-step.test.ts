import fc from "fast-check";
import { expect, test } from "vitest";
import type { AssistantMessage } from "../../src/domain/message.js";
import { nextStep, type NextStep, type StepLimits, TOOL_ROUND_LIMIT } from "../../src/domain/next-step.js";
import type { ToolCall, ToolExchange } from "../../src/domain/tool.js";
import { begin, type Endings, type RoundDecision, type Turn } from "../../src/domain/turn.js";

const limits: StepLimits = { maxToolRounds: 2, onToolRoundLimit: "fail" };
const calls: readonly ToolCall[] = [{ id: "c1", name: "f", arguments: {} }];
const reply: AssistantMessage = { id: "m1", at: 0, role: "assistant", parts: [] };

const exchange = (terminate: boolean): ToolExchange => ({
  executionId: "m1.0",
  sourceOrder: 0,
  callId: "c1",
  toolName: "f",
  originalInput: {},
  executionMode: "parallel",
  call: { id: "c1", name: "f", arguments: {} },
  outcome: "completed",
  cancellationRequested: false,
  result: { content: [], isError: false, ...(terminate ? { terminate } : undefined) },
});
const plain = [exchange(false)];

const turn = (change: Partial<Turn> = {}): Turn => ({ ...begin(), ...change });
const ended = (endings: Endings, change: Partial<Turn> = {}): Turn => turn({ reply, rounds: 1, endings, ...change });
const decided = (decision: RoundDecision): Turn => ended({ decided: decision }, { asked: "end" });

const aborted = { aborted: "enough" };
const failed = { failed: { error: new Error("store") } };
const hookAborted = { hookAborted: { reason: "no", error: undefined } };
const stopped = { stopped: "told" };
const all: Endings = { ...aborted, ...failed, ...hookAborted, ...stopped, decided: { kind: "finish" } };

const table: readonly (readonly [string, Turn, NextStep])[] = [
  ["a turn that begins asks the model", turn(), { type: "call-model" }],
  ["a reply with calls runs them", turn({ reply, rounds: 1, open: calls }), { type: "run-tools", calls }],
  [
    "calls run up to the limit of rounds",
    turn({ reply, rounds: 2, open: calls, batches: 1 }),
    { type: "run-tools", calls },
  ],
  [
    "calls beyond the limit fail the turn (L1)",
    turn({ reply, rounds: 3, open: calls, batches: 2 }),
    { type: "fail", why: "tool-loop-exceeded" },
  ],
  [
    "a round whose calls are answered is told to its hooks",
    turn({ reply, rounds: 1, exchanges: plain }),
    { type: "ask-continue", natural: false },
  ],
  [
    "a round of calls that nobody ended leads to the next",
    turn({ reply, rounds: 1, exchanges: plain, asked: "continue" }),
    { type: "call-model" },
  ],
  ["a reply without calls is a natural end", turn({ reply, rounds: 1 }), { type: "ask-continue", natural: true }],
  ["beforeEnd comes after beforeContinue", turn({ reply, rounds: 1, asked: "continue" }), { type: "ask-end" }],
  ["a natural end that nobody minded is complete", turn({ reply, rounds: 1, asked: "end" }), { type: "complete" }],
  [
    "a batch that terminates is complete (U6)",
    turn({ reply, rounds: 1, exchanges: [exchange(true)] }),
    { type: "complete" },
  ],
  [
    "one result that does not terminate keeps the turn going (U6)",
    turn({ reply, rounds: 1, exchanges: [exchange(true), exchange(false)] }),
    { type: "ask-continue", natural: false },
  ],
  ["deferred calls end the turn", turn({ reply, rounds: 1, deferred: 1, exchanges: plain }), { type: "defer" }],
  ["an abort wins over everything", ended(all, { open: calls, deferred: 1 }), { type: "abort", reason: "enough" }],
  [
    "a store failure wins over all but an abort",
    ended({ ...failed, ...hookAborted, ...stopped }, { open: calls, deferred: 1 }),
    { type: "fail", why: "failed" },
  ],
  [
    "a hook's abort wins over deferral and stop",
    ended({ ...hookAborted, ...stopped }, { open: calls, deferred: 1 }),
    { type: "fail", why: "hook-aborted" },
  ],
  ["deferral wins over a hook's stop", ended(stopped, { deferred: 1, exchanges: plain }), { type: "defer" }],
  [
    "a hook's stop wins over terminate",
    ended(stopped, { exchanges: [exchange(true)] }),
    { type: "stop", reason: "told" },
  ],
  ["a hook's stop wins over the limit", ended(stopped, { open: calls, batches: 2 }), { type: "stop", reason: "told" }],
  ["a hook's stop before the first reply ends the turn", turn({ endings: stopped }), { type: "stop", reason: "told" }],
  [
    "terminate wins over what hooks decided at the end of the round",
    ended({ decided: { kind: "checkpoint" } }, { exchanges: [exchange(true)] }),
    { type: "complete" },
  ],
  ["finish is complete", decided({ kind: "finish" }), { type: "complete" }],
  ["checkpoint stops", decided({ kind: "checkpoint" }), { type: "stop", reason: "checkpoint" }],
  ["wait stops", decided({ kind: "wait", reason: "for a person" }), { type: "stop", reason: "waiting" }],
  ["stop stops", decided({ kind: "stop", reason: "told" }), { type: "stop", reason: "told" }],
  ["cancel aborts", decided({ kind: "cancel", reason: "no more" }), { type: "abort", reason: "no more" }],
  ["an empty reason is a reason", ended({ aborted: "" }), { type: "abort", reason: "" }],
  ["a stop for no reason in words is a stop", ended({ stopped: "" }), { type: "stop", reason: "" }],
];

test.each(table)("%s (L8)", (_, given, step) => {
  expect(nextStep(given, limits)).toEqual(step);
});

test("where the config says so, the limit of rounds stops the turn instead of failing it (L1)", () => {
  const given = turn({ reply, rounds: 3, open: calls, batches: 2 });
  expect(nextStep(given, { maxToolRounds: 2, onToolRoundLimit: "stop" })).toEqual({
    type: "stop",
    reason: TOOL_ROUND_LIMIT,
  });
});

test("the model is asked once more than there are rounds of tools, whatever a hook wants to go on with (L1)", () => {
  const more = turn({ rounds: 3 });
  expect(nextStep(turn({ rounds: 2 }), limits)).toEqual({ type: "call-model" });
  expect(nextStep(more, limits)).toEqual({ type: "fail", why: "tool-loop-exceeded" });
  expect(nextStep(more, { ...limits, onToolRoundLimit: "stop" })).toEqual({ type: "stop", reason: TOOL_ROUND_LIMIT });
});

const decision: fc.Arbitrary<RoundDecision> = fc.oneof(
  fc.constantFrom<RoundDecision>({ kind: "finish" }, { kind: "checkpoint" }),
  fc.record({ kind: fc.constantFrom("stop" as const, "cancel" as const, "wait" as const), reason: fc.string() }),
);
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const anyTurn: fc.Arbitrary<Turn> = fc
  .record({
    rounds: fc.nat(5),
    batches: fc.nat(5),
    hasReply: fc.boolean(),
    open: fc.array(fc.constant(calls[0] as ToolCall), { maxLength: 3 }),
    exchanges: fc.array(fc.boolean().map(exchange), { maxLength: 3 }),
    deferred: fc.nat(2),
    asked: fc.constantFrom("nobody" as const, "continue" as const, "end" as const),
    aborted: maybe(fc.string()),
    failed: fc.boolean(),
    hookAborted: fc.boolean(),
    stopped: maybe(fc.string()),
    decided: maybe(decision),
  })
  .map(({ hasReply, open, exchanges, ...given }) =>
    turn({
      rounds: given.rounds,
      batches: given.batches,
      open,
      exchanges,
      deferred: given.deferred,
      asked: given.asked,
      ...(hasReply ? { reply } : undefined),
      endings: {
        ...(given.aborted === undefined ? undefined : { aborted: given.aborted }),
        ...(given.failed ? failed : undefined),
        ...(given.hookAborted ? hookAborted : undefined),
        ...(given.stopped === undefined ? undefined : { stopped: given.stopped }),
        ...(given.decided === undefined ? undefined : { decided: given.decided }),
      },
    }),
  );
const anyLimits = fc.record({ maxToolRounds: fc.nat(4), onToolRoundLimit: fc.constantFrom("fail", "stop") });

test("every turn has exactly one next step, and the order of L8 holds for all of them", () => {
  fc.assert(
    fc.property(anyTurn, anyLimits, (given, bounds) => {
      const step = nextStep(given, bounds);
      const { endings } = given;
      expect(nextStep(structuredClone(given), bounds)).toEqual(step);
      if (endings.aborted !== undefined) return void expect(step).toEqual({ type: "abort", reason: endings.aborted });
      if (endings.failed !== undefined) return void expect(step).toEqual({ type: "fail", why: "failed" });
      if (endings.hookAborted !== undefined) return void expect(step).toEqual({ type: "fail", why: "hook-aborted" });
      if (step.type === "run-tools") {
        expect(given.batches).toBeLessThan(bounds.maxToolRounds);
        expect(step.calls).toEqual(given.open);
      }
      if (step.type === "call-model") {
        expect(given.open).toEqual([]);
        expect(given.rounds).toBeLessThanOrEqual(bounds.maxToolRounds);
      }
      if (endings.stopped !== undefined) expect(["stop", "defer"]).toContain(step.type);
      if (given.open.length > 0) expect(["run-tools", "stop", "fail"]).toContain(step.type);
      return undefined;
    }),
    { numRuns: 2_000 },
  );
});
