import { isJsonObject, type JsonObject } from "./json.js";

/** How much one reading may look into: levels of a value, and steps; beyond them it answers what changes nothing. */
export type ReadingLimits = { readonly depth: number; readonly steps: number };

/** Hostile schemas times hostile arguments grow exponentially. */
const LIMITS: ReadingLimits = Object.freeze({ depth: 64, steps: 250_000 });
/** Chained references that are followed. */
const MAX_CHAIN = 64;
/** Schemas of one document that are searched for names and defaults. */
const MAX_SCANNED = 20_000;

/** What is worth knowing of a schema document once. */
type Document = {
  readonly hasDefaults: boolean;
  readonly hasUnevaluated: boolean;
  /** By what a reference may say: an anchor or an identifier. */
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
  /** Whether any schema asks what the others left alone. */
  readonly hasUnevaluated: boolean;
  readonly #root: JsonObject;
  readonly #document: Document;
  readonly #limits: ReadingLimits;
  #steps = 0;

  constructor(root: JsonObject, limits: ReadingLimits = LIMITS) {
    this.#root = root;
    this.#document = documentOf(root);
    this.#limits = limits;
    this.hasDefaults = this.#document.hasDefaults;
    this.hasUnevaluated = this.#document.hasUnevaluated;
  }

  /** True when the reading was cut short, so that what it made must not be used. */
  get exhausted(): boolean {
    return this.#steps > this.#limits.steps;
  }

  /** Counts one step; false when there is no more to spend at this depth. */
  enter(depth: number): boolean {
    this.spend(1);
    return depth <= this.#limits.depth && !this.exhausted;
  }

  /** Counts work that no schema is entered for. */
  spend(steps: number): void {
    this.#steps += steps;
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
    if (!isJsonObject(schema) || found.has(schema) || depth > MAX_CHAIN) return;
    found.add(schema);
    for (const reference of [schema["$ref"], schema["$dynamicRef"]])
      if (typeof reference === "string") this.#collect(referredTo(this.#root, reference), found, depth + 1);
    for (const part of listOf(schema["allOf"])) this.#collect(part, found, depth + 1);
  }
}

/**
 * What a reference leads to in its document: a place (`#/a/b`), an anchor, or an `$id`, written as it stands there or as the address it has below the
 * document's own `$id`, with or without a place in it. Nothing for what is not there: nothing is ever fetched.
 */
export function referredTo(root: JsonObject, reference: string): unknown {
  const { named } = documentOf(root);
  const [address = "", fragment = ""] = reference.split(/#(.*)/s);
  if (address === "") return placeOf(root, `#${fragment}`) ?? named.get(reference);
  const resource = named.get(address) ?? named.get(addressOf(address, root["$id"]));
  if (resource === undefined || fragment === "") return resource;
  return fragment.startsWith("/") ? placeOf(resource, `#${fragment}`) : named.get(`#${fragment}`);
}

/** The whole address of an `$id`, where its document has one. */
function addressOf(id: string, base: unknown): string {
  return typeof base === "string" && URL.canParse(id, base) ? new URL(id, base).href : id;
}

function placeOf(root: JsonObject, reference: string): unknown {
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

/** What JSON Schema calls the kinds of JSON values. */
export const JSON_TYPES: ReadonlySet<unknown> = new Set([
  ...["object", "array", "string", "number", "integer", "boolean", "null"],
]);

/** A property's name as one step of a JSON pointer. */
export function escapePointer(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
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
  let hasUnevaluated = false;
  while (pending.length > 0 && seen.size < MAX_SCANNED) {
    const place = pending.pop();
    if (typeof place !== "object" || place === null || seen.has(place)) continue;
    seen.add(place);
    if (isJsonObject(place)) {
      hasDefaults ||= Object.hasOwn(place, "default");
      hasUnevaluated ||= Object.hasOwn(place, "unevaluatedProperties") || Object.hasOwn(place, "unevaluatedItems");
      const { $id, $anchor, $dynamicAnchor } = place;
      if (typeof $id === "string") {
        const id = $id.replace(/#$/, "");
        for (const name of [id, addressOf(id, root["$id"])]) if (!named.has(name)) named.set(name, place);
      }
      for (const anchor of [$anchor, $dynamicAnchor]) {
        if (typeof anchor === "string") named.set(`#${anchor}`, place);
      }
    }
    for (const part of Object.values(place)) pending.push(part);
  }
  return { hasDefaults, hasUnevaluated, named, conjuncts: new WeakMap() };
}
