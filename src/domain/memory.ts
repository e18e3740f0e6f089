import { adopt } from "./adopt.js";
import { MemoryError } from "./errors.js";
import { isJsonObject, type Json, type JsonObject } from "./json.js";

/** Something worth remembering. `score` is set by a search: higher is nearer; cosine -1..1 for vectors, 0..1 for text search, not clamped. */
export type MemoryEntry = {
  readonly id: string;
  readonly content: string;
  readonly metadata: JsonObject;
  readonly score?: number;
  /** Set by an agent that searched its memories: the name of the one the score is from. */
  readonly memory?: string;
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

/** The checked `topK` of a query; throws `MemoryError("search")` for one that is no count, and for what is no query at all. */
export function topKOf(query: MemoryQuery): number {
  const fault = queryFault(query);
  if (fault !== undefined) throw new MemoryError("search", fault);
  const topK = query.topK ?? DEFAULT_TOP_K;
  if (!Number.isSafeInteger(topK) || topK < 0)
    throw new MemoryError("search", "topK is not a whole number of at least 0");
  return topK;
}

function queryFault(value: unknown): string | undefined {
  if (!isJsonObject(value)) return "there is no query";
  const { query, threshold, filter } = value;
  if (typeof query !== "string") return "the query is no text";
  if (threshold !== undefined && (typeof threshold !== "number" || Number.isNaN(threshold)))
    return "threshold is not a number";
  if (filter === undefined) return undefined;
  if (!isJsonObject(filter)) return "the filter is no object";
  return jsonFilter(filter) === undefined ? "the filter holds what JSON cannot" : undefined;
}

/**
 * The filter of a query as what is stored is written, such as without undefined fields in nested objects; a key that is undefined itself stays, and
 * equals nothing. Throws `MemoryError("search")` like `topKOf`.
 */
export function filterOf(query: MemoryQuery): JsonObject | undefined {
  topKOf(query);
  return query.filter && jsonFilter(query.filter);
}

function jsonFilter(filter: JsonObject): JsonObject | undefined {
  try {
    const entries = Object.entries<Json | undefined>(filter);
    // In a list, since that alone holds any value.
    return Object.fromEntries(
      entries.map(([key, value]) => [key, value === undefined ? value : adopt([value], "filter")[0]]),
    ) as JsonObject;
  } catch {
    return undefined;
  }
}

/** The entry when it is one; throws `MemoryError("store")` naming the field that is not what it should be. */
export function checkedEntry(entry: MemoryEntryInput): MemoryEntryInput {
  const fault = entryFault(entry);
  if (fault === undefined) return entry;
  throw new MemoryError("store", fault);
}

/** A frozen copy of an entry to store, under `id`; throws `MemoryError("store")` for what is no entry or what JSON cannot hold. */
export function storedEntry(input: MemoryEntryInput, id: string): MemoryEntry {
  const { content, metadata = {} } = checkedEntry(input);
  try {
    return adopt({ id, content, metadata }, "memory entry");
  } catch (cause) {
    throw new MemoryError("store", "the entry holds what JSON cannot", { cause });
  }
}

function entryFault(value: unknown): string | undefined {
  if (!isJsonObject(value)) return "there is no entry";
  const { id, content, metadata } = value;
  if (id !== undefined && typeof id !== "string") return "the id of the entry is no text";
  if (typeof content !== "string") return "the content of the entry is no text";
  return metadata === undefined || isJsonObject(metadata) ? undefined : "the metadata of the entry is no object";
}
