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

/** `number` counts stores: of equal scores the highest comes first. */
type Stored = { readonly entry: MemoryEntry; readonly number: number };

/**
 * A memory that lives as long as the process. Its text score is BM25 divided by the most any entry could reach for the query: 0..1,
 * nearer to 1 the more of the rarer terms an entry has, the more often, and the shorter it is; an entry without any of the terms is no
 * hit. A query without letters, digits or pictographs finds nothing, whatever the score. Equal scores: the one stored last comes first.
 */
export class InMemoryMemory implements MemoryPort {
  readonly name: string;
  readonly #score: MemoryScore | undefined;
  readonly #entries = new Map<string, Stored>();
  readonly #index = new TextIndex();
  #stored = 0;

  constructor(options: InMemoryMemoryOptions = {}) {
    this.name = options.name ?? "in-memory";
    this.#score = options.score;
  }

  async store(input: MemoryEntryInput): Promise<string> {
    const id = checkedEntry(input).id ?? crypto.randomUUID();
    const entry = storedEntry(input, id);
    this.#entries.set(id, { entry, number: this.#stored++ });
    this.#index.set(id, textTerms(entry.content));
    return id;
  }

  async search(query: MemoryQuery): Promise<readonly MemoryEntry[]> {
    const topK = topKOf(query);
    const { threshold = Number.NEGATIVE_INFINITY, filter, query: text } = query;
    const terms = textTerms(text);
    if (topK === 0 || terms.length === 0) return [];
    const among = (id: string): boolean => matchesMetadata(this.#entries.get(id)?.entry.metadata ?? {}, filter);
    const scores =
      this.#score === undefined ? this.#index.best(terms, topK, among) : await this.#scores(this.#score, text, among);
    const hits: { readonly score: number; readonly stored: Stored }[] = [];
    for (const [id, score] of scores) {
      const stored = this.#entries.get(id);
      if (stored !== undefined && score >= threshold) hits.push({ score, stored });
    }
    return hits
      .sort((a, b) => b.score - a.score || b.stored.number - a.stored.number)
      .slice(0, topK)
      .map(({ score, stored }) => ({ ...stored.entry, score }));
  }

  async delete(id: string): Promise<void> {
    this.#entries.delete(id);
    this.#index.delete(id);
  }

  /** Of all entries there are when it begins; what is no number is no hit. */
  async #scores(
    score: MemoryScore,
    query: string,
    among: (id: string) => boolean,
  ): Promise<ReadonlyMap<string, number>> {
    const scores = new Map<string, number>();
    try {
      for (const { entry } of [...this.#entries.values()]) {
        const given = await score(query, entry);
        if (typeof given === "number" && !Number.isNaN(given) && among(entry.id)) scores.set(entry.id, given);
      }
    } catch (cause) {
      throw new MemoryError("search", `the score failed: ${thrownLabel(cause)}`, { cause });
    }
    return scores;
  }
}
