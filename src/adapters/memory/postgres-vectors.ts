import { MemoryError } from "../../domain/errors.js";
import type { PostgresDatabase, Sql } from "../databases/postgres-database.js";
import { quotedSchema } from "../databases/postgres-schema.js";
import { numberIn } from "./postgres-entries.js";
import type { MemoryTables } from "./postgres-memory-tables.js";
import { type EncodedFields, fieldLists, textIn } from "./stored-entry.js";
import { fits, type Space, type VectorTable } from "./vector-space.js";

/** Nothing before the first vector. */
export async function presentSpace(sql: Sql, { spaces }: MemoryTables): Promise<Space | undefined> {
  const [row] = await sql(`SELECT key, model, dimensions FROM ${spaces} ORDER BY key DESC LIMIT 1`);
  if (row === undefined) return undefined;
  return { key: numberIn(row, "key"), model: row["model"] ?? "", dimensions: numberIn(row, "dimensions") };
}

/** The present space, or where there is none a new one; to be run in a write transaction, in which no other makes one. */
export async function openSpace(
  sql: Sql,
  tables: MemoryTables,
  made: Omit<Space, "key">,
  isRight: (space: Space) => boolean = () => true,
): Promise<Space> {
  const before = await presentSpace(sql, tables);
  if (before !== undefined && isRight(before)) return before;
  await sql(`LOCK TABLE ${tables.spaces} IN SHARE ROW EXCLUSIVE MODE`);
  const present = await presentSpace(sql, tables);
  if (present !== undefined && isRight(present)) return present;
  const [row] = await sql(`INSERT INTO ${tables.spaces} (model, dimensions) VALUES ($1, $2) RETURNING key`, [
    made.model,
    made.dimensions,
  ]);
  return { ...made, key: numberIn(row, "key") };
}

/** In place of the one the entry has; to be run in a write transaction. */
export async function putVector(
  sql: Sql,
  { vectors }: MemoryTables,
  { key, space, vector }: { readonly key: number; readonly space: Space; readonly vector: Float32Array },
): Promise<void> {
  await sql(
    `INSERT INTO ${vectors} VALUES ($1, $2, $3)
      ON CONFLICT (entry) DO UPDATE SET space = excluded.space, vector = excluded.vector`,
    [key, space.key, [...vector]],
  );
}

/** What is near to what: entries with these fields, or `among` these. */
export type Nearness = {
  readonly space: Space;
  readonly vector: Float32Array;
  readonly filter: EncodedFields;
  readonly limit?: number | undefined;
  readonly among?: readonly number[] | undefined;
};

/** The cosine of each, the nearest first. A vector of zeros is near to nothing, so it has none. */
export async function nearest(sql: Sql, tables: MemoryTables, near: Nearness): Promise<Map<number, number>> {
  const { vectors, fields } = tables;
  const { space, vector, filter, among = null, limit = null } = near;
  const rows = await sql(
    `SELECT entry, cosine FROM (
      SELECT entry, nullif(${await cosineSql(sql)}, 'NaN') AS cosine FROM ${vectors}
      WHERE space = $2 AND ($5::bigint[] IS NULL OR entry = ANY ($5::bigint[]))
        AND (cardinality($3::text[]) = 0 OR entry IN (
          SELECT entry FROM ${fields} JOIN unnest($3::text[], $4::text[]) AS f (name, value) USING (name, value)
          GROUP BY entry HAVING count(*) = cardinality($3::text[])))) AS compared
    WHERE cosine IS NOT NULL ORDER BY cosine DESC, entry DESC LIMIT $6`,
    [[...vector], space.key, ...fieldLists(filter), among, limit],
  );
  return new Map(rows.map((row) => [numberIn(row, "entry"), numberIn(row, "cosine")]));
}

/** By the extension `vector` where it is installed; else by the server's own arithmetic, which takes many times as long. */
async function cosineSql(sql: Sql): Promise<string> {
  const [row] = await sql(
    "SELECT nspname FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'vector'",
  );
  const schema = row?.["nspname"];
  if (typeof schema !== "string") {
    return `(SELECT sum(a::float8 * b) / nullif(sqrt(sum(a::float8 * a)) * sqrt(sum(b::float8 * b)), 0)
      FROM unnest(vector, $1::real[]) AS pair (a, b))`;
  }
  const place = quotedSchema(schema);
  return `1 - (vector::${place}.vector OPERATOR(${place}.<=>) $1::real[]::${place}.vector)`;
}

/** The vectors as `reembedAll` goes through them. */
export function vectorTable(database: PostgresDatabase, tables: MemoryTables): VectorTable {
  const { memories, vectors } = tables;
  return {
    next: (after, space) =>
      database.read(async (sql) => {
        const [row] = await sql(
          `SELECT key, content FROM ${memories} AS m WHERE key > $1
            AND NOT EXISTS (SELECT FROM ${vectors} AS v WHERE v.entry = m.key AND v.space = $2) ORDER BY key LIMIT 1`,
          [after, space?.key ?? 0],
        );
        if (row === undefined) return undefined;
        const content = textIn(row, "content");
        if (content === undefined) throw new MemoryError("store", "an entry is damaged");
        return { key: numberIn(row, "key"), content };
      }),
    begin: (model, vector) =>
      database.write((sql) =>
        openSpace(sql, tables, { model, dimensions: vector.length }, (space) => fits(space, model, vector)),
      ),
    put: (key, space, vector) =>
      database.write(async (sql) => {
        const [row] = await sql(`SELECT key FROM ${memories} WHERE key = $1 FOR UPDATE`, [key]);
        if (row === undefined) return false;
        await putVector(sql, tables, { key, space, vector });
        return true;
      }),
  };
}
