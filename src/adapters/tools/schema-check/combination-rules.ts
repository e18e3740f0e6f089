import type { Json, JsonObject } from "../../../domain/json.js";
import { listOf } from "../../../domain/json-schema.js";
import type { Check, Visit } from "./visit.js";

/** Branches of a union whose faults are told. */
const MAX_BRANCHES = 24;
const MAX_WORDS = 12;

/** What the keywords say that apply further schemas to the same value. */
export function combinationRules(schema: JsonObject, visit: Visit, check: Check): void {
  // Its members that are objects are conjuncts of their own.
  if (listOf(schema["allOf"]).includes(false)) visit.say("nothing here");
  const { anyOf, oneOf, not } = schema;
  if (Array.isArray(anyOf) && fitting(anyOf, visit, check, 1) === 0) sayNearest(anyOf, visit, check);
  if (Array.isArray(oneOf)) {
    const count = fitting(oneOf, visit, check, 2);
    if (count === 0) sayNearest(oneOf, visit, check);
    if (count > 1) visit.say("a value that fits one of the schemas only");
  }
  if (not !== undefined && check.fits(not, visit.value, visit.depth + 1))
    visit.say("a value that the schema does not rule out");
  if (schema["if"] === undefined) return;
  const next = schema[check.fits(schema["if"], visit.value, visit.depth + 1, visit.seen) ? "then" : "else"];
  if (next !== undefined) visit.beside(check, next);
}

/** How many branches fit; counts on only to see what they look at. */
function fitting(branches: readonly Json[], { value, depth, seen }: Visit, check: Check, enough: number): number {
  let count = 0;
  for (const branch of branches) {
    if (count >= enough && seen === undefined) break;
    if (check.fits(branch, value, depth + 1, seen)) count += 1;
  }
  return count;
}

/** What is wrong inside the branch that comes nearest; one issue for all where none is of the value's type. */
function sayNearest(branches: readonly Json[], visit: Visit, check: Check): void {
  if (visit.isQuick) return visit.say("");
  const { value, path, depth } = visit;
  const all = branches.slice(0, MAX_BRANCHES).map((branch) => check.issues(branch, value, { path, depth: depth + 1 }));
  const [nearest] = all
    .filter((issues) => issues.every((issue) => issue.path !== path))
    .sort((a, b) => a.length - b.length);
  for (const issue of nearest ?? []) visit.say(issue.expected, issue.path);
  if (nearest !== undefined) return;
  const words = new Set(all.flatMap((issues) => issues.slice(0, 1).map(({ expected }) => expected)));
  visit.say(words.size === 0 ? "another value" : [...words].slice(0, MAX_WORDS).join(" or "));
}
