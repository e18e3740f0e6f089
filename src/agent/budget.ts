import { CompositionError } from "../domain/errors.js";
import { checkFields } from "../domain/known-fields.js";
import { addUsage, type Usage } from "../domain/usage.js";
import type { Budget, BudgetLimits, BudgetSpent, BudgetStart, PricedModel } from "../ports/budget.js";
import {
  type BudgetLimit,
  DRAW,
  type Draw,
  type Drawn,
  isBudget,
  type ModelCallEstimate,
  type Reservation,
  type Used,
} from "./draw.js";

const COUNTED = ["maxTotalTokens", "maxCost", "maxModelCalls", "maxToolCalls", "deadline"] as const;
const SPENT = ["totalTokens", "cost", "modelCalls", "toolCalls"] as const;

/**
 * A budget for any number of turns of this process (A5). `spent` is where it begins, for one that goes on after a restart. Throws
 * `CompositionError("invalid-config")` for a limit or a sum that is no number of at least 0, and for `maxCost` without `price`.
 */
export function createBudget(limits: BudgetLimits, spent: BudgetStart = {}): Budget {
  checkFields("createBudget", limits, [...COUNTED, "price"]);
  checkFields("createBudget", spent, [...SPENT, "estimated"]);
  for (const name of COUNTED) checkLimit(name, limits[name]);
  for (const name of SPENT) checkLimit(name, spent[name]);
  if (limits.price !== undefined && typeof limits.price !== "function") throw invalid("price is no function");
  if (limits.maxCost !== undefined && limits.price === undefined) throw invalid("maxCost needs price");
  return new CountedBudget(Object.freeze({ ...limits }), spent);
}

/** Throws `CompositionError("invalid-config")` for what is no limit; absent is fine. */
function checkLimit(name: string, value: unknown): void {
  if (value === undefined || (typeof value === "number" && value >= 0)) return;
  throw invalid(`${name} is not a number of at least 0`);
}

/** Throws `CompositionError("invalid-config")` for what is no budget; absent is fine. */
export function checkBudget(name: string, value: unknown): void {
  if (value === undefined || isBudget(value)) return;
  throw invalid(`${name} is no budget; createBudget makes one`);
}

function invalid(text: string): CompositionError {
  return new CompositionError("invalid-config", text);
}

/** What a model call takes: known, or what was reserved for it. */
type Charge = { readonly tokens: number; readonly cost: number | undefined; readonly estimated: boolean };

class CountedBudget implements Budget, Draw {
  readonly limits: BudgetLimits;
  readonly [DRAW]: Draw = this;
  #spent: BudgetSpent;

  constructor(limits: BudgetLimits, spent: BudgetStart) {
    const { totalTokens = 0, cost = 0, modelCalls = 0, toolCalls = 0, estimated = false } = spent;
    this.limits = limits;
    this.#spent = { totalTokens, cost, modelCalls, toolCalls, estimated };
  }

  spent(): BudgetSpent {
    return this.#spent;
  }

  modelCall({ inputTokens, outputTokens, model }: ModelCallEstimate): Drawn<{ readonly reservation: Reservation }> {
    const tokens = inputTokens + outputTokens;
    const usage = { inputTokens, outputTokens, totalTokens: tokens };
    const reserved: Charge = { tokens, cost: this.#price(usage, model), estimated: false };
    const limit = this.#missing(reserved);
    if (limit !== undefined) return { ok: false, limit };
    this.#add(reserved, 1);
    return { ok: true, reservation: this.#reservation(reserved, model) };
  }

  toolCall(): Drawn<object> {
    const { maxToolCalls = Number.POSITIVE_INFINITY } = this.limits;
    if (this.#spent.toolCalls + 1 > maxToolCalls) return { ok: false, limit: "maxToolCalls" };
    this.#spent = { ...this.#spent, toolCalls: this.#spent.toolCalls + 1 };
    return { ok: true };
  }

  returnToolCall(): void {
    this.#spent = { ...this.#spent, toolCalls: Math.max(0, this.#spent.toolCalls - 1) };
  }

  /** The first limit that has not this much left. */
  #missing({ tokens, cost = 0 }: Charge): BudgetLimit | undefined {
    const infinite = Number.POSITIVE_INFINITY;
    const { maxModelCalls = infinite, maxTotalTokens = infinite, maxCost = infinite } = this.limits;
    const spent = this.#spent;
    if (spent.modelCalls + 1 > maxModelCalls) return "maxModelCalls";
    if (spent.totalTokens + tokens > maxTotalTokens) return "maxTotalTokens";
    return spent.cost + cost > maxCost ? "maxCost" : undefined;
  }

  #reservation(reserved: Charge, asked: PricedModel): Reservation {
    let over = false;
    let cost: number | undefined;
    const replace = (charge: Charge, calls: number): void => {
      if (over) return;
      over = true;
      cost = charge.cost;
      this.#add({ tokens: -reserved.tokens, cost: -(reserved.cost ?? 0), estimated: false }, calls);
      this.#add(charge, 0);
    };
    return {
      settle: (usage, model = asked) => {
        if (!over) replace(this.#charge(usage, reserved, model), 0);
        return cost;
      },
      cancel: () => replace({ tokens: 0, cost: undefined, estimated: false }, -1),
    };
  }

  #charge(usage: Used, reserved: Charge, model: PricedModel): Charge {
    if (usage === "free") return { tokens: 0, cost: reserved.cost === undefined ? undefined : 0, estimated: false };
    if (usage === "unknown") return { ...reserved, estimated: true };
    const { inputTokens, outputTokens } = usage;
    const sum = inputTokens === undefined || outputTokens === undefined ? undefined : inputTokens + outputTokens;
    const total = usage.totalTokens ?? sum;
    // Half a report is at least what it says.
    const tokens = total ?? Math.max(reserved.tokens, inputTokens ?? 0, outputTokens ?? 0);
    const cost = sum === undefined ? undefined : this.#settledPrice(usage, model);
    const guessed = total === undefined || (cost === undefined && reserved.cost !== undefined);
    return { tokens, cost: cost ?? reserved.cost, estimated: guessed };
  }

  /** A price that fails after the fact leaves the reservation standing. */
  #settledPrice(usage: Usage, model: PricedModel): number | undefined {
    try {
      return this.#price(usage, model);
    } catch {
      return undefined;
    }
  }

  #price(usage: Usage, model: PricedModel): number | undefined {
    if (this.limits.price === undefined) return undefined;
    const cost = this.limits.price(addUsage(usage, undefined), model);
    if (typeof cost === "number" && cost >= 0 && cost < Number.POSITIVE_INFINITY) return cost;
    throw invalid("price gave no finite number of at least 0");
  }

  #add({ tokens, cost = 0, estimated }: Charge, modelCalls: number): void {
    const spent = this.#spent;
    this.#spent = {
      totalTokens: spent.totalTokens + tokens,
      cost: Math.max(0, spent.cost + cost),
      modelCalls: spent.modelCalls + modelCalls,
      toolCalls: spent.toolCalls,
      estimated: spent.estimated || estimated,
    };
  }
}
