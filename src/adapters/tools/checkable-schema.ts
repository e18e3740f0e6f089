import { FormatRegistry, Kind, type TSchema, Type } from "@sinclair/typebox";
import { CompositionError } from "../../domain/errors.js";
import { isJsonObject } from "../../domain/json.js";
import { safeLabel } from "../../domain/safe-label.js";
import { schemaOfKeywords } from "./keyword-schema.js";

/**
 * The schema as TypeBox can check it: the same reference, unless it holds a `Type.Unsafe` (which TypeBox refuses to check; it is read by
 * its JSON Schema keywords) or a format nobody registered in the
 * `FormatRegistry` of this package yet (which then only tells the model). Throws
 * `CompositionError("invalid-schema")` for anything that is no TypeBox schema, for parameters that are no object, or that JSON can never satisfy.
 */
export function checkableSchema(schema: TSchema, tool: string, role: "parameters" | "output"): TSchema {
  const of = role === "parameters" ? "the parameters of" : "the output schemas of";
  const fault: Fault = (place, what) =>
    new CompositionError("invalid-schema", `${of} ${safeLabel(tool)} ${what}${safeLabel(place)}`);
  if (!isSchema(schema))
    throw fault("", "are not made with Type; for raw JSON Schema there is ennead/tools/json-schema");
  if (role === "parameters" && schema["type"] !== "object") throw fault("", 'have no type "object"');
  return checkable(schema, "", fault);
}

type Fault = (place: string, what: string) => CompositionError;

/** Where keywords hold schemas: under names, in a list, or one. */
const NESTED = ["properties", "patternProperties", "$defs", "items", "anyOf", "allOf", "not", "contains"] as const;
const NESTED_OR_BOOLEAN = ["additionalProperties", "unevaluatedProperties"] as const;
/** More steps in a place than a definition may have; one that holds itself has no last one. */
const MAX_STEPS = 256;
const JSON_TYPES: ReadonlySet<unknown> = new Set(["string", "number", "integer", "boolean", "null", "array", "object"]);

function isSchema(value: unknown): value is TSchema {
  return isJsonObject(value) && typeof (value as { readonly [Kind]?: unknown })[Kind] === "string";
}

function checkable(schema: unknown, place: string, fault: Fault): TSchema {
  if (!isSchema(schema)) throw fault(place, "are not all made with Type: ");
  if (place.split("/").length > MAX_STEPS) throw fault(place.slice(0, 64), "are nested too deep: ");
  if (schema[Kind] === "Unsafe") return schemaOfKeywords(schema);
  const { type, format, pattern } = schema as { type?: unknown; format?: unknown; pattern?: unknown };
  if (type !== undefined && !JSON_TYPES.has(type)) throw fault(place, "ask for what JSON cannot hold: ");
  if (typeof pattern === "string" && !compiles(pattern))
    throw fault(place, "have a pattern that is no regular expression: ");
  const changes: Record<string, unknown> = {};
  if (typeof format === "string" && !FormatRegistry.Has(format)) changes["format"] = undefined;
  const { multipleOf } = schema as { multipleOf?: unknown };
  // The remainder of a binary fraction says nothing: 19.99 is a multiple of 0.01.
  if (typeof multipleOf === "number" && !Number.isInteger(multipleOf)) {
    return Type.Intersect([{ ...schema, multipleOf: undefined }, schemaOfKeywords({ multipleOf })]);
  }
  for (const key of NESTED) replace(changes, schema, key, nested(schema[key], `${place}/${key}`, fault));
  for (const key of NESTED_OR_BOOLEAN) {
    const part: unknown = schema[key];
    if (typeof part === "object") replace(changes, schema, key, checkable(part, `${place}/${key}`, fault));
  }
  return Object.keys(changes).length === 0 ? schema : { ...schema, ...changes };
}

function nested(part: unknown, place: string, fault: Fault): unknown {
  if (part === undefined || isSchema(part)) return part === undefined ? part : checkable(part, place, fault);
  if (Array.isArray(part))
    return sameOr(
      part,
      part.map((one, index) => checkable(one, `${place}/${index}`, fault)),
    );
  if (!isJsonObject(part)) throw fault(place, "are not all made with Type: ");
  const entries = Object.entries(part).map(([key, one]) => [key, checkable(one, `${place}/${key}`, fault)] as const);
  return entries.every(([key, one]) => part[key] === (one as unknown)) ? part : Object.fromEntries(entries);
}

function sameOr(list: readonly unknown[], changed: readonly unknown[]): readonly unknown[] {
  return changed.every((one, index) => one === list[index]) ? list : changed;
}

function replace(changes: Record<string, unknown>, schema: TSchema, key: string, part: unknown): void {
  if (part !== schema[key]) changes[key] = part;
}

function compiles(pattern: string): boolean {
  try {
    return new RegExp(pattern) instanceof RegExp;
  } catch {
    return false;
  }
}
