import { Kind, type TSchema, TypeRegistry } from "@sinclair/typebox";
import { isJsonObject, type Json, type JsonObject } from "../../domain/json.js";
import type { ValidationIssue } from "../../ports/tool-provider.js";
import { schemaIssues } from "./schema-check/schema-check.js";

/** The kind under which TypeBox knows a schema that is checked by its keywords. */
const KEYWORDS = "ennead.keywords";

/**
 * A TypeBox schema that checks what JSON Schema keywords say, whatever kind they came with. Formats, and patterns with look-around or back
 * references, are not checked.
 */
export function schemaOfKeywords(keywords: JsonObject): TSchema {
  // Not at import: the registry is shared by all tools.
  if (!TypeRegistry.Has(KEYWORDS)) TypeRegistry.Set(KEYWORDS, (schema, value) => keywordIssues(schema, value) === NONE);
  return { [Kind]: KEYWORDS, keywords } as unknown as TSchema;
}

const NONE: readonly ValidationIssue[] = Object.freeze([]);

/** What is wrong with a value by the keywords of a schema made here, places within the value; nothing for other schemas. */
export function keywordIssues(schema: unknown, value: unknown): readonly ValidationIssue[] {
  if (!isJsonObject(schema) || (schema as { readonly [Kind]?: unknown })[Kind] !== KEYWORDS) return NONE;
  const issues = schemaIssues(schema["keywords"] as JsonObject, value as Json);
  return issues.length === 0 ? NONE : issues;
}
