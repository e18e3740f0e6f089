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

/** What a model call may come to at most. */
export type ModelCallEstimate = {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly model: PricedModel;
};

/** A reservation ends once, by `settle` or `cancel`; whatever is called later changes nothing. */
export type Reservation = {
  /** Puts what was used in its place. `"unknown"` leaves it standing, `"free"`: the provider refused the call. Answers the cost, nothing without a price. */
  settle(usage: Usage | "unknown" | "free", model?: PricedModel): number | undefined;
  /** The call was not made, and does not count. */
  cancel(): void;
};

/** A reservation, or the limit that has not enough left. */
export type Reserved =
  | { readonly ok: true; readonly reservation: Reservation }
  | { readonly ok: false; readonly limit: string };

/**
 * A limit that turns, sub-agents and retries draw from together, in one process. Reserving is synchronous: two that ask at the same time
 * never get the same rest. Made by `createBudget`; the caller shares and keeps it.
 */
export interface Budget {
  readonly limits: BudgetLimits;
  spent(): BudgetSpent;
  /** Takes one model call with all it may come to, or nothing. */
  reserveModelCall(estimate: ModelCallEstimate): Reserved;
  /** Takes one tool call; `undefined`, or the limit that is used up. */
  takeToolCall(): string | undefined;
  /** Gives back a tool call that did not start. */
  returnToolCall(): void;
}
