import { setImmediate } from "node:timers/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { approval } from "../../src/adapters/hooks/approval.js";
import { defineHook } from "../../src/adapters/hooks/define-hook.js";
import { hookChain } from "../../src/adapters/hooks/hook-chain.js";
import { NoopHook } from "../../src/adapters/hooks/noop.js";
import { STAGE_KINDS, type Stage, type StageKind, type StageOf } from "../../src/domain/stage.js";
import type { PipelineHook, StageContext } from "../../src/ports/hook.js";
import { toolDef } from "../../src/testkit/builders.js";
import { checkClaims, type ClaimReport, runClaims } from "../../src/testkit/claims/index.js";
import { pipelineHookClaims, type PipelineHookFixture } from "../../src/testkit/claims/pipeline-hook.js";
import { RecordingHook } from "../../src/testkit/fakes/recording-hook.js";
import { proveClaims } from "./prove-claims.js";

const callOf = (name: string): StageOf<"beforeTool"> => ({
  kind: "beforeTool",
  call: { id: `${name}-1`, name, arguments: { amount: 1 } },
  tool: toolDef(name),
});
const asked = { stage: callOf("pay"), outcome: "defer" } as const;
const renamed = { stage: callOf("old"), outcome: "next" } as const;
const waits = { stage: callOf("slow") };

type OnStage = PipelineHook["onStage"];

/** Resolves once the signal has fired; keeps no listener. */
const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });

/** Defers one tool, renames another, waits at a third, does a step, and tells of the turn's end. */
const guard: OnStage = async (stage, context) => {
  if (stage.kind === "afterTurn") context.emit("turn", { rounds: stage.result.rounds });
  if (stage.kind !== "beforeTool") return undefined;
  context.onSettled(() => undefined);
  if (stage.call.name === "slow") await aborted(context.signal);
  if (stage.call.name === "old") return context.next({ call: { ...stage.call, name: "new" } });
  if (stage.call.name !== "pay" || context.decision !== undefined) return undefined;
  return context.defer(await context.step("ask", async () => "needs approval"));
};

function fixtureOf(onStage: OnStage = guard, members: Partial<PipelineHook> = {}): PipelineHookFixture {
  const hook: PipelineHook = { name: "guard", onStage };
  return {
    hook: Object.defineProperties(hook, Object.getOwnPropertyDescriptors(members)),
    acts: [asked, renamed],
    waits,
    deadlineMs: 50,
  };
}

/** The guard, but for what it does at one kind of stage. */
const at = <K extends StageKind>(kind: K, act: (stage: StageOf<K>, context: StageContext) => ReturnType<OnStage>) =>
  fixtureOf((stage, context) => (isKind(stage, kind) ? act(stage, context) : guard(stage, context)));

function isKind<K extends StageKind>(stage: Stage, kind: K): stage is Stage & StageOf<K> {
  return stage.kind === kind;
}

const notJson: object = { at: new Date(0) };

const broken: Readonly<Record<string, () => PipelineHookFixture>> = {
  "hook-describes-itself": () => fixtureOf(guard, { timeoutMs: -1 }),
  "hook-is-constant": () => {
    let reads = 0;
    return fixtureOf(guard, {
      get timeoutMs() {
        return ++reads;
      },
    });
  },
  "hook-takes-every-stage": () =>
    at("turnError", () => {
      throw new Error("an error again");
    }),
  "hook-takes-unknown-stages": () => {
    const known: readonly unknown[] = STAGE_KINDS;
    return fixtureOf((stage, context) => {
      if (!known.includes(stage.kind)) throw new TypeError("unhandled stage");
      return guard(stage, context);
    });
  },
  "hook-asks-what-the-stage-allows": () => at("afterTurn", (_, context) => context.stop("it is over")),
  "hook-patches-fit": () =>
    at("beforeTool", async (stage, context) => {
      const outcome = await guard(stage, context);
      return stage.call.name === "old" ? context.next({ call: { ...stage.call, id: "another" } }) : outcome;
    }),
  "hook-leaves-stages-alone": () =>
    at("afterTool", ({ result }) => {
      Object.assign(result, { isError: true });
    }),
  "hook-names-steps-apart": () =>
    at("beforeModel", async (_, context) => {
      await context.step("look", async () => 1);
      await context.step("look", async () => 2);
    }),
  "hook-steps-give-json": () =>
    at("beforeModel", async (_, context) => {
      await context.step("look", async () => notJson as Record<string, string>);
    }),
  "hook-emits-json": () => at("beforeModel", (_, context) => context.emit("seen", notJson as Record<string, string>)),
  "hook-cleans-up": () => at("beforeModel", (_, context) => context.onSettled(() => Promise.reject(new Error("late")))),
  "hook-leaves-no-listener": () =>
    at("beforeModel", (_, context) => context.signal.addEventListener("abort", () => undefined)),
  "hook-acts": () =>
    at("beforeTool", async (stage, context) => {
      const outcome = await guard(stage, context);
      return outcome?.kind === "next" ? undefined : outcome;
    }),
  "hook-serves-turns-at-once": () => {
    let busy = false;
    return at("beforeTool", async (stage, context) => {
      if (busy) return undefined;
      busy = true;
      await Promise.resolve();
      return Promise.resolve(guard(stage, context)).finally(() => (busy = false));
    });
  },
  "hook-takes-a-decision": () =>
    at("beforeTool", (stage, context) => guard(stage, { ...context, decision: undefined })),
  "hook-settles-on-abort": () =>
    at("beforeTool", (stage, context) =>
      stage.call.name === "slow" ? Promise.withResolvers<never>().promise : guard(stage, context),
    ),
};

