import { isJsonObject, type Json, type JsonObject } from "../../../domain/json.js";

/** Keys that hold values, not schemas. */
export const VALUES: ReadonlySet<string> = new Set(["const", "default", "enum", "examples"]);
/** Keys that hold schemas by name. */
export const NAMED: ReadonlySet<string> = new Set([
  ...["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"],
]);
/** A schema nests this deep at most where it is rewritten; deeper parts go out as they are. */
const DEEPEST = 64;

/**
 * The schema with what is referred to by an `$id` of its own, as some libraries write what recurs, under `$defs` and referred to by its
 * place there: providers follow no other reference. The same schema where there is nothing of the kind.
 */
export function withoutNames(root: JsonObject): JsonObject {
  const ids = new Set<string>();
  const references = new Set<string>();
  eachSchema(root, 0, ({ $id, $ref }) => {
    if (typeof $id === "string") ids.add($id);
    if (typeof $ref === "string") references.add($ref);
  });
  const names = [...ids].filter((id) => references.has(id));
  return names.length === 0 ? root : new Renaming(root, names).root;
}

class Renaming {
  readonly root: JsonObject;
  readonly #places = new Map<string, string>();
  readonly #defs = new Map<string, Json>();

  constructor(root: JsonObject, names: readonly string[]) {
    const { $defs: known } = root;
    for (const name of names)
      this.#places.set(name, name === root["$id"] ? "#" : `#/$defs/${this.#keyOf(name, known)}`);
    const { $id, ...whole } = this.#fields(root, 0);
    const kept =
      typeof $id === "string" && this.#places.has($id) ? whole : { ...whole, ...($id === undefined ? {} : { $id }) };
    const defs = { ...(isJsonObject(kept["$defs"]) ? kept["$defs"] : undefined), ...Object.fromEntries(this.#defs) };
    this.root = Object.keys(defs).length === 0 ? kept : { ...kept, $defs: defs };
  }

  #keyOf(name: string, known: Json | undefined): string {
    const taken = new Set([...Object.keys(isJsonObject(known) ? known : {}), ...this.#places.values()]);
    let key = name.replace(/[^A-Za-z0-9_-]/g, "_");
    while (taken.has(key) || taken.has(`#/$defs/${key}`)) key += "_";
    return key;
  }

  #fields(schema: JsonObject, depth: number): JsonObject {
    const fields = Object.entries(schema).map(([key, value]) => [key, this.#value(key, value, depth)] as const);
    return Object.fromEntries(fields);
  }

  #value(key: string, value: Json, depth: number): Json {
    if (key === "$ref" && typeof value === "string") return this.#places.get(value) ?? value;
    if (VALUES.has(key) || depth > DEEPEST) return value;
    if (Array.isArray(value)) return (value as readonly Json[]).map((one) => this.#schema(one, depth + 1));
    if (!isJsonObject(value)) return value;
    if (!NAMED.has(key)) return this.#schema(value, depth + 1);
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, this.#schema(one, depth + 1)]));
  }

  /** A schema with a name is moved, and its place taken by a reference. */
  #schema(schema: Json, depth: number): Json {
    if (!isJsonObject(schema)) return schema;
    const { $id, ...fields } = this.#fields(schema, depth);
    const place = typeof $id === "string" ? this.#places.get($id) : undefined;
    if (place === undefined) return $id === undefined ? fields : { $id, ...fields };
    this.#defs.set(place.replace("#/$defs/", ""), fields);
    return { $ref: place };
  }
}

function eachSchema(schema: JsonObject, depth: number, look: (schema: JsonObject) => void): void {
  if (depth > DEEPEST) return;
  look(schema);
  for (const [key, value] of Object.entries(schema)) {
    if (VALUES.has(key)) continue;
    const parts = NAMED.has(key) && isJsonObject(value) ? Object.values(value) : Array.isArray(value) ? value : [value];
    for (const part of parts as readonly Json[]) if (isJsonObject(part)) eachSchema(part, depth + 1, look);
  }
}
