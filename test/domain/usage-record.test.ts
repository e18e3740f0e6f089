import { expect, test } from "vitest";
import { decodeUsageRecord } from "../../src/domain/usage-record.js";

test("a usage record that a turn stored is decoded to an equal one", () => {
  const record = {
    session: { inputTokens: 7, totalTokens: 9 },
    turn: { turnId: "t", usage: { inputTokens: 3 }, modelCalls: 1, toolCalls: 2, cost: 0.5 },
  };
  expect(decodeUsageRecord(record)).toEqual(record);
});

test("only whole counts of tokens are believed, so that sums stay numbers", () => {
  const session = { inputTokens: "7", outputTokens: Number.NaN, totalTokens: -1, reasoningTokens: 4, other: 1 };
  expect(decodeUsageRecord({ session, turn: { turnId: 7, usage: "x", modelCalls: "2", cost: "free" } })).toEqual({
    session: { reasoningTokens: 4 },
    turn: { turnId: "", usage: {}, modelCalls: 0, toolCalls: 0 },
  });
});

test.each([-0.01, Number.NaN, Number.POSITIVE_INFINITY, "1"])(
  "%j is no cost: nothing that was used gives any back",
  (cost) => {
    const turn = { turnId: "t", usage: {}, modelCalls: 1, toolCalls: 0, cost };
    expect(decodeUsageRecord({ session: {}, turn })?.turn).not.toHaveProperty("cost");
  },
);

test.each([undefined, null, "u", 7, [], {}, { session: 7 }])("%j is no usage record", (value) => {
  expect(decodeUsageRecord(value)).toBeUndefined();
});
