import { adopt } from "../../domain/adopt.js";
import { Defect, MemoryError } from "../../domain/errors.js";
import { type MemoryEntry, type MemoryEntryInput, type MemoryQuery, topKOf } from "../../domain/memory.js";
import { matchesMetadata } from "../../domain/session-rules.js";
import type { MemoryPort } from "../../ports/memory.js";
import { frozen } from "./frozen.js";

/** A request made of the memory. */
export type MemoryOperation =
  | { readonly kind: "store"; readonly entry: MemoryEntryInput }
  | { readonly kind: "search"; readonly query: MemoryQuery }
  | { readonly kind: "delete"; readonly id: string };

/** Keeps entries, finds those that hold the query's text (score 1), and fails where it is told to. */
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

  async store(entry: MemoryEntryInput): Promise<string> {
    this.#begin({ kind: "store", entry: frozen(entry, "entry") });
    const id = entry.id ?? `memory-${this.#ops.length}`;
    this.seed({ id, content: entry.content, metadata: entry.metadata ?? {} });
    return id;
  }

  async search(query: MemoryQuery): Promise<readonly MemoryEntry[]> {
    this.#begin({ kind: "search", query: frozen(query, "query") });
    const found = [...this.#entries.values()].filter(
      ({ content, metadata }) => content.includes(query.query) && matchesMetadata(metadata, query.filter),
    );
    const kept = 1 >= (query.threshold ?? 1) ? found : [];
    return kept.slice(0, topKOf(query)).map((entry) => Object.freeze({ ...entry, score: 1 }));
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
