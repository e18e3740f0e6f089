import { estimateAll, estimateTools } from "../domain/estimate.js";
import type { Limits } from "../domain/limits.js";
import type { UsageRecord } from "../domain/session.js";
import type { Budget, PricedModel } from "../ports/budget.js";
import type { ChatRequest } from "../ports/model.js";
import type { CallPath } from "./call-path.js";
import type { Wiring } from "./wiring.js";
import { createBudget } from "./budget.js";
import { type Draw, drawOn, type ModelCallEstimate, type Reservation, type Used } from "./draw.js";

/** The limits of L2 that a turn has for itself; an infinite one is none. */
export type OwnLimits = Pick<Limits, "maxModelCalls" | "maxToolCalls" | "maxTotalTokens">;

/** Output tokens that are reserved where the request names no bound. */
const DEFAULT_OUTPUT_TOKENS = 4096;

/** What an estimate is made of. */
type Estimated = Pick<ChatRequest, "messages" | "tools" | "options">;

const NO_CHARGE: ModelCallCharge = { settle: () => undefined };

/** A model call that every budget let through. */
export type ModelCallCharge = { settle(used: Used, model: PricedModel): void };

/** What one turn may use: its own limits, and the budgets it shares with others. All have to agree, or nothing is taken (A5). */
export class TurnBudget {
  /** The budgets that turns on the way to this one, and this one, share with those that its tools start. */
  readonly shared: readonly Budget[];
  readonly #own: OwnLimits;
  #budgets: readonly Budget[];
  /** What the model calls of the turn cost, where a budget has a price. */
  cost: number | undefined;

  constructor(own: OwnLimits, shared: readonly Budget[]) {
    this.shared = shared.length < 2 ? shared : [...new Set(shared)];
    this.#own = own;
    this.#budgets = [...this.#ownBudget(undefined), ...this.shared];
  }

  /** When the first of the shared budgets ends, in epoch milliseconds; infinite where none does. */
  get deadline(): number {
    return Math.min(...this.shared.map(({ limits }) => limits.deadline ?? Number.POSITIVE_INFINITY));
  }

  /** A resumed turn's own limits count what the turn it continues has used. */
  startFrom(before: UsageRecord["turn"]): void {
    this.cost = before.cost;
    this.#budgets = [...this.#ownBudget(before), ...this.shared];
  }

  /** Takes a model call, or answers the limit that is used up. Costs nothing where nobody counts. */
  reserve(request: Estimated): ModelCallCharge | string {
    if (this.#budgets.length === 0) return NO_CHARGE;
    const estimate = this.#estimate(request);
    const reservations: Reservation[] = [];
    let taken = false;
    try {
      for (const budget of this.#budgets) {
        const reserved = drawOn(budget).modelCall(estimate);
        if (!reserved.ok) return reserved.limit;
        reservations.push(reserved.reservation);
      }
      taken = true;
    } finally {
      // A call that is not made has used nothing; it stays counted only where it was let through.
      if (!taken) for (const reservation of reservations) reservation.cancel();
    }
    return { settle: (used, model) => this.#settle(reservations, used, model) };
  }

  /** Takes a tool call, or answers the limit that is used up. */
  takeToolCall(): string | undefined {
    const taken: Draw[] = [];
    for (const budget of this.#budgets) {
      const draw = drawOn(budget);
      const drawn = draw.toolCall();
      if (drawn.ok) taken.push(draw);
      else {
        for (const earlier of taken) earlier.returnToolCall();
        return drawn.limit;
      }
    }
    return undefined;
  }

  /** Gives back a tool call that did not start. */
  returnToolCall(): void {
    for (const budget of this.#budgets) drawOn(budget).returnToolCall();
  }

  #settle(reservations: readonly Reservation[], used: Used, model: PricedModel): void {
    let cost: number | undefined;
    for (const reservation of reservations) {
      const charged = reservation.settle(used, model);
      cost ??= charged;
    }
    if (cost !== undefined) this.cost = (this.cost ?? 0) + cost;
  }

  #ownBudget(before: UsageRecord["turn"] | undefined): Budget[] {
    const { maxModelCalls, maxToolCalls, maxTotalTokens } = this.#own;
    if ([maxModelCalls, maxToolCalls, maxTotalTokens].every((limit) => limit === Number.POSITIVE_INFINITY)) return [];
    const limits = { maxModelCalls, maxToolCalls, maxTotalTokens };
    if (before === undefined) return [createBudget(limits)];
    const { modelCalls, toolCalls, usage } = before;
    const { inputTokens = 0, outputTokens = 0, totalTokens = inputTokens + outputTokens } = usage;
    return [createBudget(limits, { modelCalls, toolCalls, totalTokens })];
  }

  /** Tokens are estimated only for a budget that counts them. */
  #estimate({ messages, tools, options }: Estimated): ModelCallEstimate {
    const outputTokens = options.maxOutputTokens ?? DEFAULT_OUTPUT_TOKENS;
    const model = { model: options.model };
    const counted = this.#budgets.some(
      ({ limits: { maxTotalTokens = Number.POSITIVE_INFINITY, price } }) =>
        maxTotalTokens !== Number.POSITIVE_INFINITY || price !== undefined,
    );
    if (!counted) return { inputTokens: 0, outputTokens: 0, model };
    return { inputTokens: estimateAll(messages) + estimateTools(tools), outputTokens, model };
  }
}

/** What a turn may use: its own limits, and the budgets of the agent, of the caller, and of the turns whose tools started it. */
export function budgetOf(wiring: Wiring, caller: CallPath | undefined, own?: Budget): TurnBudget {
  const { limits, budget } = wiring.settings;
  return new TurnBudget(
    limits,
    [...(caller?.budgets ?? []), budget, own].filter((shared) => shared !== undefined),
  );
}
