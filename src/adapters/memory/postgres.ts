import { CompositionError, MemoryError, type MemoryErrorKind } from "../../domain/errors.js";
import {
  checkedEntry,
  filterOf,
  type MemoryEntry,
  type MemoryEntryInput,
  type MemoryQuery,
  storedEntry,
  topKOf,
} from "../../domain/memory.js";
import { safeLabel } from "../../domain/safe-label.js";
import { textKey } from "../../domain/text-key.js";
import type { MemoryPort } from "../../ports/memory.js";
import { codeOf, describeFailure, PostgresDatabase } from "../databases/postgres-database.js";
import { type PostgresOptions, postgresPlace } from "../databases/postgres-options.js";
import { type Described, StoreCalls } from "../databases/store-calls.js";
import { Embedder, type EmbeddingOptions } from "./embedder.js";
import { lexemesOf, putEntry, removeEntry } from "./postgres-entries.js";
import { type MemoryTables, memoryTablesIn, migrateMemory } from "./postgres-memory-tables.js";
import { fusedHits, textHits } from "./postgres-search.js";
import { openSpace, presentSpace, putVector, vectorTable } from "./postgres-vectors.js";
import { encodedFields, encodeEntry, indexTerms } from "./stored-entry.js";
import { fittingSpace, reembedAll } from "./vector-space.js";

export type { PostgresClient, PostgresPool, PostgresQuery } from "../databases/postgres-database.js";
export type { PostgresOptions } from "../databases/postgres-options.js";
export type { Embed, EmbeddingOptions } from "./embedder.js";

/**
 * Where the database is. `name` stands in errors. With `optional` an agent leaves out failures of this memory. `configuration` names a text search
 * configuration of the server, such as `english`, by which words are stemmed and stop words left out; without it words count as they
 * are. With `embedding` entries are found by meaning too, fast where the extension `vector` is installed.
 */
export type PostgresMemoryOptions = PostgresOptions & {
  readonly name?: string | undefined;
  readonly optional?: boolean | undefined;
  readonly configuration?: string | undefined;
  readonly embedding?: EmbeddingOptions | undefined;
};

/**
 * A memory in a PostgreSQL database, which any number of processes may use at once, and which may be that of the sessions. Scores are those of
 * `InMemoryMemory`; with `embedding` the score is that of the words and the cosine in one, -1..1: an entry without any of the words may be a
 * hit. The tables are made or brought up to date by the first call. An acknowledged write is committed. Whoever made the memory closes it.
 */
export class PostgresMemory implements MemoryPort {
  readonly name: string;
  readonly optional: boolean;
  readonly #tables: MemoryTables;
  readonly #database: PostgresDatabase;
  readonly #calls: StoreCalls<MemoryErrorKind>;
  readonly #configuration: string;
  readonly #embedder: Embedder | undefined;
  #migrated: Promise<void> | undefined;

  /** Throws `CompositionError("invalid-config")` for options that cannot be. */
  constructor(options: PostgresMemoryOptions) {
    const more = ["name", "optional", "configuration", "embedding"];
    const { source, schema, timeoutMs } = postgresPlace("a Postgres memory", options, more);
    const { configuration = "", embedding, name, optional = false } = options;
    if (typeof configuration !== "string") {
      throw new CompositionError("invalid-config", "configuration is the name of a text search configuration");
    }
    this.name = name ?? `postgres "${safeLabel(schema)}"`;
    this.optional = optional;
    this.#tables = memoryTablesIn(schema);
    this.#database = new PostgresDatabase(source, timeoutMs);
    this.#calls = new StoreCalls(MemoryError, this.name, (error, kind) => this.#describe(error, kind));
    this.#configuration = configuration;
    this.#embedder = embedding && new Embedder(embedding);
  }

  store(input: MemoryEntryInput): Promise<string> {
    return this.#calls.run("store", "an entry", async () => {
      const id = checkedEntry(input).id ?? crypto.randomUUID();
      const entry = encodeEntry(storedEntry(input, id));
      const { content } = input;
      await this.#ready("store");
      const embedded = await this.#embedder?.embedded(content, "store");
      await this.#database.write(async (sql) => {
        const asked = { configuration: this.#configuration, terms: entry.terms };
        const terms = await lexemesOf(sql, this.#tables, "store", asked);
        const opened =
          embedded &&
          (await openSpace(sql, this.#tables, { model: embedded.model, dimensions: embedded.vector.length }));
        const space = embedded && fittingSpace("store", opened, embedded);
        const key = await putEntry(sql, this.#tables, { ...entry, terms }, this.#configuration);
        if (space) await putVector(sql, this.#tables, { key, space, vector: embedded.vector });
      });
      return id;
    });
  }

  search(query: MemoryQuery): Promise<readonly MemoryEntry[]> {
    return this.#calls.run("search", "a search", async () => {
      const topK = topKOf(query);
      const { threshold } = query;
      const filter = encodedFields(filterOf(query));
      const own = indexTerms(query.query);
      if (topK === 0 || own.length === 0) return [];
      const text = query.query;
      await this.#ready("search");
      const embedded = await this.#embedder?.embedded(text, "search");
      return this.#database.read(async (sql) => {
        const tables = this.#tables;
        const terms = await lexemesOf(sql, tables, "search", { configuration: this.#configuration, terms: own });
        const asked = { terms, topK, threshold, filter };
        const space = embedded && fittingSpace("search", await presentSpace(sql, tables), embedded);
        if (space) return fusedHits(sql, tables, asked, { space, vector: embedded.vector });
        return textHits(sql, tables, asked);
      });
    });
  }

  delete(id: string): Promise<void> {
    return this.#calls.run("delete", "an entry", async () => {
      await this.#ready("delete");
      await this.#database.write((sql) => removeEntry(sql, this.#tables, textKey(id)));
    });
  }

  /**
   * Gives a vector to every entry that has none of the present model, such as after a change of the model, or after failures that left
   * entries with their words alone; answers how many it gave. One call of `embed` after the other; what was done before a failure stays,
   * and the next call goes on from there. Until it is through, the entries without one are found by their words.
   */
  reembed(): Promise<number> {
    return this.#calls.run("store", "reembed", async () => {
      if (this.#embedder === undefined) throw new MemoryError("store", "there is no embedding in the options");
      await this.#ready("store");
      return reembedAll(vectorTable(this.#database, this.#tables), this.#embedder);
    });
  }

  /** Idempotent; waits for calls under way. Closes the connections the memory made, never a pool it was given. Calls made afterwards reject. */
  close(): Promise<void> {
    this.#embedder?.close();
    return this.#calls.close(() => this.#database.close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** A migration that failed is tried again by the next call, and so is one whose tables are gone. */
  async #ready(kind: MemoryErrorKind): Promise<void> {
    this.#migrated ??= this.#database.write((sql) => migrateMemory(sql, kind, this.#tables));
    const migrated = this.#migrated;
    try {
      await migrated;
    } catch (error) {
      if (this.#migrated === migrated) this.#migrated = undefined;
      throw error;
    }
  }

  #describe(error: unknown, kind: MemoryErrorKind): Described<MemoryErrorKind> {
    const code = codeOf(error);
    if (code === UNDEFINED_TABLE || code === UNDEFINED_SCHEMA) this.#migrated = undefined;
    return { kind, text: describeFailure(error) };
  }
}

const UNDEFINED_TABLE = "42P01";
const UNDEFINED_SCHEMA = "3F000";
