import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { coerceArguments } from "../../src/domain/coerce-arguments.js";
import type { Json, JsonObject } from "../../src/domain/json.js";

const coerced = (schema: JsonObject, value: Json): Json | undefined =>
  coerceArguments({ type: "object", properties: { v: schema } }, { v: value })["v"];

describe("coerceArguments", () => {
  it.each<[JsonObject, Json, Json]>([
    [{ type: "integer" }, "5", 5],
    [{ type: "integer" }, "-12", -12],
    [{ type: "integer" }, "5.0", 5],
    [{ type: "number" }, "2.50", 2.5],
    [{ type: "number" }, "1e3", 1000],
    [{ type: "boolean" }, "false", false],
    [{ type: "boolean" }, "True", true],
    [{ type: ["integer", "null"] }, "null", null],
    [{ anyOf: [{ type: "integer" }, { type: "boolean" }] }, "true", true],
    [{ enum: [1, 2] }, "2", 2],
    [{ const: true }, "true", true],
    [{ type: "array", items: { type: "integer" } }, '["1", 2]', [1, 2]],
    [{ type: "array", items: { type: "integer" } }, ["1", 2], [1, 2]],
    [{ type: "object", properties: { k: { type: "integer" } } }, ' {"k":"3"} ', { k: 3 }],
    [{ type: "object", additionalProperties: { type: "number" } }, { a: "1" }, { a: 1 }],
    [{ type: "object", patternProperties: { "^(.*)$": { type: "number" } } }, { a: "1" }, { a: 1 }],
    [{ prefixItems: [{ type: "integer" }, { type: "boolean" }] }, ["1", "true"], [1, true]],
    [{ type: "string" }, 42, "42"],
    [{ type: "string" }, 2.5, "2.5"],
    [{ type: "string" }, true, "true"],
  ])("%j takes %j as %j", (schema, value, expected) => {
    expect(coerced(schema, value)).toEqual(expected);
  });

  it.each<[string, JsonObject, Json]>([
    ["leading zeros", { type: "integer" }, "0042"],
    ["empty text", { type: "number" }, ""],
    ["blank text", { type: "integer" }, " "],
    ["other notations", { type: "integer" }, "0x10"],
    ["a plus sign", { type: "integer" }, "+5"],
    ["a fraction for an integer", { type: "integer" }, "5.5"],
    ["more digits than a number holds", { type: "integer" }, "9007199254740993"],
    ["whole numbers beyond the safe ones", { type: "number" }, "100000000000000000000"],
    ["more decimals than a number holds", { type: "number" }, "0.10000000000000000555"],
    ["infinity", { type: "number" }, "1e999"],
    ["minus zero", { type: "number" }, "-0"],
    ["words for numbers", { type: "number" }, "NaN"],
    ["words that are no booleans", { type: "boolean" }, "yes"],
    ["numbers for booleans", { type: "boolean" }, 1],
    ["a number out of range", { type: "integer", maximum: 3 }, "5"],
    ["a list with a number too large", { type: "array" }, "[12345678901234567890]"],
    ["broken JSON", { type: "array" }, "[1, 2"],
    ["one value for a list", { type: "array", items: { type: "string" } }, "a"],
    ["a list for an object", { type: "object" }, "[1]"],
    ["an unsafe number for text", { type: "string" }, 2 ** 60],
    ["null for text", { type: "string" }, null],
    ["an object for text", { type: "string" }, { a: 1 }],
  ])("leaves %s for validation to refuse", (_title, schema, value) => {
    expect(coerced(schema, value)).toEqual(value);
  });

  it("leaves text of JSON alone that has a name twice, and would lose a value", () => {
    const schema: JsonObject = { type: "object", properties: { o: { type: "object" }, l: { type: "array" } } };
    for (const args of [{ o: '{"a":1,"a":2}' }, { l: '[{"b":{"c" : 1, "\\u0063":2}}]' }])
      expect(coerceArguments(schema, args)).toBe(args);
    expect(coerceArguments(schema, { o: '{"a":{"a":":"},"b":[{"a":1},{"a":2}]}' })).toEqual({
      o: { a: { a: ":" }, b: [{ a: 1 }, { a: 2 }] },
    });
  });

  it("never touches a value that fits a branch", () => {
    const unions: JsonObject[] = [
      { type: ["integer", "string"] },
      { anyOf: [{ type: "number" }, { type: "boolean" }, { type: "array" }, { type: "string" }] },
      { oneOf: [{ type: "object" }, { type: "null" }, { type: "string" }] },
      {},
    ];
    const spelled = fc.oneof(
      fc.string(),
      fc.json(),
      fc.integer().map(String),
      fc.constantFrom("0042", "true", "null", "09", "1e3"),
    );
    fc.assert(
      fc.property(fc.constantFrom({ type: "string" }, ...unions), spelled, (schema, text) => {
        expect(coerced(schema, text)).toBe(text);
      }),
    );
  });

  it("gives back the number that a number's own text spells, and no other", () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (drawn) => {
        const value = drawn === 0 ? 0 : drawn;
        const result = coerced({ type: "number" }, String(value));
        if (typeof result === "number") expect(result).toBe(value);
        if (Number.isSafeInteger(value)) expect(result).toBe(value);
      }),
    );
  });

  it("reads numbers inside text of JSON apart from digits inside its strings", () => {
    expect(coerced({ type: "array" }, '["12345678901234567890", "a\\"9007199254740993", 1]')).toEqual([
      "12345678901234567890",
      'a"9007199254740993',
      1,
    ]);
  });
});
