import {
  checkedEntry,
  matchesMetadata,
  type MemoryEntry,
  type MemoryEntryInput,
  type MemoryPort,
  type MemoryQuery,
  storedEntry,
  textTerms,
  topKOf,
} from "ennead";

/** Finds entries that share words with the query; the score is the share of its words they have. */
export class WordMemory implements MemoryPort {
  readonly #entries = new Map<string, MemoryEntry>();

  async store(input: MemoryEntryInput): Promise<string> {
    const { id = crypto.randomUUID() } = checkedEntry(input);
    this.#entries.set(id, storedEntry(input, id));
    return id;
  }

  async search(query: MemoryQuery): Promise<readonly MemoryEntry[]> {
    const topK = topKOf(query);
    const wanted = new Set(textTerms(query.query));
    return [...this.#entries.values()]
      .filter(({ metadata }) => matchesMetadata(metadata, query.filter))
      .map((entry) => ({ ...entry, score: share(wanted, entry.content) }))
      .filter(({ score }) => score > 0 && score >= (query.threshold ?? 0))
      .sort((a, b) => b.score - a.score)
      .slice(0, topK);
  }

  async delete(id: string): Promise<void> {
    this.#entries.delete(id);
  }
}

function share(wanted: ReadonlySet<string>, content: string): number {
  const words = new Set(textTerms(content));
  return [...wanted].filter((word) => words.has(word)).length / Math.max(1, wanted.size);
}
