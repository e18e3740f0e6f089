import { errorText, isError, plainJson } from "./plain-json.js";
import { safeLabel } from "./safe-label.js";

/** Text for any thrown value, own words of errors included; for results the model reads, not for logs. Never throws, never empty. */
export function describeThrown(value: unknown): string {
  if (value === undefined) return "undefined";
  try {
    if (typeof value === "object" && value !== null && isError(value)) return errorText(value);
    const { json } = plainJson(value);
    return typeof json === "string" && json !== "" ? json : JSON.stringify(json);
  } catch {
    return "a value that cannot be read";
  }
}

/** The same as one label, for the message of a typed error whose cause is the value. */
export function thrownLabel(value: unknown): string {
  return safeLabel(describeThrown(value));
}
