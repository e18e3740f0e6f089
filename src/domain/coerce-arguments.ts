import { read, rewriteByUnion, rewriteNested, type Rewrite } from "./arguments.js";
import { isJsonObject, type Json, type JsonObject } from "./json.js";
import type { SchemaReading } from "./json-schema.js";
import { isLossless } from "./lossless-number.js";
import { fits } from "./schema-fit.js";

/**
 * The arguments with conversions that lose nothing (`config.coerceArguments`): text to the number, boolean, null, list or object it
 * spells, and numbers and booleans to text, each only where the value as it is does not fit and the converted one does. Text stays
 * text wherever text fits; leading zeros, more digits than a number holds, names that stand twice, empty text and near misses are left for validation to
 * refuse. Ownership, cost and safety as with `applyDefaults`.
 */
export function coerceArguments(schema: JsonObject, args: JsonObject): JsonObject {
  return read(schema, args, (reading) => coerce(reading, schema, args, 0));
}

function coerce(reading: SchemaReading, schema: unknown, value: Json, depth: number): Json {
  if (!reading.enter(depth) || fits(reading, schema, value)) return value;
  if (typeof value === "object" && value !== null) return coerceNested(reading, schema, value, depth);
  if (typeof value !== "string") return fittingText(reading, schema, value);
  const parsed = parseExactly(value);
  if (parsed === undefined) return value;
  const candidate = coerce(reading, schema, parsed, depth + 1);
  return typeof candidate !== "string" && fits(reading, schema, candidate) ? candidate : value;
}

function coerceNested(reading: SchemaReading, schema: unknown, value: Json, depth: number): Json {
  const rewrite: Rewrite = (inner, field) => coerce(reading, inner, field, depth + 1);
  let result = value;
  for (const part of reading.conjuncts(schema)) {
    result = rewriteNested(part, result, rewrite);
    result = rewriteByUnion(reading, part, result, rewrite);
  }
  return result;
}

function fittingText(reading: SchemaReading, schema: unknown, value: number | boolean | null): Json {
  if (value === null) return value;
  const text = String(value);
  const kept = typeof value === "boolean" || isExactNumber(text);
  return kept && fits(reading, schema, text) ? text : value;
}

const BOOLEANS: Readonly<Record<string, boolean>> = { true: true, false: false };
/** Characters; no exact number needs more, and it bounds the work on hostile text. */
const MAX_NUMBER_LENGTH = 64;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** The value a text spells, when that value spells the same again up to notation. */
function parseExactly(text: string): Json | undefined {
  const word = text.length <= 5 ? text.toLowerCase() : "";
  if (Object.hasOwn(BOOLEANS, word)) return BOOLEANS[word];
  if (text === "null") return null;
  if (NUMBER.test(text)) return isExactNumber(text) ? Number(text) : undefined;
  return parseContainer(text);
}

function parseContainer(text: string): Json | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    const value = JSON.parse(text) as Json;
    const outsideStrings = text.replace(/"(?:[^"\\]|\\.)*"/g, '""');
    const numbers = outsideStrings.match(/-?\d[\d.eE+-]*/g) ?? [];
    // A name that stands twice would lose its first value.
    if ((outsideStrings.match(/""\s*:/g) ?? []).length !== membersOf(value)) return undefined;
    return numbers.every(isExactNumber) && (Array.isArray(value) || isJsonObject(value)) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** How many members all objects in a value have. */
function membersOf(value: Json): number {
  if (typeof value !== "object" || value === null) return 0;
  const parts = Object.values(value) as readonly Json[];
  return parts.reduce<number>((sum, part) => sum + membersOf(part), Array.isArray(value) ? 0 : parts.length);
}

/** True when no digit is lost; whole numbers must be safe integers, since beyond those neighbours become one. */
function isExactNumber(text: string): boolean {
  if (text.length > MAX_NUMBER_LENGTH) return false;
  const value = Number(text);
  if (!Number.isFinite(value) || Object.is(value, -0)) return false;
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) return false;
  return isLossless(text);
}
