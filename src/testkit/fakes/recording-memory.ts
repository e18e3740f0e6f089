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
  readonly #failures: { readonly kind: MemoryOperation["kind"]; readonly error: MemoryError }[] = [];
  #ownIds = 0;

  constructor(members: Pick<MemoryPort, "name" | "optional"> = {}) {
    Object.assign(this, members);
  }

  /** Puts entries there without recording it. */
  seed(...entries: readonly MemoryEntry[]): this {
    for (const entry of entries) this.#entries.set(entry.id, adopt(entry, "entry"));
    return this;
  }

  /** The next request of this kind rejects; several calls queue up. */
  failNext(kind: MemoryOperation["kind"], error = new MemoryError(kind, "told to fail")): this {
    this.#failures.push({ kind, error });
    return this;
  }

  async store(input: MemoryEntryInput): Promise<string> {
    const [id = ""] = this.#record({ kind: "store", entry: recorded(input, "entry") }, () => {
      const { id: own = this.#newId() } = checkedEntry(input);
      this.#entries.set(own, storedEntry(input, own));
      return [own];
    });
    return id;
  }

  async search(query: MemoryQuery): Promise<readonly MemoryEntry[]> {
    let hits: readonly MemoryEntry[] = [];
    this.#record({ kind: "search", query: recorded(query, "query") }, () => {
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
    const [left] = this.#failures;
    if (left !== undefined) throw new Defect(`recording_memory_unfinished: no ${left.kind} came`);
  }

  /** Of no entry that is there: a test may have stored one under any id. */
  #newId(): string {
    for (;;) {
      const id = `memory-${++this.#ownIds}`;
      if (!this.#entries.has(id)) return id;
    }
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

  #record(asked: Asked, run: () => readonly string[]): readonly string[] {
    const planned = this.#failures.findIndex(({ kind }) => kind === asked.kind);
    const [failure] = planned === -1 ? [] : this.#failures.splice(planned, 1);
    try {
      if (failure !== undefined) throw failure.error;
      const ids = Object.freeze(run());
      this.#add(asked, { ok: true, ids });
      return ids;
    } catch (error) {
      this.#add(asked, { ok: false, error });
      throw error;
    }
  }

  #add(asked: Asked, outcome: MemoryOutcome): void {
    this.#ops.push(Object.freeze({ ...asked, outcome: Object.freeze(outcome) }));
  }
}

/** Also of what no JSON can hold, which is refused but was asked. */
function recorded<T extends object>(value: T, place: string): T {
  try {
    return frozen(value, place);
  } catch {
    return Object.freeze({ ...value });
  }
}

function shareOf(wanted: ReadonlySet<string>, content: string): number {
  const there = new Set(textTerms(content));
  return [...wanted].filter((term) => there.has(term)).length / Math.max(1, wanted.size);
}
