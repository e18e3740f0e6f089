import { CompositionError } from "../../../domain/errors.js";
import { isJsonObject } from "../../../domain/json.js";
import { safeLabel } from "../../../domain/safe-label.js";

/** Headers of an option as pairs; one that is set to `undefined` is not set. Throws `CompositionError("invalid-config")` for what is no text. */
export function givenHeaders(headers: unknown): readonly (readonly [string, string])[] {
  if (headers === undefined) return [];
  if (!isJsonObject(headers)) throw new CompositionError("invalid-config", "headers are an object of names and texts");
  return Object.entries(headers as { readonly [name: string]: unknown }).flatMap(([name, value]) => {
    if (value === undefined) return [];
    if (typeof value === "string") return [[name, value] as const];
    throw new CompositionError("invalid-config", `header ${safeLabel(name)} is no text`);
  });
}
