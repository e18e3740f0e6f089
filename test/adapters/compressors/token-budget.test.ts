import { describe, expect, test } from "vitest";
import { gptTokens } from "../../../src/adapters/compressors/gpt-tokens.js";
import { TokenBudgetCompressor, type TokenBudgetOptions } from "../../../src/adapters/compressors/token-budget.js";
import { CompositionError } from "../../../src/domain/errors.js";
import { estimateAll } from "../../../src/domain/estimate.js";
import type { AgentMessage } from "../../../src/domain/message.js";
import type { CompressContext } from "../../../src/ports/compressor.js";
import { calling, reply, result, user } from "../../support/conversations.js";

const { signal } = new AbortController();
const text = (word: string): string => `${word} ${"word ".repeat(95)}`;
/** Turns of some 200 tokens. */
const turns = (count: number): AgentMessage[] =>
  Array.from({ length: count }, (_, n) => [user(`u${n}`, text("u")), reply(`a${n}`, text("a"))]).flat();

function kept(
  messages: readonly AgentMessage[],
  options: TokenBudgetOptions,
  given: Partial<CompressContext> = {},
): readonly string[] | undefined {
  const estimatedTokens = Math.ceil(estimateAll(messages) * (given.correction ?? 1));
  const context = { sessionId: "s", reason: "before-model", estimatedTokens, signal, ...given } as const;
  const action = new TokenBudgetCompressor(options).compress(messages, context);
  return action.type === "view" ? action.messages.map((message) => (message as AgentMessage).id) : undefined;
}

const sizeOf = (messages: readonly AgentMessage[], ids: readonly string[] = []): number =>
  estimateAll(messages.filter(({ id }) => ids.includes(id)));

describe("a token budget", () => {
  const messages = [...turns(20), user("newest")];

  test("keeps the newest turns that fit its share of the window beside system prompt and tools", () => {
    const ids = kept(messages, { share: 0.5 }, { modelContextWindow: 4_000, overheadTokens: 500 });
    expect(sizeOf(messages, ids)).toBeLessThanOrEqual(1_500);
    expect(sizeOf(messages, ids)).toBeGreaterThan(1_000);
    expect([ids?.[0]?.startsWith("u"), ids?.at(-1)]).toEqual([true, "newest"]);
  });

  test("does nothing while everything fits, nor where nobody knows a limit", () => {
    expect(kept(messages, {}, { modelContextWindow: 100_000 })).toBeUndefined();
    expect(kept(messages, {})).toBeUndefined();
    expect(kept(messages, {}, { reason: "requested" })).toBeUndefined();
  });

  test("is a number of tokens where the application says so, whatever the window", () => {
    const ids = kept(messages, { maxTokens: 1_000 }, { modelContextWindow: 1_000_000 });
    expect(sizeOf(messages, ids)).toBeLessThanOrEqual(1_000);
  });

  test("is reached earlier where the provider counts more than the estimate", () => {
    expect(kept(messages, { maxTokens: 5_000 })).toBeUndefined();
    const ids = kept(messages, { maxTokens: 5_000 }, { correction: 2 });
    expect(sizeOf(messages, ids) * 2).toBeLessThanOrEqual(5_000);
  });

  test("is half of what was refused as too large, also with a limit that says it fits, and with none", () => {
    const half = estimateAll(messages) / 2;
    for (const options of [{}, { maxTokens: 1_000_000 }]) {
      const ids = kept(messages, options, { reason: "overflow" });
      expect(sizeOf(messages, ids)).toBeLessThanOrEqual(half);
      expect(sizeOf(messages, ids)).toBeGreaterThan(half / 2);
    }
  });

  test("F157: that is exceeded by far, or used up by the system prompt alone, keeps the newest user message", () => {
    expect(kept(messages, { maxTokens: 1 })).toEqual(["newest"]);
    expect(kept(messages, {}, { modelContextWindow: 1_000, overheadTokens: 5_000 })).toEqual(["newest"]);
  });

  test("keeps as much of one long turn as fits behind its question, whole exchanges, at least one", () => {
    const calls = Array.from({ length: 10 }, (_, n) => [calling(`a${n}`, "c"), result(`r${n}`, "c", text("r"))]).flat();
    const turn = [user("u", text("u")), ...calls];
    const ids = kept(turn, { maxTokens: 500 });
    expect(ids?.slice(0, 2)).toEqual(["u", "a7"]);
    expect(sizeOf(turn, ids)).toBeLessThanOrEqual(500);
    expect(ids?.slice(-2)).toEqual(["a9", "r9"]);
    expect(kept(turn, { maxTokens: 10 })).toEqual(["u", "a9", "r9"]);
  });

  test("cuts at one place for many rounds, so that a provider's cache stays good", () => {
    const starts = Array.from(
      { length: 60 },
      (_, n) => kept([...turns(30 + n), user("newest")], { maxTokens: 5_000 })?.[0],
    );
    expect(new Set(starts).size).toBeLessThan(30);
    expect(new Set(starts).size).toBeGreaterThan(5);
  });
});

describe("a count of its own", () => {
  test("takes the place of estimate and correction, each message counted once", () => {
    let asked = 0;
    const count = (given: string): number => {
      asked += 1;
      return given.length;
    };
    const messages = [...turns(4), user("newest")];
    const compressor = new TokenBudgetCompressor({ maxTokens: 1_100, count });
    const context = { sessionId: "s", reason: "before-model", estimatedTokens: 1, correction: 9, signal } as const;
    const action = compressor.compress(messages, context);
    expect(action.type === "view" && action.messages.length).toBe(3);
    compressor.compress(messages, context);
    expect(asked).toBe(9);
  });

  test.each<[string, () => number]>([
    [
      "throws",
      () => {
        throw new Error("disallowed special token");
      },
    ],
    ["is no number", () => Number.NaN],
    ["is a promise that rejects", () => Promise.reject(new Error("later")) as never],
    ["is negative", () => -1],
    ["is endless", () => Number.POSITIVE_INFINITY],
  ])("that %s is replaced by the estimate", (_, count) => {
    const messages = [...turns(10), user("newest")];
    expect(kept(messages, { maxTokens: 900, count })).toEqual(kept(messages, { maxTokens: 900 }));
  });

  test.each(["o200k_base", "cl100k_base"] as const)("may be that of a real tokenizer: %s", async (encoding) => {
    const count = await gptTokens(encoding);
    expect(count("hello world")).toBe(2);
    expect(count("<|endoftext|>")).toBeGreaterThan(3);
    expect(count("")).toBe(0);
    const long = "x".repeat(1_000_000);
    expect(count(long)).toBeGreaterThan(100_000);
    const messages = [...turns(10), user("newest")];
    expect(sizeOf(messages, kept(messages, { maxTokens: 900, count }))).toBeLessThan(1_200);
  });
});

test.each([
  { share: 0 },
  { share: 1.1 },
  { share: "half" },
  { maxTokens: 0 },
  { maxTokens: 1.5 },
  { count: 7 },
  { shar: 1 },
])("options %j are refused", (options) => {
  expect(() => new TokenBudgetCompressor(options as never)).toThrow(CompositionError);
});
