import { describe, expect, it } from "vitest";
import { defineHook } from "../../../src/adapters/hooks/define-hook.js";
import { hookChain } from "../../../src/adapters/hooks/hook-chain.js";
import { Defect, ModelError } from "../../../src/domain/errors.js";
import type { Stage, StageOf, StageOutcome } from "../../../src/domain/stage.js";
import { errorResult, okResult, type ToolCall } from "../../../src/domain/tool.js";
import type { OnFailure, PipelineHook } from "../../../src/ports/hook.js";
import { stopResponse, testAgent, toolCallResponse, toolOutcome } from "../../../src/testkit/index.js";
import { testStageContext } from "./stage-context.js";

const call: ToolCall = { id: "c1", name: "t", arguments: {} };
const beforeTool: StageOf<"beforeTool"> = { kind: "beforeTool", call };
const afterTool: StageOf<"afterTool"> = { kind: "afterTool", call, result: okResult("secret") };
const beforeModel: StageOf<"beforeModel"> = { kind: "beforeModel", messages: [], tools: [], options: {} };
const modelError: StageOf<"modelError"> = {
  kind: "modelError",
  error: new ModelError("server", "x"),
  attempt: 1,
  phase: "send",
};

/** Hooks for every stage that write down where they were asked, and do as told. */
function recorded(...acts: ((stage: Stage) => StageOutcome | undefined)[]): { log: string[]; chain: PipelineHook } {
  const log: string[] = [];
  const hooks = acts.map(
    (act, index): PipelineHook => ({
      onStage: (stage) => {
        log.push(`${stage.kind} ${index}`);
        return act(stage);
      },
    }),
  );
  return { log, chain: hookChain("chain", hooks) };
}

const nothing = (): undefined => undefined;
const only = (kind: Stage["kind"], act: (stage: Stage) => StageOutcome | undefined) => (stage: Stage) =>
  stage.kind === kind ? act(stage) : undefined;
const boom = (): never => {
  throw new Error("boom");
};
const stop: StageOutcome = { kind: "stop", reason: "enough" };

