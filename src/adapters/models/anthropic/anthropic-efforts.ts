import type { ReasoningEffort } from "../../../domain/model.js";
import { type AnthropicEffort, effortFields } from "./anthropic-thinking.js";
import { type ModelTraits, traitsOf } from "./anthropic-traits.js";
import { describedEfforts } from "../wire/described-efforts.js";

/** The efforts for which a request to this model says something, as long as nothing in the request keeps it from thinking. */
export function effectiveEfforts(options: {
  readonly model: string;
  readonly thinking?: ModelTraits["thinking"] | undefined;
  readonly maxOutputTokens?: number | undefined;
  readonly efforts?: Readonly<Partial<Record<ReasoningEffort, AnthropicEffort>>> | undefined;
}): readonly ReasoningEffort[] {
  const found = traitsOf(options.model);
  const traits = { ...found, thinking: options.thinking ?? found.thinking };
  const context = {
    traits,
    maxTokens: options.maxOutputTokens ?? traits.maxTokens,
    display: "summarized",
    efforts: options.efforts ?? {},
    forcesCall: false,
    goesOnThinking: true,
  } as const;
  return describedEfforts((effort) => Object.keys(effortFields(effort, context)).length > 0);
}
