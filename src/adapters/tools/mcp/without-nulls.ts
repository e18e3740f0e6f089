import { isJsonObject } from "../../../domain/json.js";

/** The fields that are not null, of the object itself and of objects in it down to so many `levels`: what is written by hand says null for nothing. */
export function withoutNulls(value: object, levels: number): Record<string, unknown> {
  const told = Object.entries<unknown>({ ...value }).filter(([, field]) => field !== null);
  const deeper = (field: unknown): unknown =>
    isJsonObject(field) && levels > 1 ? withoutNulls(field, levels - 1) : field;
  return Object.fromEntries(told.map(([name, field]) => [name, deeper(field)]));
}
