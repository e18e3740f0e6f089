import { isJsonObject, type Json, type JsonObject } from "../../../domain/json.js";
import type { ToolDef } from "../../../domain/tool.js";
import { NAMED, VALUES, withoutNames } from "./named-schemas.js";
import { withoutReference } from "./union-on-top.js";

/** A tool with a schema that providers take for the parameters of a function. */
export type SendableTool = ToolDef & { readonly inputSchema: JsonObject };

/** The tools in the order in which they are sent, their schemas healed; one whose schema cannot describe an object is left out. */
export function sendableTools(tools: readonly ToolDef[]): readonly SendableTool[] {
  return tools.flatMap((tool) => {
    const inputSchema = objectSchema(tool.inputSchema);
    return inputSchema === undefined ? [] : [{ ...tool, inputSchema }];
  });
}

/**
 * A schema whose type is "object" and which lists its properties; a missing one stands for no arguments. Undefined where the schema
 * cannot describe an object.
 */
function objectSchema(given: unknown): JsonObject | undefined {
  if (!isJsonObject(given)) return { type: "object", properties: {} };
  const schema = selfContained(given);
  const type = schema["type"];
  const isObject = type === undefined || type === "object" || (Array.isArray(type) && type.includes("object"));
  if (!isObject) return undefined;
  const known = type === "object" && isJsonObject(schema["properties"]);
  const properties = isJsonObject(schema["properties"]) ? schema["properties"] : {};
  return healedSchema(known ? schema : { ...schema, type: "object", properties });
}

/** The schema with no reference on top, and none but to places in it: what the models see first is what is asked of them. */
export function selfContained(schema: JsonObject): JsonObject {
  const placed = withoutNames(schema);
  return withoutReference(placed, placed);
}

/** A schema nests this deep at most where it is healed; deeper parts go out as they are. */
const DEEPEST = 64;

/**
 * The schema without what generators leave in it and strict providers refuse a whole request for: enum values that its own type excludes,
 * an enum of nothing, a demand made twice, keywords that are null or of an older draft, lists of nobody knows what. What needs no change is shared.
 */
export function healedSchema(schema: JsonObject, depth = 0): JsonObject {
  if (depth > DEEPEST) return schema;
  const kept = Object.entries(schema).filter(([key, value]) => isKeyword(key, value));
  const sound = kept.length === Object.keys(schema).length ? schema : Object.fromEntries(kept);
  const healed = withItems(mapped(sound, (value, key) => healedValue(value, key, depth)));
  const { enum: values, type } = healed;
  if (!Array.isArray(values)) return healed;
  const all = values as readonly Json[];
  const fitting = typeof type === "string" ? all.filter((value) => mayHaveType(value, type)) : all;
  if (fitting.length > 0 && fitting.length === all.length) return healed;
  const { enum: _, ...rest } = healed;
  return fitting.length === 0 ? rest : { ...rest, enum: fitting };
}

/** False for what no draft the providers check against knows: languages write missing fields as null. */
function isKeyword(key: string, value: Json): boolean {
  if (value === null) return key === "default" || key === "const";
  if (key === "required") return Array.isArray(value);
  return !(typeof value === "boolean" && (key === "exclusiveMinimum" || key === "exclusiveMaximum"));
}

function withItems(schema: JsonObject): JsonObject {
  const { type } = schema;
  const isList = type === "array" || (Array.isArray(type) && type.includes("array"));
  const isTold = Object.hasOwn(schema, "items") || Object.hasOwn(schema, "prefixItems");
  return isList && !isTold ? { ...schema, items: {} } : schema;
}

function healedValue(value: Json, key: string, depth: number): Json {
  if (VALUES.has(key)) return value;
  if (NAMED.has(key) && isJsonObject(value)) {
    return mapped(value, (one) => (isJsonObject(one) ? healedSchema(one, depth + 1) : (one ?? {})));
  }
  if (Array.isArray(value)) {
    const items = value as readonly Json[];
    if (key === "required") return new Set(items).size === items.length ? items : [...new Set(items)];
    const healed = items.map((item) => (isJsonObject(item) ? healedSchema(item, depth + 1) : item));
    return healed.some((item, place) => item !== items[place]) ? healed : items;
  }
  return isJsonObject(value) ? healedSchema(value, depth + 1) : value;
}

function mapped(object: JsonObject, change: (value: Json, key: string) => Json): JsonObject {
  const entries = Object.entries(object).map(([key, value]) => [key, change(value, key)] as const);
  return entries.some(([key, value]) => value !== object[key]) ? Object.fromEntries(entries) : object;
}

function mayHaveType(value: Json, type: string): boolean {
  if (value === null) return type === "null";
  if (Array.isArray(value)) return type === "array";
  return typeof value === (type === "integer" ? "number" : type);
}
