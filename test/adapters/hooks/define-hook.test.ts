import { describe, expect, expectTypeOf, it } from "vitest";
import { defineHook } from "../../../src/adapters/hooks/define-hook.js";
import { NoopHook } from "../../../src/adapters/hooks/noop.js";
import { NoopObserver } from "../../../src/adapters/observers/noop.js";
import { CompositionError } from "../../../src/domain/errors.js";
import type { StageOf, StageOutcome } from "../../../src/domain/stage.js";
import { testStageContext } from "./stage-context.js";

describe("defineHook", () => {
  it("asks for the stages it has functions for, in the order of a turn", () => {
    const hook = defineHook("h", { afterTurn: () => {}, beforeTurn: () => {}, beforeModel: undefined });
    expect(hook.stages).toEqual(["beforeTurn", "afterTurn"]);
    expect(hook.name).toBe("h");
  });

  it("gives each stage to its own function, and no promise where that gives none", () => {
    const hook = defineHook("h", {
      beforeTurn: (stage, context) => context.stop(`stopped at ${stage.kind}`),
      afterTurn: () => {},
    });
    const context = testStageContext();
    const outcome = hook.onStage({ kind: "beforeTurn", input: [] }, context);
    expect(outcome).toEqual({ kind: "stop", reason: "stopped at beforeTurn" });
    expect(hook.onStage({ kind: "beforeTools", reason: "turn-start" }, context)).toBeUndefined();
  });

  it("calls functions on the definition, so that they may share what it holds", () => {
    const definition = {
      onFailure: { beforeTool: "error-result" },
      beforeTurn(): StageOutcome & { kind: "stop" } {
        return { kind: "stop", reason: String(this.onFailure.beforeTool) };
      },
    } as const;
    const outcome = defineHook("h", definition).onStage({ kind: "beforeTurn", input: [] }, testStageContext());
    expect(outcome).toEqual({ kind: "stop", reason: "error-result" });
  });

  it("passes its place and what a failure means on", () => {
    const options = { before: ["a"], after: ["b"], onFailure: { afterTool: "error-result" } } as const;
    expect(defineHook("h", options)).toMatchObject({ ...options, stages: [] });
    expect(Object.keys(defineHook("h", {})).sort()).toEqual(["name", "onStage", "stages"]);
  });

  it("refuses a key that is no stage", () => {
    // @ts-expect-error: a stage is called beforeModel
    const define = () => defineHook("h", { beforeModl: () => {} });
    expect(define).toThrow(CompositionError);
    expect(define).toThrow("beforeModl");
    expect(() => defineHook("h", { toString: () => "" } as never)).toThrow("toString");
  });

  it("knows at compile time what each stage holds and allows", () => {
    defineHook("h", {
      beforeModel(stage, context) {
        expectTypeOf(stage).toEqualTypeOf<StageOf<"beforeModel">>();
        expectTypeOf(context).not.toHaveProperty("answer");
        expectTypeOf(context).not.toHaveProperty("retry");
        return context.next({ options: { temperature: 0 } });
      },
      beforeTool(stage, context) {
        expectTypeOf(stage.call.name).toEqualTypeOf<string>();
        if (stage.tool === undefined) return context.block("unknown");
        return stage.call.name === "x" ? context.defer("ask") : context.answer("done");
      },
      modelError: async (stage, context) => {
        if (stage.attempt === 1) return context.retry({ compress: true });
        return undefined;
      },
      beforeEnd: (_stage, context) => context.wait(),
      settleTool: (stage) => {
        expectTypeOf(stage.exchange.callId).toEqualTypeOf<string>();
      },
      // @ts-expect-error: an observing stage has no outcome
      afterTurn: () => ({ kind: "stop", reason: "late" }),
      // @ts-expect-error: beforeTurn has no messages to patch
      beforeTurn: (_stage, context) => context.next({ messages: [] }),
      // @ts-expect-error: afterModel may not abort
      afterModel: (_stage, context) => context.abort("no"),
      // @ts-expect-error: an outcome made by hand must be one the stage allows
      beforeContinue: () => ({ kind: "goOn", messages: [] }),
    });
  });
});

describe("NoopHook and NoopObserver", () => {
  it("take part in nothing", () => {
    expect(new NoopHook().stages).toEqual([]);
    expect(new NoopHook().onStage()).toBeUndefined();
    expect(new NoopObserver().onEvent()).toBeUndefined();
  });
});
