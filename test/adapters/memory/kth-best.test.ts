import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { kthBest } from "../../../src/adapters/memory/kth-best.js";

describe("kthBest", () => {
  it("is what sorting gives, and below any number where there are fewer", () => {
    const numbers = fc.array(fc.oneof(fc.integer({ min: -3, max: 3 }), fc.double({ noNaN: true })), { maxLength: 60 });
    fc.assert(
      fc.property(numbers, fc.integer({ min: 1, max: 40 }), (values, k) => {
        const sorted = [...values].sort((a, b) => b - a);
        expect(kthBest(values, k) === (sorted[k - 1] ?? Number.NEGATIVE_INFINITY)).toBe(true);
      }),
    );
  });
});
