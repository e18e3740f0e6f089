import { isJsonObject, type Json, type JsonObject, sameJson } from "./json.js";
import { itemSchema, listOf, propertySchema, type SchemaReading } from "./json-schema.js";

/**
 * Whether a value may be meant by a schema: types, constants, numbers and lengths, required and unknown properties, and all of it in
 * what is nested. Looser than a validator: patterns, formats and keywords it does not know count as fitting.
 */
export function fits(reading: SchemaReading, schema: unknown, value: Json, depth = 0): boolean {
  if (schema === false) return false;
  if (!reading.enter(depth)) return true;
  return reading.conjuncts(schema).every((part) => fitsAlone(reading, part, value, depth));
}

function fitsAlone(reading: SchemaReading, schema: JsonObject, value: Json, depth: number): boolean {
  if (!fitsType(schema, value) || !fitsConstants(schema, value)) return false;
  for (const union of [schema["anyOf"], schema["oneOf"]])
    if (Array.isArray(union) && !listOf(union).some((branch) => fits(reading, branch, value, depth + 1))) return false;
  if (typeof value === "number") return fitsRange(schema, value);
  if (typeof value === "string") return within(value.length, schema["minLength"], schema["maxLength"]);
  if (Array.isArray(value)) return fitsArray(reading, schema, value as readonly Json[], depth);
  return !isJsonObject(value) || fitsObject(reading, schema, value, depth);
}

function fitsConstants(schema: JsonObject, value: Json): boolean {
  const allowed = schema["enum"];
  if (Array.isArray(allowed) && !(allowed as readonly Json[]).some((one) => sameJson(one, value))) return false;
  const constant = Object.hasOwn(schema, "const") ? schema["const"] : undefined;
  return constant === undefined || sameJson(constant, value);
}

function fitsType(schema: JsonObject, value: Json): boolean {
  const type = schema["type"];
  if (value === null && schema["nullable"] === true) return true;
  if (typeof type === "string") return hasType(type, value);
  const types = listOf(type);
  return types.length === 0 || types.some((one) => typeof one !== "string" || hasType(one, value));
}

function hasType(type: string, value: Json): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "integer":
      return Number.isInteger(value);
    case "string":
    case "number":
    case "boolean":
      return typeof value === type;
    case "array":
      return Array.isArray(value);
    case "object":
      return isJsonObject(value);
    default:
      return true;
  }
}

function fitsRange(schema: JsonObject, value: number): boolean {
  const { exclusiveMinimum, exclusiveMaximum } = schema;
  if (typeof exclusiveMinimum === "number" && value <= exclusiveMinimum) return false;
  if (typeof exclusiveMaximum === "number" && value >= exclusiveMaximum) return false;
  return within(value, schema["minimum"], schema["maximum"]);
}

function within(value: number, least: unknown, most: unknown): boolean {
  return !(typeof least === "number" && value < least) && !(typeof most === "number" && value > most);
}

function fitsArray(reading: SchemaReading, schema: JsonObject, value: readonly Json[], depth: number): boolean {
  if (!within(value.length, schema["minItems"], schema["maxItems"])) return false;
  return value.every((item, index) => fits(reading, itemSchema(schema, index), item, depth + 1));
}

function fitsObject(reading: SchemaReading, schema: JsonObject, value: JsonObject, depth: number): boolean {
  if (listOf(schema["required"]).some((key) => typeof key === "string" && !Object.hasOwn(value, key))) return false;
  return Object.entries(value).every(([key, field]) => fits(reading, propertySchema(schema, key), field, depth + 1));
}
