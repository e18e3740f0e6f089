import type { Json, JsonObject } from "../../../domain/json.js";

/** What the value should be, when it is of none of the types; unknown types fit. */
export function typeFault(type: Json | undefined, value: Json): string | undefined {
  const types = (Array.isArray(type) ? (type as readonly Json[]) : [type]).filter((name) => typeof name === "string");
  if (types.length === 0 || types.some((name) => isOf(name, value))) return undefined;
  return types.join(" or ");
}

function isOf(type: string, value: Json): boolean {
  switch (type) {
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    case "array":
      return Array.isArray(value);
    case "integer":
      return Number.isInteger(value);
    case "null":
      return value === null;
    case "string":
    case "number":
    case "boolean":
      return typeof value === type;
    default:
      return true;
  }
}

/** What is wrong with a number; the bounds are those of all drafts. */
export function numberFaults(schema: JsonObject, value: number): readonly string[] {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  const faults: string[] = [];
  const over = (bound: Json | undefined, strict: boolean): bound is number =>
    typeof bound === "number" && (strict ? value <= bound : value < bound);
  const under = (bound: Json | undefined, strict: boolean): bound is number =>
    typeof bound === "number" && (strict ? value >= bound : value > bound);
  // Draft 4 has a flag beside the bound.
  if (over(minimum, exclusiveMinimum === true)) faults.push(`a number from ${minimum} on`);
  if (under(maximum, exclusiveMaximum === true)) faults.push(`a number up to ${maximum}`);
  if (over(exclusiveMinimum, true)) faults.push(`a number above ${exclusiveMinimum}`);
  if (under(exclusiveMaximum, true)) faults.push(`a number below ${exclusiveMaximum}`);
  if (typeof multipleOf === "number" && !isMultiple(value, multipleOf)) faults.push(`a multiple of ${multipleOf}`);
  return faults;
}

/** 0.3 is a multiple of 0.1, though no binary fraction is. */
function isMultiple(value: number, of: number): boolean {
  if (of <= 0) return true;
  const quotient = value / of;
  return Math.abs(quotient - Math.round(quotient)) <= Number.EPSILON * Math.max(1, Math.abs(quotient)) * 4;
}

/** What is wrong with the length of a text, in code points. */
export function stringFaults(schema: JsonObject, value: string): readonly string[] {
  const { minLength, maxLength } = schema;
  const faults: string[] = [];
  if (typeof minLength === "number" && shorter(value, minLength)) faults.push(`at least ${minLength} characters`);
  if (typeof maxLength === "number" && !shorter(value, maxLength + 1)) faults.push(`at most ${maxLength} characters`);
  return faults;
}

/** Counts only where the number of units does not tell. */
function shorter(text: string, than: number): boolean {
  if (text.length < than) return true;
  if (text.length >= than * 2) return false;
  let points = 0;
  for (const _ of text) {
    points += 1;
    if (points >= than) return false;
  }
  return true;
}

/** What is wrong with the number of items or properties. */
export function sizeFaults(schema: JsonObject, size: number, what: "Items" | "Properties"): string[] {
  const [min, max] = [schema[`min${what}`], schema[`max${what}`]];
  const faults: string[] = [];
  if (typeof min === "number" && size < min) faults.push(`at least ${min} ${what.toLowerCase()}`);
  if (typeof max === "number" && size > max) faults.push(`at most ${max} ${what.toLowerCase()}`);
  return faults;
}
