import type { TSchema } from "@sinclair/typebox";
import { Errors, type ValueError, ValueErrorType } from "@sinclair/typebox/errors";
import { Check } from "@sinclair/typebox/value";
import { isJsonObject, type Json, type JsonObject } from "../../domain/json.js";
import type { Validation, ValidationIssue } from "../../ports/tool-provider.js";
import type { OutputVerdict } from "./checked-output.js";
import { keywordIssues } from "./keyword-schema.js";

const MAX_ISSUES = 16;
const MAX_BRANCHES = 24;

/** Checks arguments against a TypeBox schema; issues are made on failure only, at most 16, one a place. */
export function checkArguments(schema: TSchema, args: JsonObject): Validation {
  if (Check(schema, args)) return { ok: true, value: args };
  return { ok: false, issues: issuesOf(Errors(schema, args)) };
}

/** The same for any value. */
export function checkValue(schema: TSchema, value: Json): OutputVerdict {
  if (Check(schema, value)) return { ok: true, value };
  return { ok: false, issues: issuesOf(Errors(schema, value)) };
}

function issuesOf(errors: Iterable<ValueError>): readonly ValidationIssue[] {
  const byPath = new Map<string, ValidationIssue>();
  for (const error of errors) {
    // A missing property is reported twice; the first says more.
    for (const issue of issuesOfOne(error)) if (!byPath.has(issue.path)) byPath.set(issue.path, issue);
    if (byPath.size >= MAX_ISSUES) break;
  }
  return [...byPath.values()].slice(0, MAX_ISSUES);
}

function issuesOfOne(error: ValueError): readonly ValidationIssue[] {
  const { path, schema, type, value } = error;
  if (type === ValueErrorType.Kind) {
    const issues = keywordIssues(schema, value);
    if (issues.length > 0) return issues.map((issue) => ({ path: path + issue.path, expected: issue.expected }));
  }
  if (type === ValueErrorType.ObjectRequiredProperty) return [{ path, expected: `required: ${expectation(schema)}` }];
  if (type !== ValueErrorType.Union) return [{ path, expected: error.message.replace(/^Expected /, "") }];
  return nearestBranch(error) ?? [{ path, expected: expectation(schema) }];
}

/** What is wrong inside the branch of a union that comes nearest; nothing when the value is of another type altogether. */
function nearestBranch({ path, value, errors }: ValueError): readonly ValidationIssue[] | undefined {
  if (!isJsonObject(value) && !Array.isArray(value)) return undefined;
  const branches = errors
    .slice(0, MAX_BRANCHES)
    .map((branch) => issuesOf(branch))
    .filter((issues) => issues.every((issue) => issue.path !== path))
    .sort((a, b) => a.length - b.length);
  return branches[0];
}

/** A schema in a few words. */
function expectation(schema: { readonly [keyword: string]: unknown }): string {
  if (schema["const"] !== undefined) return JSON.stringify(schema["const"]);
  const branches: unknown = schema["anyOf"];
  if (Array.isArray(branches)) {
    const words = branches.slice(0, MAX_BRANCHES).map((branch) => expectation(isJsonObject(branch) ? branch : {}));
    return [...new Set(words)].join(" or ");
  }
  if (isJsonObject(schema["keywords"])) return expectation(schema["keywords"]);
  return typeof schema["type"] === "string" ? schema["type"] : "another value";
}
