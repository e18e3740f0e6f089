import { expect, test } from "vitest";
import { nextStep, type NextStep, STOP_REASONS, type StepLimits } from "../../src/domain/next-step.js";
import { withInterruptedReply, withMore, withRound, withStoredReply, type Turn } from "../../src/domain/turn.js";
import * as state from "../support/turn-states.js";

const callPart = (id: string) => ({ type: "toolCall" as const, id, name: "f", arguments: {} });

const { calls, decided, ended, plain, replied, reply, terminating, turn, waiting } = state;
const { aborted, exceeded, expired, failed, hookAborted, stopped } = state;

const limits: StepLimits = { maxToolRounds: 2, onToolRoundLimit: "fail" };

const callModel: NextStep = { type: "call-model" };
const runTools: NextStep = { type: "run-tools", calls };
const complete: NextStep = { type: "complete" };
const defer: NextStep = { type: "defer" };
const askEnd: NextStep = { type: "ask-end" };
const fail = (why: Extract<NextStep, { type: "fail" }>["why"]): NextStep => ({ type: "fail", why });
const stop = (reason: string): NextStep => ({ type: "stop", reason });
const askContinue = (natural: boolean): NextStep => ({ type: "ask-continue", natural });

const steering = waiting({ steering: 1 });
const followUp = waiting({ followUps: 1 });
const both = waiting({ steering: 1, followUps: 1 });
const interrupted = waiting({ interrupted: true });
const interruptedFor = waiting({ interrupted: true, steering: 1 });
/** The last reply that L1 allows. */
const atLimit = { rounds: 3 };

type Row = readonly [string, Turn, NextStep];

const courses: readonly Row[] = [
  ["a turn that begins asks the model", turn(), callModel],
  ["a reply with calls runs them", replied({ open: calls }), runTools],
  ["calls run up to the limit of rounds", replied({ rounds: 2, open: calls, batches: 1 }), runTools],
  [
    "calls beyond the limit fail the turn (L1)",
    replied({ ...atLimit, open: calls, batches: 2 }),
    fail("tool-loop-exceeded"),
  ],
  ["a round whose calls are answered is told to its hooks", replied({ exchanges: plain }), askContinue(false)],
  ["a round of calls that nobody ended leads to the next", replied({ exchanges: plain, asked: "continue" }), callModel],
  ["a reply without calls is a natural end", replied(), askContinue(true)],
  ["beforeEnd comes after beforeContinue", replied({ asked: "continue" }), askEnd],
  ["a natural end that nobody minded is complete", replied({ asked: "end" }), complete],
  ["a batch that terminates is complete (U6)", replied({ exchanges: terminating }), complete],
  [
    "one result that does not terminate keeps the turn going (U6)",
    replied({ exchanges: [...terminating, ...plain] }),
    askContinue(false),
  ],
  [
    "results that terminate are not enough where an earlier turn stored others of the batch (U6)",
    replied({ reply: { ...reply, parts: ["c1", "c2"].map(callPart) }, exchanges: terminating }),
    askContinue(false),
  ],
  ["deferred calls end the turn", replied({ deferred: 1, exchanges: plain }), defer],
];

const everything = { ...aborted, ...failed, ...expired, ...hookAborted, ...stopped, ...exceeded };
const { aborted: _aborted, ...allButAbort } = everything;
const { failed: _failed, ...afterFailure } = allButAbort;
const { expired: _expired, ...afterExpiry } = afterFailure;
const { hookAborted: _hookAborted, ...afterHookAbort } = afterExpiry;
const finish = { decided: { kind: "finish" } } as const;
const busy = { open: calls, deferred: 1, exchanges: terminating, ...interruptedFor };

