import type { PipelineHookClaim } from "./hook-fixture.js";
import { hookActionClaims } from "./hook-actions.js";
import { hookStageClaims } from "./hook-stages.js";

export type { HookMoment, PipelineHookCapability, PipelineHookClaim, PipelineHookFixture } from "./hook-fixture.js";

/** What every hook does, whatever it is for. */
export const pipelineHookClaims: readonly PipelineHookClaim[] = [...hookStageClaims, ...hookActionClaims];
