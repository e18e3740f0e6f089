import fc from "fast-check";
import { expect, test } from "vitest";
import { STOP_REASONS, nextStep, type NextStep, type StepLimits } from "../../src/domain/next-step.js";
import type { Endings, RoundDecision, Turn } from "../../src/domain/turn.js";
import * as state from "../support/turn-states.js";

const decision: fc.Arbitrary<RoundDecision> = fc.oneof(
  fc.constantFrom<RoundDecision>({ kind: "finish" }, { kind: "checkpoint" }),
  fc.record({ kind: fc.constantFrom("stop" as const, "cancel" as const, "wait" as const), reason: fc.string() }),
);
/** There in one of six turns that somebody asked to end. */
const seldom = <T>(value: T | fc.Arbitrary<T>) =>
  fc.oneof(
    { weight: 5, arbitrary: fc.constant({}) },
    { weight: 1, arbitrary: value instanceof fc.Arbitrary ? value : fc.constant(value) },
  );
const endings: fc.Arbitrary<Endings> = fc
  .record({
    aborted: seldom(state.aborted),
    failed: seldom(state.failed),
    expired: seldom(state.expired),
    hookAborted: seldom(state.hookAborted),
    stopped: seldom(state.stopped),
    exceeded: seldom(state.exceeded),
    decided: seldom(decision.map((decided) => ({ decided }))),
  })
  .map((given) => Object.assign({}, ...Object.values(given)) as Endings);
const anyTurn: fc.Arbitrary<Turn> = fc
  .record({
    rounds: fc.nat(4),
    batches: fc.nat(4),
    hasReply: fc.constantFrom(true, true, true, false),
    open: fc.constantFrom([], [], state.calls),
    exchanges: fc.oneof(fc.constant([]), fc.array(fc.boolean().map(state.exchange), { maxLength: 2 })),
    deferred: fc.constantFrom(0, 0, 1),
    asked: fc.constantFrom("nobody" as const, "continue" as const, "end" as const),
    waiting: fc.option(fc.record({ steering: fc.nat(2), followUps: fc.nat(2), interrupted: fc.boolean() }), {
      nil: undefined,
    }),
    endings: fc.oneof(fc.constant({}), endings),
  })
  .map(({ hasReply, ...given }) => state.turn({ ...given, ...(hasReply ? { reply: state.reply } : undefined) }));
const anyLimits = fc.record({ maxToolRounds: fc.nat(4), onToolRoundLimit: fc.constantFrom("fail", "stop") });

const ENDS: ReadonlySet<NextStep["type"]> = new Set(["complete", "defer", "stop", "abort", "fail"]);

/** Checks `law` on thousands of turns; `law` returns false where the turn is not of its kind. */
function holds(law: (step: NextStep, turn: Turn, limits: StepLimits) => boolean | void): void {
  let met = 0;
  const property = fc.property(anyTurn, anyLimits, (turn, limits) => {
    if (law(nextStep(turn, limits), turn, limits) !== false) met += 1;
  });
  fc.assert(property, { numRuns: 4_000 });
  expect(met).toBeGreaterThan(5);
}

test("the next step follows from the turn alone, and is the same for a copy of it (L7, L8)", () => {
  holds((step, turn, limits) => {
    expect(nextStep(structuredClone(turn), limits)).toEqual(step);
  });
});

/** What wins, in the order in which it does, at the end of a batch (L8). */
const ranks: readonly (readonly [string, (turn: Turn) => boolean, (step: NextStep) => boolean])[] = [
  ["an abort", ({ endings }) => endings.aborted !== undefined, ({ type }) => type === "abort"],
  ["a failed write", ({ endings }) => endings.failed !== undefined, (step) => isFailure(step, "failed")],
  ["time that is up", ({ endings }) => endings.expired !== undefined, (step) => isFailure(step, "exceeded")],
  ["a hook's abort", ({ endings }) => endings.hookAborted !== undefined, (step) => isFailure(step, "hook-aborted")],
  ["deferral", ({ deferred, open }) => open.length === 0 && deferred > 0, ({ type }) => type === "defer"],
  ["a hook's stop", ({ endings }) => endings.stopped !== undefined, (step) => isStop(step, "told")],
  ["terminate", (turn) => turn.open.length === 0 && terminates(turn), ({ type }) => type === "complete"],
  ["a limit", ({ endings }) => endings.exceeded !== undefined, (step) => isFailure(step, "exceeded")],
];

