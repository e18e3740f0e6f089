import { isJsonObject, type Json, type JsonObject } from "../../../domain/json.js";
import { JSON_TYPES } from "../../../domain/json-schema.js";

type Kind =
  | "schema"
  | "schemas"
  | "schemaByName"
  | "schemaOrSchemas"
  | "schemaOrTextsByName"
  | "text"
  | "texts"
  | "count"
  | "number";

/** What the keywords of all drafts hold; one that is not among them may hold anything. */
const KINDS: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  ...of("schema", "additionalItems additionalProperties contains contentSchema else if not propertyNames then"),
  ...of("schema", "unevaluatedItems unevaluatedProperties"),
  ...of("schemas", "allOf anyOf oneOf prefixItems"),
  ...of("schemaByName", "$defs definitions dependentSchemas patternProperties properties"),
  ...of("schemaOrSchemas", "items"),
  ...of("schemaOrTextsByName", "dependencies"),
  ...of("text", "$anchor $dynamicAnchor $dynamicRef $id $ref $schema description format pattern title"),
  ...of("texts", "required"),
  ...of("count", "maxContains maxItems maxLength maxProperties minContains minItems minLength minProperties"),
  ...of("number", "maximum minimum multipleOf"),
]);

function of(kind: Kind, keywords: string): readonly (readonly [string, Kind])[] {
  return keywords.split(" ").map((keyword) => [keyword, kind] as const);
}

/** Whether a keyword may hold that value; of schemas in it only their number is looked at. */
export function isLegalKeyword(keyword: string, value: Json): boolean {
  if (keyword === "type")
    return JSON_TYPES.has(value) || (isFilledList(value) && value.every((type) => JSON_TYPES.has(type)));
  if (keyword === "enum") return Array.isArray(value);
  switch (KINDS.get(keyword)) {
    case "schemas":
      return isFilledList(value);
    case "schemaByName":
    case "schemaOrTextsByName":
      return isJsonObject(value);
    case "text":
      return typeof value === "string";
    case "texts":
      return Array.isArray(value) && value.every((item) => typeof item === "string");
    case "count":
      return typeof value === "number" && value >= 0;
    case "number":
      return typeof value === "number";
    default:
      return true;
  }
}

/** What must be schemas in a legal value, with the name or index of each; the value itself has none. */
export function partsOf(keyword: string, value: Json): readonly (readonly [string | undefined, Json])[] {
  const parts = typeof value === "object" && value !== null ? Object.entries<Json>(value as JsonObject) : [];
  switch (KINDS.get(keyword)) {
    case "schema":
      return [[undefined, value]];
    case "schemaOrSchemas":
      return Array.isArray(value) ? parts : [[undefined, value]];
    case "schemas":
    case "schemaByName":
      return parts;
    case "schemaOrTextsByName":
      return parts.filter(([, part]) => !Array.isArray(part));
    default:
      return [];
  }
}

function isFilledList(value: Json): value is readonly Json[] {
  return Array.isArray(value) && value.length > 0;
}
