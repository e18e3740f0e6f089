import { checkValues, NAME, OBJECT, TEXT, YES_OR_NO } from "../../domain/check-values.js";
import { MemoryError, type MemoryErrorKind } from "../../domain/errors.js";
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
import { codeOf, describeFailure, PostgresDatabase, type Sql } from "../databases/postgres-database.js";
import { type PostgresOptions, postgresPlace } from "../databases/postgres-options.js";
import { type Described, StoreCalls } from "../databases/store-calls.js";
import { type Embedded, Embedder, type EmbeddingOptions } from "./embedder.js";
import { lexemesOf, putEntries, removeEntry } from "./postgres-entries.js";
import { type MemoryTables, memoryTablesIn, migrateMemory } from "./postgres-memory-tables.js";
import { fusedHits, textHits } from "./postgres-search.js";
import { openSpace, presentSpace, putVectors, vectorTable } from "./postgres-vectors.js";
import { encodedFields, type EncodedEntry, encodeEntry, indexTerms } from "./stored-entry.js";
import { fittingSpace, reembedAll, type Space } from "./vector-space.js";

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
    checkValues("a Postgres memory", options, {
      name: NAME,
      optional: YES_OR_NO,
      configuration: TEXT,
      embedding: OBJECT,
    });
    const { configuration = "", embedding, name, optional = false } = options;
    this.name = name ?? `postgres "${safeLabel(schema)}"`;
    this.optional = optional;
    this.#tables = memoryTablesIn(schema);
    this.#database = new PostgresDatabase(source, timeoutMs);
    this.#calls = new StoreCalls(MemoryError, this.name, (error, kind) => this.#describe(error, kind));
    this.#configuration = configuration;
    this.#embedder = embedding && new Embedder(embedding);
  }

  async store(input: MemoryEntryInput): Promise<string> {
    const [id = ""] = await this.storeAll([input]);
    return id;
  }

  /** Many entries in one write, all or none, at a fraction of what one after the other costs; answers their ids in order. Other writes wait for it. */
  storeAll(inputs: readonly MemoryEntryInput[]): Promise<readonly string[]> {
    return this.#calls.run("store", "an entry", async () => {
      const entries = inputs.map((input) => storedEntry(input, checkedEntry(input).id ?? crypto.randomUUID()));
      const last = lastOfEach(entries.map((entry) => encodeEntry(entry)));
      if (last.length === 0) return [];
      await this.#ready("store");
      const vectors = new Map<string, Embedded>();
      for (const { id, content } of entries) {
        const embedded = await this.#embedder?.embedded(content, "store");
        if (embedded) vectors.set(textKey(id), embedded);
        else vectors.delete(textKey(id));
      }
      await this.#database.write((sql) => this.#put(sql, last, vectors));
      return entries.map(({ id }) => id);
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
        const [terms = []] = await lexemesOf(sql, tables, "search", {
          configuration: this.#configuration,
          lists: [own],
        });
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

  async #put(sql: Sql, entries: readonly EncodedEntry[], vectors: ReadonlyMap<string, Embedded>): Promise<void> {
    const tables = this.#tables;
    const configuration = this.#configuration;
    const lists = await lexemesOf(sql, tables, "store", { configuration, lists: entries.map(({ terms }) => terms) });
    const space = await this.#spaceFor(sql, [...vectors.values()]);
    const filled = entries.map((entry, n) => ({ ...entry, terms: lists[n] ?? [] }));
    await putEntries(sql, tables, filled, configuration, async (keys) => {
      const rows = [...vectors].flatMap(([id, { vector }]) => {
        const key = keys.get(id);
        return key === undefined || vector.length !== space?.dimensions ? [] : [{ key, vector }];
      });
      if (space) await putVectors(sql, tables, space, rows);
    });
  }

  /** The space of all these, which are of one model; nothing where there are none. */
  async #spaceFor(sql: Sql, [first, ...others]: readonly Embedded[]): Promise<Space | undefined> {
    if (first === undefined) return undefined;
    const { model, vector } = first;
    const space = await openSpace(sql, this.#tables, { model, dimensions: vector.length });
    for (const embedded of [first, ...others]) fittingSpace("store", space, embedded);
    return space;
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

/** Of those with one id the one that would stay if they were stored one after the other, in that order. */
function lastOfEach(entries: readonly EncodedEntry[]): readonly EncodedEntry[] {
  const last = new Map<string, EncodedEntry>();
  for (const entry of entries) {
    last.delete(entry.id);
    last.set(entry.id, entry);
  }
  return [...last.values()];
}
