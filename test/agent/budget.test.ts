import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createBudget } from "../../src/agent/budget.js";
import { CompositionError } from "../../src/domain/errors.js";
import type { Usage } from "../../src/domain/usage.js";
import { drawOn, type Reservation } from "../../src/agent/draw.js";
import type { Budget, BudgetLimits, BudgetSpent } from "../../src/ports/budget.js";
import { stopResponse, testAgent } from "../../src/testkit/index.js";
import { rejectionOf } from "../support/turns.js";

const MODEL = { provider: "p", model: "m" };
const NOTHING = { totalTokens: 0, cost: 0, modelCalls: 0, toolCalls: 0, estimated: false };

/** What JavaScript may give where types ask for something else. */
const made = (limits: unknown, spent?: unknown): Budget =>
  createBudget(limits as BudgetLimits, spent as Partial<BudgetSpent> | undefined);

function refusalOf(limits: unknown, spent?: unknown): CompositionError {
  try {
    made(limits, spent);
  } catch (error) {
    if (error instanceof CompositionError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

const FIELDS = ["maxTotalTokens", "maxCost", "maxModelCalls", "maxToolCalls", "deadline"] as const;

test.each([{ reserveModelCall: () => undefined }, { limits: {}, spent: () => NOTHING }, 7, "budget", null])(
  "what createBudget did not make is refused as a budget: %j (A5)",
  async (budget) => {
    const t = await testAgent({ script: [stopResponse("ok")] });
    const refused = await rejectionOf(t.agent.runTurn("hi", "s", { budget: budget as unknown as Budget }));
    expect([refused.kind, refused.cause]).toEqual(["invalid-input", expect.any(CompositionError)]);
    await t.agent.shutdown();
  },
);

describe("what is no budget is refused where it is made (A5)", () => {
  test.each(FIELDS)("%s is a number of at least 0", (field) => {
    for (const value of [Number.NaN, -1, "10", null, 10n, {}, Number.NEGATIVE_INFINITY]) {
      const error = refusalOf({ price: () => 0, [field]: value });
      expect(error.kind).toBe("invalid-config");
      expect(error.message).toContain(field);
    }
    for (const value of [0, 1, Number.POSITIVE_INFINITY, undefined]) {
      expect(made({ price: () => 0, [field]: value }).spent()).toEqual(NOTHING);
    }
  });

  test("a misspelt field is named, with what was meant", () => {
    expect(refusalOf({ maxTokens: 10 }).message).toContain("maxTokens");
    expect(refusalOf({ maxtotaltokens: 10 }).message).toContain("did you mean maxTotalTokens?");
    expect(refusalOf({ maxUsd: 10 }).kind).toBe("invalid-config");
    for (const limits of [null, undefined, 10, "all"]) expect(refusalOf(limits).kind).toBe("invalid-config");
  });

  test("a limit of cost needs a price, and a price is a function", () => {
    expect(refusalOf({ maxCost: 1 }).message).toContain("price");
    for (const price of [0.1, "dear", null, {}]) expect(refusalOf({ price }).message).toContain("price");
  });

  test("where it begins is checked like its limits", () => {
    for (const field of ["totalTokens", "cost", "modelCalls", "toolCalls"]) {
      for (const value of [Number.NaN, -1, "3", null])
        expect(refusalOf({}, { [field]: value }).message).toContain(field);
    }
    expect(refusalOf({}, { tokens: 3 }).message).toContain("tokens");
    expect(refusalOf({}, null).kind).toBe("invalid-config");
    const begun = createBudget({ maxTotalTokens: 10 }, { totalTokens: 8, modelCalls: 2, cost: undefined });
    expect(begun.spent()).toEqual({ ...NOTHING, totalTokens: 8, modelCalls: 2 });
    expect(drawOn(begun).modelCall(ask(3))).toEqual({ ok: false, limit: "maxTotalTokens" });
  });

  test("its limits stay what they were when it was made", () => {
    const limits = { maxModelCalls: 1 };
    const budget = createBudget(limits);
    limits.maxModelCalls = 5;
    expect(budget.limits.maxModelCalls).toBe(1);
    expect(Object.isFrozen(budget.limits)).toBe(true);
  });
});

const ask = (inputTokens: number, outputTokens = 0) => ({ inputTokens, outputTokens, model: MODEL });

/** A reservation that must be there. */
function reserved(budget: Budget, inputTokens: number, outputTokens = 0): Reservation {
  const answer = drawOn(budget).modelCall(ask(inputTokens, outputTokens));
  if (!answer.ok) throw new Error(`refused: ${answer.limit}`);
  return answer.reservation;
}

const byToken = (usage: Usage): number => (usage.inputTokens ?? 0) + 2 * (usage.outputTokens ?? 0);

describe("what is reserved and what is charged (A5)", () => {
  test("a reservation counts at once with all the call may come to, and reported usage takes its place", () => {
    const budget = createBudget({ price: byToken });
    const call = reserved(budget, 10, 20);
    expect(budget.spent()).toEqual({ ...NOTHING, totalTokens: 30, cost: 50, modelCalls: 1 });
    expect(call.settle({ inputTokens: 9, outputTokens: 3 })).toBe(15);
    expect(budget.spent()).toEqual({ ...NOTHING, totalTokens: 12, cost: 15, modelCalls: 1 });
  });

  test("unknown usage leaves the reservation standing, and says that it is an estimate", () => {
    const budget = createBudget({ price: byToken });
    expect(reserved(budget, 10, 20).settle("unknown")).toBe(50);
    expect(budget.spent()).toEqual({ totalTokens: 30, cost: 50, modelCalls: 1, toolCalls: 0, estimated: true });
    reserved(budget, 1, 1).settle({ inputTokens: 1, outputTokens: 1 });
    expect(budget.spent().estimated).toBe(true);
  });

  test.each<[string, Usage, Pick<BudgetSpent, "totalTokens" | "cost" | "estimated">]>([
    ["nothing", {}, { totalTokens: 30, cost: 50, estimated: true }],
    ["only input", { inputTokens: 5 }, { totalTokens: 30, cost: 50, estimated: true }],
    ["more input than was reserved", { inputTokens: 99 }, { totalTokens: 99, cost: 50, estimated: true }],
    ["only output", { outputTokens: 40 }, { totalTokens: 40, cost: 50, estimated: true }],
    ["only a total", { totalTokens: 7 }, { totalTokens: 7, cost: 50, estimated: true }],
    ["parts", { inputTokens: 5, outputTokens: 2 }, { totalTokens: 7, cost: 9, estimated: false }],
    [
      "a total above its parts",
      { inputTokens: 5, outputTokens: 2, totalTokens: 11 },
      { totalTokens: 11, cost: 9, estimated: false },
    ],
  ])("a call that reports %s is charged at least what it says, and no guess passes for a report", (_, usage, spent) => {
    const budget = createBudget({ price: byToken });
    reserved(budget, 10, 20).settle(usage);
    expect(budget.spent()).toEqual({ ...NOTHING, ...spent, modelCalls: 1 });
  });

  test("without a price half a report of a known total is no estimate", () => {
    const budget = createBudget({});
    expect(reserved(budget, 10, 20).settle({ totalTokens: 7 })).toBeUndefined();
    expect(budget.spent()).toEqual({ ...NOTHING, totalTokens: 7, modelCalls: 1 });
  });

  test("a call that the provider refused costs nothing, and has been made", () => {
    const budget = createBudget({ price: byToken });
    expect(reserved(budget, 10, 20).settle("free")).toBe(0);
    expect(budget.spent()).toEqual({ ...NOTHING, modelCalls: 1 });
  });

  test("a call that was not made does not count", () => {
    const budget = createBudget({ price: byToken, maxModelCalls: 1 });
    reserved(budget, 10, 20).cancel();
    expect(budget.spent()).toEqual(NOTHING);
    reserved(budget, 10);
  });

  test("a reservation ends once, whatever is called later", () => {
    const budget = createBudget({ price: byToken });
    const settled = reserved(budget, 10, 20);
    settled.settle({ inputTokens: 1, outputTokens: 1 });
    settled.cancel();
    expect(settled.settle("unknown")).toBe(3);
    const cancelled = reserved(budget, 10, 20);
    cancelled.cancel();
    cancelled.cancel();
    cancelled.settle({ totalTokens: 500 });
    expect(budget.spent()).toEqual({ ...NOTHING, totalTokens: 2, cost: 3, modelCalls: 1 });
  });

  test("the model that answered is priced, else the one that was asked", () => {
    const asked: unknown[] = [];
    const budget = createBudget({ price: (_, { model }) => (asked.push(model), 1) });
    reserved(budget, 1).settle({ inputTokens: 1, outputTokens: 1 }, { model: "dear" });
    reserved(budget, 1).settle({ inputTokens: 1, outputTokens: 1 });
    expect(asked).toEqual(["m", "dear", "m", "m"]);
  });
});

describe("a limit (A5)", () => {
  test("refuses what would exceed it, names itself, and takes nothing", () => {
    const limits = { maxModelCalls: 3, maxTotalTokens: 30, maxCost: 40, price: byToken };
    const budget = createBudget(limits);
    expect(drawOn(budget).modelCall(ask(31))).toEqual({ ok: false, limit: "maxTotalTokens" });
    expect(drawOn(budget).modelCall(ask(0, 21))).toEqual({ ok: false, limit: "maxCost" });
    expect(budget.spent()).toEqual(NOTHING);
    for (let call = 0; call < 3; call++) reserved(budget, 10);
    expect(drawOn(budget).modelCall(ask(0))).toEqual({ ok: false, limit: "maxModelCalls" });
    expect(budget.spent()).toEqual({ ...NOTHING, totalTokens: 30, cost: 30, modelCalls: 3 });
  });

  test("of tool calls is taken one by one, and given back", () => {
    const budget = createBudget({ maxToolCalls: 2 });
    expect([drawOn(budget).toolCall(), drawOn(budget).toolCall(), drawOn(budget).toolCall()]).toEqual([
      { ok: true },
      { ok: true },
      { ok: false, limit: "maxToolCalls" },
    ]);
    expect(budget.spent().toolCalls).toBe(2);
    drawOn(budget).returnToolCall();
    expect(drawOn(budget).toolCall()).toEqual({ ok: true });
  });

  test("that a call has overrun by its own report lets nothing more through", () => {
    const budget = createBudget({ maxTotalTokens: 10 });
    reserved(budget, 5).settle({ totalTokens: 50 });
    expect(budget.spent().totalTokens).toBe(50);
    expect(drawOn(budget).modelCall(ask(0))).toEqual({ ok: false, limit: "maxTotalTokens" });
  });
});

describe("a price (A5)", () => {
  test.each([Number.NaN, -0.01, Number.POSITIVE_INFINITY, "1", undefined, 1n])(
    "of %s is refused before the call, and nothing is taken",
    (cost) => {
      const budget = made({ price: () => cost });
      expect(() => drawOn(budget).modelCall(ask(1))).toThrow(CompositionError);
      expect(budget.spent()).toEqual(NOTHING);
    },
  );

  test("that throws before the call throws there, and nothing is taken", () => {
    const budget = createBudget({
      price: () => {
        throw new RangeError("no such model");
      },
    });
    expect(() => drawOn(budget).modelCall(ask(1))).toThrow(RangeError);
    expect(budget.spent()).toEqual(NOTHING);
  });

  test.each<[string, () => number]>([
    [
      "throws",
      () => {
        throw new Error("down");
      },
    ],
    ["is no number", () => Number.NaN],
    ["is negative", () => -1],
  ])("that %s after the call leaves the reservation standing as an estimate", (_, later) => {
    let calls = 0;
    const budget = createBudget({ price: () => (calls++ === 0 ? 5 : later()) });
    expect(reserved(budget, 10).settle({ inputTokens: 1, outputTokens: 1 })).toBe(5);
    expect(budget.spent()).toEqual({ ...NOTHING, totalTokens: 2, cost: 5, modelCalls: 1, estimated: true });
  });
});

/** What happens to a budget: a call that asks for so much, and then uses a share of it, is unknown, refused or given up. */
type Move =
  | { readonly type: "reserve"; readonly input: number; readonly output: number }
  | { readonly type: "tool" | "untool" }
  | {
      readonly type: "end";
      readonly which: number;
      readonly how: "used" | "unknown" | "free" | "cancel";
      readonly share: number;
    };

const move = fc.oneof<fc.Arbitrary<Move>[]>(
  fc.record({ type: fc.constant("reserve"), input: fc.nat(40), output: fc.nat(40) }),
  fc.record({ type: fc.constantFrom("tool" as const, "untool" as const) }),
  fc.record({
    type: fc.constant("end"),
    which: fc.nat(20),
    how: fc.constantFrom("used", "unknown", "free", "cancel"),
    share: fc.integer({ min: 0, max: 10 }),
  }),
);

test("over any sequence no sum exceeds its limit, and in the end it is what was settled (A5)", () => {
  fc.assert(
    fc.property(fc.array(move, { maxLength: 60 }), (moves) => {
      const limits = { maxTotalTokens: 200, maxCost: 250, maxModelCalls: 12, maxToolCalls: 4 };
      const budget = createBudget({ ...limits, price: byToken });
      const open: { readonly reservation: Reservation; readonly input: number; readonly output: number }[] = [];
      const settled = { totalTokens: 0, cost: 0, modelCalls: 0 };
      let tools = 0;
      const end = ({ which, how, share }: Extract<Move, { type: "end" }>): void => {
        const [call] = open.splice(which % Math.max(1, open.length), 1);
        if (call === undefined) return;
        if (how === "cancel") return call.reservation.cancel();
        const part = how === "used" ? share / 10 : how === "unknown" ? 1 : 0;
        const usage = { inputTokens: Math.floor(call.input * part), outputTokens: Math.floor(call.output * part) };
        call.reservation.settle(how === "used" ? usage : how);
        settled.totalTokens += usage.inputTokens + usage.outputTokens;
        settled.cost += byToken(usage);
        settled.modelCalls += 1;
      };
      for (const step of moves) {
        if (step.type === "tool" && drawOn(budget).toolCall().ok) tools += 1;
        if (step.type === "untool" && tools > 0) {
          tools -= 1;
          drawOn(budget).returnToolCall();
        }
        if (step.type === "reserve") {
          const { input, output } = step;
          const answer = drawOn(budget).modelCall(ask(input, output));
          if (answer.ok) open.push({ reservation: answer.reservation, input, output });
        }
        if (step.type === "end") end(step);
        const { totalTokens, cost, modelCalls, toolCalls } = budget.spent();
        expect(totalTokens).toBeLessThanOrEqual(limits.maxTotalTokens);
        expect(cost).toBeLessThanOrEqual(limits.maxCost);
        expect(modelCalls).toBeLessThanOrEqual(limits.maxModelCalls);
        expect(toolCalls).toBeLessThanOrEqual(limits.maxToolCalls);
        expect(Math.min(totalTokens, cost, modelCalls, toolCalls)).toBeGreaterThanOrEqual(0);
      }
      while (open.length > 0) end({ type: "end", which: 0, how: "cancel", share: 0 });
      expect(budget.spent()).toMatchObject({ ...settled, toolCalls: tools });
    }),
    { numRuns: 300 },
  );
});
