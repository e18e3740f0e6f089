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
