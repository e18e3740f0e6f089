import { type MemoryEntry, type MemoryEntryInput, type MemoryQuery, topKOf } from "../../domain/memory.js";
import type { MemoryPort } from "../../ports/memory.js";

/** Forgets at once: stores give an id, searches find nothing. A `topK` that is no count is refused as everywhere. */
export class NoopMemory implements MemoryPort {
  readonly name = "noop";

  store(entry: MemoryEntryInput): Promise<string> {
    return Promise.resolve(entry.id ?? crypto.randomUUID());
  }

  async search(query: MemoryQuery): Promise<readonly MemoryEntry[]> {
    topKOf(query);
    return [];
  }

  delete(): Promise<void> {
    return Promise.resolve();
  }
}
