import { expect, test } from "vitest";
import { addUsage } from "../../src/domain/usage.js";

test("a sum is what both sides know, and unknown where neither does", () => {
  expect(addUsage({ inputTokens: 1 }, { inputTokens: 2, outputTokens: 3 })).toEqual({
    inputTokens: 3,
    outputTokens: 3,
  });
  expect(addUsage(undefined, undefined)).toEqual({});
});

test("a sum never grows beyond the largest safe integer, and a count that is not finite is unknown", () => {
  const most = Number.MAX_SAFE_INTEGER;
  expect(addUsage({ inputTokens: 1e308, outputTokens: most }, { inputTokens: 1e308, outputTokens: 1 })).toEqual({
    inputTokens: most,
    outputTokens: most,
  });
  const odd = { inputTokens: Number.POSITIVE_INFINITY, outputTokens: Number.NaN };
  expect(addUsage(odd, { inputTokens: 2 })).toEqual({ inputTokens: 2 });
  expect(addUsage(undefined, odd)).toEqual({});
});
