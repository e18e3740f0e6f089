import type { Budget, BudgetLimits, PricedModel } from "../ports/budget.js";
import type { ModelError, ModelErrorKind } from "../domain/errors.js";
import type { Usage } from "../domain/usage.js";

/** What a model call may come to at most. */
export type ModelCallEstimate = {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly model: PricedModel;
};

/** What was used, or `"unknown"`, which leaves a reservation standing, or `"free"` where the provider refused the call. */
export type Used = Usage | "unknown" | "free";

/** A reservation ends once, by `settle` or `cancel`; whatever is called later changes nothing. */
export type Reservation = {
  /** Puts what was used in its place. Answers the cost, nothing without a price. */
  settle(used: Used, model?: PricedModel): number | undefined;
  /** The call was not made, and does not count. */
  cancel(): void;
};

/** The name of a limit that has not enough left. */
export type BudgetLimit = Exclude<keyof BudgetLimits, "price" | "deadline">;

/** What was taken, or the limit that kept it from being taken. */
export type Drawn<T> = ({ readonly ok: true } & T) | { readonly ok: false; readonly limit: BudgetLimit };

/** How turns draw from a budget. */
export interface Draw {
  /** Takes one model call with all it may come to, or nothing. */
  modelCall(estimate: ModelCallEstimate): Drawn<{ readonly reservation: Reservation }>;
  /** Takes one tool call, or nothing. */
  toolCall(): Drawn<object>;
  /** Gives back a tool call that did not start. */
  returnToolCall(): void;
}

/** Where a budget keeps its draw; the same in every copy of the package. */
export const DRAW = Symbol.for("ennead.budget");

/** True for what `createBudget` made. */
export function isBudget(value: unknown): value is Budget & { readonly [DRAW]: Draw } {
  return typeof value === "object" && value !== null && DRAW in value;
}

/** How to draw from a budget that was checked. */
export function drawOn(budget: Budget): Draw {
  if (isBudget(budget)) return budget[DRAW];
  throw new TypeError("a budget is made by createBudget");
}

/** The provider did not take the request: nothing of it was used. */
const REFUSED: ReadonlySet<ModelErrorKind> = new Set([
  "auth",
  "context-overflow",
  "invalid-request",
  "overloaded",
  "rate-limit",
  "request-build",
]);

/** True for the error of a request that a provider refused before it worked on it. */
export function isFree({ kind, usage }: ModelError): boolean {
  return usage === undefined && REFUSED.has(kind);
}
