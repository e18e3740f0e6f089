import { isJsonObject, type JsonObject } from "../../../domain/json.js";
import { escapePointer, referredTo } from "../../../domain/json-schema.js";
import { safeLabel } from "../../../domain/safe-label.js";

/** A schema inside a document: what it says, and the JSON pointer to it. */
export type PlacedSchema = { readonly schema: JsonObject; readonly place: string };

/** Something a schema cannot say here; `place` is a JSON pointer. */
export class SchemaFault extends Error {
  constructor(place: string, what: string) {
    super(`${place === "" ? "at its root" : `at ${placeLabel(place)}`} ${what}`);
    this.name = "SchemaFault";
  }
}

function placeLabel(place: string): string {
  return place.split("/").slice(0, 12).map(safeLabel).join("/");
}

/** Levels and schemas of one document. */
const MAX_DEPTH = 64;
const MAX_SCHEMAS = 10_000;

/** Keywords that hold one schema, a list of them, and schemas by name. */
const ONE = [
  ...["items", "contains", "additionalItems", "unevaluatedItems"],
  ...["additionalProperties", "unevaluatedProperties", "propertyNames"],
];
const ONE_IN_PLACE = ["not", "if", "then", "else"];
/** `items` as a list is how drafts before 2020-12 wrote tuples. */
const LISTED = ["prefixItems", "items"];
const LISTED_IN_PLACE = ["allOf", "anyOf", "oneOf"];
const NAMED = ["properties", "patternProperties", "$defs", "definitions"];
const NAMED_IN_PLACE = ["dependentSchemas"];

const IN_PLACE: ReadonlySet<string> = new Set([...ONE_IN_PLACE, ...LISTED_IN_PLACE, ...NAMED_IN_PLACE]);

/** Where one schema leads: `inPlace` when the part judges the same value as the whole. */
type Part = PlacedSchema & { readonly inPlace: boolean };

/** Keywords that hold a reference. */
export const REFERENCES = ["$ref", "$dynamicRef"] as const;

/**
 * Each schema of the document, the root first, with those it is made of, and those that only a reference leads to. Throws a `SchemaFault` for a
 * document that is too deep or too large.
 */
export function schemasOf(root: JsonObject): readonly PlacedSchema[] {
  const found: PlacedSchema[] = [];
  const known = new Set<JsonObject>();
  const visit = (placed: PlacedSchema, depth: number): void => {
    if (depth > MAX_DEPTH) throw new SchemaFault(placed.place, "is nested too deep");
    if (found.length >= MAX_SCHEMAS) throw new SchemaFault(placed.place, "is one schema too many");
    found.push(placed);
    known.add(placed.schema);
    for (const part of partsOf(placed)) visit(part, depth + 1);
  };
  visit({ schema: root, place: "" }, 0);
  for (const { schema } of found) {
    for (const keyword of REFERENCES) {
      const reference = own(schema, keyword);
      const target = typeof reference === "string" ? referredTo(root, reference) : undefined;
      if (isJsonObject(target) && !known.has(target)) visit({ schema: target, place: placeIn(String(reference)) }, 0);
    }
  }
  return found;
}

/** The JSON pointer of a reference, whatever document it names. */
function placeIn(reference: string): string {
  return reference.slice(reference.indexOf("#") + 1);
}

/** The schemas directly inside one; booleans are left out, they have nothing in them. */
export function partsOf({ schema, place }: PlacedSchema): readonly Part[] {
  const parts: Part[] = [];
  const add = (value: unknown, keyword: string, tail = ""): void => {
    if (isJsonObject(value))
      parts.push({ schema: value, place: `${place}/${keyword}${tail}`, inPlace: IN_PLACE.has(keyword) });
  };
  for (const keyword of [...ONE, ...ONE_IN_PLACE]) add(own(schema, keyword), keyword);
  for (const keyword of [...LISTED, ...LISTED_IN_PLACE]) {
    const list = own(schema, keyword);
    if (Array.isArray(list)) list.forEach((one, index) => add(one, keyword, `/${index}`));
  }
  for (const keyword of [...NAMED, ...NAMED_IN_PLACE]) {
    const byName = own(schema, keyword);
    if (isJsonObject(byName))
      for (const [name, one] of Object.entries(byName)) add(one, keyword, `/${escapePointer(name)}`);
  }
  return parts;
}

/** A keyword's value; nothing where the schema only inherits one. */
export function own(schema: JsonObject, keyword: string): unknown {
  return Object.hasOwn(schema, keyword) ? schema[keyword] : undefined;
}
