import { MemoryError } from "../../domain/errors.js";
import type { SqliteRow } from "../databases/sqlite-database.js";
import type { MemoryStatements } from "./sqlite-memory-file.js";
import type { EncodedEntry, EncodedFields } from "./stored-entry.js";

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
  const length = termsOf(sql, [key]).get(key)?.length ?? 0;
  for (const remove of [sql.remove, sql.removeFields, sql.removeTerms, sql.removeVector]) remove.run(key);
  sql.addTotals.run(-1, -length);
}

/** The terms of each of some entries as they were stored, in their order; those that are not there are left out. */
export function termsOf(sql: MemoryStatements, keys: readonly number[]): ReadonlyMap<number, readonly string[]> {
  const rows = JSON.parse(String(sql.terms.get(JSON.stringify(keys))?.["terms"] ?? "[]")) as readonly [
    number,
    string,
  ][];
  return new Map(rows.map(([key, terms]) => [key, terms === "" ? [] : terms.split(" ")]));
}

const FEW = 2_000;

/** Tells entries that have all these fields, without listing them where they are many; nothing without any field. */
export function fieldFilter(sql: MemoryStatements, fields: EncodedFields): ((entry: number) => boolean) | undefined {
  if (fields.length === 0) return undefined;
  const having = (some: EncodedFields) => (entry: number) =>
    some.every(([name, value]) => sql.hasField.get(name, value, entry) !== undefined);
  for (const field of fields) {
    const few = numbersOf(sql.withField.get(...field, FEW + 1) ?? {}, "entries");
    if (few.length > FEW) continue;
    const keys = new Set(few.filter(having(fields.filter((other) => other !== field))));
    return (entry) => keys.has(entry);
  }
  return having(fields);
}

/** The keys of the entries that have all these fields; nothing without any. */
export function entriesWith(sql: MemoryStatements, filter: EncodedFields): ReadonlySet<number> | undefined {
  let keys: Set<number> | undefined;
  for (const [name, value] of filter) {
    const found = new Set(numbersOf(sql.withField.get(name, value, -1) ?? {}, "entries"));
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

/** The list of numbers in a column, which SQLite made as JSON. */
export function numbersOf(row: SqliteRow, column: string): readonly number[] {
  return JSON.parse(String(row[column] ?? "[]")) as readonly number[];
}
