import { type MemoryEntry, type MemoryEntryInput, type MemoryPort, type MemoryQuery, topKOf } from "ennead";

/** Finds entries whose text holds the query word for word. */
export class ListMemory implements MemoryPort {
  readonly #entries = new Map<string, MemoryEntry>();

  async store({ id = crypto.randomUUID(), content, metadata = {} }: MemoryEntryInput): Promise<string> {
    this.#entries.set(id, { id, content, metadata, score: 1 });
    return id;
  }

  async search(query: MemoryQuery): Promise<readonly MemoryEntry[]> {
    const wanted = Object.entries(query.filter ?? {});
    return [...this.#entries.values()]
      .filter(({ content, metadata }) => content.includes(query.query) && wanted.every(([k, v]) => metadata[k] === v))
      .filter(({ score = 0 }) => score >= (query.threshold ?? 0))
      .slice(0, topKOf(query));
  }

  async delete(id: string): Promise<void> {
    this.#entries.delete(id);
  }
}
