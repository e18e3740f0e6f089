import { Kind, type TSchema } from "@sinclair/typebox";
import { isJsonObject } from "../../domain/json.js";

/**
 * A TypeBox schema that checks what the common JSON Schema keywords say: `type`, `enum`, `const`, unions, `allOf`, properties, items
 * and bounds. Keywords beyond those are not checked.
 */
export function schemaOfKeywords(raw: unknown): TSchema {
  if (!isJsonObject(raw)) return kinded("Any");
  const { enum: members, const: constant, anyOf, oneOf, allOf, type } = raw;
  if (Array.isArray(members)) return union(members.map(literal));
  if (constant !== undefined) return literal(constant);
  const branches: unknown = anyOf ?? oneOf;
  if (Array.isArray(branches)) return union(branches.map(schemaOfKeywords));
  if (Array.isArray(allOf)) return kinded("Intersect", { allOf: allOf.map(schemaOfKeywords) });
  if (Array.isArray(type)) return union(type.map((one: unknown) => schemaOfKeywords({ ...raw, type: one })));
  return ofType(type, raw);
}

const SCALARS: Readonly<Record<string, string>> = {
  string: "String",
  number: "Number",
  integer: "Integer",
  boolean: "Boolean",
  null: "Null",
};

function ofType(type: unknown, raw: Keywords): TSchema {
  if (type === "array") return kinded("Array", { ...raw, items: schemaOfKeywords(raw["items"]) });
  if (type === "object") {
    const { properties, additionalProperties: others } = raw;
    const named = isJsonObject(properties) ? Object.entries(properties) : [];
    return kinded("Object", {
      ...raw,
      properties: Object.fromEntries(named.map(([key, part]) => [key, schemaOfKeywords(part)])),
      additionalProperties: isJsonObject(others) ? schemaOfKeywords(others) : others,
    });
  }
  const kind = typeof type === "string" && Object.hasOwn(SCALARS, type) ? SCALARS[type] : undefined;
  return kind === undefined ? kinded("Any") : kinded(kind, { ...raw, format: undefined });
}

type Keywords = { readonly [keyword: string]: unknown };

function union(anyOf: readonly TSchema[]): TSchema {
  return kinded("Union", { anyOf });
}

function literal(value: unknown): TSchema {
  if (value === null) return kinded("Null");
  return typeof value === "object" ? kinded("Any") : kinded("Literal", { const: value });
}

/** TypeBox itself knows a schema by its kind alone. */
function kinded(kind: string, keywords: Keywords = {}): TSchema {
  return { ...keywords, [Kind]: kind } as unknown as TSchema;
}