proveClaims("pipelineHookClaims", { claims: pipelineHookClaims, sound: () => fixtureOf(), broken });

test("a hook that ignores the signal is found although the process stands still again and again", async () => {
  const claims = pipelineHookClaims.filter(({ id }) => id === "hook-settles-on-abort");
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  let report: ClaimReport | undefined;
  void checkClaims({ claims, make: () => broken["hook-settles-on-abort"]?.() ?? fixtureOf() }).then((done) => {
    report = done;
  });
  while (report === undefined) {
    vi.advanceTimersByTime(1_000);
    await setImmediate();
  }
  expect(report.results).toMatchObject([{ outcome: "failed" }]);
});

describe("the recording hook", () => {
  runClaims({
    test,
    claims: pipelineHookClaims,
    make: () => ({
      hook: new RecordingHook({ name: "spy" })
        .deferWhen((stage, { decision }) => isKind(stage, "beforeTool") && stage.call.name === "pay" && !decision)
        .rewriteWhen((stage) => isKind(stage, "beforeTool") && stage.call.name === "old", {
          call: { ...renamed.stage.call, name: "new" },
        }),
      acts: [asked, renamed],
    }),
    capabilities: { abort: { missing: "it answers at once" } },
  });
});

describe("approval that defers", () => {
  runClaims({
    test,
    claims: pipelineHookClaims,
    make: () => {
      const context = { tools: [toolDef("pay")] };
      return { hook: approval({ tools: ["pay"] }), acts: [{ ...asked, context }] };
    },
    capabilities: { abort: { missing: "it asks nobody, so it answers at once" } },
  });
});

/** Asks somebody who lets one tool run with other arguments, says later to another, and thinks about a third until the turn ends. */
const asking = (): PipelineHook =>
  approval({
    all: true,
    async ask({ call, signal }) {
      if (call.name === "slow") await aborted(signal);
      return call.name === "pay" ? "defer" : { approve: call.name !== "slow", arguments: { amount: 2 }, reason: "no" };
    },
  });

/** Approval looks the tool up where the stage does not tell what may be believed of it. */
const known = { tools: ["pay", "old", "slow", "weather"].map((name) => toolDef(name)) };
const knownMoments = {
  acts: [
    { ...asked, context: known },
    { ...renamed, context: known },
  ],
  waits: { ...waits, context: known },
};

describe("approval that asks", () => {
  runClaims({ test, claims: pipelineHookClaims, make: () => ({ hook: asking(), ...knownMoments }) });
});

describe("hookChain", () => {
  runClaims({
    test,
    claims: pipelineHookClaims,
    make: () => ({ hook: hookChain("chain", [new NoopHook(), asking(), new RecordingHook()]), ...knownMoments }),
  });
});

describe("defineHook", () => {
  runClaims({
    test,
    claims: pipelineHookClaims,
    make: () => ({
      hook: defineHook("defined", {
        beforeTool: async (stage, context) => {
          if (stage.call.name === "slow") await aborted(context.signal);
          return stage.call.name === "pay" && !context.decision ? context.defer("needs approval") : undefined;
        },
      }),
      acts: [asked],
      waits,
    }),
  });
});

describe("NoopHook", () => {
  const missing = { missing: "it does nothing" };
  runClaims({
    test,
    claims: pipelineHookClaims,
    make: () => ({ hook: new NoopHook() }),
    capabilities: { acts: missing, defers: missing, abort: missing },
  });
});
