import { MemoryError } from "../../domain/errors.js";
import { safeLabel } from "../../domain/safe-label.js";
import type { Row, Sql } from "../databases/postgres-database.js";
import type { MemoryTables } from "./postgres-memory-tables.js";
import { type EncodedEntry, fieldLists } from "./stored-entry.js";

/** The number in a column. */
export function numberIn(row: Row | undefined, column: string): number {
  return Number(row?.[column]);
}

/** In place of what is there under the id, as the entry stored last. The first entry fixes the configuration of all. Answers its key; to be run in a write transaction. */
export async function putEntry(
  sql: Sql,
  tables: MemoryTables,
  entry: EncodedEntry,
  configuration: string,
): Promise<number> {
  const { id, content, metadata, fields } = entry;
  const length = entry.terms.length;
  const removed = await takeOut(sql, tables, id);
  const [row] = await sql(
    `INSERT INTO ${tables.memories} (id, content, metadata, length) VALUES ($1, $2, $3, $4) RETURNING key`,
    [id, content, metadata, length],
  );
  const key = numberIn(row, "key");
  const counts = new Map<string, number>();
  for (const term of entry.terms) counts.set(term, (counts.get(term) ?? 0) + 1);
  await sql(
    `INSERT INTO ${tables.terms} SELECT term, $1, count, $2 FROM unnest($3::text[], $4::integer[]) AS t (term, count)`,
    [key, length, [...counts.keys()], [...counts.values()]],
  );
  await sql(
    `INSERT INTO ${tables.fields} SELECT name, value, $1 FROM unnest($2::text[], $3::text[]) AS f (name, value)`,
    [key, ...fieldLists(fields)],
  );
  await addTotals(sql, tables, 1 - removed.entries, length - removed.terms);
  const [used] = await sql(
    `UPDATE ${tables.totals} SET configuration = coalesce(configuration, $1) RETURNING configuration`,
    [configuration],
  );
  checkConfiguration("store", used, configuration);
  return key;
}

/** Removes every row of the entry; to be run in a write transaction. */
export async function removeEntry(sql: Sql, tables: MemoryTables, id: string): Promise<void> {
  const removed = await takeOut(sql, tables, id);
  if (removed.entries > 0) await addTotals(sql, tables, -removed.entries, -removed.terms);
}

/** Writers of one id queue here: none could see what the other is about to insert. */
async function takeOut(sql: Sql, { memories, terms, fields, vectors }: MemoryTables, id: string) {
  await sql("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [`${memories} ${id}`]);
  const [row] = await sql(`DELETE FROM ${memories} WHERE id = $1 RETURNING key, length`, [id]);
  if (row === undefined) return { entries: 0, terms: 0 };
  for (const table of [terms, fields, vectors]) await sql(`DELETE FROM ${table} WHERE entry = $1`, [row["key"]]);
  return { entries: 1, terms: numberIn(row, "length") };
}

/** All writers queue here until they commit, so it comes last. */
async function addTotals(sql: Sql, { totals }: MemoryTables, entries: number, terms: number): Promise<void> {
  await sql(`UPDATE ${totals} SET entries = entries + $1, terms = terms + $2`, [entries, terms]);
}

/** Terms of two configurations do not match, so another one than that of the first entry is `MemoryError(kind)`. */
function checkConfiguration(kind: "store" | "search", row: Row | undefined, configuration: string): void {
  const before = row?.["configuration"] ?? configuration;
  if (before === configuration) return;
  const text = `the entries there have the configuration "${safeLabel(before)}", not "${safeLabel(configuration)}"`;
  throw new MemoryError(kind, text);
}

/**
 * What a text search configuration of the server makes of terms: stems, synonyms, nothing for stop words. A term whose signs its parser does not
 * know stays as it is.
 */
export async function lexemesOf(
  sql: Sql,
  { totals }: MemoryTables,
  kind: "store" | "search",
  { configuration, terms }: { readonly configuration: string; readonly terms: readonly string[] },
): Promise<readonly string[]> {
  const [used] = await sql(`SELECT configuration FROM ${totals}`);
  checkConfiguration(kind, used, configuration);
  if (configuration === "") return terms;
  const rows = await sql(
    `SELECT term, array_to_json(tsvector_to_array(to_tsvector($1::text::regconfig, term))) AS lexemes,
      to_tsvector('simple', term) = '' AS unknown FROM unnest($2::text[]) AS t (term)`,
    [configuration, [...new Set(terms)]],
  );
  const made = new Map(rows.map((row) => [row["term"], madeOf(row)]));
  return terms.flatMap((term) => made.get(term) ?? [term]);
}

function madeOf(row: Row): readonly string[] {
  const lexemes = JSON.parse(row["lexemes"] ?? "[]") as readonly string[];
  return lexemes.length === 0 && row["unknown"] === "t" ? [row["term"] ?? ""] : lexemes;
}
