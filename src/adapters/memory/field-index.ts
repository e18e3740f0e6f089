import { type Json, jsonKey, type JsonObject } from "../../domain/json.js";

/** Which entry has which fields in its metadata, in memory; entries go by numbers. */
export class FieldIndex {
  /** By name and value. */
  readonly #entries = new Map<string, Set<number>>();

  add(entry: number, metadata: JsonObject): void {
    for (const key of keysOf(metadata)) {
      const having = this.#entries.get(key);
      if (having === undefined) this.#entries.set(key, new Set([entry]));
      else having.add(entry);
    }
  }

  /** `metadata` is what it was added with. */
  delete(entry: number, metadata: JsonObject): void {
    for (const key of keysOf(metadata)) {
      const having = this.#entries.get(key);
      having?.delete(entry);
      if (having?.size === 0) this.#entries.delete(key);
    }
  }

  /** The entries that have all these fields, nothing where none is asked for; a field that is undefined equals none. */
  having(fields: JsonObject = {}): ReadonlySet<number> | undefined {
    const sets = keysOf(fields).map((key) => this.#entries.get(key) ?? new Set<number>());
    const [fewest, ...others] = sets.sort((a, b) => a.size - b.size);
    return fewest === undefined || others.length === 0
      ? fewest
      : new Set([...fewest].filter((entry) => others.every((set) => set.has(entry))));
  }
}

function keysOf(fields: JsonObject): readonly string[] {
  return Object.entries<Json | undefined>(fields).map(
    ([name, value]) => `${JSON.stringify(name)}:${value === undefined ? "" : jsonKey(value)}`,
  );
}
