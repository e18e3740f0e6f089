import { MemoryError } from "../../domain/errors.js";
import { safeLabel } from "../../domain/safe-label.js";
import type { Row, Sql } from "../databases/postgres-database.js";
import type { MemoryTables } from "./postgres-memory-tables.js";
import { type EncodedEntry, fieldLists } from "./stored-entry.js";

/** The number in a column. */
export function numberIn(row: Row | undefined, column: string): number {
  return Number(row?.[column]);
}

/**
 * In place of what is there under their ids, as the entries stored last; no two may have one id. The first entry fixes the configuration of all.
 * `putMore` puts what else there is, by the keys of ids; to be run in a write transaction.
 */
export async function putEntries(
  sql: Sql,
  tables: MemoryTables,
  entries: readonly EncodedEntry[],
  configuration: string,
  putMore: (keys: ReadonlyMap<string, number>) => Promise<void>,
): Promise<void> {
  const ids = entries.map(({ id }) => id);
  const change = await takeOut(sql, tables, ids);
  const rows = await sql(
    `INSERT INTO ${tables.memories} (id, content, metadata, length)
      SELECT id, content, metadata, length FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[])
        WITH ORDINALITY AS e (id, content, metadata, length, place) ORDER BY place RETURNING id, key`,
    [ids, entries.map(({ content }) => content), entries.map(({ metadata }) => metadata), entries.map(lengthOf)],
  );
  const keys = new Map(rows.map((row) => [row["id"] ?? "", numberIn(row, "key")]));
  await putTerms(sql, tables, entries, { keys, change });
  const fields = entries.flatMap((entry) => entry.fields.map((field) => ({ key: keys.get(entry.id), field })));
  await sql(
    `INSERT INTO ${tables.fields} SELECT name, value, entry
      FROM unnest($1::bigint[], $2::text[], $3::text[]) AS f (entry, name, value)`,
    [fields.map(({ key }) => key), ...fieldLists(fields.map(({ field }) => field))],
  );
  await putMore(keys);
  change.entries += entries.length;
  await addTotals(sql, tables, change);
  const [used] = await sql(
    `UPDATE ${tables.totals} SET configuration = coalesce(configuration, $1) RETURNING configuration`,
    [configuration],
  );
  checkConfiguration("store", used, configuration);
}

/** Removes every row of the entry; to be run in a write transaction. */
export async function removeEntry(sql: Sql, tables: MemoryTables, id: string): Promise<void> {
  const change = await takeOut(sql, tables, [id]);
  if (change.entries < 0) await addTotals(sql, tables, change);
}

type Frequency = { readonly entries: number; readonly most: number; readonly shortest: number };

/** What a write adds to the totals, of entries and of terms in all, and to what is known of each term. */
type Change = { entries: number; terms: number; readonly frequencies: Map<string, Frequency> };

function lengthOf({ terms }: EncodedEntry): number {
  return terms.length;
}

/** What was known of the most and the shortest stays when an entry goes: they are bounds, and may be wide. */
function countIn(change: Change, term: string, { entries, most, shortest }: Frequency): void {
  const before = change.frequencies.get(term) ?? { entries: 0, most, shortest };
  change.frequencies.set(term, {
    entries: before.entries + entries,
    most: Math.max(before.most, most),
    shortest: Math.min(before.shortest, shortest),
  });
}

async function putTerms(
  sql: Sql,
  tables: MemoryTables,
  entries: readonly EncodedEntry[],
  { keys, change }: { readonly keys: ReadonlyMap<string, number>; readonly change: Change },
): Promise<void> {
  const rows: (readonly [term: string, entry: number | undefined, count: number, length: number])[] = [];
  for (const { id, terms } of entries) {
    const counts = new Map<string, number>();
    for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1);
    for (const [term, count] of counts) {
      rows.push([term, keys.get(id), count, terms.length]);
      countIn(change, term, { entries: 1, most: count, shortest: terms.length });
    }
    change.terms += terms.length;
  }
  await sql(
    `INSERT INTO ${tables.postings} (term, entry, count, length)
      SELECT * FROM unnest($1::text[], $2::bigint[], $3::integer[], $4::bigint[])`,
    [0, 1, 2, 3].map((column) => rows.map((row) => row[column])),
  );
}

