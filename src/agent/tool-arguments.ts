import { adopt, copyJson } from "../domain/adopt.js";
import { applyDefaults, dropNulls } from "../domain/arguments.js";
import { coerceArguments } from "../domain/coerce-arguments.js";
import { describeThrown } from "../domain/describe-thrown.js";
import { Defect, ToolError } from "../domain/errors.js";
import { isJsonObject, type JsonObject } from "../domain/json.js";
import { safeLabel } from "../domain/safe-label.js";
import type { ToolCall } from "../domain/tool.js";
import type { ValidationIssue } from "../ports/tool-provider.js";
import { atOnce } from "./at-once.js";
import type { ToolEntry } from "./tool-table.js";

/** Why a call cannot run: a typed error that quotes a label, and the whole text for the model. */
export type Refusal = { readonly error: ToolError; readonly text: string };

/** Arguments fit to run with, frozen, or why not. */
export type CheckedArguments = { readonly ok: true; readonly value: JsonObject } | ({ readonly ok: false } & Refusal);

/** Prepares, mends and validates the arguments of a call, in the order of U1. */
export function checkArguments(
  entry: ToolEntry,
  call: ToolCall,
  options: { readonly prepare: boolean; readonly coerce: boolean },
): CheckedArguments {
  if (call.malformed !== undefined)
    return invalid(call, `they were not valid JSON: ${safeLabel(call.malformed.reason)}`);
  try {
    const { provider, def } = entry;
    let args = call.arguments;
    if (options.prepare && provider.prepareArguments !== undefined)
      args = atOnce("prepareArguments", provider.prepareArguments(def.name, copyJson(args, "arguments") as JsonObject));
    // Ports and hooks are bound by types, and not everybody's is; a date would be an object that becomes text.
    if (isJsonObject(args)) args = adopt(args, "arguments");
    if (!isJsonObject(args)) return invalid(call, "/: object");
    if (options.coerce) args = coerceArguments(def.inputSchema, args);
    args = applyDefaults(def.inputSchema, dropNulls(def.inputSchema, args));
    if (provider.validate !== undefined) {
      const validation = atOnce("validate", provider.validate(def.name, args));
      if (!validation.ok) return invalid(call, describeIssues(validation.issues));
      args = validation.value;
    }
    return { ok: true, value: args === call.arguments ? args : adopt(args, "arguments") };
  } catch (error) {
    if (Defect.is(error)) throw error;
    return invalid(call, describeThrown(error), error);
  }
}

function invalid(call: ToolCall, what: string, cause?: unknown): CheckedArguments {
  const told = `the arguments for ${safeLabel(call.name)} are invalid: `;
  const error = new ToolError("invalid-arguments", told + safeLabel(what), { cause });
  return { ok: false, error, text: told + what };
}

function describeIssues(issues: readonly ValidationIssue[]): string {
  return issues
    .slice(0, 10)
    .map(({ path, expected }) => `${path === "" ? "/" : path}: ${expected}`)
    .join("; ");
}
