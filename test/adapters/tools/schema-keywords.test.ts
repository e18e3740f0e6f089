import { expect, test } from "vitest";
import { schemaIssues } from "../../../src/adapters/tools/schema-check/schema-check.js";
import type { Json, JsonObject } from "../../../src/domain/json.js";

type Row = readonly [what: string, schema: JsonObject, fits: readonly Json[], fitsNot: readonly Json[]];

const rows: readonly Row[] = [
  ["type", { type: "integer" }, [1, -2, 1e20], [1.5, "1", null]],
  ["a list of types", { type: ["string", "null"] }, ["a", null], [1, {}]],
  ["const", { const: { a: 1, b: [2] } }, [{ b: [2], a: 1 }], [{ a: 1 }, { a: 1, b: [3] }]],
  ["enum", { enum: [1, "a", { a: [1] }] }, [1, "a", { a: [1] }], [2, "1", { a: [2] }]],
  ["bounds", { minimum: 1, maximum: 3 }, [1, 3, "a"], [0.9, 3.1]],
  ["exclusive bounds", { exclusiveMinimum: 1, exclusiveMaximum: 3 }, [2], [1, 3]],
  [
    "exclusive bounds of draft 4",
    { minimum: 1, exclusiveMinimum: true, maximum: 3, exclusiveMaximum: true },
    [2],
    [1, 3],
  ],
  ["multipleOf", { multipleOf: 0.1 }, [0.3, 1, 0, "a"], [0.35]],
  ["the length of text, in code points", { minLength: 2, maxLength: 2 }, ["ab", "😀😀", 1], ["a", "😀", "abc"]],
  ["pattern", { pattern: "^a\\d" }, ["a1", 1], ["ba1", ""]],
  ["allOf", { allOf: [true, { minimum: 1 }, { maximum: 2 }] }, [1, 2], [0, 3]],
  ["allOf with nothing that fits", { allOf: [true, false] }, [], [1, {}]],
  ["anyOf", { anyOf: [{ type: "integer" }, { minimum: 5 }] }, [1, 7.5, 7], [2.5]],
  ["oneOf", { oneOf: [{ type: "integer" }, { minimum: 5 }] }, [1, 7.5], [2.5, 7]],
  ["not", { not: { type: "integer" } }, [1.5, "a"], [1]],
  ["if", { if: { type: "integer" }, then: { minimum: 5 }, else: { type: "string" } }, [5, "a"], [4, 1.5]],
  ["then without if", { then: false, else: false }, [1], []],
  ["$ref beside others", { $ref: "#/$defs/n", minimum: 2, $defs: { n: { type: "integer" } } }, [2], [1, 2.5]],
  ["$dynamicRef", { $dynamicRef: "#n", $defs: { n: { type: "integer", $dynamicAnchor: "n" } } }, [2], [2.5]],
  ["the number of items", { minItems: 1, maxItems: 2 }, [[1], [1, 2], "abc"], [[], [1, 2, 3]]],
  ["items", { prefixItems: [{ type: "string" }], items: { type: "integer" } }, [["a", 1], []], [[1], ["a", "b"]]],
  ["items of older drafts", { items: [{ type: "string" }], additionalItems: false }, [["a"], []], [[1], ["a", 1]]],
  [
    "uniqueItems",
    { uniqueItems: true },
    [[1, "1", [1], { 0: 1 }]],
    [
      [1, 1],
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
    ],
  ],
  ["contains", { contains: { type: "integer" } }, [["a", 1], "a"], [[], ["a"]]],
  [
    "a number of contained items",
    { contains: { type: "integer" }, minContains: 2, maxContains: 3 },
    [
      [1, 2],
      [1, "a", 2, 3],
    ],
    [[1], [1, 2, 3, 4]],
  ],
  ["minContains of none", { contains: { type: "integer" }, minContains: 0 }, [[], ["a"]], []],
  ["the number of properties", { minProperties: 1, maxProperties: 1 }, [{ a: 1 }, []], [{}, { a: 1, b: 1 }]],
  ["required, of own ones", { required: ["toString"] }, [{ toString: 1 }, "a"], [{}, { a: 1 }]],
  ["properties, own ones", { properties: { a: { type: "string" }, toString: false } }, [{}, { a: "a" }], [{ a: 1 }]],
  [
    "properties of other names",
    { properties: { b: true }, patternProperties: { "^a": { type: "string" } }, additionalProperties: false },
    [{ a1: "x", b: 1 }],
    [{ a1: 1 }, { c: 1 }],
  ],
  [
    "other names, of those that any object inherits",
    { properties: {}, additionalProperties: false },
    [{}],
    [{ toString: 1 }],
  ],
  [
    "other names beside a pattern that nobody can match",
    { patternProperties: { "(?=a)a": { type: "string" } }, additionalProperties: false },
    [{ a: 1 }],
    [],
  ],
  ["propertyNames", { propertyNames: { maxLength: 1 } }, [{ a: 1 }], [{ ab: 1 }]],
  ["dependentRequired", { dependentRequired: { a: ["b"] } }, [{}, { b: 1 }, { a: 1, b: 1 }], [{ a: 1 }]],
  ["dependentSchemas", { dependentSchemas: { a: { required: ["b"] } } }, [{ b: 1 }, { a: 1, b: 1 }], [{ a: 1 }]],
  [
    "dependencies of older drafts",
    { dependencies: { a: ["b"], c: { required: ["d"] } } },
    [
      { a: 1, b: 1 },
      { c: 1, d: 1 },
    ],
    [{ a: 1 }, { c: 1 }],
  ],
  [
    "unevaluatedProperties beside a branch that fits, and not beside others",
    { anyOf: [{ properties: { b: { type: "integer" } } }, { properties: { c: true } }], unevaluatedProperties: false },
    [{}, { b: 1 }, { c: 1 }, { b: 1, c: 1 }],
    [{ a: 1 }, { b: "x" }],
  ],
  [
    "unevaluatedProperties beside what must not be",
    { not: { properties: { a: { type: "string" } }, required: ["a"] }, unevaluatedProperties: false },
    [{}],
    [{ a: 1 }],
  ],
  [
    "unevaluatedItems",
    { prefixItems: [true], contains: { type: "string" }, unevaluatedItems: { type: "integer" } },
    [[null, "a", 1]],
    [
      [null, "a", null],
      ["a", null],
    ],
  ],
];

test.each<[string, JsonObject, Json]>([
  [
    "enumerated objects",
    { items: { enum: Array.from({ length: 300 }, (_, n) => ({ n })) } },
    Array.from({ length: 3_000 }, () => ({ n: 299 })),
  ],
  ["items that must differ", { uniqueItems: true }, Array.from({ length: 100 }, (_, n) => `${n}`.repeat(60_000))],
])("a check of a foreign schema does not compare %s for ever", (_what, schema, value) => {
  expect(schemaIssues(schema, value)).toMatchObject([
    { path: "", expected: expect.stringContaining("too large") as string },
  ]);
});

test.each(rows)("a check of a foreign schema reads %s", (_what, schema, fits, fitsNot) => {
  for (const value of fits) expect(schemaIssues(schema, value), JSON.stringify(value)).toEqual([]);
  for (const value of fitsNot) expect(schemaIssues(schema, value), JSON.stringify(value)).not.toEqual([]);
});
