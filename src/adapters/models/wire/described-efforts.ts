import type { ReasoningEffort } from "../../../domain/model.js";

const ALL: readonly ReasoningEffort[] = ["off", "minimal", "low", "medium", "high", "xhigh", "maximum"];

/** The efforts a model describes: those for which its requests say something, from the lowest to the highest. */
export function describedEfforts(hasEffect: (effort: ReasoningEffort) => boolean): readonly ReasoningEffort[] {
  return ALL.filter(hasEffect);
}