const order: readonly Row[] = [
  ["an abort wins over everything", ended({ ...everything, ...finish }, busy), { type: "abort", reason: "enough" }],
  ["a store failure wins over all but an abort", ended({ ...allButAbort, ...finish }, busy), fail("failed")],
  ["time that is up wins over what hooks want", ended({ ...afterFailure, ...finish }, busy), fail("exceeded")],
  ["a hook's abort wins over deferral and stop", ended({ ...afterExpiry, ...finish }, busy), fail("hook-aborted")],
  ["a hook's stop leaves calls that are open", ended({ ...afterHookAbort, ...finish }, busy), stop("told")],
  ["a limit that was hit leaves calls that are open", ended({ ...exceeded, ...finish }, busy), fail("exceeded")],
  ["deferral wins over a hook's stop", ended({ ...afterHookAbort, ...finish }, { ...busy, open: [] }), defer],
  ["a hook's stop wins over terminate", ended(stopped, { exchanges: terminating }), stop("told")],
  ["a hook's stop wins over the limit of rounds", ended(stopped, { open: calls, batches: 2 }), stop("told")],
  [
    "a hook's stop wins over a limit that was hit",
    ended({ ...stopped, ...exceeded }, { exchanges: plain }),
    stop("told"),
  ],
  ["a hook's stop wins over an interruption", ended(stopped, { exchanges: plain, ...interruptedFor }), stop("told")],
  ["a hook's stop before the first reply ends the turn", turn({ endings: stopped }), stop("told")],
  ["terminate wins over a limit that was hit", ended(exceeded, { exchanges: terminating }), complete],
  ["terminate wins over an interruption", replied({ exchanges: terminating, ...interrupted }), complete],
  ["terminate wins over messages that wait", replied({ exchanges: terminating, ...both }), complete],
  [
    "terminate wins over what hooks decided at the end of the round",
    ended({ decided: { kind: "checkpoint" } }, { exchanges: terminating }),
    complete,
  ],
  ["an empty reason is a reason", ended({ aborted: "" }), { type: "abort", reason: "" }],
  ["a stop for no reason in words is a stop", ended({ stopped: "" }), stop("")],
];

const limitsHit: readonly Row[] = [
  ["time that is up before the first reply fails the turn", turn({ endings: expired }), fail("exceeded")],
  ["a model call that a budget has no room for fails the turn", turn({ endings: exceeded }), fail("exceeded")],
  ["a limit that was hit wins over steering", ended(exceeded, { exchanges: plain, ...steering }), fail("exceeded")],
  ["a limit that was hit wins over an interruption", turn({ endings: exceeded, ...interruptedFor }), fail("exceeded")],
  [
    "a limit that was hit wins over what hooks decided",
    ended({ ...exceeded, ...finish }, { exchanges: plain, asked: "continue" }),
    fail("exceeded"),
  ],
  [
    "steering beyond the limit of rounds does not keep a turn that could end",
    replied({ ...atLimit, asked: "continue", ...steering }),
    askEnd,
  ],
  [
    "follow-ups beyond the limit of rounds do not keep a turn that could end",
    replied({ ...atLimit, asked: "end", ...followUp }),
    complete,
  ],
  [
    "an interruption beyond the limit of rounds stops, whatever waits",
    replied({ ...atLimit, asked: "continue", ...interruptedFor }),
    stop(STOP_REASONS.interrupted),
  ],
];

const ofDecisions: readonly Row[] = [
  ["finish is complete", decided({ kind: "finish" }), complete],
  ["checkpoint stops", decided({ kind: "checkpoint" }), stop("checkpoint")],
  ["wait stops", decided({ kind: "wait", reason: "for a person" }), stop("waiting")],
  ["stop stops", decided({ kind: "stop", reason: "told" }), stop("told")],
  ["cancel aborts", decided({ kind: "cancel", reason: "no more" }), { type: "abort", reason: "no more" }],
  ["finish wins over messages that wait", decided({ kind: "finish" }, { asked: "continue", ...both }), complete],
  ["checkpoint wins over an interruption", decided({ kind: "checkpoint" }, interruptedFor), stop("checkpoint")],
  ["who waits has steering that came meanwhile", decided({ kind: "wait", reason: "" }, steering), callModel],
  [
    "who waits has a follow-up that came meanwhile",
    decided({ kind: "wait", reason: "" }, followUp),
    { ...callModel, followUps: true },
  ],
  [
    "who waits beyond the limit of rounds stops, since nothing can be answered",
    decided({ kind: "wait", reason: "" }, { ...atLimit, ...both }),
    stop("waiting"),
  ],
  [
    "wait wins over an interruption for which nothing waits",
    decided({ kind: "wait", reason: "" }, interrupted),
    stop("waiting"),
  ],
];

