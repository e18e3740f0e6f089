import type { AgentMessage, MessageInput } from "../../domain/message.js";
import { isTimeLimit } from "../../domain/limits.js";
import { type OutcomeKind, STAGE_KINDS, STAGE_OUTCOMES, type Stage, type StageOutcome } from "../../domain/stage.js";
import { isWhole } from "../../agent/outcome-check.js";
import { applyPatch } from "../../agent/stage-patch.js";
import type { PipelineHook } from "../../ports/hook.js";
import { unknownStage } from "../sample-stages.js";
import { expectEqual, expectThat } from "./expectations.js";
import { askHook, momentsOf, type PipelineHookClaim } from "./hook-fixture.js";

const ON_FAILURE = {
  afterModel: ["report", "withhold"],
  beforeTool: ["abort", "error-result"],
  afterTool: ["report", "error-result"],
} as const;

/** What a hook is, and what it does at the stages it is asked at. */
export const hookStageClaims: readonly PipelineHookClaim[] = [
  {
    id: "hook-describes-itself",
    title: "name, stages, order, failures and time limit are such as an agent takes",
    check({ hook }) {
      const { name, stages, before = [], after = [], onFailure = {}, timeoutMs } = hook;
      expectThat(
        name === undefined || (typeof name === "string" && name !== ""),
        "the name is a text that says something",
      );
      const known: readonly unknown[] = STAGE_KINDS;
      expectThat(stages?.every((kind) => known.includes(kind)) ?? true, "every stage it lists is one");
      expectThat(new Set(stages).size === (stages?.length ?? 0), "no stage is listed twice");
      const others = [...before, ...after];
      expectThat(
        others.every((other) => typeof other === "string" && other !== name),
        "before and after name other hooks",
      );
      for (const [stage, allowed] of Object.entries(ON_FAILURE)) {
        const chosen: unknown = onFailure[stage as keyof typeof ON_FAILURE];
        expectThat(
          chosen === undefined || allowed.some((one) => one === chosen),
          `onFailure.${stage} is ${allowed.join(" or ")}`,
        );
      }
      expectThat(timeoutMs === undefined || isTimeLimit(timeoutMs), "timeoutMs is a number above 0");
    },
  },
  {
    id: "hook-is-constant",
    title: "name, stages, order, failures and time limit are the same before and after it was asked",
    async check(fixture) {
      const first = membersOf(fixture.hook);
      expectEqual(membersOf(fixture.hook), first, "what it says of itself, read again");
      for (const moment of momentsOf(fixture)) await askHook(fixture, moment);
      expectEqual(membersOf(fixture.hook), first, "what it says of itself after it was asked");
    },
  },
  {
    id: "hook-takes-every-stage",
    title: "a well-formed stage of every kind it wants is answered soon, and without a throw",
    async check(fixture) {
      for (const moment of momentsOf(fixture)) {
        const { thrown, settled } = await askHook(fixture, moment);
        expectThat(settled, `onStage answers ${moment.stage.kind} within ${fixture.deadlineMs ?? 1_000} ms`);
        expectThat(thrown === undefined, `onStage threw at ${moment.stage.kind}`);
      }
    },
  },
  {
    id: "hook-takes-unknown-stages",
    title: "a hook that lists no stages asks for nothing at a stage this version does not know, and does not throw",
    async check(fixture) {
      if (fixture.hook.stages !== undefined) return;
      const { thrown, settled, outcome } = await askHook(fixture, { stage: unknownStage() });
      expectThat(settled && thrown === undefined, "onStage takes a stage of an unknown kind");
      expectThat(outcome === undefined, "onStage asks for nothing at a stage of an unknown kind");
    },
  },
  {
    id: "hook-asks-what-the-stage-allows",
    title: "an outcome is one of those its stage allows, and holds what its kind promises",
    async check(fixture) {
      for (const moment of momentsOf(fixture)) {
        const { outcome } = await askHook(fixture, moment);
        if (outcome !== undefined) expectAllowed(moment.stage, outcome);
      }
    },
  },
  {
    id: "hook-patches-fit",
    title: "a patch is JSON that its stage takes, and changes no id of a call",
    async check(fixture) {
      for (const moment of momentsOf(fixture)) {
        const { outcome } = await askHook(fixture, moment);
        const patch =
          outcome !== undefined && "patch" in outcome && outcome.kind !== "patch" ? outcome.patch : undefined;
        // Whether it is an object at all is another claim's business.
        if (typeof patch === "object" && isAllowed(moment.stage, outcome)) expectFits(moment.stage, patch);
      }
    },
  },
  {
    id: "hook-leaves-stages-alone",
    title: "nothing in a stage is changed but by the outcome; its lists are the hook's own",
    async check(fixture) {
      for (const moment of momentsOf(fixture)) {
        const fields = ownLists(moment.stage);
        const pristine = structuredClone(fields);
        await askHook(fixture, moment);
        expectEqual(fields, pristine, moment.stage.kind);
      }
    },
  },
];

function membersOf(hook: PipelineHook): object {
  const { name, stages, before, after, onFailure, timeoutMs } = hook;
  return structuredClone({ name, stages, before, after, onFailure, timeoutMs });
}

function isAllowed(stage: Stage, outcome: StageOutcome | undefined): boolean {
  const allowed: readonly OutcomeKind[] = STAGE_OUTCOMES[stage.kind];
  return outcome !== undefined && typeof outcome === "object" && allowed.includes(outcome.kind) && isWhole(outcome);
}

function expectAllowed(stage: Stage, outcome: StageOutcome): void {
  expectThat(isAllowed(stage, outcome), `${stage.kind} allows what onStage asked for`);
}

/** The agent's own way to take a patch says whether it fits. */
function expectFits(stage: Stage, patch: unknown): void {
  let problem: unknown;
  try {
    applyPatch(stage, patch, { stamp: stamped, toolOf: () => ({}) });
  } catch (error) {
    problem = error;
  }
  const why = problem instanceof Error ? problem.message : "";
  expectThat(problem === undefined, `${stage.kind} takes the patch: ${why}`);
}

function stamped(message: AgentMessage | MessageInput): AgentMessage {
  return { id: "m.9", at: 0, ...message } as AgentMessage;
}

/** The fields of a stage without errors, with copies of its lists. */
function ownLists(stage: Stage): object {
  const fields = Object.entries(stage).filter(([key]) => key !== "error");
  return Object.fromEntries(fields.map(([key, value]: [string, unknown]) => [key, ownList(value)]));
}

function ownList(value: unknown): unknown {
  return Array.isArray(value) ? value.slice() : value;
}
