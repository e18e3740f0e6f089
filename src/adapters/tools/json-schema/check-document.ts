import { isJsonObject, type JsonObject } from "../../../domain/json.js";
import { safeLabel } from "../../../domain/safe-label.js";
import { own, type PlacedSchema, SchemaFault, schemasOf } from "../schema-check/schema-document.js";
import { checkPatterns, type PatternEngine } from "../schema-check/schema-patterns.js";
import { checkReferences } from "../schema-check/schema-references.js";

const DIALECT = /^https?:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/;

/** What earlier drafts wrote, and what takes its place: a validator of 2020-12 would leave it out without a word. */
const OLDER: Readonly<Record<string, string>> = {
  dependencies: "dependentRequired or dependentSchemas",
  additionalItems: "prefixItems and items",
  $recursiveRef: "$dynamicRef",
  $recursiveAnchor: "$dynamicAnchor",
  divisibleBy: "multipleOf",
  disallow: "not",
  extends: "allOf",
};

/** Throws a `SchemaFault` naming the place for what a validator of 2020-12 would read otherwise than it is meant, not at all, or without end. */
export function checkDocument(root: JsonObject, patterns: PatternEngine): void {
  const placed = schemasOf(root);
  for (const one of placed) {
    checkKeywords(one);
    checkPatterns(one, patterns);
  }
  checkReferences(root, placed);
}

function checkKeywords({ schema, place }: PlacedSchema): void {
  const dialect = own(schema, "$schema");
  if (dialect !== undefined && !(typeof dialect === "string" && DIALECT.test(dialect))) {
    throw new SchemaFault(`${place}/$schema`, `names ${labelOf(dialect)}, and only draft 2020-12 is read`);
  }
  for (const keyword of Object.keys(OLDER)) {
    if (own(schema, keyword) === undefined) continue;
    throw new SchemaFault(`${place}/${keyword}`, `is of an older draft; 2020-12 has ${OLDER[keyword] ?? ""}`);
  }
  // The validator would answer with a promise, which passes for a yes.
  if (own(schema, "$async") !== undefined) throw new SchemaFault(`${place}/$async`, "is not of JSON Schema");
  if (Array.isArray(own(schema, "items"))) {
    throw new SchemaFault(`${place}/items`, "is a list, as older drafts had it; 2020-12 has prefixItems");
  }
  checkNames(schema, place);
}

/** The validator does not look at a property of this name. */
function checkNames(schema: JsonObject, place: string): void {
  for (const keyword of ["properties", "dependentSchemas", "dependentRequired"]) {
    const byName = own(schema, keyword);
    if (!isJsonObject(byName) || !Object.hasOwn(byName, "__proto__")) continue;
    throw new SchemaFault(`${place}/${keyword}/__proto__`, "is a name that cannot be checked");
  }
}

function labelOf(value: unknown): string {
  return typeof value === "string" ? safeLabel(value) : `a ${typeof value}`;
}
