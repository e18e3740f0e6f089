import { isJsonObject } from "../../../domain/json.js";
import { escapePointer } from "../../../domain/json-schema.js";
import { safeLine } from "../../../domain/safe-label.js";
import type { ValidationIssue } from "../../../ports/tool-provider.js";
import type { StandardIssue } from "./standard-types.js";

const MAX_ISSUES = 16;
const MAX_TEXT = 300;
/** Values that are looked for in a message. */
const MAX_VALUES = 200;
/** A shorter text stands in many messages by chance; in quotes it is looked for all the same. */
const TELLING_LENGTH = 6;

/** A library's issues as ours: at most 16, and without the values that many libraries quote in their messages. */
export function standardIssues(issues: readonly StandardIssue[], value: unknown): readonly ValidationIssue[] {
  const first = issues
    .slice(0, MAX_ISSUES)
    .filter(isJsonObject)
    .map((issue) => ({ path: pointerOf(issue), expected: expectedOf(issue, value) }));
  return first.length > 0 ? first : [{ path: "", expected: "another value" }];
}

function pointerOf({ path = [] }: StandardIssue): string {
  const steps = [...path].map((step) => String(typeof step === "object" ? step.key : step));
  return steps.map((step) => `/${escapePointer(step)}`).join("");
}

/** Some libraries say what they expected beside their message, without what they got. */
function expectedOf(issue: StandardIssue, value: unknown): string {
  const expected: unknown = Reflect.get(issue, "expected");
  const text = typeof expected === "string" && expected !== "" ? expected : String(issue.message);
  return safeLine(withoutValues(text, value), MAX_TEXT) || "another value";
}

function withoutValues(text: string, value: unknown): string {
  let clean = text;
  for (const one of textsIn(value)) {
    for (const quote of ['"', "'", "`"]) clean = clean.replaceAll(`${quote}${one}${quote}`, "…");
    if (one.length >= TELLING_LENGTH) clean = clean.replaceAll(one, "…");
  }
  return clean;
}

/** The longest first, since one may hold another. */
function textsIn(value: unknown): readonly string[] {
  const found = new Set<string>();
  const pending: unknown[] = [value];
  while (pending.length > 0 && found.size < MAX_VALUES) {
    const one = pending.pop();
    if (typeof one === "string" && one !== "") found.add(one).add(JSON.stringify(one).slice(1, -1));
    else if (typeof one === "number" || typeof one === "bigint") found.add(String(one));
    else if (typeof one === "object" && one !== null) for (const part of Object.values(one)) pending.push(part);
  }
  return [...found].sort((a, b) => b.length - a.length);
}
