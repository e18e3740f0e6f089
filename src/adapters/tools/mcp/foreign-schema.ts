import { isJsonObject, type Json, type JsonObject } from "../../../domain/json.js";

const MAX_DEPTH = 48;
const MAX_NODES = 20_000;
const MAX_TEXT = 256 * 1024;
const MAX_PATTERN = 2_000;

/** Why a schema from a server is not used; nothing for one that is. Looks at the whole document once, within bounds. */
export function schemaFault(schema: unknown): string | undefined {
  if (!isJsonObject(schema)) return "is no object";
  const scan = new Scan(schema);
  return scan.fault;
}

/** What a document declares, and what is wrong with it. */
class Scan {
  fault: string | undefined;
  readonly #names = new Set<string>();
  readonly #references: string[] = [];
  #nodes = 0;
  #text = 0;

  constructor(root: JsonObject) {
    this.#walk(root, 0);
    for (const reference of this.#references) {
      if (reference.startsWith("#/") || reference === "#" || this.#names.has(reference)) continue;
      this.fault ??= reference.startsWith("#") ? "refers to a place it does not have" : "refers to another document";
    }
  }

  #walk(place: Json, depth: number): void {
    if (this.fault !== undefined) return;
    if (typeof place === "string") this.#text += place.length;
    if (depth > MAX_DEPTH) this.fault = `is nested more than ${MAX_DEPTH} deep`;
    else if ((this.#nodes += 1) > MAX_NODES || this.#text > MAX_TEXT) this.fault = "is too large";
    else if (Array.isArray(place)) for (const item of place as readonly Json[]) this.#walk(item, depth + 1);
    else if (isJsonObject(place)) this.#walkObject(place, depth);
  }

  #walkObject(place: JsonObject, depth: number): void {
    const { $id, $anchor, $dynamicAnchor, $ref, $dynamicRef, pattern } = place;
    if (typeof $id === "string") this.#names.add($id);
    for (const anchor of [$anchor, $dynamicAnchor]) if (typeof anchor === "string") this.#names.add(`#${anchor}`);
    for (const reference of [$ref, $dynamicRef]) if (typeof reference === "string") this.#references.push(reference);
    if (typeof pattern === "string" && pattern.length > MAX_PATTERN) this.fault = "has a pattern that is too long";
    for (const [key, part] of Object.entries(place)) {
      this.#text += key.length;
      // What stands there is data, whatever it looks like.
      if (key === "default" || key === "examples" || key === "const" || key === "enum") this.#walkData(part, depth + 1);
      else this.#walk(part, depth + 1);
    }
  }

  #walkData(place: Json, depth: number): void {
    if (typeof place === "string") this.#text += place.length;
    if (depth > MAX_DEPTH) this.fault = `is nested more than ${MAX_DEPTH} deep`;
    else if ((this.#nodes += 1) > MAX_NODES || this.#text > MAX_TEXT) this.fault = "is too large";
    else if (typeof place === "object" && place !== null)
      for (const part of Object.values<Json>(place as JsonObject)) this.#walkData(part, depth + 1);
  }
}
