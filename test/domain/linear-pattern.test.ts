import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { LinearPattern } from "../../src/domain/linear-pattern.js";

function everyMatch(pattern: string, flags: string, text: string): readonly (string | undefined)[] {
  const found = new LinearPattern(pattern, flags).find(text);
  const native = new RegExp(pattern, flags).exec(text);
  const ours = found && text.slice(found.start, found.end);
  return [ours, found && String(found.start), native?.[0], native === null ? undefined : String(native.index)];
}

const sources = [
  "abc",
  "a|ab",
  "(?:ab|a)c?",
  "a*b",
  "a+?b",
  "^a{2,3}$",
  "(?<year>\\d{4})-\\d\\d",
  "[^\\s,]+@[a-z.]+",
  "\\bab?\\b",
  "\\Bb",
  "a.c",
  "(a|b)*c",
  "(?:a?){3}b",
  "(x+x+)+y",
  "\\x61[\\]b]",
  "a{0}b",
  "",
  "a{,2}",
  "b]",
];

describe("a linear pattern", () => {
  test("finds what RegExp finds, at the same place", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", "c", "x", " ", "-", "1", "]", "{", ",", "2", "}", "\n") });
    fc.assert(
      fc.property(
        fc.constantFrom(...sources),
        fc.constantFrom("", "i", "s", "m", "im"),
        text,
        (source, flags, given) => {
          const [ours, at, native, nativeAt] = everyMatch(source, flags, given);
          expect([ours, at]).toEqual([native, nativeAt]);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  test.each([
    ["\\p{L}+", "u", "12 äöß 3"],
    [".", "u", "🔥"],
    ["^.$", "u", "🔥"],
    ["^.$", "", "🔥"],
    ["\\u{1F525}", "u", "a🔥"],
    ["\\ud83d\\udd25", "u", "a🔥"],
    ["[🔥a]+", "u", "xa🔥"],
    ["STRASSE", "i", "strasse"],
    ["^b", "m", "a\nb"],
  ])("reads %s with the flags %s as RegExp does", (source, flags, text) => {
    const [ours, at, native, nativeAt] = everyMatch(source, flags, text);
    expect([ours, at]).toEqual([native, nativeAt]);
    expect(new LinearPattern(source, flags).test("")).toBe(new RegExp(source, flags).test(""));
  });

  test.each(["(a+)+$", "^(a|a)*$", "(.*a){12}", "^(\\w+\\s?)*$", "a*a*a*a*b"])(
    "is done with hostile text in time: %s",
    (source) => {
      const pattern = new LinearPattern(source);
      expect(pattern.test(`${"a".repeat(20_000)}!`)).toBe(source === "(.*a){12}");
    },
  );

  test.each([
    ["(?=a)", /look-?around/],
    ["(?<!a)b", /look-?around/],
    ["(a)\\1", /back references/],
    ["(?<x>a)\\k<x>", /back references/],
    ["(?:a{1000}){1000}", /repeats too much/],
  ])("refuses %s", (source, reason) => {
    expect(() => new LinearPattern(source)).toThrow(TypeError);
    expect(() => new LinearPattern(source)).toThrow(reason);
  });

  test("refuses what is no regular expression", () => {
    expect(() => new LinearPattern("(")).toThrow(SyntaxError);
    expect(() => new LinearPattern("[a&&b]", "v")).toThrow("flags y and v");
  });

  test("stops when its budget is used up", () => {
    const pattern = new LinearPattern("a+b");
    expect(() => pattern.test("a".repeat(1_000), { left: 100 })).toThrow(RangeError);
    const budget = { left: 10_000 };
    expect(pattern.test("aab", budget)).toBe(true);
    expect(budget.left).toBeLessThan(10_000);
  });
});
