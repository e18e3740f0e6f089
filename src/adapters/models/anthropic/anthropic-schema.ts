import { isJsonObject, type Json, type JsonObject } from "../../../domain/json.js";
import { encodeJson } from "../wire/wire-json.js";

/** Keywords the provider enforces as they are. */
const KEPT = new Set(["type", "$ref", "required", "enum", "const", "default", "title", "description"]);
/** Keywords whose value is one schema, a list of them, or a map of them. */
const NESTED = new Set(["items", "anyOf", "allOf", "properties", "$defs", "definitions"]);
/** Keywords that demand nothing of a reply. */
const IDLE = new Set(["$schema", "$id", "$comment", "additionalProperties", "unevaluatedProperties"]);
const FORMATS = ["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"];
const DEEPEST = 64;

/**
 * The schema of a reply in the form the provider enforces: every object closed, `oneOf` as `anyOf`. What it cannot enforce (ranges,
 * lengths, patterns) is told to the model in the description instead.
 */
export function replySchema(schema: JsonObject, depth = 0): JsonObject {
  if (depth > DEEPEST) return schema;
  const sent: { [key: string]: Json } = {};
  const told: string[] = [];
  for (const [key, value] of Object.entries(schema)) {
    if (KEPT.has(key) || isEnforced(key, value)) sent[key] = value;
    else if (key === "oneOf") sent["anyOf"] ??= inner("anyOf", value, depth);
    else if (NESTED.has(key)) sent[key] = inner(key, value, depth);
    else if (!IDLE.has(key)) told.push(`${key}: ${encodeJson(value)}`);
  }
  if (isObjectSchema(schema)) sent["additionalProperties"] = false;
  if (told.length > 0) sent["description"] = [schema["description"], `(${told.join(", ")})`].filter(Boolean).join(" ");
  return sent;
}

function isEnforced(key: string, value: Json): boolean {
  return (key === "format" && FORMATS.includes(String(value))) || (key === "minItems" && (value === 0 || value === 1));
}

function isObjectSchema({ type, properties }: JsonObject): boolean {
  return type === "object" || isJsonObject(properties) || (Array.isArray(type) && type.includes("object"));
}

function inner(key: string, value: Json, depth: number): Json {
  if (Array.isArray(value)) return (value as readonly Json[]).map((one) => ofSchema(one, depth));
  if (!isJsonObject(value)) return value;
  if (key === "items") return ofSchema(value, depth);
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, ofSchema(one, depth)]));
}

function ofSchema(value: Json, depth: number): Json {
  return isJsonObject(value) ? replySchema(value, depth + 1) : value;
}