/** Waits for every other writer of entries, and they for the end of this transaction. */
export async function lockOutWriters(sql: Sql, { memories }: MemoryTables): Promise<void> {
  await sql("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [memories]);
}

/** Writers of one id queue here: none could see what the other is about to insert. One of many entries locks out all others. */
async function takeOut(sql: Sql, tables: MemoryTables, ids: readonly string[]): Promise<Change> {
  const { memories, postings, fields, vectors } = tables;
  const change: Change = { entries: 0, terms: 0, frequencies: new Map() };
  const [id, ...others] = ids;
  if (others.length > 0) await lockOutWriters(sql, tables);
  else
    await sql(
      `SELECT pg_advisory_xact_lock_shared(hashtextextended($1, 0)), pg_advisory_xact_lock(hashtextextended($2, 0))`,
      [memories, `${memories} ${id}`],
    );
  const rows = await sql(`DELETE FROM ${memories} WHERE id = ANY ($1::text[]) RETURNING key, length`, [ids]);
  if (rows.length === 0) return change;
  const keys = rows.map((row) => row["key"]);
  const gone = await sql(`DELETE FROM ${postings} WHERE entry = ANY ($1::bigint[]) RETURNING term, count, length`, [
    keys,
  ]);
  for (const row of gone) {
    const [most, shortest] = [numberIn(row, "count"), numberIn(row, "length")];
    countIn(change, row["term"] ?? "", { entries: -1, most, shortest });
  }
  for (const table of [fields, vectors]) await sql(`DELETE FROM ${table} WHERE entry = ANY ($1::bigint[])`, [keys]);
  change.entries = -rows.length;
  change.terms = -rows.reduce((sum, row) => sum + numberIn(row, "length"), 0);
  return change;
}

/** All writers queue here until they commit, so it comes last; and so no two meet at a term that both have. */
async function addTotals(sql: Sql, { totals, frequencies }: MemoryTables, change: Change): Promise<void> {
  await sql(`UPDATE ${totals} SET entries = entries + $1, terms = terms + $2`, [change.entries, change.terms]);
  const terms = [...change.frequencies.keys()];
  const more = [...change.frequencies.values()];
  await sql(
    `INSERT INTO ${frequencies} AS f (term, entries, most, shortest)
      SELECT * FROM unnest($1::text[], $2::bigint[], $3::integer[], $4::bigint[]) ON CONFLICT (term) DO UPDATE
      SET entries = f.entries + excluded.entries, most = greatest(f.most, excluded.most),
        shortest = least(f.shortest, excluded.shortest)`,
    [terms, ...(["entries", "most", "shortest"] as const).map((column) => more.map((one) => one[column]))],
  );
  if (more.some(({ entries }) => entries < 0))
    await sql(`DELETE FROM ${frequencies} WHERE term = ANY ($1::text[]) AND entries = 0`, [terms]);
}

/** Terms of two configurations do not match, so another one than that of the first entry is `MemoryError(kind)`. */
function checkConfiguration(kind: "store" | "search", row: Row | undefined, configuration: string): void {
  const before = row?.["configuration"] ?? configuration;
  if (before === configuration) return;
  const text = `the entries there have the configuration "${safeLabel(before)}", not "${safeLabel(configuration)}"`;
  throw new MemoryError(kind, text);
}

/**
 * What a text search configuration of the server makes of each of these lists of terms: stems, synonyms, nothing for stop words. A term whose signs
 * its parser does not know stays as it is.
 */
export async function lexemesOf(
  sql: Sql,
  { totals }: MemoryTables,
  kind: "store" | "search",
  { configuration, lists }: { readonly configuration: string; readonly lists: readonly (readonly string[])[] },
): Promise<readonly (readonly string[])[]> {
  const [used] = await sql(`SELECT configuration FROM ${totals}`);
  checkConfiguration(kind, used, configuration);
  if (configuration === "") return lists;
  const rows = await sql(
    `SELECT term, array_to_json(tsvector_to_array(to_tsvector($1::text::regconfig, term))) AS lexemes,
      to_tsvector('simple', term) = '' AS unknown FROM unnest($2::text[]) AS t (term)`,
    [configuration, [...new Set(lists.flat())]],
  );
  const made = new Map(rows.map((row) => [row["term"], madeOf(row)]));
  return lists.map((terms) => terms.flatMap((term) => made.get(term) ?? [term]));
}

function madeOf(row: Row): readonly string[] {
  const lexemes = JSON.parse(row["lexemes"] ?? "[]") as readonly string[];
  return lexemes.length === 0 && row["unknown"] === "t" ? [row["term"] ?? ""] : lexemes;
}
