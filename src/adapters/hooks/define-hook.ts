import { CompositionError } from "../../domain/errors.js";
import { safeLabel } from "../../domain/safe-label.js";
import { STAGE_KINDS, STAGE_OUTCOMES, type StageKind, type StageOf, type StageOutcome } from "../../domain/stage.js";
import type { Awaitable } from "../../ports/awaitable.js";
import type { HookContext, OnFailure, OutcomeMakers, PipelineHook, StageContext } from "../../ports/hook.js";

/** The kinds of outcome a stage allows. */
export type AllowedOutcome<K extends StageKind> = (typeof STAGE_OUTCOMES)[K][number];

/** An outcome a stage allows. */
export type OutcomeOf<K extends StageKind> = Extract<StageOutcome, { readonly kind: AllowedOutcome<K> }>;

/** The makers of the outcomes a stage allows, and no other. */
export type MakersOf<K extends StageKind> = {
  [M in AllowedOutcome<K>]: (...args: Parameters<OutcomeMakers<K>[M]>) => Extract<StageOutcome, { readonly kind: M }>;
};

/** One stage's function; without a return value the turn goes on. */
export type StageHandler<K extends StageKind> = (
  stage: StageOf<K>,
  context: HookContext & MakersOf<K>,
) => Awaitable<OutcomeOf<K> | undefined | void>;

/** A function per stage the hook takes part in, and where the hook stands. */
export type HookDefinition = { readonly [K in StageKind]?: StageHandler<K> | undefined } & {
  readonly before?: readonly string[] | undefined;
  readonly after?: readonly string[] | undefined;
  readonly onFailure?: OnFailure | undefined;
  readonly timeoutMs?: number | undefined;
};

const OPTIONS: ReadonlySet<string> = new Set(["before", "after", "onFailure", "timeoutMs"]);

/**
 * A hook of one function per stage, each with that stage's own type and outcomes (H5). It is asked at those stages only. Throws
 * `CompositionError("invalid-config")` for a key that is neither a stage nor an option. Functions are called on `definition`.
 */
export function defineHook(name: string, definition: HookDefinition): PipelineHook {
  for (const key of Object.keys(definition)) {
    if (Object.hasOwn(STAGE_OUTCOMES, key) || OPTIONS.has(key)) continue;
    throw new CompositionError("invalid-config", `hook ${safeLabel(name)} has no stage or option ${safeLabel(key)}`);
  }
  const { before, after, onFailure, timeoutMs } = definition;
  return {
    name,
    stages: Object.freeze(STAGE_KINDS.filter((kind) => definition[kind] !== undefined)),
    ...(before && { before }),
    ...(after && { after }),
    ...(onFailure && { onFailure }),
    ...(timeoutMs === undefined ? undefined : { timeoutMs }),
    onStage: (stage, context) => handlerOf(definition, stage.kind)?.call(definition, stage, context),
  };
}

/** The handler of a stage's kind takes that stage, which the compiler cannot follow through a union. */
function handlerOf(definition: HookDefinition, kind: StageKind): Handler | undefined {
  return definition[kind] as Handler | undefined;
}

type Handler = (stage: StageOf<StageKind>, context: StageContext) => ReturnType<PipelineHook["onStage"]>;
