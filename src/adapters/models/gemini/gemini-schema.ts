import { isJsonObject, type Json, type JsonObject } from "../../../domain/json.js";
import { JSON_TYPES } from "../../../domain/json-schema.js";

/** Keywords the provider documents, and takes as they are. */
const KEPT = ["title", "description", "format", "minItems", "maxItems", "minimum", "maximum", "propertyOrdering"];
const LISTS = ["anyOf", "oneOf", "prefixItems"];
const MAPS = ["properties", "$defs"];

/**
 * A JSON Schema in the subset the provider takes. `const` becomes an `enum`, `definitions` become `$defs`, `allOf` is joined; an `enum`
 * keeps the texts and numbers that its type allows; beside a `$ref` nothing stays. Every other keyword is left out: the schema sent then
 * allows more than the tool does, and whoever validates has the whole one.
 */
export function geminiSchema(schema: JsonObject): JsonObject {
  const whole = isJsonObject(schema["definitions"]) ? withDefs(schema, schema["definitions"]) : schema;
  return rewritten(whole, new Set(Object.keys(isJsonObject(whole["$defs"]) ? whole["$defs"] : {})));
}

/** True where the schema lets an object hold anything at all. */
export function takesArguments(schema: JsonObject): boolean {
  const { properties, additionalProperties = false } = schema;
  if (isJsonObject(properties) && Object.keys(properties).length > 0) return true;
  return additionalProperties !== false || ["$ref", ...LISTS].some((key) => Object.hasOwn(schema, key));
}

function withDefs(schema: JsonObject, definitions: JsonObject): JsonObject {
  const known = schema["$defs"];
  return { ...schema, $defs: { ...definitions, ...(isJsonObject(known) ? known : undefined) } };
}

function rewritten(given: JsonObject, defs: ReadonlySet<string>): JsonObject {
  const schema = joined(given);
  const ref = schema["$ref"];
  const kept: { [key: string]: Json } = {};
  for (const key of MAPS) if (isJsonObject(schema[key])) kept[key] = mapOf(schema[key], defs);
  if (typeof ref === "string") {
    const target = ref.replace("#/definitions/", "#/$defs/");
    const { $defs } = kept;
    const isKnown = target === "#" || defs.has(target.replace("#/$defs/", ""));
    return { ...(isKnown ? { $ref: target } : undefined), ...($defs === undefined ? undefined : { $defs }) };
  }
  for (const key of KEPT) if (schema[key] !== undefined) kept[key] = schema[key];
  for (const key of LISTS) if (Array.isArray(schema[key])) kept[key] = listOf(schema[key], defs);
  const { items, additionalProperties: more, required } = schema;
  if (Array.isArray(items)) kept["prefixItems"] ??= listOf(items, defs);
  else if (isJsonObject(items)) kept["items"] = rewritten(items, defs);
  if (more !== undefined) kept["additionalProperties"] = isJsonObject(more) ? rewritten(more, defs) : more;
  const demanded = itemsOf(required)?.filter(
    (key) => isJsonObject(kept["properties"]) && Object.hasOwn(kept["properties"], String(key)),
  );
  if (demanded !== undefined && demanded.length > 0) kept["required"] = demanded;
  return { ...kept, ...typeFields(schema) };
}

function mapOf(map: JsonObject, defs: ReadonlySet<string>): JsonObject {
  const entries = Object.entries(map).filter(([, inner]) => inner !== false);
  return Object.fromEntries(entries.map(([key, inner]) => [key, isJsonObject(inner) ? rewritten(inner, defs) : {}]));
}

function listOf(list: readonly Json[], defs: ReadonlySet<string>): readonly Json[] {
  return list.filter((one) => one !== false).map((one) => (isJsonObject(one) ? rewritten(one, defs) : {}));
}

function typeFields(schema: JsonObject): JsonObject {
  const { type, enum: given, const: only } = schema;
  const values = only === undefined ? itemsOf(given) : [only];
  const types = (itemsOf(type) ?? [type]).flatMap((one) => (JSON_TYPES.has(one) ? [String(one)] : []));
  const fitting = values?.filter((value) => types.length === 0 || types.some((one) => isOf(value, one)));
  const sendable: readonly Json[] = fitting?.filter((value) => ["string", "number"].includes(typeof value)) ?? [];
  const named = types.length > 0 ? types : typesOf(fitting ?? []);
  // A value that cannot be listed would be forbidden by the others.
  const others = fitting?.filter((value) => !sendable.includes(value)) ?? [];
  if (sendable.length === 0 || others.some((value) => value !== null)) return typeOnly(named);
  if (others.length === 0) return { ...typeOnly(named), enum: sendable };
  const listed = { ...typeOnly(named.filter((one) => one !== "null")), enum: sendable };
  return Object.hasOwn(schema, "anyOf") ? typeOnly(named) : { anyOf: [listed, { type: "null" }] };
}

function typeOnly(types: readonly string[]): JsonObject {
  const [type, ...more] = types;
  if (type === undefined) return {};
  return { type: more.length === 0 ? type : types };
}

function itemsOf(value: Json | undefined): readonly Json[] | undefined {
  return Array.isArray(value) ? (value as readonly Json[]) : undefined;
}

function isOf(value: Json, type: string): boolean {
  return type === typeOf(value) || (type === "integer" && Number.isInteger(value));
}

function typeOf(value: Json): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return typeof value;
}

function typesOf(values: readonly Json[]): readonly string[] {
  return [...new Set(values.map(typeOf))];
}

/** `allOf` joined with what stands beside it: properties and demands add up, of other keywords the first counts. */
function joined(schema: JsonObject): JsonObject {
  const { allOf, ...rest } = schema;
  if (!Array.isArray(allOf)) return schema;
  return allOf.filter(isJsonObject).map(joined).reduce(both, rest);
}

function both(left: JsonObject, right: JsonObject): JsonObject {
  const { properties = {} } = left;
  const { properties: more = {} } = right;
  const all = isJsonObject(properties) && isJsonObject(more) ? { ...more, ...properties } : {};
  const needed = [...new Set([...(itemsOf(left["required"]) ?? []), ...(itemsOf(right["required"]) ?? [])])];
  return {
    ...right,
    ...left,
    ...(Object.keys(all).length === 0 ? undefined : { properties: all }),
    ...(needed.length === 0 ? undefined : { required: needed }),
  };
}
