import { isJsonObject, type JsonObject } from "../../../domain/json.js";
import { safeLabel } from "../../../domain/safe-label.js";
import type { PatternEngine } from "./schema-pattern.js";
import { own, partsOf, type PlacedSchema, SchemaFault, schemasOf } from "./schema-document.js";

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
  const references = new References(root, placed);
  for (const one of placed) references.check(one);
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

function checkPatterns({ schema, place }: PlacedSchema, patterns: PatternEngine): void {
  const pattern = own(schema, "pattern");
  if (typeof pattern === "string") checkPattern(pattern, `${place}/pattern`, patterns);
  const byPattern = own(schema, "patternProperties");
  if (!isJsonObject(byPattern)) return;
  for (const source of Object.keys(byPattern)) checkPattern(source, `${place}/patternProperties`, patterns);
}

function checkPattern(source: string, place: string, patterns: PatternEngine): void {
  try {
    patterns(source, "u");
  } catch (error) {
    const none = error instanceof SyntaxError ? "is no regular expression" : 'needs the option patterns: "native"';
    throw new SchemaFault(place, `has ${safeLabel(source)}, which ${none}`);
  }
}

/** The validator does not look at a property of this name. */
function checkNames(schema: JsonObject, place: string): void {
  for (const keyword of ["properties", "dependentSchemas", "dependentRequired"]) {
    const byName = own(schema, keyword);
    if (!isJsonObject(byName) || !Object.hasOwn(byName, "__proto__")) continue;
    throw new SchemaFault(`${place}/${keyword}/__proto__`, "is a name that cannot be checked");
  }
}

class References {
  readonly #root: JsonObject;
  /** By what a reference may say: an anchor or an identifier. */
  readonly #named = new Map<string, PlacedSchema>();
  readonly #endless = new Set<JsonObject>();

  constructor(root: JsonObject, placed: readonly PlacedSchema[]) {
    this.#root = root;
    for (const one of placed) {
      for (const keyword of ["$anchor", "$dynamicAnchor"]) {
        const anchor = own(one.schema, keyword);
        if (typeof anchor === "string") this.#named.set(`#${anchor}`, one);
      }
      const id = own(one.schema, "$id");
      if (typeof id === "string") this.#named.set(id.replace(/#$/, ""), one);
    }
  }

  /** Everything a schema refers to is in its document, and none asks itself about the same value again. */
  check(placed: PlacedSchema): void {
    for (const keyword of ["$ref", "$dynamicRef"]) {
      const reference = own(placed.schema, keyword);
      if (reference === undefined || this.#target(reference) !== undefined) continue;
      const what = isLocal(reference) ? "does not lead anywhere" : "is not in the document, and nothing is fetched";
      throw new SchemaFault(`${placed.place}/${keyword}`, `refers to ${labelOf(reference)}, which ${what}`);
    }
    this.#end(placed, new Set());
  }

  /** Follows all that judges the same value; `open` are the schemas on the way here. */
  #end(placed: PlacedSchema, open: Set<JsonObject>): void {
    const { schema, place } = placed;
    if (open.has(schema)) throw new SchemaFault(place, "asks itself about the same value again, without end");
    if (this.#endless.has(schema)) return;
    open.add(schema);
    for (const part of partsOf(placed)) if (part.inPlace) this.#end(part, open);
    const target = this.#target(own(schema, "$ref"));
    if (target !== undefined && isJsonObject(target.schema)) this.#end(target, open);
    open.delete(schema);
    this.#endless.add(schema);
  }

  #target(reference: unknown): PlacedSchema | undefined {
    if (typeof reference !== "string") return undefined;
    if (reference === "#") return { schema: this.#root, place: "" };
    return reference.startsWith("#/") ? this.#at(reference.slice(1)) : this.#named.get(reference.replace(/#$/, ""));
  }

  #at(pointer: string): PlacedSchema | undefined {
    let value: unknown = this.#root;
    for (const step of pointer.slice(1).split("/")) {
      const key = decoded(step).replaceAll("~1", "/").replaceAll("~0", "~");
      if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
      value = Reflect.get(value, key);
    }
    // A boolean is a schema with nothing to follow.
    if (typeof value === "boolean") return { schema: {}, place: pointer };
    return isJsonObject(value) ? { schema: value, place: pointer } : undefined;
  }
}

function isLocal(reference: unknown): boolean {
  return typeof reference === "string" && reference.startsWith("#");
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}

function labelOf(value: unknown): string {
  return typeof value === "string" ? safeLabel(value) : `a ${typeof value}`;
}
