import { Validator } from "@cfworker/json-schema";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { schemaFault } from "../../../src/adapters/tools/mcp/foreign-schema.js";
import { schemaIssues } from "../../../src/adapters/tools/schema-check/schema-check.js";
import type { Json, JsonObject } from "../../../src/domain/json.js";

const places = (schema: JsonObject, value: Json) => schemaIssues(schema, value).map(({ path }) => path);

describe("a check of a foreign schema", () => {
  const value = fc.letrec((tie) => ({
    json: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom<Json>(null, true, 0, 1, 1.5, -2, 0.3, "", "a", "ab", "😀😀", "b1"),
      fc.array(tie("json"), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom("a", "b", "ab"), tie("json"), { maxKeys: 3 }),
    ),
  })).json as fc.Arbitrary<Json>;

  const keyword = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 3 });
  const schema = fc.letrec((tie) => ({
    schema: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      fc.boolean(),
      fc
        .record({
          type: keyword(
            fc.constantFrom("string", "number", "integer", "object", "array", "null", "boolean", ["string", "null"]),
          ),
          enum: keyword(fc.array(value, { minLength: 1, maxLength: 3 })),
          const: keyword(value),
          minimum: keyword(fc.constantFrom(0, 1)),
          exclusiveMaximum: keyword(fc.constantFrom(1, 2)),
          multipleOf: keyword(fc.constantFrom(0.1, 2, 0.5)),
          minLength: keyword(fc.constantFrom(1, 2)),
          maxLength: keyword(fc.constantFrom(1, 2)),
          pattern: keyword(fc.constantFrom("^a", "b$", "\\d")),
          minItems: keyword(fc.constantFrom(1, 2)),
          maxItems: keyword(fc.constantFrom(1, 2)),
          uniqueItems: keyword(fc.boolean()),
          minProperties: keyword(fc.constantFrom(1, 2)),
          required: keyword(fc.array(fc.constantFrom("a", "b"), { maxLength: 2 })),
          dependentRequired: keyword(fc.constant({ a: ["b"] })),
          properties: keyword(fc.dictionary(fc.constantFrom("a", "b"), tie("schema"), { maxKeys: 2 })),
          patternProperties: keyword(fc.dictionary(fc.constantFrom("^a", "b$"), tie("schema"), { maxKeys: 1 })),
          additionalProperties: keyword(tie("schema")),
          propertyNames: keyword(tie("schema")),
          prefixItems: keyword(fc.array(tie("schema"), { minLength: 1, maxLength: 2 })),
          items: keyword(tie("schema")),
          contains: keyword(tie("schema")),
          anyOf: keyword(fc.array(tie("schema"), { minLength: 1, maxLength: 2 })),
          oneOf: keyword(fc.array(tie("schema"), { minLength: 1, maxLength: 2 })),
          allOf: keyword(fc.array(tie("schema"), { minLength: 1, maxLength: 2 })),
          not: keyword(tie("schema")),
          if: keyword(tie("schema")),
          then: keyword(tie("schema")),
          else: keyword(tie("schema")),
        })
        .map((all) => Object.fromEntries(Object.entries(all).filter(([, part]) => part !== undefined))),
    ),
  })).schema as fc.Arbitrary<JsonObject | boolean>;

  test("agrees with another validator on whatever schema and value", () => {
    fc.assert(
      fc.property(schema, value, (drawn, json) => {
        const root = typeof drawn === "boolean" ? { allOf: [drawn] } : drawn;
        expect(schemaIssues(root as JsonObject, json).length === 0).toBe(
          new Validator(root as object, "2020-12", false).validate(json).valid,
        );
      }),
      { numRuns: 500 },
    );
  });

  test("names each place by a JSON pointer", () => {
    const item = { type: "object", properties: { "a/b": { type: "string" } }, required: ["c"] };
    const all = { type: "object", properties: { list: { type: "array", items: item } } };
    expect(places(all, { list: [{ "a/b": 1, c: 1 }, {}] })).toEqual(["/list/0/a~1b", "/list/1/c"]);
  });

  test("follows references within the document, recursive ones too", () => {
    const tree = {
      $ref: "#/$defs/node",
      $defs: { node: { type: "object", properties: { next: { $ref: "#/$defs/node" } } } },
    };
    expect(places(tree, { next: { next: {} } })).toEqual([]);
    expect(places(tree, { next: { next: 1 } })).toEqual(["/next/next"]);
    const self = { $defs: { loop: { $ref: "#/$defs/loop" } }, $ref: "#/$defs/loop" };
    expect(places(self, { a: 1 })).toEqual([]);
  });

  test("refuses properties that nobody evaluated", () => {
    const open = { allOf: [{ properties: { a: true } }], unevaluatedProperties: false };
    expect(places(open, { a: 1 })).toEqual([]);
    expect(places(open, { a: 1, b: 1 })).toEqual(["/b"]);
  });

  test("runs a pattern that would take for ever elsewhere, and passes over one that has no linear form", () => {
    const text = `${"a".repeat(50_000)}!`;
    expect(places({ type: "string", pattern: "^(a+)+$" }, text)).toEqual([""]);
    expect(places({ type: "string", pattern: "^(?=a)b" }, "b")).toEqual([]);
  });

  test("is bounded: what is too deep, or too much work, does not fit", () => {
    let deep: Json = 1;
    for (let level = 0; level < 200; level++) deep = { next: deep };
    const tree: JsonObject = { type: "object", properties: { next: { $ref: "#" } } };
    expect(schemaIssues(tree, deep)).toMatchObject([{ path: "" }]);
    let wide: JsonObject = { anyOf: [{ const: 1 }, { const: 2 }] };
    for (let level = 0; level < 20; level++)
      wide = { anyOf: [{ allOf: [wide, { const: 3 }] }, { allOf: [wide, { const: 4 }] }] };
    expect(schemaIssues(wide, 5).length).toBeGreaterThan(0);
    expect(
      schemaIssues(
        { items: { pattern: "(x?){500}y" } },
        Array.from({ length: 3_000 }, (_, n) => `${"x".repeat(499)}${n}y`),
      ),
    ).toMatchObject([{ path: "" }]);
  });
});

