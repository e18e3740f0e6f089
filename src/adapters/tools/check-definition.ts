import { CompositionError } from "../../domain/errors.js";
import { isJsonObject, type JsonObject } from "../../domain/json.js";
import { checkFields } from "../../domain/known-fields.js";
import { isTimeLimit } from "../../domain/limits.js";
import { safeLabel } from "../../domain/safe-label.js";
import type { ToolAnnotations } from "../../domain/tool.js";
import type { ToolDescription, ToolFunctions } from "./tool-functions.js";

type Rule = readonly [fits: (value: unknown) => boolean, what: string];

const TEXT: Rule = [(value) => typeof value === "string", "text"];
const FUNCTION: Rule = [(value) => typeof value === "function", "a function"];

const DESCRIPTION: { readonly [K in keyof Required<ToolDescription>]: Rule } = {
  name: [(value) => typeof value === "string" && value !== "", "a text of at least one character"],
  label: TEXT,
  description: TEXT,
  executionMode: [(value) => value === "parallel" || value === "sequential", '"parallel" or "sequential"'],
  annotations: [isJsonObject, "an object of hints"],
  metadata: [isJsonObject, "an object"],
  source: TEXT,
  // Endless is none at all, and JSON does not hold it.
  timeoutMs: [(value) => isTimeLimit(value) && Number.isFinite(value), "a number above 0"],
};

const FUNCTIONS: { readonly [K in keyof Required<ToolFunctions<never, never>>]: Rule } = {
  prepareArguments: FUNCTION,
  conflictKeys: FUNCTION,
  beforeExecute: FUNCTION,
  afterExecute: FUNCTION,
  execute: FUNCTION,
};

const RULES: Readonly<Record<string, Rule>> = { ...DESCRIPTION, ...FUNCTIONS };

const HINTS: { readonly [K in keyof Required<ToolAnnotations>]: Rule } = {
  title: TEXT,
  readOnlyHint: [isBoolean, "true or false"],
  destructiveHint: [isBoolean, "true or false"],
  idempotentHint: [isBoolean, "true or false"],
  openWorldHint: [isBoolean, "true or false"],
};

/** What a definition must have whoever makes a tool of it. */
export type CheckedDefinition = { readonly name: string };

/**
 * Throws `CompositionError("invalid-config")`, naming maker, tool and field, for a definition that can be no tool whatever its schemas are. `schemas` are
 * the fields that only this maker has; `executes` is false for one that gives the function itself.
 */
export function checkDefinition(
  maker: string,
  definition: unknown,
  schemas: readonly string[],
  { executes = true }: { readonly executes?: boolean } = {},
): asserts definition is CheckedDefinition {
  if (!isJsonObject(definition)) throw invalid(maker, "needs a definition");
  const name: unknown = definition["name"];
  const place = typeof name === "string" && name !== "" ? `${maker} ${safeLabel(name)}` : maker;
  const functions = executes ? Object.keys(FUNCTIONS) : [];
  checkFields(place, definition, [...Object.keys(DESCRIPTION), ...schemas, ...functions]);
  for (const field of ["name", "description", ...(executes ? ["execute"] : [])])
    if (definition[field] === undefined) throw invalid(place, `has no ${field}`);
  checkValues(place, definition, RULES);
  const { annotations = {} } = definition;
  const hints = `the annotations of ${place}`;
  checkFields(hints, annotations, Object.keys(HINTS));
  checkValues(hints, annotations, HINTS);
}

function checkValues(place: string, fields: unknown, rules: Readonly<Record<string, Rule>>): void {
  for (const [field, value] of Object.entries<unknown>(fields as JsonObject)) {
    const rule = Object.hasOwn(rules, field) ? rules[field] : undefined;
    if (value !== undefined && rule?.[0](value) === false)
      throw invalid(place, `has a ${field} that is not ${rule[1]}`);
  }
}

function isBoolean(value: unknown): boolean {
  return typeof value === "boolean";
}

function invalid(place: string, what: string): CompositionError {
  return new CompositionError("invalid-config", `${place} ${what}`);
}
