import { setOwn } from "./adopt.js";
import { isPlain, type Json } from "./json.js";

/** JSON that stands for any value; `exact` when nothing had to be replaced or left out on the way. */
export type PlainJson = { readonly json: Json; readonly exact: boolean };

const MAX_DEPTH = 200;
const MAX_NODES = 250_000;
const TOO_LARGE = "[left out: too large]";

type Walk = { exact: boolean; nodes: number; readonly ancestors: Set<object> };

/**
 * A JSON copy of any value. What JSON cannot hold is replaced: a bigint by its digits, a date by its ISO text, a map or set by what it
 * holds, an instance by its own fields, an error by its text; cycles, functions, bytes and unreadable fields by a marker in brackets.
 * An object met twice without a cycle is copied twice. Bounded in depth and size. Throws only when `value` itself cannot be read, as a
 * revoked proxy cannot.
 */
export function plainJson(value: unknown): PlainJson {
  const walk: Walk = { exact: true, nodes: 0, ancestors: new Set() };
  const json = copy(value, walk);
  return json === undefined ? { json: null, exact: false } : { json, exact: walk.exact };
}

/** The words of an error, or its name where it has none; those of its parts for an `AggregateError` without words. */
export function errorText(error: object): string {
  const { message, name, errors } = error as { message?: unknown; name?: unknown; errors?: unknown };
  if (typeof message === "string" && message !== "") return message;
  if (Array.isArray(errors) && errors.length > 0) return errors.slice(0, 8).map(partText).join("; ");
  return typeof name === "string" && name !== "" ? name : "Error";
}

function partText(part: unknown): string {
  const { json } = plainJson(part);
  return typeof json === "string" ? json : JSON.stringify(json);
}

/** True for errors of this and other realms. */
export function isError(value: object): boolean {
  return value instanceof Error || Object.prototype.toString.call(value) === "[object Error]";
}

function inexact(walk: Walk, json: Json): Json {
  walk.exact = false;
  return json;
}

/** Undefined for undefined only, so that objects leave the field out as JSON text does. */
function copy(value: unknown, walk: Walk): Json | undefined {
  walk.nodes += 1;
  switch (typeof value) {
    case "undefined":
      return undefined;
    case "string":
    case "boolean":
      return value;
    case "number":
      // Minus zero is stored as zero.
      return Number.isFinite(value) ? value + 0 : inexact(walk, String(value));
    case "object":
      return value === null ? null : copyObject(value, walk);
    case "function":
      return inexact(walk, value.name === "" ? "[function]" : `[function ${value.name}]`);
    default:
      return inexact(walk, String(value));
  }
}

/** `toJSON` is asked once: what it gave stands for itself, also where it gave its own object. */
function copyObject(value: object, walk: Walk, given = false): Json {
  if (walk.ancestors.has(value)) return inexact(walk, "[circular]");
  if (walk.ancestors.size >= MAX_DEPTH || walk.nodes > MAX_NODES) return inexact(walk, TOO_LARGE);
  walk.ancestors.add(value);
  try {
    return Array.isArray(value) ? copyItems(value, walk) : copyRecord(value, walk, given);
  } finally {
    walk.ancestors.delete(value);
  }
}

function copyRecord(value: object, walk: Walk, given: boolean): Json {
  // A date that is none would call itself null.
  if (value instanceof String || value instanceof Number || isInvalidDate(value)) return inexact(walk, String(value));
  const toJson: unknown = !given && "toJSON" in value && !ArrayBuffer.isView(value) ? value.toJSON : undefined;
  if (typeof toJson === "function") return inexact(walk, copyGiven(value, toJson.call(value, ""), walk));
  return isPlain(value) && !isError(value) ? copyFields(value, walk) : inexact(walk, copyInstance(value, walk));
}

function copyGiven(value: object, given: unknown, walk: Walk): Json {
  if (given === value) return copyRecord(value, walk, true);
  if (typeof given !== "object" || given === null) return copy(given, walk) ?? null;
  walk.nodes += 1;
  return copyObject(given, walk, true);
}

function isInvalidDate(value: object): boolean {
  return Object.prototype.toString.call(value) === "[object Date]" && String(value) === "Invalid Date";
}

function copyInstance(value: object, walk: Walk): Json {
  if (isError(value)) return errorText(value);
  if (value instanceof Set) return copyItems([...(value as ReadonlySet<unknown>)], walk);
  if (value instanceof Map) return copyMap(value, walk);
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `[${value.byteLength} bytes]`;
  const fields = copyFields(value, walk);
  return Object.keys(fields).length === 0 ? ownText(value) : fields;
}

function ownText(value: object): string {
  const text = String(value);
  if (text === "[object Object]") return `[${value.constructor.name}]`;
  return text.replace(/^\[object (.*)\]$/, "[$1]");
}

function copyMap(value: ReadonlyMap<unknown, unknown>, walk: Walk): Json {
  const entries = [...value];
  if (!entries.every(([key]) => typeof key === "string")) return copyItems(entries, walk);
  const out: Record<string, Json> = {};
  for (const [key, field] of entries) setOwn(out, String(key), copyPart(() => field, walk) ?? null);
  return out;
}

function copyItems(value: readonly unknown[], walk: Walk): Json {
  const out: Json[] = [];
  for (let i = 0; i < value.length; i++) {
    out.push(copyPart(() => value[i], walk) ?? null);
    if (walk.nodes > MAX_NODES) {
      out.push(inexact(walk, TOO_LARGE));
      break;
    }
  }
  return out;
}

function copyFields(value: object, walk: Walk): Record<string, Json> {
  const out: Record<string, Json> = {};
  for (const key of Object.keys(value)) {
    const field = copyPart(() => (value as Record<string, unknown>)[key], walk);
    if (field !== undefined) setOwn(out, key, field);
  }
  return out;
}

/** A getter, a proxy or a `toJSON` that throws costs its own field only. */
function copyPart(part: () => unknown, walk: Walk): Json | undefined {
  try {
    return copy(part(), walk);
  } catch (error) {
    return inexact(walk, `[unreadable: ${safeReason(error)}]`);
  }
}

function safeReason(error: unknown): string {
  try {
    return typeof error === "object" && error !== null ? errorText(error) : String(error);
  } catch {
    return "no reason";
  }
}
