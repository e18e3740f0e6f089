import {
  checkedEntry,
  matchesMetadata,
  type MemoryEntry,
  type MemoryEntryInput,
  MemoryError,
  type MemoryPort,
  type MemoryQuery,
  storedEntry,
  textTerms,
  topKOf,
} from "ennead";

// #region database
/** What the memory needs of a database: rows under ids, and those nearest to a vector, cosine first. */
export interface VectorDatabase {
  put(id: string, vector: readonly number[], json: string): Promise<void>;
  remove(id: string): Promise<void>;
  /** `accept` decides about a row before it counts for `limit`; most databases take such a filter in words of their own. */
  nearest(
    vector: readonly number[],
    limit: number,
    accept: (json: string) => boolean,
  ): Promise<readonly { readonly json: string; readonly cosine: number }[]>;
}
// #endregion database

// #region memory
/** Entries in a database of vectors; `embed` makes a vector of a text. */
export class VectorMemory implements MemoryPort {
  readonly name = "vectors";
  readonly #database: VectorDatabase;
  readonly #embed: (text: string) => Promise<readonly number[]>;

  constructor(database: VectorDatabase, embed: (text: string) => Promise<readonly number[]>) {
    this.#database = database;
    this.#embed = embed;
  }

  store(input: MemoryEntryInput): Promise<string> {
    return this.#ask("store", async () => {
      const id = checkedEntry(input).id ?? crypto.randomUUID();
      const entry = storedEntry(input, id); // A copy, before anything is awaited.
      await this.#database.put(id, await this.#embed(entry.content), JSON.stringify(entry));
      return id;
    });
  }

  search(query: MemoryQuery): Promise<readonly MemoryEntry[]> {
    return this.#ask("search", async () => {
      const limit = topKOf(query); // Refuses what is no query.
      const { query: text, filter = {}, threshold = -1 } = query;
      if (limit === 0 || textTerms(text).length === 0) return [];
      const accept = (json: string): boolean => matchesMetadata(entryOf(json).metadata, filter);
      const rows = await this.#database.nearest(await this.#embed(text), limit, accept);
      return rows
        .filter(({ cosine }) => cosine >= threshold)
        .map(({ json, cosine }) => ({ ...entryOf(json), score: cosine }));
    });
  }

  delete(id: string): Promise<void> {
    return this.#ask("delete", () => this.#database.remove(id));
  }

  async #ask<T>(kind: MemoryError["kind"], call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      if (error instanceof MemoryError) throw error;
      throw new MemoryError(kind, "the database failed"); // Its own error may hold what was to be stored.
    }
  }
}

function entryOf(json: string): MemoryEntry {
  try {
    return JSON.parse(json) as MemoryEntry;
  } catch {
    throw new MemoryError("search", "an entry is damaged");
  }
}
// #endregion memory
