import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ArithmeticError, evaluate, numberText } from "../../../src/adapters/hosts/arithmetic.js";

describe("evaluate", () => {
  it.each([
    ["1 + 2 * 3", 7],
    ["(1 + 2) * 3", 9],
    ["2 ^ 3 ^ 2", 512],
    ["2 ** 3", 8],
    ["-2 ^ 2", -4],
    ["2 ^ -1", 0.5],
    ["-(3 - 5) * --2", 4],
    ["7 - 2 - 1", 4],
    ["17 % 5", 2],
    ["6 ÷ 2 × 3 − 1", 8],
    [".5 + 1e3", 1000.5],
    [" 42 ", 42],
  ])("works out %s", (expression, value) => {
    expect(evaluate(expression)).toBe(value);
  });

  it.each([
    "",
    "1 +",
    "(1",
    "1)",
    "1 2",
    "* 2",
    "1 / 0",
    "process.exit(1)",
    "constructor",
    "1;2",
    "1e999",
    "(".repeat(60),
    "-".repeat(60) + "1",
    "1+".repeat(400) + "1",
  ])("refuses %s", (expression) => {
    expect(() => evaluate(expression)).toThrow(ArithmeticError);
  });

  it("agrees with the language on any sum, difference and product", () => {
    const leaf = fc.integer({ min: 0, max: 99 }).map(String);
    const { whole } = fc.letrec<{ whole: string }>((tie) => ({
      whole: fc.oneof(
        { maxDepth: 4 },
        leaf,
        fc.tuple(tie("whole"), fc.constantFrom("+", "-", "*"), tie("whole")).map(([a, op, b]) => `(${a} ${op} ${b})`),
        fc.tuple(tie("whole"), fc.constantFrom("+", "-", "*"), leaf).map(([a, op, b]) => `${a} ${op} ${b}`),
      ),
    }));
    fc.assert(
      fc.property(
        whole.filter((text) => text.length <= 500),
        (text) => {
          expect(evaluate(text)).toBe(Number(new Function(`return ${text}`)()));
        },
      ),
    );
  });

  it("fails only with its own error, whatever the text", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(..."0123456789.eE+-*/%^() x") }), (text) => {
        try {
          expect(Number.isFinite(evaluate(text))).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(ArithmeticError);
        }
      }),
    );
  });
});

describe("numberText", () => {
  it("writes no rounding dust, and says where a number is not exact", () => {
    expect(numberText(0.1 + 0.2)).toBe("0.3");
    expect(numberText(-0)).toBe("0");
    expect(numberText(2 ** 53 - 1)).toBe("9007199254740991");
    expect(numberText(2 ** 64)).toBe("about 18446744073709600000");
  });
});
