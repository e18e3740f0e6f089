import { CompositionError } from "./errors.js";
import { isJsonObject } from "./json.js";
import { safeLabel } from "./safe-label.js";

/** Throws `CompositionError("invalid-config")` for options that are no object, or that hold a field nobody reads: most often a misspelt one. */
export function checkFields(what: string, options: unknown, known: readonly string[]): void {
  if (!isJsonObject(options)) throw new CompositionError("invalid-config", `${what} needs an object of options`);
  for (const field of Object.keys(options)) {
    if (known.includes(field)) continue;
    const close = known.find((name) => isClose(name.toLowerCase(), field.toLowerCase()));
    const hint = close === undefined ? listOf(known) : `; did you mean ${close}?`;
    throw new CompositionError("invalid-config", `${what} has no option ${safeLabel(field)}${hint}`);
  }
}

/** The same in other letters, or with one letter more or less. */
function isClose(name: string, field: string): boolean {
  return name === field || isOneMore(name, field) || isOneMore(field, name);
}

function isOneMore(longer: string, shorter: string): boolean {
  return [...longer].some((_, at) => longer.slice(0, at) + longer.slice(at + 1) === shorter);
}

/** A longer list helps nobody to find a word. */
function listOf(known: readonly string[]): string {
  return known.length > 24 ? "" : `; it has ${known.join(", ")}`;
}
