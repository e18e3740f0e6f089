import { safeLabel } from "../domain/safe-label.js";

/** Where `actual` lacks or contradicts what `expected` names, as text; undefined when it has all of it. A string names the type only. */
export function eventDifference(expected: string | object, actual: object): string | undefined {
  return lacking(typeof expected === "string" ? { type: expected } : expected, actual, "");
}

function lacking(expected: unknown, actual: unknown, path: string): string | undefined {
  if (Object.is(expected, actual)) return undefined;
  if (!isObject(expected) || !isObject(actual) || Array.isArray(expected) !== Array.isArray(actual)) {
    return `${path === "" ? "" : `${path} `}is ${show(actual)}, not ${show(expected)}`;
  }
  if (Array.isArray(expected) && Array.isArray(actual) && expected.length !== actual.length) {
    return `${path} has ${actual.length} items, not ${expected.length}`;
  }
  for (const key of Object.keys(expected)) {
    const own = Object.hasOwn(actual, key) ? actual[key] : undefined;
    const inner = lacking(expected[key], own, path === "" ? key : `${path}.${key}`);
    if (inner !== undefined) return inner;
  }
  return undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function show(value: unknown): string {
  return safeLabel(JSON.stringify(value) ?? "absent");
}
