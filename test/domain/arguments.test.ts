import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { adopt } from "../../src/domain/adopt.js";
import { applyDefaults, dropNulls } from "../../src/domain/arguments.js";
import { coerceArguments } from "../../src/domain/coerce-arguments.js";
import type { JsonObject } from "../../src/domain/json.js";

const properties = (fields: JsonObject, rest: JsonObject = {}): JsonObject => ({
  type: "object",
  properties: fields,
  ...rest,
});

const text = { type: "string" };
const whole = { type: "integer" };

describe("applyDefaults", () => {
  it.each<[string, JsonObject, JsonObject, JsonObject]>([
    ["fills in what is absent", properties({ a: { default: 1 }, b: { default: 2 } }), { a: 5 }, { a: 5, b: 2 }],
    [
      "keeps null and other falsy values",
      properties({ a: { default: 1 }, b: { default: 1 } }),
      { a: null, b: 0 },
      { a: null, b: 0 },
    ],
    [
      "fills in nested objects, items and values of a map",
      properties({
        o: properties({ x: { default: 1 } }),
        l: { type: "array", items: properties({ y: { default: 2 } }) },
        m: { type: "object", additionalProperties: properties({ z: { default: 3 } }) },
      }),
      { o: {}, l: [{}, { y: 0 }], m: { k: {} } },
      { o: { x: 1 }, l: [{ y: 2 }, { y: 0 }], m: { k: { z: 3 } } },
    ],
    ["makes no object that has no default itself", properties({ o: properties({ x: { default: 1 } }) }), {}, {}],
    ["fills in a default", properties({ o: properties({ x: { default: 1 } }, { default: {} }) }), {}, { o: { x: 1 } }],
    ["leaves out a default its schema refuses", properties({ a: { ...text, default: null } }), {}, {}],
    [
      "takes members of allOf together",
      { allOf: [properties({ a: { default: 1 } }), properties({ b: { default: 2 } })] },
      {},
      { a: 1, b: 2 },
    ],
    [
      "takes the branch that fits",
      properties({
        s: {
          anyOf: [
            properties({ k: { const: "a" }, n: { default: 1 } }, { required: ["k", "n"] }),
            properties({ k: { const: "b" }, n: { default: 2 } }, { required: ["k", "n"] }),
          ],
        },
      }),
      { s: { k: "b" } },
      { s: { k: "b", n: 2 } },
    ],
    [
      "gives __proto__ as an ordinary key",
      JSON.parse('{"properties":{"__proto__":{"default":1}}}') as JsonObject,
      {},
      JSON.parse('{"__proto__":1}') as JsonObject,
    ],
  ])("%s", (_title, schema, args, expected) => {
    expect(JSON.stringify(applyDefaults(schema, args))).toBe(JSON.stringify(expected));
  });

  it.each<[string, JsonObject]>([
    ["a pointer into $defs", { $ref: "#/$defs/k" }],
    ["an escaped pointer", { $ref: "#/$defs/a~1b%20c" }],
    ["an $id", { $ref: "K" }],
    ["an anchor", { $ref: "#anchor" }],
    ["a chain", { $ref: "#/$defs/chain" }],
  ])("follows %s", (_title, reference) => {
    const k = { ...text, default: "big" };
    const schema = properties(
      { size: reference },
      {
        $defs: {
          k,
          "a/b c": k,
          named: { ...k, $id: "K" },
          anchored: { ...k, $anchor: "anchor" },
          chain: { $ref: "#/$defs/k" },
        },
      },
    );
    expect(applyDefaults(schema, {})).toEqual({ size: "big" });
  });

  it("prefers the default beside a reference", () => {
    const schema = properties(
      { size: { $ref: "#/$defs/k", default: "small" } },
      { $defs: { k: { ...text, default: "big" } } },
    );
    expect(applyDefaults(schema, {})).toEqual({ size: "small" });
  });

  it("fills in a recursive schema as deep as the arguments go", () => {
    const schema = properties({ n: { default: 1 }, next: { $ref: "#" } });
    expect(applyDefaults(schema, { next: { next: {} } })).toEqual({ n: 1, next: { n: 1, next: { n: 1 } } });
  });
});

