import type { MemoryEntry } from "../../domain/memory.js";
import { fusedScore } from "./fused-score.js";
import { type EncodedFields, entriesWith, readEntry } from "./sqlite-entries.js";
import type { MemoryStatements } from "./sqlite-memory-file.js";
import { SqliteTextSearch } from "./sqlite-search.js";
import { cosineOf, nearest, type Space } from "./sqlite-vectors.js";

/** A query whose terms and filter are as the file holds them. */
export type Asked = {
  readonly terms: readonly string[];
  readonly topK: number;
  readonly threshold: number | undefined;
  readonly filter: EncodedFields;
};

/** The hits by words; to be run in a read transaction. */
export function textHits(sql: MemoryStatements, asked: Asked): MemoryEntry[] {
  const scores = new SqliteTextSearch(sql, asked.terms).best(asked.topK, entriesWith(sql, asked.filter));
  return bestEntries(sql, scores, asked);
}

/** So many of the nearest by words, and by vector, are looked at for each hit asked for. */
const CANDIDATES_PER_HIT = 4;
const LEAST_CANDIDATES = 100;

/** The hits by words and vector; to be run in a read transaction. */
export function fusedHits(sql: MemoryStatements, asked: Asked, space: Space, vector: Float32Array): MemoryEntry[] {
  const among = entriesWith(sql, asked.filter);
  const limit = Math.max(LEAST_CANDIDATES, Math.min(asked.topK * CANDIDATES_PER_HIT, Number.MAX_SAFE_INTEGER));
  const search = new SqliteTextSearch(sql, asked.terms);
  const words = best(search.best(limit, among), limit);
  const near = nearest(sql, space, vector, { limit, among });
  const scores = new Map<number, number>();
  for (const entry of new Set([...words.map(([key]) => key), ...near.keys()])) {
    const cosine = near.get(entry) ?? cosineOf(sql, entry, space, vector);
    scores.set(entry, fusedScore(search.scoreOf(entry), cosine));
  }
  return bestEntries(sql, scores, asked);
}

function bestEntries(sql: MemoryStatements, scores: ReadonlyMap<number, number>, asked: Asked): MemoryEntry[] {
  const { topK, threshold = Number.NEGATIVE_INFINITY } = asked;
  const kept = new Map([...scores].filter(([, score]) => score >= threshold));
  return best(kept, topK).map(([key, score]) => readEntry(sql, key, score));
}

/** Best first; of equals the one stored last. */
function best(scores: ReadonlyMap<number, number>, limit: number): [key: number, score: number][] {
  return [...scores].sort(([a, x], [b, y]) => y - x || b - a).slice(0, limit);
}
