/** True for what JSON can hold without loss, fields that are undefined aside. */
export function isJson(value: unknown): boolean {
  if (value === null || typeof value === "string" || typeof value === "boolean") return true;
  if (typeof value === "number") return Number.isFinite(value);
  if (Array.isArray(value)) return value.every(isJson);
  if (typeof value !== "object") return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  const plain = prototype === null || Object.getPrototypeOf(prototype) === null;
  return plain && Object.values(value).every((field) => field === undefined || isJson(field));
}

/** The value as JSON tells it: without fields that are undefined, `null` for nothing. */
export function asJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value) ?? "null");
}
