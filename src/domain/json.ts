/** A value JSON can hold without loss. Cyclic values and class instances are not `Json`, whatever the compiler accepts. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject;

/** A JSON object; own keys only, `__proto__` included. */
export type JsonObject = { readonly [key: string]: Json };

/** Like `Json`, owned by the receiver and free to change. */
export type MutableJson = string | number | boolean | null | MutableJson[] | { [key: string]: MutableJson };

/** True for what JSON text calls an object: neither an array nor null. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** True for an object whose own fields are all there is of it: no instance of a class, also where it comes from another realm. */
export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** True when both hold the same JSON; the order of an object's keys does not matter, that of an array's items does. */
export function sameJson(a: Json, b: Json): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [left, right] = [a as JsonObject, b as JsonObject];
  const keys = keysOf(left);
  if (keys.length !== keysOf(right).length) return false;
  return keys.every((key) => Object.hasOwn(right, key) && sameJson(left[key] as Json, right[key] as Json));
}

/** A field that is undefined is none. */
function keysOf(value: { readonly [key: string]: Json | undefined }): readonly string[] {
  const keys = Object.keys(value);
  return keys.some((key) => value[key] === undefined) ? keys.filter((key) => value[key] !== undefined) : keys;
}

/** One text for all that is the same JSON, and another for all else; not JSON text of the value itself. Memories keep it, so it stays as it is. */
export function jsonKey(value: Json): string {
  return JSON.stringify(ordered(value));
}

/** Objects as lists of their fields: `__proto__` would get lost in a copy. */
function ordered(value: Json): Json {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item: Json) => ordered(item));
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return { fields: fields.map(([name, field]) => [name, ordered(field)]) };
}
