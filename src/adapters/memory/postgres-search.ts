import type { MemoryEntry } from "../../domain/memory.js";
import type { Sql } from "../databases/postgres-database.js";
import { fusedScore, leastByWords } from "./fused-score.js";
import { numberIn } from "./postgres-entries.js";
import type { MemoryTables } from "./postgres-memory-tables.js";
import { PostgresVectorSearch } from "./postgres-vector-search.js";
import { type Asked, bestOf, candidateLimit } from "./ranked.js";
import { PostgresWordSearch } from "./postgres-words.js";
import { decodeEntry } from "./stored-entry.js";
import type { Space } from "./vector-space.js";

/** The hits by words; to be run in a read transaction. */
export async function textHits(sql: Sql, tables: MemoryTables, asked: Asked): Promise<MemoryEntry[]> {
  const search = await PostgresWordSearch.begin(sql, tables, asked);
  return entriesOf(sql, tables, bestOf(await search.best({ limit: asked.topK, least: asked.threshold }), asked));
}

/** An index misses near ones too: words find them again. */
const MISSED_BY_INDEX = 0.2;

/** The hits by words and vector; to be run in a read transaction. */
export async function fusedHits(
  sql: Sql,
  tables: MemoryTables,
  asked: Asked,
  { space, vector }: { readonly space: Space; readonly vector: Float32Array },
): Promise<MemoryEntry[]> {
  const limit = candidateLimit(asked.topK);
  const search = await PostgresWordSearch.begin(sql, tables, asked);
  const near = await PostgresVectorSearch.begin(sql, tables, { space, vector });
  const cosines = await near.nearest({ filter: asked.filter, limit, entries: search.entries });
  const words = await search.scoresOf([...cosines.keys()]);
  const fused = [...cosines].map(([key, cosine]) => [key, fusedScore(words.get(key) ?? 0, cosine)] as const);
  const scores = new Map(fused);
  const least = leastByWords({ ...asked, cosines, scores, limit, missed: MISSED_BY_INDEX });
  const byWords = bestOf(await search.best({ limit, least }), { topK: limit }).filter(([key]) => !scores.has(key));
  const others = byWords.length === 0 ? new Map<number, number>() : await near.cosinesOf(byWords.map(([key]) => key));
  for (const [key, score] of byWords) scores.set(key, fusedScore(score, others.get(key)));
  return entriesOf(sql, tables, bestOf(scores, asked));
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
