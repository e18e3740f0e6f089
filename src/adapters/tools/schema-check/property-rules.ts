import { isJsonObject, type Json, type JsonObject } from "../../../domain/json.js";
import { listOf } from "../../../domain/json-schema.js";
import { safeLabel } from "../../../domain/safe-label.js";
import { expectation } from "./expectation.js";
import { sizeFaults } from "./scalar-faults.js";
import { type Check, pointer, type Visit } from "./visit.js";

/** What the keywords say of the properties of an object: its own, never those it inherits. */
export function propertyRules(schema: JsonObject, visit: Visit, check: Check): void {
  const value = visit.value as JsonObject;
  const keys = Object.keys(value);
  for (const fault of sizeFaults(schema, keys.length, "Properties")) visit.say(fault);
  for (const key of listOf(schema["required"])) {
    if (typeof key !== "string" || Object.hasOwn(value, key)) continue;
    const part = declared(schema["properties"], key);
    visit.say(() => `required: ${expectation(check.reading, part)}`, pointer(visit.path, key));
  }
  const schemasOf = propertySchemas(schema, check);
  const { propertyNames } = schema;
  for (const key of keys) {
    if (visit.isFull || check.reading.exhausted) return;
    for (const part of schemasOf(key)) {
      visit.seen?.add(key);
      visit.inside(check, part, key, value[key] as Json);
    }
    if (propertyNames !== undefined && !check.fits(propertyNames, key, visit.depth + 1))
      visit.say("another name", pointer(visit.path, key));
    for (const keyword of DEPENDENT) {
      const wanted = declared(schema[keyword], key);
      if (wanted !== undefined) dependentRule(wanted, key, visit, check);
    }
  }
}

function declared(byName: Json | undefined, key: string): Json | undefined {
  return isJsonObject(byName) && Object.hasOwn(byName, key) ? byName[key] : undefined;
}

/** The schemas a property must fit: the declared one and those of patterns, else the one for all others. */
function propertySchemas(schema: JsonObject, check: Check): (key: string) => readonly Json[] {
  const { properties, patternProperties, additionalProperties } = schema;
  const byPattern = isJsonObject(patternProperties) ? Object.entries(patternProperties) : [];
  return (key) => {
    const own = declared(properties, key);
    const found = own === undefined ? [] : [own];
    let unsure = false;
    for (const [pattern, part] of byPattern) {
      const matches = check.patterns.matches(pattern, key);
      if (matches === true) found.push(part);
      unsure ||= matches === undefined;
    }
    return found.length > 0 || unsure || additionalProperties === undefined ? found : [additionalProperties];
  };
}

const DEPENDENT = ["dependentRequired", "dependentSchemas", "dependencies"] as const;

function dependentRule(wanted: Json, key: string, visit: Visit, check: Check): void {
  if (!Array.isArray(wanted)) return visit.beside(check, wanted);
  for (const other of listOf(wanted)) {
    if (typeof other !== "string" || Object.hasOwn(visit.value as JsonObject, other)) continue;
    visit.say(() => `required with ${safeLabel(key)}`, pointer(visit.path, other));
  }
}
