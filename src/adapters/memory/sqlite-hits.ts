import type { MemoryEntry } from "../../domain/memory.js";
import { fusedScore, leastByWords } from "./fused-score.js";
import { type Asked, bestOf, candidateLimit } from "./ranked.js";
import { entriesWith, fieldFilter } from "./sqlite-entries.js";
import type { MemoryStatements } from "./sqlite-memory-file.js";
import { SqliteTextSearch } from "./sqlite-search.js";
import { cosineOf, nearest } from "./sqlite-vectors.js";
import { decodeEntry } from "./stored-entry.js";
import type { Space } from "./vector-space.js";

/** The hits by words; to be run in a read transaction. */
export function textHits(sql: MemoryStatements, asked: Asked): MemoryEntry[] {
  const wished = { limit: asked.topK, least: asked.threshold };
  const scores = new SqliteTextSearch(sql, asked.terms).best(wished, fieldFilter(sql, asked.filter));
  return bestEntries(sql, scores, asked);
}

/** Codes miss few, and not by much; more room than this slows the slowest searches. */
const MISSED_BY_CODES = 0.02;

/** The hits by words and vector; to be run in a read transaction. */
export function fusedHits(sql: MemoryStatements, asked: Asked, space: Space, vector: Float32Array): MemoryEntry[] {
  const limit = candidateLimit(asked.topK);
  const search = new SqliteTextSearch(sql, asked.terms);
  const among = entriesWith(sql, asked.filter);
  const near = nearest(sql, space, vector, { limit, among });
  const scores = new Map<number, number>();
  const words = search.scoresOf([...near.keys()]);
  for (const [entry, cosine] of near) scores.set(entry, fusedScore(words.get(entry) ?? 0, cosine));
  const wished = { limit, least: leastByWords({ ...asked, cosines: near, scores, limit, missed: MISSED_BY_CODES }) };
  const best = search.best(wished, among && ((entry) => among.has(entry)));
  for (const [entry, score] of bestOf(best, { topK: limit })) {
    if (!near.has(entry)) scores.set(entry, fusedScore(score, cosineOf(sql, entry, space, vector)));
  }
  return bestEntries(sql, scores, asked);
}

function bestEntries(sql: MemoryStatements, scores: ReadonlyMap<number, number>, asked: Asked): MemoryEntry[] {
  return bestOf(scores, asked).map(([key, score]) => decodeEntry(sql.entry.get(key), score));
}
