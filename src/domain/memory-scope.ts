import { isJsonObject, type JsonObject } from "./json.js";

/**
 * The metadata that belongs to whom something is remembered for, as an application gave it; nothing for what says nothing. A field without
 * a value would be stored as no field at all, and its entries would be everybody's.
 */
export function givenScope(scope: unknown): JsonObject | undefined {
  if (!isJsonObject(scope)) return undefined;
  const values = Object.values<unknown>(scope);
  if (values.length === 0 || values.some((value) => value === undefined || value === null || value === ""))
    return undefined;
  return scope;
}
