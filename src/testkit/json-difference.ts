import { safeLabel } from "../domain/safe-label.js";

const SHOWN = 24;

/** The first place where two JSON values differ, as one line that names its path: what is there, and what should be. Undefined where they agree. */
export function jsonDifference(expected: unknown, actual: unknown, path = ""): string | undefined {
  if (Object.is(expected, actual)) return undefined;
  const place = path === "" ? "it" : path;
  if (typeof expected === "string" && typeof actual === "string") return `${place} ${textDifference(expected, actual)}`;
  if (!isObject(expected) || !isObject(actual) || Array.isArray(expected) !== Array.isArray(actual))
    return actual === undefined
      ? `${place} is missing: it was ${show(expected)}`
      : `${place} is ${show(actual)}, not ${show(expected)}`;
  if (Array.isArray(expected) && Array.isArray(actual)) return listDifference(expected, actual, path);
  for (const key of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
    const inner = path === "" ? safeLabel(key) : `${path}.${safeLabel(key)}`;
    if (own(expected, key) === undefined && own(actual, key) !== undefined)
      return `${inner} is new: ${show(own(actual, key))}`;
    const difference = jsonDifference(own(expected, key), own(actual, key), inner);
    if (difference !== undefined) return difference;
  }
  return undefined;
}

function listDifference(expected: readonly unknown[], actual: readonly unknown[], path: string): string | undefined {
  for (let index = 0; index < Math.min(expected.length, actual.length); index++) {
    const difference = jsonDifference(expected[index], actual[index], `${path}[${index}]`);
    if (difference !== undefined) return difference;
  }
  if (expected.length === actual.length) return undefined;
  const at = `${path}[${Math.min(expected.length, actual.length)}]`;
  const counts = `${actual.length} items, not ${expected.length}`;
  return expected.length > actual.length
    ? `${at} is missing (${counts}): it was ${show(expected[actual.length])}`
    : `${at} is one too many (${counts}): ${show(actual[expected.length])}`;
}

/** Long texts are shown around the first character that differs. */
function textDifference(expected: string, actual: string): string {
  if (expected.length <= SHOWN && actual.length <= SHOWN) return `is ${show(actual)}, not ${show(expected)}`;
  let at = 0;
  while (expected[at] === actual[at]) at += 1;
  const around = (text: string): string => {
    const from = Math.max(0, at - SHOWN / 2);
    return `${from > 0 ? "…" : ""}${safeLabel(text.slice(from, at + SHOWN))}${at + SHOWN < text.length ? "…" : ""}`;
  };
  return `differs at character ${at}: it is "${around(actual)}", not "${around(expected)}"`;
}

function own(object: Record<string, unknown>, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function show(value: unknown): string {
  return safeLabel(JSON.stringify(value) ?? "absent");
}
