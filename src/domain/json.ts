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

/** True when both hold the same JSON; the order of an object's keys does not matter, that of an array's items does. */
export function sameJson(a: Json, b: Json): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  const left = new Map<string, Json>(Object.entries(a));
  const right = Object.entries<Json>(b);
  if (Array.isArray(a) !== Array.isArray(b) || left.size !== right.length) return false;
  return right.every(([key, value]) => {
    const other = left.get(key);
    return other !== undefined && sameJson(other, value);
  });
}
