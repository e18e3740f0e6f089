import { isJsonObject, type Json, type JsonObject } from "../../../domain/json.js";

/** Keywords that OpenAI takes in a schema it enforces; with any other it refuses the request. */
const TAKEN = new Set([
  ...["type", "enum", "const", "anyOf", "$ref", "$defs", "definitions", "title", "description"],
  ...["properties", "required", "additionalProperties", "items", "minItems", "maxItems", "pattern", "format"],
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
]);
const FORMATS = ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];
/** Objects in objects are taken this deep. */
const DEEPEST = 10;

/**
 * True where OpenAI can enforce a schema to the letter: an object on top, every object in it closed with all its properties listed and
 * required, and no keyword that it refuses.
 */
export function isStrict(schema: JsonObject): boolean {
  const { $schema: _, ...root } = schema;
  return root["type"] === "object" && root["anyOf"] === undefined && isTaken(root, 0);
}

function isTaken(schema: Json | undefined, depth: number): boolean {
  if (!isJsonObject(schema) || !Object.keys(schema).every((key) => TAKEN.has(key))) return false;
  const { type, $ref, format, $defs, definitions } = schema;
  if (!areTaken($defs, depth) || !areTaken(definitions, depth)) return false;
  // Nothing may stand beside a reference.
  if ($ref !== undefined) return Object.keys(schema).length === 1;
  if (format !== undefined && !FORMATS.includes(String(format))) return false;
  const types: readonly Json[] = Array.isArray(type) ? type : [type ?? null];
  if (schema["anyOf"] === undefined && type === undefined) return false;
  if (types.includes("object") && !isClosed(schema, depth)) return false;
  if (types.includes("array") && !isTaken(schema["items"], depth)) return false;
  return areTaken(schema["anyOf"], depth);
}

function isClosed(schema: JsonObject, depth: number): boolean {
  const { properties, required, additionalProperties } = schema;
  if (depth === DEEPEST || additionalProperties !== false || !isJsonObject(properties)) return false;
  const isWhole = Array.isArray(required) && Object.keys(properties).every((key) => required.includes(key));
  return isWhole && areTaken(properties, depth + 1);
}

/** Of a list or a map of schemas. */
function areTaken(schemas: Json | undefined, depth: number): boolean {
  if (schemas === undefined) return true;
  const list = Array.isArray(schemas) || isJsonObject(schemas) ? Object.values(schemas) : [];
  return list.every((schema) => isTaken(schema as Json, depth));
}
