import { isJsonObject, type JsonObject } from "./json.js";

/** Levels of arguments, and of chained references, that are looked into. */
const MAX_DEPTH = 64;
/** Steps one reading may take; beyond them it answers what changes nothing. Hostile schemas times hostile arguments grow exponentially. */
const MAX_STEPS = 250_000;
/** Schemas of one document that are searched for names and defaults. */
const MAX_SCANNED = 20_000;

/** What is worth knowing of a schema document once. */
type Document = {
  readonly hasDefaults: boolean;
  readonly named: ReadonlyMap<string, JsonObject>;
  readonly conjuncts: WeakMap<JsonObject, readonly JsonObject[]>;
};

const documents = new WeakMap<JsonObject, Document>();

/**
 * One bounded reading of a schema document. It follows local references only, runs no pattern and no format, and takes what it does
 * not know for fitting. Facts about a schema object are kept with it, so a schema must not change after its first use.
 */
export class SchemaReading {
  readonly hasDefaults: boolean;
  readonly #root: JsonObject;
  readonly #document: Document;
  #steps = 0;

  constructor(root: JsonObject) {
    this.#root = root;
    this.#document = documentOf(root);
    this.hasDefaults = this.#document.hasDefaults;
  }

  /** True when the reading was cut short, so that what it made must not be used. */
  get exhausted(): boolean {
    return this.#steps > MAX_STEPS;
  }

  /** Counts one step; false when there is no more to spend at this depth. */
  enter(depth: number): boolean {
    this.#steps += 1;
    return depth <= MAX_DEPTH && this.#steps <= MAX_STEPS;
  }

  /** The schemas that all apply where `schema` does: itself, what it refers to, the members of `allOf`. */
  conjuncts(schema: unknown): readonly JsonObject[] {
    if (!isJsonObject(schema)) return NONE;
    const known = this.#document.conjuncts.get(schema);
    if (known !== undefined) return known;
    const found = new Set<JsonObject>();
    this.#collect(schema, found, 0);
    const list = [...found];
    this.#document.conjuncts.set(schema, list);
    return list;
  }

  #collect(schema: unknown, found: Set<JsonObject>, depth: number): void {
    if (!isJsonObject(schema) || found.has(schema) || depth > MAX_DEPTH) return;
    found.add(schema);
    const reference = schema["$ref"];
    if (typeof reference === "string") this.#collect(this.#resolve(reference), found, depth + 1);
    for (const part of listOf(schema["allOf"])) this.#collect(part, found, depth + 1);
  }

  #resolve(reference: string): unknown {
    return placeOf(this.#root, reference) ?? this.#document.named.get(reference);
  }
}

/** What `#` or `#/a/b` refers to in a document; nothing for a place it does not have, or a reference of another form. */
export function placeOf(root: JsonObject, reference: string): unknown {
  if (reference === "#") return root;
  if (!reference.startsWith("#/")) return undefined;
  let place: unknown = root;
  for (const token of reference.slice(2).split("/")) {
    const key = unescapePointer(token);
    if (Array.isArray(place)) place = (place as readonly unknown[])[Number(key)];
    else place = isJsonObject(place) && Object.hasOwn(place, key) ? place[key] : undefined;
  }
  return place;
}

const NONE: readonly JsonObject[] = Object.freeze([]);

/** The value as a list; anything but an array is an empty one. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : NONE;
}

/**
 * The schemas one keyword-holding schema has for a property: the declared one, else the one for all others. Patterns are not run:
 * a schema with patterns tells nothing of undeclared properties, unless its one pattern matches everything.
 */
export function propertySchema(schema: JsonObject, key: string): unknown {
  const properties = schema["properties"];
  if (isJsonObject(properties) && Object.hasOwn(properties, key)) return properties[key];
  const patterns = schema["patternProperties"];
  if (!isJsonObject(patterns)) return schema["additionalProperties"];
  const [only, ...others] = Object.entries(patterns);
  return only !== undefined && others.length === 0 && CATCH_ALL.has(only[0]) ? only[1] : undefined;
}

const CATCH_ALL: ReadonlySet<string> = new Set(["^(.*)$", "^.*$", ".*", ""]);

/** The schema of one array element; nothing where the schema does not tell. */
export function itemSchema(schema: JsonObject, index: number): unknown {
  const items = schema["items"];
  // `items` as a list is how drafts before 2020-12 wrote tuples.
  const tuple = Array.isArray(items) ? items : listOf(schema["prefixItems"]);
  if (index < tuple.length) return tuple[index];
  return Array.isArray(items) ? schema["additionalItems"] : items;
}

function unescapePointer(token: string): string {
  let text = token;
  try {
    text = decodeURIComponent(token);
  } catch {
    // A stray percent sign stands for itself.
  }
  return text.replaceAll("~1", "/").replaceAll("~0", "~");
}

function documentOf(root: JsonObject): Document {
  let document = documents.get(root);
  if (document === undefined) documents.set(root, (document = scan(root)));
  return document;
}

function scan(root: JsonObject): Document {
  const named = new Map<string, JsonObject>();
  const seen = new Set<object>();
  const pending: unknown[] = [root];
  let hasDefaults = false;
  while (pending.length > 0 && seen.size < MAX_SCANNED) {
    const place = pending.pop();
    if (typeof place !== "object" || place === null || seen.has(place)) continue;
    seen.add(place);
    if (isJsonObject(place)) {
      hasDefaults ||= Object.hasOwn(place, "default");
      const { $id, $anchor } = place;
      if (typeof $id === "string") named.set($id, place);
      if (typeof $anchor === "string") named.set(`#${$anchor}`, place);
    }
    for (const part of Object.values(place)) pending.push(part);
  }
  return { hasDefaults, named, conjuncts: new WeakMap() };
}
