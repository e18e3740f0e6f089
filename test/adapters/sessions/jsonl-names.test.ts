import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fileNameOf, idOfFileName, isFileName } from "../../../src/adapters/sessions/jsonl-names.js";
import { HOSTILE_IDS } from "../../../src/testkit/claims/session-samples.js";

const ids = fc.oneof(
  fc.string({ unit: "binary", maxLength: 200 }),
  fc.string({ unit: fc.constantFrom("a", "A", ".", "/", "%", "-", "\ud800", "é", "e", "\u0301"), maxLength: 160 }),
  fc.constantFrom("con", "CON", "nul", "com1", "lpt9", "con.txt", "", "%", "%-", ".", "..", "-", "_"),
);

describe("the file name of a session", () => {
  test("is lower-case ASCII of at most 120 characters, no device, and stands for one id", () => {
    fc.assert(
      fc.property(ids, ids, (one, other) => {
        const name = fileNameOf(one);
        expect(name).toMatch(/^[a-z0-9_%-]{1,120}$/);
        expect(name).not.toMatch(/^(con|prn|aux|nul|com\d|lpt\d)$/);
        expect(isFileName(name)).toBe(true);
        expect(fileNameOf(other) === name).toBe(other === one);
        const id = idOfFileName(name);
        if (id === undefined) expect(name).toContain("%-");
        else expect(id).toBe(one);
      }),
      { numRuns: 2_000 },
    );
  });

  test("of a plain id is the id", () => {
    expect(["s1", "01j8x-4_7", "550e8400-e29b-41d4-a716-446655440000"].map(fileNameOf)).toEqual([
      "s1",
      "01j8x-4_7",
      "550e8400-e29b-41d4-a716-446655440000",
    ]);
  });

  test("of ids that differ in case, in form or in what file systems cut off are two", () => {
    expect(new Set(HOSTILE_IDS.map(fileNameOf)).size).toBe(HOSTILE_IDS.length);
    expect(fileNameOf(`${"x".repeat(200)}\ud800`)).not.toBe(fileNameOf(`${"x".repeat(200)}\ud801`));
    expect(fileNameOf("../A b\u0000\ud800")).toBe("%2e%2e%2f%41%20b%00%ud800");
  });

  test.each(["A", "%2E", "%u00e9", "%63", "con", "a.b", "%-", "%ud8", "é", "", `%-${"0".repeat(63)}`])(
    "%j is the name of no session",
    (name) => {
      expect(isFileName(name)).toBe(false);
    },
  );
});
