import fc, { type Arbitrary } from "fast-check";
import type { Json, JsonObject } from "../../domain/json.js";
import type { ToolDef } from "../../domain/tool.js";
import { toolDef } from "../builders.js";
import { anyText } from "./any-text.js";

/** A tool, arguments that its schema allows, and arguments that it does not. */
export type AnyTool = { readonly tool: ToolDef; readonly valid: JsonObject; readonly invalid: JsonObject };

/** One property: its schema, a value it allows, and one it does not. */
type Property = { readonly schema: JsonObject; readonly valid: Json; readonly invalid: Json };

type Field = Property & { readonly required: boolean; readonly given: boolean };

/**
 * Tools whose schema has the types, `enum`, lists, nested objects and required properties that models are given. `invalid` has one property of a wrong
 * type, or lacks a required one. Shrinks to one required property that takes text.
 */
export function anyTool(): Arbitrary<AnyTool> {
  const field = property(1).chain((made) =>
    fc.record<Field>({
      schema: fc.constant(made.schema),
      valid: fc.constant(made.valid),
      invalid: fc.constant(made.invalid),
      required: fc.boolean().map((optional) => !optional),
      given: fc.boolean(),
    }),
  );
  return fc
    .tuple(fc.array(field, { minLength: 1, maxLength: 4 }), fc.nat(3), fc.boolean())
    .map(([fields, at, lacks]) => toolOf(fields, at % fields.length, lacks));
}

function toolOf(fields: readonly Field[], wrong: number, lacks: boolean): AnyTool {
  const names = fields.map((_, index) => `p${index}`);
  const pairs = <T>(value: (field: Field, index: number) => T): [string, T][] =>
    fields.map((field, index) => [names[index] ?? "", value(field, index)]);
  const required = names.filter((_, index) => fields[index]?.required);
  const schema: JsonObject = {
    type: "object",
    properties: Object.fromEntries(pairs(({ schema: own }) => own)),
    required,
    additionalProperties: false,
  };
  const given = pairs(({ valid }) => valid).filter((_, index) => fields[index]?.required || fields[index]?.given);
  const valid = Object.fromEntries(given);
  const name = names[wrong] ?? "";
  const bad = { ...valid, [name]: fields[wrong]?.invalid ?? null };
  const { [name]: _left, ...without } = valid;
  return { tool: toolDef("tool", "A tool.", schema), valid, invalid: lacks && fields[wrong]?.required ? without : bad };
}

function property(depth: number): Arbitrary<Property> {
  const text = anyText().map((valid): Property => ({ schema: { type: "string" }, valid, invalid: 1 }));
  const integer = fc.integer().map((valid): Property => ({ schema: { type: "integer" }, valid, invalid: 0.5 }));
  const number = fc
    .integer({ min: -1_000, max: 1_000 })
    .map((n): Property => ({ schema: { type: "number" }, valid: n / 4, invalid: "one" }));
  const flag = fc.boolean().map((valid): Property => ({ schema: { type: "boolean" }, valid, invalid: "yes" }));
  const choice = fc
    .constantFrom("a", "b")
    .map((valid): Property => ({ schema: { type: "string", enum: ["a", "b"] }, valid, invalid: "c" }));
  const plain = fc.oneof({ withCrossShrink: true }, text, integer, number, flag, choice);
  if (depth === 0) return plain;
  const list = property(depth - 1).chain(({ schema, valid, invalid }) =>
    fc.nat(2).map(
      (length): Property => ({
        schema: { type: "array", items: schema },
        valid: Array.from({ length }, () => valid),
        invalid: [invalid],
      }),
    ),
  );
  const nested = property(depth - 1).map(
    ({ schema, valid, invalid }): Property => ({
      schema: { type: "object", properties: { in: schema }, required: ["in"] },
      valid: { in: valid },
      invalid: { in: invalid },
    }),
  );
  return fc.oneof({ withCrossShrink: true }, { weight: 4, arbitrary: plain }, list, nested);
}
