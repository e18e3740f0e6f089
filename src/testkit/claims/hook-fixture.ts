import type { OutcomeKind, Stage, StageOutcome } from "../../domain/stage.js";
import type { Awaitable } from "../../ports/awaitable.js";
import type { PipelineHook, StageContext } from "../../ports/hook.js";
import { toolDef } from "../builders.js";
import { sampleStages } from "../sample-stages.js";
import { testStageContext } from "../stage-context.js";
import type { Claim, Fixture } from "./claim.js";
import { settlesWithin } from "./expect-settled.js";
import { ClaimFailure } from "./expectations.js";

/** A moment to ask the hook at, with what the context holds there beside that of `testStageContext`. */
export type HookMoment = { readonly stage: Stage; readonly context?: Partial<StageContext> | undefined };

/** A hook with what the claims need to know of it. */
export type PipelineHookFixture = Fixture & {
  readonly hook: PipelineHook;
  /** Moments at which the hook asks for something, and for what: the same each time, in every turn. Needed for `acts` and, with one that is `defer`, for `defers`. */
  readonly acts?: readonly (HookMoment & { readonly outcome: OutcomeKind })[] | undefined;
  /** A moment at which it waits until the signal fires; needed for `abort`. */
  readonly waits?: HookMoment | undefined;
  /** How soon it must have answered, and have settled after an abort; default 1000. */
  readonly deadlineMs?: number | undefined;
};

/** `acts`: it asks for something somewhere. `defers`: among that is `defer`. `abort`: it can be kept waiting. */
export type PipelineHookCapability = "acts" | "defers" | "abort";

/** A claim of `pipelineHookClaims`. */
export type PipelineHookClaim = Claim<PipelineHookFixture, PipelineHookCapability>;

/** What came of asking a hook once. A hook that threw or did not settle in time asked for nothing. */
export type HookAnswer = {
  readonly outcome: StageOutcome | undefined;
  readonly thrown: { readonly error: unknown } | undefined;
  readonly settled: boolean;
  readonly steps: readonly { readonly name: string; readonly value: unknown }[];
  readonly emitted: readonly { readonly label: unknown; readonly data: unknown }[];
  /** What it left for the end of the round. */
  readonly leftOver: readonly (() => Awaitable<void>)[];
};

/** Asks the hook at a moment, with a context that takes notes. */
export async function askHook(fixture: PipelineHookFixture, moment: HookMoment): Promise<HookAnswer> {
  const notes = { steps: [] as { name: string; value: unknown }[], emitted: [] as HookAnswer["emitted"][number][] };
  const leftOver: (() => Awaitable<void>)[] = [];
  const context = testStageContext({
    tools: [toolDef("weather")],
    step: async (name, run) => {
      const value = await run();
      notes.steps.push({ name, value });
      return value;
    },
    emit: (label, data) => void notes.emitted.push({ label, data }),
    onSettled: (fn) => void leftOver.push(fn),
    ...moment.context,
  });
  let outcome: StageOutcome | undefined;
  let thrown: HookAnswer["thrown"];
  const ask = async (): Promise<void> => {
    outcome = (await fixture.hook.onStage(moment.stage, context)) ?? undefined;
  };
  const asked = ask().catch((error: unknown) => {
    thrown = { error };
  });
  const settled = await settlesWithin(asked, fixture.deadlineMs ?? 1_000);
  return { outcome, thrown, settled, ...notes, leftOver };
}

/** Every moment a hook can be asked at: a sample of each stage it wants, then those at which it acts. */
export function momentsOf({ hook, acts = [] }: PipelineHookFixture): readonly HookMoment[] {
  const wanted = sampleStages().filter(({ kind }) => hook.stages === undefined || hook.stages.includes(kind));
  return [...wanted.map((stage) => ({ stage })), ...acts];
}

/** The moments at which it acts; a fixture that lacks them without saying so fails the claim. */
export function actsOf({ acts = [] }: PipelineHookFixture): NonNullable<PipelineHookFixture["acts"]> {
  if (acts.length > 0) return acts;
  throw new ClaimFailure("the fixture gives acts, or the capability acts is declared missing");
}
