import { isJsonObject, type Json, type JsonObject } from "../../../domain/json.js";
import { listOf, type SchemaReading } from "../../../domain/json-schema.js";
import { safeLabel } from "../../../domain/safe-label.js";

const MAX_MEMBERS = 12;
const MAX_LEVELS = 3;

/** One of these values, in words. */
export function oneOf(members: readonly Json[]): string {
  const words = members.slice(0, MAX_MEMBERS).map((member) => safeLabel(JSON.stringify(member)));
  return members.length > words.length ? `${words.join(" or ")} or others` : words.join(" or ");
}

/** What a schema asks for, in a few words. */
export function expectation(reading: SchemaReading, schema: unknown, level = 0): string {
  const parts = reading.conjuncts(schema);
  const found = parts.map((part) => expectationOf(reading, part, level)).find((words) => words !== undefined);
  return found ?? "a value";
}

function expectationOf(reading: SchemaReading, part: JsonObject, level: number): string | undefined {
  const { const: constant, enum: members, type } = part;
  if (constant !== undefined) return oneOf([constant]);
  if (Array.isArray(members)) return oneOf(members);
  const branches = [...listOf(part["anyOf"]), ...listOf(part["oneOf"])].filter(isJsonObject).slice(0, MAX_MEMBERS);
  if (branches.length > 0 && level < MAX_LEVELS) {
    return [...new Set(branches.map((branch) => expectation(reading, branch, level + 1)))].join(" or ");
  }
  if (Array.isArray(type)) return safeLabel(type.join(" or "));
  return typeof type === "string" ? safeLabel(type) : undefined;
}
