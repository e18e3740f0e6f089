import { numberOf } from "./sqlite-entries.js";
import type { MemoryStatements } from "./sqlite-memory-file.js";

/**
 * What was read of an open file and holds, since no key is used twice. A backup that is put back has keys again that were used since it was made:
 * then nothing holds, and the version of the schema, which SQLite raises in a file that it writes over, tells.
 */
export class Kept<T> {
  readonly #begin: () => T;
  readonly #files = new WeakMap<MemoryStatements, { readonly version: number; readonly value: T }>();

  constructor(begin: () => T) {
    this.#begin = begin;
  }

  /** To be called in a read transaction, in which nothing is that may be taken back. */
  of(sql: MemoryStatements): T {
    const version = numberOf(sql.schemaVersion.get() ?? {}, "schema_version");
    const known = this.#files.get(sql);
    if (known?.version === version) return known.value;
    const value = this.#begin();
    this.#files.set(sql, { version, value });
    return value;
  }
}
