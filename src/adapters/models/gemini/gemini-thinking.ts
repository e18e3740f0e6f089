import type { ReasoningEffort } from "../../../domain/model.js";

/** How hard a model thinks, in the words of this wire: models from 3 on know levels, those before a budget in tokens. */
export type GeminiThinking = { readonly thinkingLevel: string } | { readonly thinkingBudget: number };

/** Which form of the wire a model speaks; told by its name where the options do not say. */
export type GeminiGeneration = 2 | 3;

/** Names without a version, such as `gemini-flash-latest`, stand for the newest model; what is no Gemini is taken for an old one. */
export function generationOf(model: string): GeminiGeneration {
  const name = /(?:^|[/.])(gemini-.*)$/i.exec(model)?.[1] ?? "";
  return name === "" || /^gemini-(?:[12](?:[.-]|$)|pro(?:-vision)?$)/i.test(name) ? 2 : 3;
}

/**
 * The thinking each effort stands for. `maximum` is the top the model has. Models from 3 on cannot be kept from thinking, so that `off`
 * is their lowest level; those before 2.5 cannot think and refuse to be told.
 */
export function geminiEfforts(
  model: string,
  generation: GeminiGeneration,
): Readonly<Partial<Record<ReasoningEffort, GeminiThinking>>> {
  if (/gemini-(?:1(?:[.-]|$)|2\.0|pro(?:-vision)?$)/i.test(model)) return {};
  return generation === 3 ? levels(model) : budgets(model);
}

function levels(model: string): Readonly<Record<ReasoningEffort, GeminiThinking>> {
  const lowest = { thinkingLevel: hasMinimal(model) ? "MINIMAL" : "LOW" };
  const top = { thinkingLevel: /gemini-4-hydrogen/i.test(model) ? "XHIGH" : "HIGH" };
  return {
    off: lowest,
    minimal: lowest,
    low: { thinkingLevel: "LOW" },
    medium: { thinkingLevel: "MEDIUM" },
    high: { thinkingLevel: "HIGH" },
    xhigh: top,
    maximum: top,
  };
}

/** The Pro models and the larger ones from 3.7 on refuse the level. */
function hasMinimal(model: string): boolean {
  return !/gemini-(?:[\d.]+-)?pro(?:-|$)|gemini-flash-latest|gemini-(?:3\.[7-9]|[4-9])(?!.*-lite)/i.test(model);
}

function budgets(model: string): Readonly<Record<ReasoningEffort, GeminiThinking>> {
  const isPro = /2\.5-pro/i.test(model);
  return {
    off: { thinkingBudget: isPro ? 128 : 0 },
    minimal: { thinkingBudget: 512 },
    low: { thinkingBudget: 2048 },
    medium: { thinkingBudget: 8192 },
    high: { thinkingBudget: 16_384 },
    xhigh: { thinkingBudget: 24_576 },
    maximum: { thinkingBudget: isPro ? 32_768 : 24_576 },
  };
}
