import {
  checkedEntry,
  type MemoryEntry,
  type MemoryEntryInput,
  type MemoryQuery,
  storedEntry,
  topKOf,
} from "../../domain/memory.js";
import type { MemoryPort } from "../../ports/memory.js";

/** Forgets at once: stores give an id, searches find nothing. What is no entry and no query is refused as everywhere. */
export class NoopMemory implements MemoryPort {
  readonly name = "noop";

  async store(input: MemoryEntryInput): Promise<string> {
    return storedEntry(input, checkedEntry(input).id ?? crypto.randomUUID()).id;
  }

  async search(query: MemoryQuery): Promise<readonly MemoryEntry[]> {
    topKOf(query);
    return [];
  }

  delete(): Promise<void> {
    return Promise.resolve();
  }
}
