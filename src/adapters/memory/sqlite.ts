import { CompositionError, MemoryError, type MemoryErrorKind } from "../../domain/errors.js";
import { checkValues, NAME, OBJECT, wholeNumber, YES_OR_NO } from "../../domain/check-values.js";
import { checkFields } from "../../domain/known-fields.js";
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
import { isCorruption } from "../databases/sqlite-database.js";
import { type Embedded, Embedder, type EmbeddingOptions } from "./embedder.js";
import { putEntry, removeEntry } from "./sqlite-entries.js";
import { openMemory, type SqliteMemoryFile } from "./sqlite-memory-file.js";
import { fusedHits, textHits } from "./sqlite-hits.js";
import { vectorExtension } from "./sqlite-vec.js";
import { encodeFile, encodeSome, putVector, spaceFor, vectorTable } from "./sqlite-vectors.js";
import { encodedFields, encodeEntry, indexTerms } from "./stored-entry.js";
import { reembedAll } from "./vector-space.js";

const PREFIX = /^MemoryError\(\w+\): /;

export type { Embed, EmbeddingOptions } from "./embedder.js";

/**
 * `path` is that of the file; ":memory:" keeps all in the process. `name` stands in errors. With `optional` an agent leaves out failures of this
 * memory. `busyTimeoutMs` bounds how long a write waits for other processes, 5000 by default. With `embedding`, for which the package
 * `sqlite-vec` must be installed, entries are found by meaning too.
 */
export type SqliteMemoryOptions = {
  readonly path: string;
  readonly name?: string | undefined;
  readonly optional?: boolean | undefined;
  readonly busyTimeoutMs?: number | undefined;
  readonly embedding?: EmbeddingOptions | undefined;
};

/**
 * A memory in one SQLite file, which many processes may use at once, and which may be that of the sessions. The words of an entry are found by
 * FTS5, with the scores of `InMemoryMemory`. With `embedding` the score is that of the words and the cosine in one, -1..1: an entry without any of the
 * words may be a hit. The file is opened by the first call and made for its owner alone; its directory must be there. An acknowledged write survives the end of
 * the process. Whoever made the memory closes it.
 */
export class SqliteMemory implements MemoryPort {
  readonly name: string;
  readonly optional: boolean;
  readonly #path: string;
  readonly #busyTimeoutMs: number;
  readonly #embedder: Embedder | undefined;
  #file: Promise<SqliteMemoryFile> | "closed" | undefined;

  /** Throws `CompositionError("invalid-config")` for options that cannot be. */
  constructor(options: SqliteMemoryOptions) {
    checkFields("a SQLite memory", options, ["path", "name", "optional", "busyTimeoutMs", "embedding"]);
    checkValues("a SQLite memory", options, {
      name: NAME,
      optional: YES_OR_NO,
      busyTimeoutMs: wholeNumber(0),
      embedding: OBJECT,
    });
    const { path, name, optional = false, busyTimeoutMs = 5_000, embedding } = options;
    if (typeof path !== "string" || path === "") {
      throw new CompositionError("invalid-config", "a SQLite memory needs { path } with the path of its file");
    }
    this.name = name ?? `sqlite "${safeLabel(path)}"`;
    this.optional = optional;
    this.#path = path;
    this.#busyTimeoutMs = busyTimeoutMs;
    this.#embedder = embedding && new Embedder(embedding);
  }

  async store(input: MemoryEntryInput): Promise<string> {
    const [id = ""] = await this.storeAll([input]);
    return id;
  }

  /** Many entries in one write, all or none, at a fraction of what one after the other costs; answers their ids in order. */
  storeAll(inputs: readonly MemoryEntryInput[]): Promise<readonly string[]> {
    return this.#run("store", async () => {
      const entries = inputs.map((input) => storedEntry(input, checkedEntry(input).id ?? crypto.randomUUID()));
      const encoded = entries.map((entry) => encodeEntry(entry));
      const file = await this.#opened("store");
      const vectors: (Embedded | undefined)[] = [];
      for (const { content } of entries) vectors.push(await this.#embedder?.embedded(content, "store"));
      file.write((sql) => {
        for (const [n, entry] of encoded.entries()) {
          const key = putEntry(sql, entry);
          const embedded = vectors[n];
          const space = embedded && spaceFor(sql, "store", embedded);
          if (space) putVector(sql, key, space, embedded.vector);
        }
        while (encodeSome(sql)) continue;
      });
      return entries.map(({ id }) => id);
    });
  }

  search(query: MemoryQuery): Promise<readonly MemoryEntry[]> {
    return this.#run("search", async () => {
      const topK = topKOf(query);
      const terms = indexTerms(query.query);
      const asked = { terms, topK, threshold: query.threshold, filter: encodedFields(filterOf(query)) };
      if (topK === 0 || terms.length === 0) return [];
      const file = await this.#opened("search");
      const embedded = await this.#embedder?.embedded(query.query, "search");
      return file.read((sql) => {
        const space = embedded && spaceFor(sql, "search", embedded);
        return space ? fusedHits(sql, asked, space, embedded.vector) : textHits(sql, asked);
      });
    });
  }

  delete(id: string): Promise<void> {
    return this.#run("delete", async () => {
      const file = await this.#opened("delete");
      file.write((sql) => removeEntry(sql, textKey(id)));
    });
  }

  /**
   * Gives a vector to every entry that has none of the present model, such as after a change of the model, or after failures that left
   * entries with their words alone; answers how many it gave. One call of `embed` after the other; what was done before a failure stays,
   * and the next call goes on from there. Until it is through, the entries without one are found by their words.
   */
  reembed(): Promise<number> {
    return this.#run("store", async () => {
      if (this.#embedder === undefined) throw new MemoryError("store", "there is no embedding in the options");
      return reembedAll(vectorTable(await this.#opened("store")), this.#embedder);
    });
  }

  /** Idempotent. Calls made afterwards, and those that wait for `embed`, reject. */
  async close(): Promise<void> {
    const file = this.#file;
    this.#file = "closed";
    this.#embedder?.close();
    if (file instanceof Promise)
      await file.then(
        (opened) => opened.close(),
        () => undefined,
      );
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** The file is opened once; what failed is tried again by the next call. */
  async #opened(kind: MemoryErrorKind): Promise<SqliteMemoryFile> {
    if (this.#file === "closed") throw new MemoryError(kind, "the memory is closed");
    const opening = this.#file ?? this.#open(kind);
    this.#file = opening;
    try {
      return await opening;
    } catch (error) {
      if (this.#file === opening) this.#file = undefined;
      throw error;
    }
  }

  async #open(kind: MemoryErrorKind): Promise<SqliteMemoryFile> {
    const extension = this.#embedder && (await vectorExtension(kind));
    const file = openMemory(this.#path, kind, { busyTimeoutMs: this.#busyTimeoutMs, extension });
    try {
      if (extension !== undefined) encodeFile(file);
      return file;
    } catch (error) {
      file.close();
      throw error;
    }
  }

  async #run<T>(kind: MemoryErrorKind, run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (cause) {
      const own = cause instanceof MemoryError ? cause.message.replace(PREFIX, "") : safeLabel(String(cause));
      throw new MemoryError(kind, `${this.name}: ${isCorruption(cause) ? "the file is damaged" : own}`, { cause });
    }
  }
}
