import { type Json, jsonKey, type JsonObject } from "../../domain/json.js";

/** Which entry has which fields in its metadata, in memory; entries go by numbers. */
export class FieldIndex {
  /** By name and value: a number where one entry has the field, since a set takes many times as much memory. */
  readonly #entries = new Map<string, number | Set<number>>();

  add(entry: number, metadata: JsonObject): void {
    for (const key of keysOf(metadata)) {
      const having = this.#entries.get(key);
      if (having === undefined) this.#entries.set(key, entry);
      else if (typeof having === "number") this.#entries.set(key, new Set([having, entry]));
      else having.add(entry);
    }
  }

  /** `metadata` is what it was added with. */
  delete(entry: number, metadata: JsonObject): void {
    for (const key of keysOf(metadata)) {
      const having = this.#entries.get(key);
      if (having === entry) this.#entries.delete(key);
      else if (typeof having === "object" && having.delete(entry) && having.size === 0) this.#entries.delete(key);
    }
  }

  /** The entries that have all these fields, nothing where none is asked for; a field that is undefined equals none. */
  having(fields: JsonObject = {}): ReadonlySet<number> | undefined {
    const sets = keysOf(fields).map((key) => this.#having(key));
    const [fewest, ...others] = sets.sort((a, b) => a.size - b.size);
    return fewest === undefined || others.length === 0
      ? fewest
      : new Set([...fewest].filter((entry) => others.every((set) => set.has(entry))));
  }

  #having(key: string): ReadonlySet<number> {
    const having = this.#entries.get(key) ?? new Set<number>();
    return typeof having === "number" ? new Set([having]) : having;
  }
}

function keysOf(fields: JsonObject): readonly string[] {
  return Object.entries<Json | undefined>(fields).map(
    ([name, value]) => `${JSON.stringify(name)}:${value === undefined ? "" : jsonKey(value)}`,
  );
}
