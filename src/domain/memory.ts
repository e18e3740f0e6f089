import { MemoryError } from "./errors.js";
import type { JsonObject } from "./json.js";

/** Something worth remembering. `score` is set by a search: higher is nearer; cosine -1..1 for vectors, 0..1 for text search, not clamped. */
export type MemoryEntry = {
  readonly id: string;
  readonly content: string;
  readonly metadata: JsonObject;
  readonly score?: number;
};

/** An entry to store; without an id the memory makes one. An id already there is replaced. */
export type MemoryEntryInput = {
  readonly id?: string | undefined;
  readonly content: string;
  readonly metadata?: JsonObject | undefined;
};

/** `query` is text, never query syntax. `threshold` keeps `score >= threshold`; `filter` matches metadata keys by equality. */
export type MemoryQuery = {
  readonly query: string;
  /** Default 10; 0 returns nothing; negative, fractional or NaN is `MemoryError("search")`. */
  readonly topK?: number | undefined;
  readonly threshold?: number | undefined;
  readonly filter?: JsonObject | undefined;
};

/** Hits a query gets at most that names no `topK`. */
export const DEFAULT_TOP_K = 10;

/** The checked `topK` of a query; throws `MemoryError("search")` for one that is no count. */
export function topKOf(query: MemoryQuery): number {
  const topK = query.topK ?? DEFAULT_TOP_K;
  if (!Number.isSafeInteger(topK) || topK < 0)
    throw new MemoryError("search", "topK is not a whole number of at least 0");
  return topK;
}
