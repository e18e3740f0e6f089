import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseArguments } from "../../src/domain/call-arguments.js";

describe("the arguments text of a call", () => {
  it.each(["", "  \n", "null", " null ", '""', '"null"', '" "'])("means no arguments where it is %j", (text) => {
    expect(parseArguments(text)).toEqual({ ok: true, value: {} });
  });

  it.each(["{", '{"a":1', "{'a':1}", '{"a":1}{"b":2}', "[", "nope", "undefined", '{"a":1}<|end|>', "\u0000"])(
    "is refused where it is no JSON: %j",
    (text) => {
      expect(parseArguments(text)).toEqual({ ok: false, reason: "the arguments are not valid JSON" });
    },
  );

  it.each(["[]", "1", "true", '"text"', '"[1]"', '"\\"{}\\""', '"{"'])(
    "is refused where it is no object: %j",
    (text) => {
      expect(parseArguments(text)).toEqual({ ok: false, reason: "the arguments are no JSON object" });
    },
  );

  it("is parsed once more where it is a string that holds an object", () => {
    expect(parseArguments(JSON.stringify('{"a": 1}'))).toEqual({ ok: true, value: { a: 1 } });
    expect(parseArguments(JSON.stringify('{"a": 9007199254740993}'))).toMatchObject({ raw: '{"a": 9007199254740993}' });
  });

  it("keeps __proto__ as an own key, also where numbers are replaced", () => {
    for (const number of ["1", "1e400"]) {
      const parsed = parseArguments(`{"__proto__": {"a": ${number}}}`);
      const value = parsed.ok ? parsed.value : {};
      expect(Object.keys(value)).toEqual(["__proto__"]);
      expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    }
  });

  it("is refused where it nests deeper than a message can", () => {
    const nested = (depth: number): string => `{"a":`.repeat(depth) + "1" + "}".repeat(depth);
    expect(parseArguments(nested(240)).ok).toBe(true);
    expect(parseArguments(nested(241))).toEqual({ ok: false, reason: "the arguments are nested too deep" });
    expect(parseArguments(nested(100_000)).ok).toBe(false);
  });

  it.each([
    "9007199254740993",
    "-9007199254740993",
    "12345678901234567890",
    "-0",
    "-0.0",
    "1.0e400",
    "-1e400",
    "1e-400",
    "0.12345678901234567891",
    "3.141592653589793238",
    "1.2345678e-320",
  ])("is kept where the number %s would come out as another", (number) => {
    const text = `{"a": [${number}], "b": "1"}`;
    expect(parseArguments(text)).toMatchObject({ ok: true, raw: text });
  });

  it.each([
    "0",
    "1.0",
    "1.50",
    "1E2",
    "1e+2",
    "100e-2",
    "0.1",
    "9007199254740992",
    "1e21",
    "100000000000000000000000",
    "0e400",
  ])("is not kept where the number %s comes out as the same", (number) => {
    expect(parseArguments(`{"a":${number}}`)).toEqual({ ok: true, value: { a: Number(number) } });
  });

  it("holds only numbers that JSON has", () => {
    expect(parseArguments('{"a":1e400,"b":[-1e400]}')).toMatchObject({
      value: { a: Number.MAX_VALUE, b: [-Number.MAX_VALUE] },
    });
  });

  it("costs no more where a number has many zeros (quadratic cost would take minutes)", () => {
    const digits = `1${"0".repeat(1_000_000)}1`;
    expect(parseArguments(`{"a":0.${digits}}`)).toMatchObject({
      ok: true,
      raw: expect.stringContaining("0.1") as string,
    });
  });

  it("does not take digits inside strings for numbers", () => {
    const value = { "9007199254740993": '-0 "9007199254740993\\', b: "\\", c: "1e400" };
    expect(parseArguments(JSON.stringify(value))).toEqual({ ok: true, value });
  });

  it("is never kept for what JSON.stringify wrote, and reads back the same", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue()), fc.nat(3), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        expect(parseArguments(text)).toEqual({ ok: true, value: JSON.parse(text) });
      }),
    );
  });

  it("is kept exactly for the integers that encoding changes", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }), (integer) => {
        const parsed = parseArguments(`{"a":${integer}}`);
        expect(parsed.ok && parsed.raw !== undefined).toBe(JSON.stringify(Number(integer)) !== String(integer));
      }),
    );
  });
});
