import { MemoryError } from "../../domain/errors.js";
import type { PostgresDatabase, Sql } from "../databases/postgres-database.js";
import { numberIn } from "./postgres-entries.js";
import type { MemoryTables } from "./postgres-memory-tables.js";
import { renewIndex } from "./postgres-vector-index.js";
import { textIn } from "./stored-entry.js";
import { checkPresent, fits, type Space, type VectorTable } from "./vector-space.js";

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
  const space = { ...made, key: numberIn(row, "key") };
  await renewIndex(sql, tables, space);
  return space;
}

/** A vector, and the key of its entry. */
export type KeyedVector = { readonly key: number; readonly vector: Float32Array };

/** So many numbers go into one statement: each has its time, and an index takes milliseconds for a vector. */
const NUMBERS_AT_ONCE = 25_600;

/** In place of those the entries have; to be run in a write transaction. */
export async function putVectors(
  sql: Sql,
  { vectors }: MemoryTables,
  space: Space,
  rows: readonly KeyedVector[],
): Promise<void> {
  const count = Math.max(1, Math.floor(NUMBERS_AT_ONCE / space.dimensions));
  for (let at = 0; at < rows.length; at += count) {
    const some = rows.slice(at, at + count);
    await sql(
      `INSERT INTO ${vectors} SELECT entry, $1, vector::real[] FROM unnest($2::bigint[], $3::text[]) AS v (entry, vector)
        ON CONFLICT (entry) DO UPDATE SET space = excluded.space, vector = excluded.vector`,
      [space.key, some.map(({ key }) => key), some.map(({ vector }) => `{${vector.join(",")}}`)],
    );
  }
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
        // Behind the lock of the row: whoever began another space and had this entry before has committed both.
        checkPresent(space, await presentSpace(sql, tables), vector);
        await putVectors(sql, tables, space, [{ key, vector }]);
        return true;
      }),
  };
}
