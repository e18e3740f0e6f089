import { CutOff } from "../agent/cut-off.js";
import { copyJson, setOwn } from "../domain/adopt.js";
import { thrownLabel } from "../domain/describe-thrown.js";
import {
  AgentError,
  type AgentErrorKind,
  CommandError,
  type CommandErrorKind,
  EnneadError,
  MemoryError,
  type MemoryErrorKind,
  ModelError,
  type ModelErrorDetails,
  type ModelErrorKind,
  SessionError,
  type SessionErrorKind,
  ToolError,
  type ToolErrorKind,
} from "../domain/errors.js";
import { isJsonObject, type Json, type JsonObject } from "../domain/json.js";

const CAUSES = 4;

/** What is kept of a model's error beside kind and text. */
const MODEL_DETAILS = [
  "status",
  "retryAfterMs",
  "provider",
  "requestId",
  "usage",
  "partial",
  "toolName",
  "retryable",
] as const satisfies readonly (keyof ModelErrorDetails)[];

/** Anything thrown as JSON: of a typed error all it tells, of any other name and message, of what is no error its JSON, where it has one. */
export function errorToJson(error: unknown, causes = CAUSES): JsonObject {
  if (error instanceof CutOff) return { type: "CutOff", why: error.why };
  if (!(error instanceof Error)) return { type: "thrown", value: jsonOr(error) };
  const cause = error.cause === undefined || causes === 0 ? undefined : errorToJson(error.cause, causes - 1);
  const told = { ...(cause === undefined ? undefined : { cause }) };
  if (!EnneadError.is(error)) return { type: "Error", name: error.name, message: error.message, ...told };
  const message = error.message.replace(`${error.name}(${error.kind}): `, "");
  return { type: error.name, kind: error.kind, message, ...detailsOf(error), ...told };
}

/** The error again, of the same class. */
export function errorFromJson(json: JsonObject): unknown {
  const { type, kind, message, value, why, name } = json;
  if (type === "thrown") return value;
  if (type === "CutOff") return new CutOff(why as CutOff["why"]);
  const cause = isJsonObject(json["cause"]) ? errorFromJson(json["cause"]) : undefined;
  const make = MAKERS[String(type)];
  if (make !== undefined) return make(String(kind), String(message), { ...json, cause });
  const error = new Error(String(message), cause === undefined ? {} : { cause });
  Object.defineProperty(error, "name", { value: String(name ?? "Error"), configurable: true, writable: true });
  return error;
}

type Details = { readonly cause: unknown; readonly limit?: Json };

const MAKERS: Readonly<Record<string, (kind: string, message: string, details: Details) => EnneadError>> = {
  ModelError: (kind, message, { cause, ...details }) =>
    new ModelError(kind as ModelErrorKind, message, { ...details, cause }),
  ToolError: (kind, message, { cause }) => new ToolError(kind as ToolErrorKind, message, { cause }),
  SessionError: (kind, message, { cause }) => new SessionError(kind as SessionErrorKind, message, { cause }),
  MemoryError: (kind, message, { cause }) => new MemoryError(kind as MemoryErrorKind, message, { cause }),
  CommandError: (kind, message, { cause }) => new CommandError(kind as CommandErrorKind, message, { cause }),
  AgentError: (kind, message, { cause, limit }) =>
    new AgentError(kind as AgentErrorKind, message, { cause, ...(typeof limit === "string" ? { limit } : {}) }),
};

function detailsOf(error: EnneadError): JsonObject {
  const names: readonly string[] = error instanceof ModelError ? MODEL_DETAILS : ["limit"];
  const told = names.map((name): [string, unknown] => [name, Reflect.get(error, name)]);
  return copyJson(Object.fromEntries(told), "error") as JsonObject;
}

function jsonOr(value: unknown): Json {
  try {
    return copyJson(value ?? null, "thrown value");
  } catch {
    return thrownLabel(value);
  }
}

const TAG = "$ennead";

/** JSON text of a value in which errors may stand at any depth. Throws a `TypeError` naming `place` and path for what JSON cannot hold. */
export function textOfValue(value: unknown, place: string): string {
  copyJson(value ?? null, place);
  return JSON.stringify(value ?? null, function (this: Record<string, unknown>, key, told: unknown) {
    const own = this[key];
    if (own instanceof Error) return { [TAG]: "error", error: errorToJson(own) };
    // What happens to look like our own mark is told as a list of fields.
    return isJsonObject(told) && Object.hasOwn(told, TAG) ? { [TAG]: "fields", fields: Object.entries(told) } : told;
  });
}

/** The value again, errors included. */
export function valueOfText(text: string): unknown {
  return JSON.parse(text, (_, value: unknown) => {
    if (!isJsonObject(value)) return value;
    if (value[TAG] === "error") return errorFromJson(value["error"] as JsonObject);
    if (value[TAG] !== "fields") return value;
    const object: Record<string, unknown> = {};
    for (const [key, field] of value["fields"] as readonly [string, unknown][]) setOwn(object, key, field);
    return object;
  });
}