describe("dropNulls", () => {
  const inner = properties({ a: text, n: { type: ["string", "null"] } });

  it.each<[string, JsonObject, JsonObject, JsonObject]>([
    ["drops null for an optional property that refuses it", properties({ a: text }), { a: null }, {}],
    ["keeps it where the type allows it", properties({ a: { type: ["string", "null"] } }), { a: null }, { a: null }],
    [
      "keeps it where a branch allows it",
      properties({ a: { anyOf: [text, { type: "null" }] } }),
      { a: null },
      { a: null },
    ],
    ["drops it where no branch allows it", properties({ a: { oneOf: [text, whole] } }), { a: null }, {}],
    ["drops it where the enum lacks it", properties({ a: { enum: ["x", "y"] } }), { a: null }, {}],
    ["keeps it where the enum has it", properties({ a: { enum: ["x", null] } }), { a: null }, { a: null }],
    ["keeps it where anything goes", properties({ a: {}, b: true }), { a: null, b: null }, { a: null, b: null }],
    ["keeps it where OpenAPI says nullable", properties({ a: { ...text, nullable: true } }), { a: null }, { a: null }],
    [
      "keeps it for a required property, for validation to refuse",
      properties({ a: text }, { required: ["a"] }),
      { a: null },
      { a: null },
    ],
    [
      "drops it for a required property with a default",
      properties({ a: { ...whole, default: 3 } }, { required: ["a"] }),
      { a: null },
      {},
    ],
    ["keeps it for an undeclared property", properties({ a: text }), { zz: null }, { zz: null }],
    ["follows references", properties({ a: { $ref: "#/$defs/t" } }, { $defs: { t: text } }), { a: null }, {}],
    [
      "sees what another member of allOf requires",
      { allOf: [properties({ a: text }), { required: ["a"] }] },
      { a: null },
      { a: null },
    ],
    [
      "drops nested ones in objects, items and unions",
      properties({ o: inner, l: { type: "array", items: inner }, u: { anyOf: [{ type: "null" }, inner] } }),
      { o: { a: null, n: null }, l: [{ a: null }], u: { a: null, n: null } },
      { o: { n: null }, l: [{}], u: { n: null } },
    ],
    ["keeps items that are null", properties({ l: { type: "array", items: text } }), { l: [null] }, { l: [null] }],
  ])("%s", (_title, schema, args, expected) => {
    expect(dropNulls(schema, args)).toEqual(expected);
  });
});

describe("all readings of arguments", () => {
  const readings = { applyDefaults, dropNulls, coerceArguments };
  const json = fc.jsonValue({ maxDepth: 4 }).map((value) => value as JsonObject);
  const keyword = fc.constantFrom(
    "type",
    "properties",
    "items",
    "anyOf",
    "oneOf",
    "allOf",
    "$ref",
    "$defs",
    "default",
    "required",
    "enum",
    "const",
    "additionalProperties",
    "prefixItems",
    "patternProperties",
    "a",
    "b",
  );
  const leaf = fc.constantFrom<unknown>(
    "string",
    "integer",
    "null",
    "array",
    "object",
    "#",
    "#/$defs/a",
    "#/properties/a",
    "K",
    true,
    false,
    null,
    0,
    -1,
    ["string", "null"],
    ["a"],
  );
  const weird = fc.letrec((tie) => ({
    schema: fc.dictionary(
      keyword,
      fc.oneof({ maxDepth: 5 }, leaf, tie("schema"), fc.array(tie("schema"), { maxLength: 3 })),
      { maxKeys: 5 },
    ),
  })).schema as fc.Arbitrary<JsonObject>;
  const args = fc.dictionary(fc.constantFrom("a", "b", "type", "__proto__"), json, {
    maxKeys: 4,
  }) as fc.Arbitrary<JsonObject>;

  it.each(Object.entries(readings))("%s neither throws on any schema nor writes to frozen input", (_name, reading) => {
    fc.assert(
      fc.property(weird, args, (schema, given) => {
        const [frozenSchema, frozenArgs] = [adopt(schema, "schema"), adopt(given, "args")];
        const before = JSON.stringify(frozenArgs);
        expect(reading(schema, given)).toEqual(reading(frozenSchema, frozenArgs));
        expect(JSON.stringify(frozenArgs)).toBe(before);
      }),
      { numRuns: 300 },
    );
  });

  it.each(Object.entries(readings))("%s changes nothing the second time", (_name, reading) => {
    fc.assert(
      fc.property(weird, args, (schema, given) => {
        const once = reading(schema, given);
        expect(reading(schema, once)).toBe(once);
      }),
      { numRuns: 300 },
    );
  });

  it.each(Object.entries(readings))("%s gives the same reference when nothing changes", (_name, reading) => {
    const schema = properties({ a: text, o: properties({ n: whole }), l: { items: whole }, d: { default: 1 } });
    const given = { a: "x", o: { n: 1 }, l: [1, 2], d: 2 };
    expect(reading(schema, given)).toBe(given);
  });

  it.each(Object.entries(readings))("%s survives cycles of references and of the schema itself", (_name, reading) => {
    const schema = properties(
      { a: { $ref: "#/$defs/x" }, b: { default: 1 } },
      { $defs: { x: { $ref: "#/$defs/y" }, y: { $ref: "#/$defs/x" } } },
    );
    const own: Record<string, unknown> = { type: "object" };
    own["properties"] = { self: own, n: whole };
    expect(() => reading(schema, { a: null })).not.toThrow();
    expect(() => reading(own as JsonObject, { self: { self: { n: "1" } } })).not.toThrow();
  });

  it.each(Object.entries(readings))("%s gives up unharmed where branches multiply with depth", (_name, reading) => {
    const branch = (key: string): JsonObject =>
      properties({ left: { $ref: "#" }, [key]: { default: 1 } }, { required: [key] });
    const schema = { anyOf: [branch("x"), branch("y"), branch("z"), branch("w")] };
    let given: JsonObject = { n: null };
    for (let i = 0; i < 60; i++) given = { left: given, n: null };
    expect(reading(schema, given)).toBe(given);
  });

  it("takes something else than objects as it is", () => {
    for (const odd of [null, undefined, 5, "x", []] as unknown as JsonObject[]) {
      expect(applyDefaults(odd, { a: null })).toEqual({ a: null });
      expect(dropNulls(properties({}), odd)).toBe(odd);
      expect(coerceArguments(properties({}), odd)).toBe(odd);
    }
  });
});
