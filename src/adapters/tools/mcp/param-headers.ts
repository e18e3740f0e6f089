import { isJsonObject, type Json, type JsonObject } from "../../../domain/json.js";

/** What a name of a header may be made of. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** What a header can hold as it is: what cannot be seen at its ends gets lost on the way. */
const PLAIN = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/;
const ENCODED = /^=\?base64\?.*\?=$/;

/**
 * The headers that repeat arguments in the protocol of 2026, so that what stands in between can route by them: of each property that its schema
 * says so of, under a name that begins with `Mcp-Param-`. A server refuses a call without them.
 */
export function paramHeaders(inputSchema: JsonObject, args: JsonObject): Record<string, string> {
  const headers: Record<string, string> = {};
  const visit = (schema: JsonObject, values: JsonObject): void => {
    const { properties } = schema;
    if (!isJsonObject(properties)) return;
    for (const [name, property] of Object.entries<Json>(properties)) {
      const value = Object.hasOwn(values, name) ? values[name] : undefined;
      if (!isJsonObject(property) || value === undefined) continue;
      const header = property["x-mcp-header"];
      const text = textOf(value);
      if (typeof header === "string" && TOKEN.test(header) && text !== undefined)
        headers[`Mcp-Param-${header}`] = encoded(text);
      if (isJsonObject(value)) visit(property, value);
    }
  };
  visit(inputSchema, args);
  return headers;
}

function textOf(value: Json): string | undefined {
  if (typeof value === "string") return value;
  return typeof value === "boolean" || Number.isSafeInteger(value) ? String(value) : undefined;
}

function encoded(text: string): string {
  if (PLAIN.test(text) && !ENCODED.test(text)) return text;
  return `=?base64?${Buffer.from(text.toWellFormed()).toString("base64")}?=`;
}
