import { isJsonObject, type Json, type JsonObject } from "../../../domain/json.js";
import { referredTo } from "../../../domain/json-schema.js";
import { safeLabel } from "../../../domain/safe-label.js";
import { isLegalKeyword, partsOf } from "./schema-keywords.js";

const MAX_DEPTH = 48;
const MAX_NODES = 20_000;
const MAX_TEXT = 256 * 1024;
const MAX_PATTERN = 2_000;

/**
 * Why a schema from a server is not used; nothing for one that is. Looks at the whole document once, within bounds: providers of models refuse a
 * whole request for one keyword that holds what it cannot.
 */
export function schemaFault(schema: unknown): string | undefined {
  if (!isJsonObject(schema)) return "is no object";
  return sizeFault(schema) ?? new Scan(schema).fault;
}

function sizeFault(root: JsonObject): string | undefined {
  let nodes = 0;
  let text = 0;
  const faultOf = (place: Json, depth: number): string | undefined => {
    if (typeof place === "string") text += place.length;
    if (depth > MAX_DEPTH) return `is nested more than ${MAX_DEPTH} deep`;
    if ((nodes += 1) > MAX_NODES || text > MAX_TEXT) return "is too large";
    if (typeof place !== "object" || place === null) return undefined;
    for (const [key, part] of Object.entries<Json>(place as JsonObject)) {
      text += key.length;
      const fault = faultOf(part, depth + 1);
      if (fault !== undefined) return fault;
    }
    return undefined;
  };
  return faultOf(root, 0);
}

/** What a document declares, and what is wrong with it. Data that looks like a schema is none. */
class Scan {
  fault: string | undefined;
  readonly #references: string[] = [];
  readonly #seen = new Set<JsonObject>();

  constructor(root: JsonObject) {
    this.#walk(root, "");
    // A reference may lead to where no keyword does.
    for (const reference of this.#references) {
      const place = referredTo(root, reference);
      if (place !== undefined) this.#walk(place as Json, reference);
      else
        this.#refuse(reference.startsWith("#") ? "refers to a place it does not have" : "refers to another document");
    }
  }

  #refuse(what: string): void {
    this.fault ??= what;
  }

  #walk(schema: Json, path: string): void {
    if (typeof schema === "boolean") return;
    if (!isJsonObject(schema)) return this.#refuse(`holds at ${safeLabel(path)} what is no schema`);
    if (this.#seen.has(schema) || this.fault !== undefined) return;
    this.#seen.add(schema);
    const { $ref, $dynamicRef, pattern } = schema;
    for (const reference of [$ref, $dynamicRef]) if (typeof reference === "string") this.#references.push(reference);
    if (typeof pattern === "string" && pattern.length > MAX_PATTERN) this.#refuse("has a pattern that is too long");
    for (const [keyword, value] of Object.entries(schema)) {
      const place = `${path}/${keyword}`;
      if (!isLegalKeyword(keyword, value)) return this.#refuse(`holds at ${safeLabel(place)} what cannot be there`);
      for (const [key, part] of partsOf(keyword, value))
        this.#walk(part, key === undefined ? place : `${place}/${key}`);
    }
  }
}
