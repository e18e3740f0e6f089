import type { Usage } from "../domain/usage.js";

/** What may be used. Tokens and calls are counts, `deadline` is epoch milliseconds, `maxCost` is in the unit of `price`. */
export type BudgetLimits = {
  readonly maxTotalTokens?: number | undefined;
  /** Needs `price`. */
  readonly maxCost?: number | undefined;
  readonly maxModelCalls?: number | undefined;
  readonly maxToolCalls?: number | undefined;
  readonly deadline?: number | undefined;
  /** What a model call costs, a finite number of at least 0; pure. Its usage holds at least input and output tokens. */
  readonly price?: ((usage: Usage, model: PricedModel) => number) | undefined;
};

/** The model of a call: what answered, else what was asked. */
export type PricedModel = { readonly provider?: string | undefined; readonly model?: string | undefined };

/** What was used so far, reservations included. `estimated`: some of it was never reported, and stands at what was reserved for it. */
export type BudgetSpent = {
  readonly totalTokens: number;
  readonly cost: number;
  readonly modelCalls: number;
  readonly toolCalls: number;
  readonly estimated: boolean;
};

/** What a budget begins with that goes on after a restart; absent is nothing. */
export type BudgetStart = { readonly [K in keyof BudgetSpent]?: BudgetSpent[K] | undefined };

/**
 * A limit that turns, sub-agents and retries draw from together, in one process. Reserving is synchronous: two that ask at the same time
 * never get the same rest. Made by `createBudget` only; whoever made it shares and keeps it.
 */
export interface Budget {
  readonly limits: BudgetLimits;
  spent(): BudgetSpent;
}
