import { CompositionError } from "./errors.js";
import { isJsonObject } from "./json.js";
import { safeLabel } from "./safe-label.js";

/** Throws `CompositionError("invalid-config")` for options that are no object, or that hold a field nobody reads: most often a misspelt one. */
export function checkFields(what: string, options: unknown, known: readonly string[]): void {
  if (!isJsonObject(options)) throw new CompositionError("invalid-config", `${what} needs an object of options`);
  for (const field of Object.keys(options)) {
    if (known.includes(field)) continue;
    const close = known.find((name) => name.toLowerCase() === field.toLowerCase());
    const hint = close === undefined ? `it has ${known.join(", ")}` : `did you mean ${close}?`;
    throw new CompositionError("invalid-config", `${what} has no option ${safeLabel(field)}; ${hint}`);
  }
}
