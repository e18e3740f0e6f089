import { codeOf, type Sql } from "../databases/postgres-database.js";
import { quotedSchema } from "../databases/postgres-schema.js";
import { lockOutWriters, numberIn } from "./postgres-entries.js";
import type { MemoryTables } from "./postgres-memory-tables.js";
import { type EncodedFields, fieldLists } from "./stored-entry.js";
import type { Space } from "./vector-space.js";

/** The extension `vector` of this database, its schema quoted, and the index it has for a space. */
export type VectorExtension = { readonly schema: string; readonly index: VectorIndex | undefined };

/** An index that a space may have. */
export type VectorIndex = {
  readonly schema: string;
  /** A value as the index has it; a scan is only by what is written exactly like that. */
  readonly of: (value: string) => string;
  readonly operators: string;
  readonly isThere: boolean;
  /** A scan goes on where a filter leaves too few. */
  readonly scansOn: boolean;
};

/** With the key of the space it is the name of its index; the documentation tells it to those who make one themselves. */
const INDEX = "ennead_memory_hnsw_";

/** Nothing where it is not installed, or not ours to use. */
export async function vectorExtension(
  sql: Sql,
  tables: MemoryTables,
  space: Space,
): Promise<VectorExtension | undefined> {
  const [row] = await sql(
    `SELECT nspname AS schema, extversion AS version,
        (SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1)) AS indexed
      FROM pg_extension JOIN pg_namespace AS n ON n.oid = extnamespace
      WHERE extname = 'vector' AND has_schema_privilege(n.oid, 'USAGE')`,
    [`${tables.schema}.${INDEX}${space.key}`],
  );
  if (row === undefined) return undefined;
  const [major = 0, minor = 0] = (row["version"] ?? "").split(".").map(Number);
  const since = (wanted: number): boolean => major > 0 || minor >= wanted;
  const schema = quotedSchema(row["schema"] ?? "");
  const expression = since(5) ? expressionOf(schema, space) : undefined;
  const index = expression && { schema, ...expression, isThere: row["indexed"] === "t", scansOn: since(8) };
  return { schema, index };
}

/** More than 2,000 numbers fit only as halves, of unit length, since a half holds no large number; more than 4,000 do not fit. */
function expressionOf(schema: string, { dimensions }: Space): Pick<VectorIndex, "of" | "operators"> | undefined {
  const vector = (value: string): string => `${value}::${schema}.vector(${dimensions})`;
  if (dimensions <= 2_000) return { of: vector, operators: `${schema}.vector_cosine_ops` };
  if (dimensions > 4_000) return undefined;
  const half = (value: string): string => `${schema}.l2_normalize(${vector(value)})::${schema}.halfvec(${dimensions})`;
  return { of: half, operators: `${schema}.halfvec_cosine_ops` };
}

/** What the nearest by the index are to be near to, and the fields they have. */
export type IndexSearch = {
  readonly index: VectorIndex;
  readonly space: Space;
  readonly vector: Float32Array;
  readonly filter: EncodedFields;
  readonly limit: number;
};

/** How many vectors a scan looks at for each that it is to find: the more, the fewer are missed. */
const LOOKED_AT_PER_FOUND = 4;
/** The highest bound that the extension takes; one that does not scan on finds no more. */
export const MOST_LOOKED_AT = 1_000;

/** About the nearest, in about that order; fewer than `limit` may be found where there are more. To be run in a transaction. */
export async function nearestByIndex(sql: Sql, tables: MemoryTables, search: IndexSearch): Promise<number[]> {
  const { index, space, vector, filter, limit } = search;
  const lookedAt = Math.min(LOOKED_AT_PER_FOUND * limit, MOST_LOOKED_AT);
  const goOn = index.scansOn ? ", set_config('hnsw.iterative_scan', 'relaxed_order', true)" : "";
  // The server does not know what it costs to read long vectors, and would rather read all.
  const [before] = await sql(
    `SELECT current_setting('enable_seqscan') AS seqscan, set_config('enable_seqscan', 'off', true),
      set_config('hnsw.ef_search', $1, true)${goOn}`,
    [lookedAt],
  );
  const distance = `${index.of("vector")} OPERATOR(${index.schema}.<=>) ${index.of("$1::real[]")}`;
  const passes = `SELECT count(*) = cardinality($3::text[]) FROM ${tables.fields}
    JOIN unnest($3::text[], $4::text[]) AS f (name, value) USING (name, value) WHERE entry = near.entry`;
  // OFFSET 0, and a filter of which the server cannot think that few pass: so the index comes first.
  const rows = await sql(
    `SELECT entry FROM (
        SELECT entry FROM ${tables.vectors} WHERE space = ${space.key} ORDER BY ${distance} OFFSET 0) AS near
      WHERE cardinality($3::text[]) = 0 OR (${passes}) LIMIT $2`,
    [[...vector], limit, ...fieldLists(filter)],
  );
  await sql("SELECT set_config('enable_seqscan', $1, true)", [before?.["seqscan"]]);
  return rows.map((row) => numberIn(row, "entry"));
}

/**
 * Gives a space that was just begun its index where the extension has one for it, and drops those of former spaces, which are searched no more; to be
 * run in a write transaction. What the server refuses is left undone: without an index searches compare every vector.
 */
export async function renewIndex(sql: Sql, tables: MemoryTables, space: Space): Promise<void> {
  const { index } = (await vectorExtension(sql, tables, space)) ?? {};
  if (index !== undefined)
    await attempt(sql, 1 / 2, async () => {
      // A writer that had its lock before would wait for the table while we wait for that lock.
      await lockOutWriters(sql, tables);
      await sql(
        `CREATE INDEX ${INDEX}${space.key} ON ${tables.vectors}
          USING hnsw ((${index.of("vector")}) ${index.operators}) WHERE space = ${space.key}`,
      );
    });
  const rows = await sql(
    `SELECT key FROM ${tables.spaces} WHERE key < $1 AND to_regclass($2 || key) IS NOT NULL ORDER BY key`,
    [space.key, `${tables.schema}.${INDEX}`],
  );
  const former = rows.map((row) => `${tables.schema}.${INDEX}${numberIn(row, "key")}`);
  if (former.length > 0) await attempt(sql, 1 / 4, () => sql(`DROP INDEX ${former.join(", ")}`));
}

/** Within a part of the time that a statement has, so that those who wait for this transaction do not give up. */
async function attempt(sql: Sql, part: number, run: () => Promise<unknown>): Promise<void> {
  const [row] = await sql("SELECT setting FROM pg_settings WHERE name = 'statement_timeout'");
  const limit = numberIn(row, "setting");
  await sql(`SAVEPOINT ennead_index; SET LOCAL statement_timeout = ${Math.ceil(limit * part)}`);
  try {
    await run();
    await sql(`RELEASE SAVEPOINT ennead_index; SET LOCAL statement_timeout = ${limit}`);
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    await sql("ROLLBACK TO SAVEPOINT ennead_index");
  }
}
