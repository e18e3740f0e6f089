import { ToolError } from "../../domain/errors.js";
import type { Json } from "../../domain/json.js";
import { plainJson } from "../../domain/plain-json.js";
import { safeLabel, safeLine } from "../../domain/safe-label.js";
import { errorResult } from "../../domain/tool.js";
import { isToolResult } from "../../domain/tool-result.js";
import type { Awaitable } from "../../ports/awaitable.js";
import type { ToolReturn, ValidationIssue } from "../../ports/tool-provider.js";

/** What a schema makes of a value, or what is wrong with it. */
export type OutputVerdict =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly issues: readonly ValidationIssue[] };

export type OutputCheck = (value: Json) => Awaitable<OutputVerdict>;

/**
 * What a tool returned, as its output schema accepts it. Of a whole result `structured` is checked where there is any; error results pass. What does
 * not fit becomes an error result with the `details` of the whole one, or rejects with `ToolError("invocation-failed")`, naming places and no
 * values: the tool has run then.
 */
export async function checkedOutput(name: string, returned: ToolReturn, check: OutputCheck): Promise<ToolReturn> {
  const json = readable(returned);
  // What cannot be read becomes an error result by itself.
  if (json === undefined) return returned;
  if (!isToolResult(json)) return (await accepted(name, json, check)) as ToolReturn;
  const { structured, details } = json;
  if (json["isError"] === true || structured === undefined) return returned;
  try {
    return { ...json, structured: (await accepted(name, structured, check)) as Json };
  } catch (error) {
    if (details === undefined || !(error instanceof ToolError)) throw error;
    return errorResult(error.message, { details });
  }
}

function readable(returned: ToolReturn): Json | undefined {
  try {
    if (returned instanceof Error) return undefined;
    return plainJson(returned).json;
  } catch {
    return undefined;
  }
}

async function accepted(name: string, json: Json, check: OutputCheck): Promise<unknown> {
  const verdict = await check(json);
  if (verdict.ok) return verdict.value;
  const faults = verdict.issues
    .slice(0, 4)
    .map(({ path, expected }) => `${safeLabel(path === "" ? "/" : path)}: ${safeLine(expected, 200)}`);
  const text = `the result of ${safeLabel(name)} is not what its output schema says: ${faults.join("; ")}`;
  throw new ToolError("invocation-failed", text);
}