const isFailure = (step: NextStep, why: string): boolean => step.type === "fail" && step.why === why;
const isStop = (step: NextStep, reason: string): boolean => step.type === "stop" && step.reason === reason;
const terminates = ({ reply, exchanges }: Turn): boolean =>
  reply !== undefined && exchanges.length > 0 && exchanges.every(({ result }) => result.terminate === true);

test.each(ranks.map(([name], rank) => [name, rank] as const))(
  "%s wins over all that comes behind it (L8)",
  (_, rank) => {
    const [, applies, wins] = ranks[rank] as (typeof ranks)[number];
    holds((step, turn) => {
      const outranked = ranks.slice(0, rank).some(([, before]) => before(turn));
      if (outranked || !applies(turn)) return false;
      expect(wins(step)).toBe(true);
      return true;
    });
  },
);

test("tools run only where calls are open, all of them, and below the limit of rounds (L1)", () => {
  holds((step, turn, limits) => {
    if (step.type !== "run-tools") return false;
    expect(step.calls).toEqual(turn.open);
    expect(turn.batches).toBeLessThan(limits.maxToolRounds);
    return true;
  });
});

test("the model is asked only where no call is open or pending, and at most once more than there are rounds (L1, U5)", () => {
  holds((step, turn, limits) => {
    if (step.type !== "call-model") return false;
    expect([turn.open, turn.deferred]).toEqual([[], 0]);
    expect(turn.rounds).toBeLessThanOrEqual(limits.maxToolRounds);
    return true;
  });
});

test("a turn with open calls runs them or ends; nobody is asked about the end of the round (L8)", () => {
  holds((step, { open }) => {
    if (open.length === 0) return false;
    expect(step.type === "run-tools" || ENDS.has(step.type)).toBe(true);
    return true;
  });
});

test("beforeContinue is asked once a round, and before beforeEnd, whatever waits (L3)", () => {
  holds((step, { asked }) => {
    if (step.type === "ask-continue") expect(asked).toBe("nobody");
    if (step.type === "ask-end") expect(asked).toBe("continue");
    return step.type.startsWith("ask");
  });
});

test("follow-ups are taken only at a natural end, where no steering waits (L3)", () => {
  holds((step, { waiting, exchanges }) => {
    if (step.type !== "call-model" || step.followUps !== true) return false;
    expect(waiting).toMatchObject({ steering: 0, interrupted: false });
    expect([exchanges, waiting?.followUps === 0]).toEqual([[], false]);
    return true;
  });
});

test("a turn that nobody asked to end does not end while a message waits that can be answered (L3)", () => {
  holds((step, turn, limits) => {
    const { waiting, deferred, endings, rounds, open } = turn;
    const waits = waiting !== undefined && waiting.steering > 0 && rounds <= limits.maxToolRounds;
    if (!waits || deferred > 0 || open.length > 0 || terminates(turn) || Object.keys(endings).length > 0) return false;
    expect(ENDS.has(step.type)).toBe(false);
    return true;
  });
});

test("an interruption asks the model for steering only (L4)", () => {
  holds((step, { waiting }) => {
    if (waiting?.interrupted !== true) return false;
    if (isStop(step, STOP_REASONS.interrupted)) return true;
    if (step.type !== "call-model") return false;
    expect(waiting.steering).toBeGreaterThan(0);
    return true;
  });
});
