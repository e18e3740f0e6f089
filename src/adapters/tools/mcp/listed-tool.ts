import { createHash } from "node:crypto";
import { adopt } from "../../../domain/adopt.js";
import { thrownLabel } from "../../../domain/describe-thrown.js";
import { isJsonObject, type Json, type JsonObject } from "../../../domain/json.js";
import { safeLine } from "../../../domain/safe-label.js";
import type { ToolAnnotations } from "../../../domain/tool.js";
import { truncateUtf8 } from "../../../domain/truncate-utf8.js";
import { schemaFault } from "./foreign-schema.js";

/** A tool as a server lists it, without the name it is offered under. */
export type ListedTool = {
  readonly name: string;
  /** How a call of it is asked for: tools of our own stand for what a server offers beside tools. */
  readonly method: "tools/call" | "resources/list" | "resources/read";
  readonly label: string | undefined;
  readonly description: string;
  readonly inputSchema: JsonObject;
  readonly outputSchema: JsonObject | undefined;
  readonly annotations: ToolAnnotations | undefined;
  /** Of all that a model or a user is shown; the same for the same definition, whatever the order of its keys. */
  readonly fingerprint: string;
};

/** A tool, or why it is none. */
export type DecodedTool =
  | { readonly ok: true; readonly tool: ListedTool }
  | { readonly ok: false; readonly name: string; readonly reason: string };

const MAX_NAME = 512;
const MAX_DESCRIPTION_BYTES = 16 * 1024;
const MAX_LABEL = 128;

/** Takes what a server listed at its word only where it is what it should be. */
export function decodeTool(raw: unknown): DecodedTool {
  if (!isJsonObject(raw)) return { ok: false, name: "", reason: "is no object" };
  const name = raw["name"];
  if (typeof name !== "string" || name === "") return { ok: false, name: "", reason: "has no name" };
  if (name.length > MAX_NAME) return { ok: false, name, reason: `has a name longer than ${MAX_NAME} characters` };
  const { outputSchema, annotations } = raw;
  const inputSchema = ofObject(raw["inputSchema"]);
  const fault = inputFault(inputSchema) ?? outputFault(outputSchema);
  if (fault !== undefined) return { ok: false, name, reason: fault };
  try {
    return { ok: true, tool: toolOf(adopt({ ...raw, inputSchema, annotations: hints(annotations) }, "tool"), name) };
  } catch (error) {
    return { ok: false, name, reason: thrownLabel(error) };
  }
}

/**
 * Many servers leave out the type of a schema that can be nothing else, and the schema of a tool without arguments; those in languages with
 * empty lists that are null write that null.
 */
function ofObject(schema: Json | undefined): Json {
  if (schema === undefined || schema === null) return { type: "object" };
  if (!isJsonObject(schema)) return schema;
  const filled = Object.entries(schema).filter(([key, value]) => value !== null || !NULLABLE.has(key));
  return { type: "object", ...Object.fromEntries(filled) };
}

const NULLABLE: ReadonlySet<string> = new Set(["properties", "required", "$defs"]);

function inputFault(schema: Json | undefined): string | undefined {
  const fault = schemaFault(schema);
  if (fault !== undefined) return `its input schema ${fault}`;
  return isJsonObject(schema) && schema["type"] === "object" ? undefined : 'its input schema has no type "object"';
}

function outputFault(schema: Json | undefined): string | undefined {
  if (schema === undefined || schema === null) return undefined;
  const fault = schemaFault(schema);
  return fault === undefined ? undefined : `its output schema ${fault}`;
}

function toolOf(raw: JsonObject, name: string): ListedTool {
  const { title, description, inputSchema, outputSchema, annotations } = raw;
  const hinted = annotations as ToolAnnotations & JsonObject;
  const label = text(title) ?? hinted.title;
  const shown = {
    name,
    title: label,
    description: text(description),
    inputSchema,
    outputSchema: outputSchema ?? undefined,
    annotations: hinted,
  };
  return {
    name,
    method: "tools/call",
    label: line(label),
    description: truncateUtf8(text(description) ?? line(label) ?? safeLine(name, MAX_NAME), MAX_DESCRIPTION_BYTES),
    inputSchema: inputSchema as JsonObject,
    outputSchema: isJsonObject(outputSchema) ? outputSchema : undefined,
    annotations: Object.keys(hinted).length === 0 ? undefined : hinted,
    fingerprint: createHash("sha256")
      .update(canonical(shown as Json))
      .digest("hex"),
  };
}

const HINTS = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] as const;

function hints(raw: Json | undefined): JsonObject {
  if (!isJsonObject(raw)) return {};
  const found: Record<string, Json> = {};
  for (const hint of HINTS) if (typeof raw[hint] === "boolean") found[hint] = raw[hint];
  const title = line(text(raw["title"]));
  return title === undefined ? found : { ...found, title };
}

function text(value: Json | undefined): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Nothing where nothing of it can be seen. */
function line(words: string | undefined): string | undefined {
  return words === undefined ? undefined : safeLine(words, MAX_LABEL) || undefined;
}

/** JSON with the keys of objects in order; recursion is bounded by what a schema may be. */
function canonical(value: Json | undefined): string {
  if (Array.isArray(value)) return `[${(value as readonly Json[]).map(canonical).join(",")}]`;
  if (!isJsonObject(value)) return JSON.stringify(value) ?? "null";
  const keys = Object.keys(value).filter((key) => value[key] !== undefined);
  return `{${keys
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`)
    .join(",")}}`;
}