const messagesWaiting: readonly Row[] = [
  ["beforeContinue is asked before a queue is looked at", replied(both), askContinue(true)],
  [
    "beforeContinue is asked before an interruption counts",
    replied({ exchanges: plain, ...interruptedFor }),
    askContinue(false),
  ],
  ["steering at a natural end goes on", replied({ asked: "continue", ...steering }), callModel],
  ["steering goes before follow-ups", replied({ asked: "continue", ...both }), callModel],
  ["follow-ups go before beforeEnd", replied({ asked: "continue", ...followUp }), { ...callModel, followUps: true }],
  ["what came while beforeEnd was asked goes on", replied({ asked: "end", ...steering }), callModel],
  [
    "follow-ups wait while there is more to do",
    replied({ exchanges: plain, asked: "continue", ...followUp }),
    callModel,
  ],
  ["steering waits for the calls of the reply", replied({ open: calls, ...both }), runTools],
  ["an interruption waits for the calls of the reply", replied({ open: calls, ...interrupted }), runTools],
  [
    "an interruption with steering goes on as a new round",
    replied({ asked: "continue", ...interruptedFor }),
    callModel,
  ],
  [
    "an interruption alone stops",
    replied({ exchanges: plain, asked: "continue", ...interrupted }),
    stop(STOP_REASONS.interrupted),
  ],
  [
    "an interruption does not wait for follow-ups",
    replied({ asked: "continue", ...waiting({ interrupted: true, followUps: 1 }) }),
    stop(STOP_REASONS.interrupted),
  ],
  ["an interruption before the first reply stops", turn(interrupted), stop(STOP_REASONS.interrupted)],
  ["an interruption before the first reply goes on with steering", turn(interruptedFor), callModel],
  ["deferral wins over steering", replied({ deferred: 1, ...steering }), defer],
  ["deferral wins over an interruption", replied({ deferred: 1, exchanges: plain, ...interruptedFor }), defer],
];

const stored = (open: typeof calls, pending: number): Turn => withStoredReply(turn(), reply, { open, pending });

const twoCalls = { ...reply, parts: ["c1", "c2"].map(callPart) };

const takenUp: readonly Row[] = [
  ["a resumed reply runs the calls that were decided about", stored(calls, 0), runTools],
  ["a resumed reply runs what was decided about although others are pending", stored(calls, 1), runTools],
  ["a resumed reply of which everything is pending ends as it was", stored([], 1), defer],
  ["pending calls keep the model from being asked", { ...stored([], 1), exchanges: plain, batches: 1 }, defer],
  [
    "a batch that a resumed turn ran whole terminates (U6)",
    { ...withStoredReply(turn(), twoCalls, { open: [], pending: 0 }), exchanges: [...terminating, ...terminating] },
    complete,
  ],
  ["pending calls win over terminate", { ...stored([], 1), exchanges: terminating, batches: 1 }, defer],
  ["steering waits while calls of a resumed reply are pending", { ...stored([], 1), ...steering }, defer],
  ["a resumed reply is no round of the model's", { ...stored(calls, 0), rounds: 0, batches: 1 }, runTools],
  ["an interrupted reply is the end of a round", withInterruptedReply(turn(interrupted), reply), askContinue(true)],
  [
    "an interruption before anything was said stops",
    withInterruptedReply(turn(interrupted), undefined),
    stop(STOP_REASONS.interrupted),
  ],
  ["what hooks decided about a round ends with it", withRound(decided({ kind: "wait", reason: "" })), complete],
  ["what a hook goes on with asks the model", withMore(replied({ asked: "end" })), callModel],
];

test.each([...courses, ...order, ...limitsHit, ...ofDecisions, ...messagesWaiting, ...takenUp])(
  "%s (L8)",
  (_, given, step) => {
    expect(nextStep(given, limits)).toEqual(step);
  },
);

test("where the config says so, the limit of rounds stops the turn instead of failing it (L1)", () => {
  const given = replied({ ...atLimit, open: calls, batches: 2 });
  expect(nextStep(given, { maxToolRounds: 2, onToolRoundLimit: "stop" })).toEqual(stop(STOP_REASONS.toolRoundLimit));
});

test("the model is asked once more than there are rounds of tools, whatever a hook wants to go on with (L1)", () => {
  const more = turn(atLimit);
  expect(nextStep(turn({ rounds: 2 }), limits)).toEqual(callModel);
  expect(nextStep(more, limits)).toEqual(fail("tool-loop-exceeded"));
  expect(nextStep(more, { ...limits, onToolRoundLimit: "stop" })).toEqual(stop(STOP_REASONS.toolRoundLimit));
});
