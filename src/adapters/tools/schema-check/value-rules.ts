import { type Json, type JsonObject, sameJson } from "../../../domain/json.js";
import { safeLabel } from "../../../domain/safe-label.js";
import { numberFaults, stringFaults, typeFault } from "./scalar-faults.js";
import { oneOf } from "./expectation.js";
import type { Check, Visit } from "./visit.js";

/** What the keywords say of the value as a whole. */
export function valueRules(schema: JsonObject, visit: Visit, check: Check): void {
  const { value } = visit;
  const wrong = typeFault(schema["type"], value);
  if (wrong !== undefined) return visit.say(wrong);
  const { enum: members, const: constant, pattern } = schema;
  if (Array.isArray(members) && !isAmong(members, value, check)) visit.say(() => oneOf(members));
  if (constant !== undefined && !sameJson(constant, value)) visit.say(() => oneOf([constant]));
  if (typeof value === "number") for (const fault of numberFaults(schema, value)) visit.say(fault);
  if (typeof value === "string") {
    for (const fault of stringFaults(schema, value)) visit.say(fault);
    if (typeof pattern === "string" && !check.patterns.test(pattern, value))
      visit.say(() => `text like ${safeLabel(pattern)}`);
  }
  const more = check.more(schema, value);
  if (more !== undefined) visit.say(more);
}

/** Objects and lists are compared one by one, which counts. */
function isAmong(members: readonly Json[], value: Json, check: Check): boolean {
  if (typeof value !== "object" || value === null) return members.includes(value);
  check.reading.spend(members.length);
  return !check.reading.exhausted && members.some((member) => sameJson(member, value));
}
