import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fitsUtf8, truncateUtf8 } from "../../src/domain/truncate-utf8.js";

const text = fc.string({ unit: fc.constantFrom("a", "é", "漢", "🔥", "\n"), maxLength: 300 });

describe("truncateUtf8", () => {
  it("keeps a beginning of well-formed text within the limit, and text that fits as it is", () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 0, max: 400 }), (whole, limit) => {
        const cut = truncateUtf8(whole, limit);
        expect(cut.isWellFormed()).toBe(true);
        expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(limit);
        if (Buffer.byteLength(whole) <= limit) expect(cut).toBe(whole);
        else expect(whole.startsWith(cut.replace(/\n\[truncated: \d+ more characters left out\]$/, ""))).toBe(true);
      }),
    );
  });

  it("says how much it left out", () => {
    expect(truncateUtf8("a".repeat(101), 100)).toBe(`${"a".repeat(36)}\n[truncated: 65 more characters left out]`);
  });

  it("says nothing where there is no room to say it", () => {
    expect(truncateUtf8("a🔥b🔥", 6)).toBe("a🔥b");
    expect(truncateUtf8("🔥", 3)).toBe("");
  });

  it("agrees with the platform on what fits", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.integer({ min: 0, max: 60 }), (whole, limit) => {
        expect(fitsUtf8(whole, limit)).toBe(Buffer.byteLength(whole) <= limit);
      }),
    );
  });
});
