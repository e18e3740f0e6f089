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

/** What an operation answered: the ids that were stored, found or deleted, or the error it rejected with. */
export type MemoryOutcome =
  | { readonly ok: true; readonly ids: readonly string[] }
  | { readonly ok: false; readonly error: unknown };

/** A request made of the memory. */
export type MemoryOperation = { readonly outcome: MemoryOutcome } & (
  | { readonly kind: "store"; readonly entry: MemoryEntryInput }
  | { readonly kind: "search"; readonly query: MemoryQuery }
  | { readonly kind: "delete"; readonly id: string }
);

type Asked<T = MemoryOperation> = T extends MemoryOperation ? Omit<T, "outcome"> : never;

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
    this.#record({ kind: "store", entry: frozen(input, "entry") }, () => {
      this.#entries.set(id, entry);
      return [id];
    });
    return id;
  }

  async search(query: MemoryQuery): Promise<readonly MemoryEntry[]> {
    let hits: readonly MemoryEntry[] = [];
    this.#record({ kind: "search", query: recorded(query) }, () => {
      hits = this.#hits(query);
      return hits.map(({ id }) => id);
    });
    return hits;
  }

  async delete(id: string): Promise<void> {
    this.#record({ kind: "delete", id }, () => (this.#entries.delete(id) ? [id] : []));
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

  #hits(query: MemoryQuery): readonly MemoryEntry[] {
    const topK = topKOf(query);
    const wanted = new Set(textTerms(query.query));
    return [...this.#entries.values()]
      .filter(({ metadata }) => matchesMetadata(metadata, query.filter))
      .map((entry) => Object.freeze({ ...entry, score: shareOf(wanted, entry.content) }))
      .filter(({ score }) => score > 0 && score >= (query.threshold ?? 0))
      .sort((a, b) => b.score - a.score)
      .slice(0, topK);
  }

  #record(asked: Asked, run: () => readonly string[]): void {
    const failure = this.#failures.get(asked.kind);
    this.#failures.delete(asked.kind);
    try {
      if (failure !== undefined) throw failure;
      this.#add(asked, { ok: true, ids: Object.freeze(run()) });
    } catch (error) {
      this.#add(asked, { ok: false, error });
      throw error;
    }
  }

  #add(asked: Asked, outcome: MemoryOutcome): void {
    this.#ops.push(Object.freeze({ ...asked, outcome: Object.freeze(outcome) }));
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
