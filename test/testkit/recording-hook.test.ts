import { expect, test } from "vitest";
import { ModelError } from "../../src/domain/errors.js";
import type { Stage, StageOutcome } from "../../src/domain/stage.js";
import type { StageContext } from "../../src/ports/hook.js";
import { okResult, toolDef } from "../../src/testkit/builders.js";
import { RecordingHook } from "../../src/testkit/fakes/recording-hook.js";

/** The makers and what a record holds; the fake may use nothing else of the context. */
const maker =
  (kind: string) =>
  (reason: unknown): StageOutcome => {
    const outcome: object = { kind, ...(kind === "answer" ? { result: okResult(String(reason)) } : { reason }) };
    return outcome as StageOutcome;
  };
const partial: object = {
  round: 2,
  stop: maker("stop"),
  abort: maker("abort"),
  defer: maker("defer"),
  answer: maker("answer"),
  retry: (): StageOutcome => ({ kind: "retry", compress: true }),
};
const context = partial as StageContext;

const call = { id: "c1", name: "pay", arguments: { amount: 1 } };
const beforeTool: Stage = { kind: "beforeTool", call, tool: toolDef("pay") };
const beforeTurn: Stage = { kind: "beforeTurn", input: [{ role: "user", content: "hi" }] };

test("each rule gives its outcome at the stages it names, and nothing elsewhere", () => {
  const outcomeOf = (hook: RecordingHook): unknown => hook.onStage(beforeTool, context);
  expect(outcomeOf(new RecordingHook().abortWhen("beforeTool", "no"))).toEqual({ kind: "abort", reason: "no" });
  expect(outcomeOf(new RecordingHook().stopWhen("beforeTool", "no"))).toEqual({ kind: "stop", reason: "no" });
  expect(outcomeOf(new RecordingHook().deferWhen("beforeTool", "ask"))).toEqual({ kind: "defer", reason: "ask" });
  expect(outcomeOf(new RecordingHook().answerWhen("beforeTool", "x"))).toEqual({
    kind: "answer",
    result: okResult("x"),
  });
  expect(outcomeOf(new RecordingHook().replyWhen("beforeTool", (_, made) => made.retry()))).toMatchObject({
    kind: "retry",
  });
  expect(outcomeOf(new RecordingHook().abortWhen("beforeTurn"))).toBeUndefined();
  expect(() => new RecordingHook().throwWhen("beforeTool", "mine").onStage(beforeTool, context)).toThrow("mine");
});

test("a rewrite is a patch, fixed or made of the stage", () => {
  const renamed = new RecordingHook().rewriteWhen("beforeTool", (stage) => ({ call: { ...stage.call, name: "ask" } }));
  expect(renamed.onStage(beforeTool, context)).toEqual({ kind: "next", patch: { call: { ...call, name: "ask" } } });
  const cleared = new RecordingHook().rewriteWhen((stage) => stage.kind === "beforeTurn", { input: [] });
  expect(cleared.onStage(beforeTurn, context)).toEqual({ kind: "next", patch: { input: [] } });
});

test("a predicate sees stage and context, and the first rule that matches wins", () => {
  const hook = new RecordingHook()
    .stopWhen((stage, { round }) => stage.kind === "beforeTool" && stage.call.name === "pay" && round === 2, "first")
    .abortWhen("beforeTool", "second");
  expect(hook.onStage(beforeTool, context)).toEqual({ kind: "stop", reason: "first" });
  expect(hook.onStage({ ...beforeTool, call: { ...call, name: "ask" } }, context)).toEqual({
    kind: "abort",
    reason: "second",
  });
  hook.assertDone();
});

test("stage in and outcome out are recorded, frozen, also for a throw", () => {
  const failure = new Error("told to");
  const hook = new RecordingHook({ name: "spy", stages: ["beforeTool"] }).throwWhen("modelError", failure);
  const args = { amount: 1 };
  hook.onStage({ ...beforeTool, call: { ...call, arguments: args } }, context);
  args.amount = 2;
  const error = new ModelError("server", "down");
  expect(() => hook.onStage({ kind: "modelError", error, attempt: 1, phase: "send" }, context)).toThrow(failure);
  expect(hook.kinds).toEqual(["beforeTool", "modelError"]);
  expect(hook.records[0]).toMatchObject({ round: 2, stage: { call: { arguments: { amount: 1 } } } });
  expect(hook.records[0]?.outcome).toBeUndefined();
  expect(hook.records[1]?.outcome).toEqual({ kind: "throw", error: failure });
  expect(hook.stagesOf("modelError")[0]?.error).toBe(error);
  expect(Object.isFrozen(hook.stagesOf("beforeTool")[0]?.call.arguments)).toBe(true);
  expect(hook).toMatchObject({ name: "spy", stages: ["beforeTool"] });
});

test("records are snapshots, and a rule that never held fails assertDone", () => {
  const hook = new RecordingHook().stopWhen("beforeEnd").abortWhen("beforeTool");
  const before = hook.records;
  hook.onStage(beforeTool, context);
  expect(before).toEqual([]);
  expect(() => hook.assertDone()).toThrow("recording_hook_unfinished: rule 1 of 2 (beforeEnd) never held");
});
