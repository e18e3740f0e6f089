import { setOwn } from "./adopt.js";
import { isJsonObject, type Json, type JsonObject } from "./json.js";
import { itemSchema, listOf, propertySchema, SchemaReading } from "./json-schema.js";
import { fits } from "./schema-fit.js";

/**
 * The arguments with the schema's defaults for absent properties, nested ones too; inside a union, those of the branch that fits. A
 * default its own schema refuses is left out. Nothing is changed in place: without anything to add it returns `args` itself, else
 * objects that may share parts with `args` and the schema. Never throws; unreadable parts of a schema count as absent.
 */
export function applyDefaults(schema: JsonObject, args: JsonObject): JsonObject {
  return read(schema, args, (reading) => (reading.hasDefaults ? withDefaults(reading, schema, args, 0) : args));
}

/**
 * The arguments without each `null` that stands for an optional property (or one with a default) whose schema refuses null (U1),
 * nested ones too. Ownership and cost as with `applyDefaults`; `nullable: true` counts as accepting null.
 */
export function dropNulls(schema: JsonObject, args: JsonObject): JsonObject {
  return holdsNull(args) ? read(schema, args, (reading) => withoutNulls(reading, schema, args, 0)) : args;
}

/** Runs one reading over decoded input; a reading that was cut short leaves the arguments as they are. */
export function read(schema: JsonObject, args: JsonObject, change: (reading: SchemaReading) => Json): JsonObject {
  if (!isJsonObject(schema) || !isJsonObject(args)) return args;
  const reading = new SchemaReading(schema);
  const changed = change(reading);
  return reading.exhausted || !isJsonObject(changed) ? args : changed;
}

/** Rewrites one nested value by the schema that applies there. */
export type Rewrite = (schema: unknown, value: Json) => Json;

/** Rewrites each item and field by its own schema; the same reference when none of them changed. */
export function rewriteNested(part: JsonObject, value: Json, rewrite: Rewrite): Json {
  if (Array.isArray(value)) {
    const list = value as readonly Json[];
    const items = list.map((item, index) => rewrite(itemSchema(part, index), item));
    return items.every((item, index) => item === list[index]) ? list : items;
  }
  if (!isJsonObject(value)) return value;
  let changed = value;
  for (const [key, field] of Object.entries(value)) {
    const rewritten = rewrite(propertySchema(part, key), field);
    if (rewritten !== field) changed = withField(changed, value, key, rewritten);
  }
  return changed;
}

/**
 * Rewrites a value by the unions beside `part`'s other keywords: what the first branch makes of it that then fits. Where a branch fits
 * already, that one is asked alone, or nothing is changed.
 */
export function rewriteByUnion(
  reading: SchemaReading,
  part: JsonObject,
  value: Json,
  rewrite: Rewrite,
  whatFits: "stays" | "is rewritten" = "stays",
): Json {
  let result = value;
  for (const union of [listOf(part["anyOf"]), listOf(part["oneOf"])]) {
    const fitting = union.find((branch) => fits(reading, branch, result));
    if (fitting !== undefined && whatFits === "stays") continue;
    for (const branch of fitting === undefined ? union : [fitting]) {
      const candidate = rewrite(branch, result);
      if (candidate === result || !fits(reading, branch, candidate)) continue;
      result = candidate;
      break;
    }
  }
  return result;
}

function withField(current: JsonObject, original: JsonObject, key: string, value: Json): JsonObject {
  const copy: Record<string, Json> = current === original ? copyOf(original) : (current as Record<string, Json>);
  setOwn(copy, key, value);
  return copy;
}

function copyOf(value: JsonObject): Record<string, Json> {
  return Object.fromEntries(Object.entries(value));
}

function withDefaults(reading: SchemaReading, schema: unknown, value: Json, depth: number): Json {
  if (!reading.enter(depth) || typeof value !== "object" || value === null) return value;
  const rewrite: Rewrite = (inner, field) => withDefaults(reading, inner, field, depth + 1);
  let result: Json = value;
  for (const part of reading.conjuncts(schema)) {
    if (isJsonObject(result)) result = addMissing(reading, part, result, depth);
    result = rewriteNested(part, result, rewrite);
    // The branch that fits gives its defaults; where none does yet, the first that its defaults make fit.
    result = rewriteByUnion(reading, part, result, rewrite, "is rewritten");
  }
  return result;
}

function addMissing(reading: SchemaReading, part: JsonObject, value: JsonObject, depth: number): JsonObject {
  const properties = part["properties"];
  if (!isJsonObject(properties)) return value;
  let result = value;
  for (const [key, property] of Object.entries(properties)) {
    if (Object.hasOwn(result, key)) continue;
    const found = defaultOf(reading, property, depth);
    if (found !== undefined) result = withField(result, value, key, found);
  }
  return result;
}

/** The default beside a reference comes before the one it leads to. */
function defaultOf(reading: SchemaReading, property: Json, depth: number): Json | undefined {
  const holder = reading.conjuncts(property).find((part) => Object.hasOwn(part, "default"));
  const plain = holder?.["default"];
  if (plain === undefined) return undefined;
  const whole = withDefaults(reading, property, plain, depth + 1);
  return fits(reading, property, whole) ? whole : undefined;
}

function holdsNull(value: Json, depth = 0): boolean {
  if (typeof value !== "object" || depth > 64) return value === null;
  if (value === null) return true;
  for (const field of Object.values(value)) if (holdsNull(field as Json, depth + 1)) return true;
  return false;
}

function withoutNulls(reading: SchemaReading, schema: unknown, value: Json, depth: number): Json {
  if (!reading.enter(depth) || typeof value !== "object" || value === null) return value;
  const rewrite: Rewrite = (inner, field) => withoutNulls(reading, inner, field, depth + 1);
  const parts = reading.conjuncts(schema);
  let result: Json = isJsonObject(value) ? withoutOwnNulls(reading, parts, value) : value;
  for (const part of parts) {
    result = rewriteNested(part, result, rewrite);
    result = rewriteByUnion(reading, part, result, rewrite);
  }
  return result;
}

function withoutOwnNulls(reading: SchemaReading, parts: readonly JsonObject[], value: JsonObject): JsonObject {
  const absent = Object.keys(value).filter((key) => value[key] === null && countsAsAbsent(reading, parts, key));
  if (absent.length === 0) return value;
  return Object.fromEntries(Object.entries(value).filter(([key]) => !absent.includes(key)));
}

function countsAsAbsent(reading: SchemaReading, parts: readonly JsonObject[], key: string): boolean {
  const declared: Json[] = [];
  let required = false;
  for (const { properties, required: names } of parts) {
    if (isJsonObject(properties) && Object.hasOwn(properties, key)) declared.push(properties[key] as Json);
    required ||= listOf(names).includes(key);
  }
  if (declared.every((property) => fits(reading, property, null))) return false;
  return !required || declared.some((property) => defaultOf(reading, property, 0) !== undefined);
}
