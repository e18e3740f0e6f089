import type { JsonObject } from "../../../domain/json.js";
import type { ReasoningEffort } from "../../../domain/model.js";
import type { ModelTraits } from "./anthropic-traits.js";

/** The fields of a request that an effort stands for. */
export type AnthropicEffort = {
  /** The wire's `thinking`. */
  readonly thinking?: JsonObject | undefined;
  /** The wire's `output_config.effort`. */
  readonly effort?: string | undefined;
};

/** Tokens of reasoning for models that take a number; `maximum` leaves only the reply's share of `max_tokens`. */
const BUDGETS: Readonly<Record<Exclude<ReasoningEffort, "off">, number>> = {
  minimal: 1024,
  low: 4096,
  medium: 10_000,
  high: 16_000,
  xhigh: 24_000,
  maximum: Infinity,
};

const EFFORTS: Readonly<Record<Exclude<ReasoningEffort, "off">, string>> = {
  minimal: "low",
  low: "low",
  medium: "medium",
  high: "high",
  xhigh: "xhigh",
  maximum: "max",
};

/** The least number of tokens a budget may be. */
const LEAST_BUDGET = 1024;

/** What the effort of a request depends on beside its word. */
export type ThinkingContext = {
  readonly traits: ModelTraits;
  readonly maxTokens: number;
  readonly display: "summarized" | "omitted";
  readonly efforts: Readonly<Partial<Record<ReasoningEffort, AnthropicEffort>>>;
  /** The request forces a call, which no model takes while it thinks. */
  readonly forcesCall: boolean;
  /** The reply that the request goes on with begins with its reasoning, as a budget demands. */
  readonly goesOnThinking: boolean;
};

/** The fields for an effort, always such as the model takes; none where it does not think or no effort is asked for. */
export function effortFields(effort: ReasoningEffort | undefined, context: ThinkingContext): AnthropicEffort {
  const { traits, forcesCall } = context;
  if (traits.thinking === "none") return {};
  const own = effort === undefined ? undefined : context.efforts[effort];
  const asked = own ?? (effort === undefined ? {} : fieldsOf(effort, context));
  if (forcesCall) return withoutThinking(asked, context);
  return asked;
}

function fieldsOf(effort: ReasoningEffort, context: ThinkingContext): AnthropicEffort {
  const { traits, display } = context;
  if (effort === "off") return traits.canThinkNot ? { thinking: { type: "disabled" } } : { effort: "low" };
  if (traits.thinking === "budget") return budgetOf(BUDGETS[effort], context);
  const word = effort === "xhigh" && !traits.hasXhigh ? "high" : EFFORTS[effort];
  return { thinking: { type: "adaptive", display }, effort: word };
}

function budgetOf(wanted: number, { maxTokens, goesOnThinking }: ThinkingContext): AnthropicEffort {
  // The budget is a part of max_tokens; a quarter of those, 1024 at least, is left for the reply.
  const budget = Math.min(wanted, maxTokens - Math.max(LEAST_BUDGET, Math.floor(maxTokens / 4)));
  if (budget < LEAST_BUDGET || !goesOnThinking) return {};
  return { thinking: { type: "enabled", budget_tokens: budget } };
}

/** Models that think unasked must be told not to. One that cannot be told keeps its effort, and refuses the forced call itself. */
function withoutThinking({ effort }: AnthropicEffort, { traits }: ThinkingContext): AnthropicEffort {
  const capped = effort === "xhigh" || effort === "max" ? "high" : effort;
  if (!traits.canThinkNot) return { effort };
  return traits.thinking === "adaptive" ? { thinking: { type: "disabled" }, effort: capped } : { effort };
}

/** True where the request makes the model think, as far as the request itself says. */
export function isThinking({ thinking }: AnthropicEffort): boolean {
  return thinking !== undefined && thinking["type"] !== "disabled";
}
