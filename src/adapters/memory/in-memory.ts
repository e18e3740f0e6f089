import { thrownLabel } from "../../domain/describe-thrown.js";
import { MemoryError } from "../../domain/errors.js";
import {
  checkedEntry,
  type MemoryEntry,
  type MemoryEntryInput,
  type MemoryQuery,
  storedEntry,
  topKOf,
} from "../../domain/memory.js";
import { matchesMetadata } from "../../domain/session-rules.js";
import { textTerms } from "../../domain/text-terms.js";
import type { Awaitable } from "../../ports/awaitable.js";
import type { MemoryPort } from "../../ports/memory.js";
import { TextIndex } from "./text-index.js";

/** How near an entry is to a query, higher is nearer; nothing when it is no hit at all. */
export type MemoryScore = (query: string, entry: MemoryEntry) => Awaitable<number | undefined>;

/** `name` stands in the errors of an agent with several memories. */
export type InMemoryMemoryOptions = {
  readonly name?: string | undefined;
  /** In place of the text score, for instance the cosine of embeddings (-1..1). A rejection is `MemoryError("search")`. */
  readonly score?: MemoryScore | undefined;
};

/**
 * A memory that lives as long as the process. Its text score is BM25 divided by the most any entry could reach for the query: 0..1,
 * nearer to 1 the more of the rarer terms an entry has, the more often, and the shorter it is; an entry without any of the terms is no
 * hit. A query without letters, digits or pictographs finds nothing, whatever the score. Equal scores: the one stored last comes first.
 */
export class InMemoryMemory implements MemoryPort {
  readonly name: string;
  readonly #score: MemoryScore | undefined;
  readonly #entries = new Map<string, MemoryEntry>();
  readonly #index = new TextIndex();

  constructor(options: InMemoryMemoryOptions = {}) {
    this.name = options.name ?? "in-memory";
    this.#score = options.score;
  }

  async store(input: MemoryEntryInput): Promise<string> {
    const id = checkedEntry(input).id ?? crypto.randomUUID();
    const entry = storedEntry(input, id);
    // Deleted first, so that a replaced entry counts as stored last.
    this.#entries.delete(id);
    this.#entries.set(id, entry);
    this.#index.set(id, textTerms(entry.content));
    return id;
  }

  async search(query: MemoryQuery): Promise<readonly MemoryEntry[]> {
    const topK = topKOf(query);
    const { threshold } = query;
    const terms = textTerms(query.query);
    if (topK === 0 || terms.length === 0) return [];
    const scores = this.#score === undefined ? this.#index.scores(terms) : await this.#scores(this.#score, query.query);
    const hits: (MemoryEntry & { readonly score: number })[] = [];
    for (const [id, entry] of this.#entries) {
      const score = scores.get(id);
      if (typeof score !== "number" || Number.isNaN(score) || !matchesMetadata(entry.metadata, query.filter)) continue;
      if (threshold === undefined || score >= threshold) hits.push({ ...entry, score });
    }
    return hits
      .reverse()
      .sort((a, b) => b.score - a.score)
      .slice(0, topK);
  }

  async delete(id: string): Promise<void> {
    this.#entries.delete(id);
    this.#index.delete(id);
  }

  async #scores(score: MemoryScore, query: string): Promise<ReadonlyMap<string, number | undefined>> {
    const scores = new Map<string, number | undefined>();
    try {
      for (const entry of [...this.#entries.values()]) scores.set(entry.id, await score(query, entry));
    } catch (cause) {
      throw new MemoryError("search", `the score failed: ${thrownLabel(cause)}`, { cause });
    }
    return scores;
  }
}