describe("a schema is refused that", () => {
  let deep: JsonObject = {};
  for (let level = 0; level < 100; level++) deep = { properties: { a: deep } };
  test.each([
    ["is no object", 1, "is no object"],
    ["refers to another document", { $ref: "http://evil.example/schema" }, "refers to another document"],
    ["refers to a file", { properties: { a: { $ref: "file:///etc/passwd#" } } }, "refers to another document"],
    ["refers to an anchor it lacks", { $ref: "#nowhere" }, "refers to a place it does not have"],
    ["is nested too deep", deep, "is nested more than 48 deep"],
    ["is too large", { enum: Array.from({ length: 30_000 }, (_, index) => index) }, "is too large"],
    ["holds too much text", { description: "x".repeat(300_000) }, "is too large"],
    ["refers to a definition it lacks", { $ref: "#/$defs/a" }, "refers to a place it does not have"],
    [
      "refers to another document for a property of any name",
      { properties: { default: { $ref: "http://evil.example/schema" } } },
      "refers to another document",
    ],
    [
      "refers to another document by way of a place that no keyword leads to",
      { $ref: "#/more/a", more: { a: { $ref: "http://evil.example/schema" } } },
      "refers to another document",
    ],
    [
      "has an illegal type",
      { properties: { a: { type: "text" } } },
      "holds at /properties/a/type what cannot be there",
    ],
    [
      "requires in the wrong place",
      { properties: { a: { required: true } } },
      "holds at /properties/a/required what cannot be there",
    ],
    ["has a list of properties", { properties: [] }, "holds at /properties what cannot be there"],
    ["has a property that is no schema", { properties: { a: "text" } }, "holds at /properties/a what is no schema"],
    ["has no branches", { items: { anyOf: [] } }, "holds at /items/anyOf what cannot be there"],
    ["has a bound that is none", { minLength: "1" }, "holds at /minLength what cannot be there"],
    ["has too long a pattern", { pattern: "x".repeat(3_000) }, "has a pattern that is too long"],
  ])("%s", (_title, schema, fault) => {
    expect(schemaFault(schema)).toBe(fault);
  });

  test("and no other: data that looks like a reference is none", () => {
    expect(schemaFault({ default: { $ref: "http://x" }, $defs: { a: { $anchor: "b" } }, $ref: "#b" })).toBeUndefined();
    expect(schemaFault({ "x-more": { type: 5 }, dependencies: { a: ["b"], c: { items: [true] } } })).toBeUndefined();
    expect(schemaFault({ properties: { type: { $ref: "#" }, required: true }, items: [{}] })).toBeUndefined();
  });
});
