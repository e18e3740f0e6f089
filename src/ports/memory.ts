import type { MemoryEntry, MemoryEntryInput, MemoryQuery } from "../domain/memory.js";

/** A memory of text. All methods may be called concurrently and reject with `MemoryError` only. */
export interface MemoryPort {
  /** Names the memory in errors. */
  readonly name?: string;
  /** A memory whose failures the fan-out leaves out. */
  readonly optional?: boolean;
  /** Stores or, under an id already there, replaces. Returns the id; visible to `search` once resolved. */
  store(entry: MemoryEntryInput): Promise<string>;
  /** Best score first, at most `topK`. */
  search(query: MemoryQuery): Promise<readonly MemoryEntry[]>;
  /** An unknown id is no error. */
  delete(id: string): Promise<void>;
}

/** All memories of an agent as one: stores to all under one id, deletes from all, merges searches by id, best score first. */
export type MemoryAccess = Pick<MemoryPort, "store" | "delete"> & {
  /** With `timeoutMs` each memory may take so long, where that is less than `storeTimeoutMs`; an optional one that takes longer is left out. */
  search(query: MemoryQuery, options?: { readonly timeoutMs?: number | undefined }): Promise<readonly MemoryEntry[]>;
};