describe("hookChain", () => {
  it("goes forward before and in reverse after", async () => {
    const { log, chain } = recorded(nothing, nothing);
    const context = testStageContext();
    for (const stage of [beforeTool, afterTool, beforeModel, modelError]) await chain.onStage(stage, context);
    expect(log).toEqual([
      "beforeTool 0",
      "beforeTool 1",
      "afterTool 1",
      "afterTool 0",
      "beforeModel 0",
      "beforeModel 1",
      "modelError 1",
      "modelError 0",
    ]);
  });

  it("wants the stages that its hooks want, and all when one of them wants all", () => {
    const one = defineHook("one", { afterTurn: () => {} });
    const two = defineHook("two", { beforeTurn: () => {}, afterTurn: () => {} });
    expect(hookChain("chain", [one, two]).stages).toEqual(["beforeTurn", "afterTurn"]);
    expect(hookChain("chain", [one, { onStage: nothing }])).not.toHaveProperty("stages");
  });

  it("asks a hook at its own stages only, and gives no promise where nobody is asked", () => {
    const chain = hookChain("chain", [defineHook("one", { afterTurn: () => {} })]);
    expect(chain.onStage(beforeTool, testStageContext())).toBeUndefined();
  });

  it("shows later hooks what earlier ones changed, and gives all changes as one", async () => {
    const seen: unknown[] = [];
    const chain = hookChain("chain", [
      defineHook("one", { beforeModel: (_stage, context) => context.next({ options: { temperature: 0 } }) }),
      defineHook("two", {
        beforeModel: (stage, context) => {
          seen.push(stage.options);
          return context.next({ options: { ...stage.options, seed: 1 } });
        },
      }),
      defineHook("three", { beforeModel: (_stage, context) => context.next({ requestContext: { a: 1 } }) }),
    ]);
    expect(await chain.onStage(beforeModel, testStageContext())).toEqual({
      kind: "next",
      patch: { options: { temperature: 0, seed: 1 }, requestContext: { a: 1 } },
    });
    expect(seen).toEqual([{ temperature: 0 }]);
  });

  it("ends a before stage with the first outcome that ends it, and then unwinds only who was entered", async () => {
    const { log, chain } = recorded(
      nothing,
      only("beforeTool", () => ({ kind: "block", reason: "no" })),
      nothing,
    );
    const context = testStageContext();
    expect(await chain.onStage(beforeTool, context)).toEqual({ kind: "block", reason: "no" });
    await chain.onStage(afterTool, context);
    await chain.onStage({ ...afterTool, call: { ...call, id: "c2" } }, context);
    expect(log).toEqual([
      "beforeTool 0",
      "beforeTool 1",
      "afterTool 1",
      "afterTool 0",
      "afterTool 2",
      "afterTool 1",
      "afterTool 0",
    ]);
  });

  it("defers a call as its hooks had made it until then, and runs what was approved (U5)", async () => {
    const reroute = defineHook("reroute", {
      beforeTool: (stage, context) =>
        context.next({ call: { ...stage.call, name: "wipe", arguments: { at: "home" } } }),
    });
    const gate = defineHook("gate", {
      beforeTool: (_stage, context) => (context.decision === undefined ? context.defer("ask") : undefined),
    });
    const script = [toolCallResponse("look", "c1"), stopResponse("done")];
    const tools = { look: toolOutcome.ok("looked"), wipe: toolOutcome.ok("wiped") };
    const inner = hookChain("inner", [reroute, gate]);
    await using t = await testAgent({ script, tools, hooks: [hookChain("outer", [defineHook("idle", {}), inner])] });
    const { deferred } = await t.agent.runTurn("go", "s");
    expect(deferred).toMatchObject([{ callId: "c1", toolName: "wipe", arguments: { at: "home" } }]);
    await t.agent.resumeTurn("s", { decisions: [{ callId: "c1", approve: true }] });
    expect(t.tools.execRecords).toMatchObject([{ toolName: "wipe", arguments: { at: "home" } }]);
  });

  it("defers with a patch that is none as it would throw", async () => {
    const odd = defineHook("odd", {
      beforeTool: () => ({ kind: "defer", reason: "ask", patch: { call: 1 } }) as never,
    });
    await using t = await testAgent({
      script: [toolCallResponse("look", "c1")],
      tools: { look: toolOutcome.ok() },
      hooks: [odd],
    });
    await expect(t.agent.runTurn("go")).rejects.toThrow("hook odd failed at beforeTool");
  });

  it("unwinds a hook without a matching before, whoever was entered", async () => {
    const log: string[] = [];
    const chain = hookChain("chain", [
      defineHook("one", { beforeTool: (_stage, context) => context.block("no") }),
      defineHook("two", { beforeTool: () => {}, afterTool: () => void log.push("two") }),
      defineHook("three", { afterTool: () => void log.push("three") }),
    ]);
    const context = testStageContext();
    await chain.onStage(beforeTool, context);
    await chain.onStage(afterTool, context);
    expect(log).toEqual(["three"]);
  });

  it("forgets how far it came when the before stage is asked again", async () => {
    let blocked = true;
    const { log, chain } = recorded(
      only("beforeModel", () => (blocked ? stop : undefined)),
      nothing,
    );
    const context = testStageContext();
    await chain.onStage(beforeModel, context);
    blocked = false;
    await chain.onStage(beforeModel, context);
    log.length = 0;
    await chain.onStage(modelError, context);
    expect(log).toEqual(["modelError 1", "modelError 0"]);
  });

  it("throws what a before hook throws, unless that hook asked for an error result", async () => {
    const hooks = (onFailure: OnFailure): PipelineHook =>
      hookChain("chain", [defineHook("h", { onFailure, beforeTool: boom })]);
    await expect(hooks({}).onStage(beforeTool, testStageContext())).rejects.toThrow("boom");
    const answered = await hooks({ beforeTool: "error-result" }).onStage(beforeTool, testStageContext());
    expect(answered).toMatchObject({ kind: "answer", result: { isError: true } });
  });

  it("adds up whole fields of a result, each hook seeing what the inner ones made of it", async () => {
    const chain = hookChain("chain", [
      defineHook("outer", {
        afterTool: (stage, context) =>
          context.next({ result: { ...stage.result, details: stage.result.content.length } }),
      }),
      defineHook("inner", { afterTool: (_stage, context) => context.patch({ content: [] }) }),
    ]);
    expect(await chain.onStage(afterTool, testStageContext())).toEqual({
      kind: "next",
      patch: { result: { content: [], isError: false, details: 0 } },
    });
  });

  it("keeps a stop of an after stage together with the changes of the others", async () => {
    const patch: StageOutcome = { kind: "patch", patch: { content: [] } };
    const { log, chain } = recorded(
      () => patch,
      () => stop,
      () => ({ kind: "stop", reason: "inner" }),
    );
    expect(await chain.onStage(afterTool, testStageContext())).toEqual({
      kind: "stop",
      reason: "inner",
      patch: { result: { content: [], isError: false } },
    });
    expect(log).toHaveLength(3);
  });

  it("lets the first retry or answer win, and tells the others", async () => {
    const { log, chain } = recorded(
      () => ({ kind: "retry", compress: true }),
      () => ({ kind: "retry", compress: false }),
    );
    expect(await chain.onStage(modelError, testStageContext())).toEqual({ kind: "retry", compress: false });
    expect(log).toEqual(["modelError 1", "modelError 0"]);
  });

  it("lets no after hook that throws keep the others from running, and throws at the end", async () => {
    const { log, chain } = recorded(nothing, boom, nothing);
    await expect(chain.onStage(afterTool, testStageContext())).rejects.toThrow("boom");
    expect(log).toHaveLength(3);
    await expect(recorded(boom, boom).chain.onStage(afterTool, testStageContext())).rejects.toThrow(AggregateError);
  });

  it("loses no change to a throw, and tells of the throw in an event", async () => {
    const context = testStageContext();
    const { chain } = recorded(boom, () => ({ kind: "patch", patch: { content: [] } }));
    expect(await chain.onStage(afterTool, context)).toMatchObject({ kind: "next", patch: { result: { content: [] } } });
    expect(context.emitted).toEqual([{ label: "secondary_failure", stage: "afterTool", errorCategory: "Error" }]);
  });

  it("withholds the result where the hook that threw asked for it", async () => {
    const redact = defineHook("redact", { onFailure: { afterTool: "error-result" }, afterTool: boom });
    const seen: unknown[] = [];
    const outer = defineHook("outer", { afterTool: (stage) => void seen.push(stage.result) });
    const outcome = await hookChain("chain", [outer, redact]).onStage(afterTool, testStageContext());
    const withheld = errorResult("The result is withheld: hook redact failed.");
    expect(outcome).toEqual({ kind: "next", patch: { result: withheld } });
    expect(seen).toEqual([withheld]);
  });

  it("takes an outcome that the stage does not allow for a throw", async () => {
    const { chain } = recorded(() => ({ kind: "finish" }));
    await expect(chain.onStage(afterTool, testStageContext())).rejects.toThrow(TypeError);
  });

  it("lets a defect through at once", async () => {
    const { log, chain } = recorded(nothing, () => {
      throw new Defect("script ran out");
    });
    await expect(chain.onStage(afterTool, testStageContext())).rejects.toThrow(Defect);
    expect(log).toEqual(["afterTool 1"]);
  });

  it("gives hooks that record a step under the same name a record each, whatever the context is made of", async () => {
    const stepping = defineHook("h", {
      beforeTool: async (_stage, context) => {
        await context.step("look", async () => 1);
        expect("decision" in context).toBe(false);
      },
    });
    const context = testStageContext();
    await hookChain("chain", [stepping, stepping]).onStage(beforeTool, context);
    expect(context.steps).toEqual(["0.look", "1.look"]);
  });

  it("may hold chains", async () => {
    const { log, chain } = recorded(nothing, nothing);
    const whole = hookChain("whole", [chain, hookChain("empty", [])]);
    await whole.onStage(beforeTool, testStageContext());
    await whole.onStage(afterTool, testStageContext());
    expect(log).toEqual(["beforeTool 0", "beforeTool 1", "afterTool 1", "afterTool 0"]);
  });
});
