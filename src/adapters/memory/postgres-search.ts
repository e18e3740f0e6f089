import type { MemoryEntry } from "../../domain/memory.js";
import type { Sql } from "../databases/postgres-database.js";
import { fusedScore } from "./fused-score.js";
import { numberIn } from "./postgres-entries.js";
import type { MemoryTables } from "./postgres-memory-tables.js";
import { nearest } from "./postgres-vectors.js";
import { type Asked, bestOf, candidateLimit } from "./ranked.js";
import { decodeEntry, fieldLists } from "./stored-entry.js";
import type { Space } from "./vector-space.js";

/** The hits by words; to be run in a read transaction. */
export async function textHits(sql: Sql, tables: MemoryTables, asked: Asked): Promise<MemoryEntry[]> {
  return entriesOf(sql, tables, bestOf(await wordScores(sql, tables, asked, { limit: asked.topK }), asked));
}

/** The hits by words and vector; to be run in a read transaction. */
export async function fusedHits(
  sql: Sql,
  tables: MemoryTables,
  asked: Asked,
  { space, vector }: { readonly space: Space; readonly vector: Float32Array },
): Promise<MemoryEntry[]> {
  const limit = candidateLimit(asked.topK);
  const byWords = await wordScores(sql, tables, asked, { limit });
  const byVector = await nearest(sql, tables, { space, vector, filter: asked.filter, limit });
  const among = [...new Set([...byWords.keys(), ...byVector.keys()])];
  const words = await wordScores(sql, tables, asked, { among });
  const cosines = await nearest(sql, tables, { space, vector, filter: [], among });
  const fused = among.map((key) => [key, fusedScore(words.get(key) ?? 0, cosines.get(key))] as const);
  return entriesOf(sql, tables, bestOf(new Map(fused), asked));
}

/**
 * BM25 as in `InMemoryMemory`, computed by the server: its own `ts_rank` knows neither how rare a word is nor a scale. Rounded, since the
 * order in which a server adds is its own, and equal entries must have equal scores.
 */
async function wordScores(
  sql: Sql,
  { terms, totals, fields }: MemoryTables,
  asked: Asked,
  { limit, among }: { readonly limit?: number; readonly among?: readonly number[] },
): Promise<Map<number, number>> {
  const wanted = [...new Set(asked.terms)];
  const rows = await sql(
    `WITH found AS MATERIALIZED (SELECT term, entry, count, length FROM ${terms} WHERE term = ANY ($1::text[])),
      total AS (SELECT entries, terms::float8 / greatest(entries, 1) AS average FROM ${totals}),
      weights AS (
        SELECT term, ln(1 + (entries - having_it + 0.5) / (having_it + 0.5)) AS weight
        FROM (SELECT term, count(*)::float8 AS having_it FROM found GROUP BY term) AS n, total),
      most AS (
        SELECT coalesce(sum(weight), 0) + ($2 - count(*)) * (SELECT ln(1 + (entries + 0.5) / 0.5) FROM total) AS most
        FROM weights),
      kept AS (
        SELECT entry FROM ${fields} JOIN unnest($3::text[], $4::text[]) AS f (name, value) USING (name, value)
        GROUP BY entry HAVING count(*) = cardinality($3::text[]))
    SELECT entry, round(sum(weight / most * count / (count + 1.2 * (0.25 + 0.75 * length / average)))::numeric, 12) AS score
    FROM found JOIN weights USING (term), most, total
    WHERE (cardinality($3::text[]) = 0 OR entry IN (SELECT entry FROM kept))
      AND ($5::bigint[] IS NULL OR entry = ANY ($5::bigint[]))
    GROUP BY entry ORDER BY score DESC, entry DESC LIMIT $6`,
    [wanted, wanted.length, ...fieldLists(asked.filter), among ?? null, limit ?? null],
  );
  return new Map(rows.map((row) => [numberIn(row, "entry"), numberIn(row, "score")]));
}

async function entriesOf(
  sql: Sql,
  { memories }: MemoryTables,
  best: readonly (readonly [key: number, score: number])[],
): Promise<MemoryEntry[]> {
  const rows = await sql(`SELECT key, id, content, metadata FROM ${memories} WHERE key = ANY ($1::bigint[])`, [
    best.map(([key]) => key),
  ]);
  const byKey = new Map(rows.map((row) => [numberIn(row, "key"), row]));
  return best.map(([key, score]) => decodeEntry(byKey.get(key), score));
}
