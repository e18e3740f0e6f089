import { adopt, isAdopted } from "../../domain/adopt.js";
import { Defect } from "../../domain/errors.js";

/**
 * A deep-frozen copy for a record; what is frozen by the framework already, and errors, are kept as they are, and lists are copied
 * so that adopted items keep their identity. A value that is no JSON is a `Defect`: nothing else may cross a port.
 */
export function frozen<T>(value: T, place: string): T;
export function frozen(value: unknown, place: string): unknown {
  if (typeof value !== "object" || value === null || value instanceof Error || isAdopted(value)) return value;
  if (Array.isArray(value)) return Object.freeze(value.map((item: unknown) => frozen(item, place)));
  try {
    return adopt(value, place);
  } catch (error) {
    throw new Defect(`${place} holds what JSON cannot`, { cause: error });
  }
}
