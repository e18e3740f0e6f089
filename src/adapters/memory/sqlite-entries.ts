import { createHash } from "node:crypto";
import { MemoryError } from "../../domain/errors.js";
import { isJsonObject, type Json, type JsonObject } from "../../domain/json.js";
import type { MemoryEntry } from "../../domain/memory.js";
import { safeLabel } from "../../domain/safe-label.js";
import { textKey, textOfKey } from "../../domain/text-key.js";
import type { SqliteRow } from "../databases/sqlite-database.js";
import type { MemoryStatements } from "./sqlite-memory-file.js";

/** Fields of metadata as they are looked up. */
export type EncodedFields = readonly (readonly [name: string, value: string])[];

/** An entry as it is written; made before any lock is taken. */
export type EncodedEntry = {
  readonly id: string;
  readonly content: string;
  readonly metadata: string;
  readonly fields: EncodedFields;
  readonly terms: readonly string[];
};

/** What is to be written of an entry with these terms. */
export function encodeEntry({ id, content, metadata }: MemoryEntry, terms: readonly string[]): EncodedEntry {
  const fields = encodedFields(metadata);
  return { id: textKey(id), content: textKey(content), metadata: JSON.stringify(metadata), fields, terms };
}

/** In place of what is there under the id, as the entry stored last. Answers its key; to be run in a write transaction. */
export function putEntry(sql: MemoryStatements, entry: EncodedEntry): number {
  removeEntry(sql, entry.id);
  const key = Number(sql.add.run(entry.id, entry.content, entry.metadata).lastInsertRowid);
  for (const [name, value] of entry.fields) sql.addField.run(name, value, key);
  sql.addTerms.run(key, entry.terms.join(" "));
  sql.addTotals.run(1, entry.terms.length);
  return key;
}

/** Removes every row of the entry; `id` is a key of `textKey`. To be run in a write transaction. */
export function removeEntry(sql: MemoryStatements, id: string): void {
  const stored = sql.keyOf.get(id);
  if (stored === undefined) return;
  const key = numberOf(stored, "key");
  const length = termsOf(sql, key).length;
  for (const remove of [sql.remove, sql.removeFields, sql.removeTerms, sql.removeVector]) remove.run(key);
  sql.addTotals.run(-1, -length);
}

/** The terms of an entry as they were stored. */
export function termsOf(sql: MemoryStatements, key: number): readonly string[] {
  const terms = sql.terms.get(key)?.["terms"];
  return typeof terms === "string" && terms !== "" ? terms.split(" ") : [];
}

/** Throws `MemoryError("search")` for an entry that cannot be read. */
export function readEntry(sql: MemoryStatements, key: number, score: number): MemoryEntry {
  const row = sql.entry.get(key);
  const id = textOf(row, "id");
  const content = textOf(row, "content");
  const metadata = metadataOf(row);
  if (id !== undefined && content !== undefined && metadata !== undefined) return { id, content, metadata, score };
  throw new MemoryError("search", `the entry "${safeLabel(id ?? String(key))}" is damaged`);
}

/** The keys of the entries that have all these fields; nothing without any. */
export function entriesWith(sql: MemoryStatements, filter: EncodedFields): ReadonlySet<number> | undefined {
  let keys: Set<number> | undefined;
  for (const [name, value] of filter) {
    const found = new Set(sql.withField.all(name, value).map((row) => numberOf(row, "entry")));
    const earlier = keys;
    keys = earlier === undefined ? found : new Set([...found].filter((key) => earlier.has(key)));
  }
  return keys;
}

/** The number in a column; what else is there is damage. */
export function numberOf(row: SqliteRow, column: string): number {
  const value = row[column];
  if (typeof value === "number") return value;
  throw new MemoryError("search", `${column} is damaged`);
}

function textOf(row: SqliteRow | undefined, column: string): string | undefined {
  const value = row?.[column];
  return typeof value === "string" ? textOfKey(value) : undefined;
}

function metadataOf(row: SqliteRow | undefined): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(String(row?.["metadata"]));
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const LONGEST_VALUE = 200;

/** The fields of metadata or of a filter; one that is undefined equals nothing that is stored. */
export function encodedFields(fields: JsonObject = {}): EncodedFields {
  return Object.entries<Json | undefined>(fields).map(([name, value]) => [
    textKey(name),
    value === undefined ? "" : fieldValue(value),
  ]);
}

/** One text for all JSON that is the same, whatever the order of keys; a long one by its hash, which is no JSON. */
function fieldValue(value: Json): string {
  const text = JSON.stringify(sorted(value));
  return text.length <= LONGEST_VALUE ? text : `#${createHash("sha256").update(text).digest("hex")}`;
}

/** Objects as lists of their fields: `__proto__` would get lost in a copy. */
function sorted(value: Json): Json {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item: Json) => sorted(item));
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return { fields: fields.map(([name, field]) => [name, sorted(field)]) };
}
