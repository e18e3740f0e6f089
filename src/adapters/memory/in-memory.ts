import { checkValues, FUNCTION, NAME } from "../../domain/check-values.js";
import { thrownLabel } from "../../domain/describe-thrown.js";
import { MemoryError } from "../../domain/errors.js";
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
import { textTerms } from "../../domain/text-terms.js";
import type { Awaitable } from "../../ports/awaitable.js";
import type { MemoryPort } from "../../ports/memory.js";
import { FieldIndex } from "./field-index.js";
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
  /** By the number of its store: of equal scores the highest comes first. */
  readonly #entries = new Map<number, MemoryEntry>();
  readonly #numbers = new Map<string, number>();
  readonly #fields = new FieldIndex();
  readonly #index = new TextIndex();
  #count = 0;

  /** Throws `CompositionError("invalid-config")` for options that cannot be. */
  constructor(options: InMemoryMemoryOptions = {}) {
    checkFields("InMemoryMemory", options, ["name", "score"]);
    checkValues("InMemoryMemory", options, { name: NAME, score: FUNCTION });
    this.name = options.name ?? "in-memory";
    this.#score = options.score;
  }

  async store(input: MemoryEntryInput): Promise<string> {
    const id = checkedEntry(input).id ?? crypto.randomUUID();
    const entry = storedEntry(input, id);
    this.#remove(id);
    const number = this.#count++;
    this.#numbers.set(id, number);
    this.#entries.set(number, entry);
    this.#fields.add(number, entry.metadata);
    this.#index.add(number, textTerms(entry.content));
    return id;
  }

  async search(query: MemoryQuery): Promise<readonly MemoryEntry[]> {
    const topK = topKOf(query);
    const { threshold = Number.NEGATIVE_INFINITY, query: text } = query;
    const terms = textTerms(text);
    if (topK === 0 || terms.length === 0) return [];
    const among = this.#fields.having(filterOf(query));
    const scores =
      this.#score === undefined
        ? this.#index.best(terms, { limit: topK, least: threshold }, among)
        : await this.#scores(this.#score, text, among);
    const hits: MemoryEntry[] = [];
    for (const [number, score] of [...scores].sort(([a, x], [b, y]) => y - x || b - a)) {
      const entry = this.#entries.get(number);
      if (hits.length === topK || score < threshold) break;
      if (entry !== undefined) hits.push({ ...entry, score });
    }
    return hits;
  }

  async delete(id: string): Promise<void> {
    this.#remove(id);
  }

  #remove(id: string): void {
    const number = this.#numbers.get(id);
    if (number === undefined) return;
    this.#numbers.delete(id);
    const entry = this.#entries.get(number);
    this.#entries.delete(number);
    this.#fields.delete(number, entry?.metadata ?? {});
    this.#index.delete(number);
  }

  /** Of all entries of `among` there are when it begins; what is no finite number is no hit. */
  async #scores(
    score: MemoryScore,
    query: string,
    among: ReadonlySet<number> | undefined,
  ): Promise<ReadonlyMap<number, number>> {
    const scores = new Map<number, number>();
    try {
      for (const [number, entry] of [...this.#entries]) {
        if (among?.has(number) === false) continue;
        const given = await score(query, entry);
        if (typeof given === "number" && Number.isFinite(given)) scores.set(number, given);
      }
    } catch (cause) {
      throw new MemoryError("search", `the score failed: ${thrownLabel(cause)}`, { cause });
    }
    return scores;
  }
}
