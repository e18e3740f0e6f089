import type { MemoryEntry } from "../../domain/memory.js";
import { fusedScore } from "./fused-score.js";
import { type Asked, bestOf, candidateLimit } from "./ranked.js";
import { entriesWith, fieldFilter } from "./sqlite-entries.js";
import type { MemoryStatements } from "./sqlite-memory-file.js";
import { SqliteTextSearch } from "./sqlite-search.js";
import { cosineOf, nearest } from "./sqlite-vectors.js";
import { decodeEntry } from "./stored-entry.js";
import type { Space } from "./vector-space.js";

/** The hits by words; to be run in a read transaction. */
export function textHits(sql: MemoryStatements, asked: Asked): MemoryEntry[] {
  const scores = new SqliteTextSearch(sql, asked.terms).best(asked.topK, fieldFilter(sql, asked.filter));
  return bestEntries(sql, scores, asked);
}

/** The hits by words and vector; to be run in a read transaction. */
export function fusedHits(sql: MemoryStatements, asked: Asked, space: Space, vector: Float32Array): MemoryEntry[] {
  const limit = candidateLimit(asked.topK);
  const search = new SqliteTextSearch(sql, asked.terms);
  const words = bestOf(search.best(limit, fieldFilter(sql, asked.filter)), { topK: limit, threshold: undefined });
  const near = nearest(sql, space, vector, { limit, among: entriesWith(sql, asked.filter) });
  const scores = new Map<number, number>();
  for (const entry of new Set([...words.map(([key]) => key), ...near.keys()])) {
    const cosine = near.get(entry) ?? cosineOf(sql, entry, space, vector);
    scores.set(entry, fusedScore(search.scoreOf(entry), cosine));
  }
  return bestEntries(sql, scores, asked);
}

function bestEntries(sql: MemoryStatements, scores: ReadonlyMap<number, number>, asked: Asked): MemoryEntry[] {
  return bestOf(scores, asked).map(([key, score]) => decodeEntry(sql.entry.get(key), score));
}
