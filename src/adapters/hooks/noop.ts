import type { StageKind } from "../../domain/stage.js";
import type { PipelineHook } from "../../ports/hook.js";

/** Takes part in no stage, so it costs a turn nothing. */
export class NoopHook implements PipelineHook {
  readonly name = "noop";
  readonly stages: readonly StageKind[] = [];

  onStage(): void {}
}
