import { adopt } from "../../domain/adopt.js";
import { Defect, MemoryError } from "../../domain/errors.js";
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
import type { MemoryPort } from "../../ports/memory.js";
import { frozen } from "./frozen.js";

/** A request made of the memory. */
export type MemoryOperation =
  | { readonly kind: "store"; readonly entry: MemoryEntryInput }
  | { readonly kind: "search"; readonly query: MemoryQuery }
  | { readonly kind: "delete"; readonly id: string };

/** Keeps entries, finds those with words of the query, the score being the share of its words they have, and fails where it is told to. */
export class RecordingMemory implements MemoryPort {
  declare readonly name?: string;
  declare readonly optional?: boolean;
  readonly #entries = new Map<string, MemoryEntry>();
  readonly #ops: MemoryOperation[] = [];
  readonly #failures = new Map<MemoryOperation["kind"], MemoryError>();

  constructor(members: Pick<MemoryPort, "name" | "optional"> = {}) {
    Object.assign(this, members);
  }

  /** Puts entries there without recording it. */
  seed(...entries: readonly MemoryEntry[]): this {
    for (const entry of entries) this.#entries.set(entry.id, adopt(entry, "entry"));
    return this;
  }

  /** The next request of this kind rejects. */
  failNext(kind: MemoryOperation["kind"], error = new MemoryError(kind, "told to fail")): this {
    this.#failures.set(kind, error);
    return this;
  }

  async store(input: MemoryEntryInput): Promise<string> {
    const { id = `memory-${this.#ops.length + 1}` } = checkedEntry(input);
    const entry = storedEntry(input, id);
    this.#begin({ kind: "store", entry: frozen(input, "entry") });
    this.#entries.set(id, entry);
    return id;
  }

  async search(query: MemoryQuery): Promise<readonly MemoryEntry[]> {
    this.#begin({ kind: "search", query: recorded(query) });
    const topK = topKOf(query);
    const wanted = new Set(textTerms(query.query));
    return [...this.#entries.values()]
      .filter(({ metadata }) => matchesMetadata(metadata, query.filter))
      .map((entry) => Object.freeze({ ...entry, score: shareOf(wanted, entry.content) }))
      .filter(({ score }) => score > 0 && score >= (query.threshold ?? 0))
      .sort((a, b) => b.score - a.score)
      .slice(0, topK);
  }

  async delete(id: string): Promise<void> {
    this.#begin({ kind: "delete", id });
    this.#entries.delete(id);
  }

  get ops(): readonly MemoryOperation[] {
    return [...this.#ops];
  }

  /** What is kept now, oldest first. */
  get entries(): readonly MemoryEntry[] {
    return [...this.#entries.values()];
  }

  /** Throws a `Defect` when a failure that was asked for never came about. */
  assertDone(): void {
    const kind = this.#failures.keys().next().value;
    if (kind !== undefined) throw new Defect(`recording_memory_unfinished: no ${kind} came`);
  }

  #begin(op: MemoryOperation): void {
    this.#ops.push(Object.freeze(op));
    const failure = this.#failures.get(op.kind);
    this.#failures.delete(op.kind);
    if (failure !== undefined) throw failure;
  }
}

/** Also of a query that no JSON can hold, which is refused but was asked. */
function recorded(query: MemoryQuery): MemoryQuery {
  try {
    return frozen(query, "query");
  } catch {
    return Object.freeze({ ...query });
  }
}

function shareOf(wanted: ReadonlySet<string>, content: string): number {
  const there = new Set(textTerms(content));
  return [...wanted].filter((term) => there.has(term)).length / Math.max(1, wanted.size);
}
