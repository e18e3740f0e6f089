import { adopt } from "../domain/adopt.js";
import { Defect, MemoryError, type MemoryErrorKind } from "../domain/errors.js";
import { isJsonObject, type Json, type JsonObject } from "../domain/json.js";
import { isTimeLimit } from "../domain/limits.js";
import {
  checkedEntry,
  type MemoryEntry,
  type MemoryEntryInput,
  type MemoryQuery,
  storedEntry,
  topKOf,
} from "../domain/memory.js";
import { safeLabel } from "../domain/safe-label.js";
import type { MemoryAccess, MemoryPort } from "../ports/memory.js";
import type { Runtime } from "../ports/runtime.js";

/** All memories of an agent as one. A failure is a `MemoryError` naming the memory, unless that one is optional; so is no answer in time. */
export class MemoryFanOut implements MemoryAccess {
  readonly #memories: readonly MemoryPort[];
  readonly #runtime: Runtime;
  readonly #timeoutMs: number;

  /** `timeoutMs` bounds each call of each memory. */
  constructor(memories: readonly MemoryPort[], runtime: Runtime, timeoutMs: number) {
    this.#memories = memories;
    this.#runtime = runtime;
    this.#timeoutMs = timeoutMs;
  }

  /** The first memory makes the id, the rest get it; all get the entry as it is now. */
  async store(entry: MemoryEntryInput): Promise<string> {
    let { id } = checkedEntry(entry);
    const { content, metadata } = storedEntry(entry, "");
    const own = { content, ...(entry.metadata !== undefined && { metadata }) };
    for (const memory of this.#memories) {
      const given = id === undefined ? own : { ...own, id };
      id = (await this.#ask("store", memory, async () => idOf(await memory.store(given)))) ?? id;
    }
    if (this.#memories.length === 0) throw new MemoryError("store", "the agent has no memory");
    if (id === undefined) throw new MemoryError("store", "no memory took the entry");
    return id;
  }

  /** Merged by id with the best score each, best first, cut to `topK` afterwards. All are asked at the same time. */
  async search(
    query: MemoryQuery,
    { timeoutMs = this.#timeoutMs }: { readonly timeoutMs?: number | undefined } = {},
  ): Promise<readonly MemoryEntry[]> {
    const topK = topKOf(query);
    if (!isTimeLimit(timeoutMs)) throw new MemoryError("search", "timeoutMs is no number above 0");
    const best = new Map<string, MemoryEntry>();
    const limitMs = Math.min(timeoutMs, this.#timeoutMs);
    const searches = this.#memories.map((memory) => this.#searched(memory, query, limitMs));
    for (const search of searches) {
      const { found, error } = await search;
      if (error !== undefined) throw error;
      for (const entry of found) {
        const known = best.get(entry.id);
        if (known === undefined || scoreOf(entry) > scoreOf(known)) best.set(entry.id, entry);
      }
    }
    return [...best.values()].sort((a, b) => scoreOf(b) - scoreOf(a)).slice(0, topK);
  }

  /** All are asked, also behind one that fails; the first failure is told then. */
  async delete(id: string): Promise<void> {
    const failures: unknown[] = [];
    for (const memory of this.#memories) {
      await this.#ask("delete", memory, async () => memory.delete(id)).catch((error: unknown) => failures.push(error));
    }
    if (failures.length > 0) throw failures.find((failure) => Defect.is(failure)) ?? failures[0];
  }

  /** Never rejects: nobody listens yet while others are waited for. */
  async #searched(
    memory: MemoryPort,
    query: MemoryQuery,
    limitMs: number,
  ): Promise<{ found: readonly MemoryEntry[]; error?: Error }> {
    try {
      const search = async () => entriesOf(await memory.search(query));
      const found = (await this.#ask("search", memory, search, limitMs)) ?? [];
      const { name } = memory;
      return { found: name === undefined ? found : found.map((entry) => ({ ...entry, memory: name })) };
    } catch (error) {
      return { found: [], error: error as Error };
    }
  }

  async #ask<T>(
    kind: MemoryErrorKind,
    memory: MemoryPort,
    run: () => Promise<T>,
    limitMs = this.#timeoutMs,
  ): Promise<T | undefined> {
    try {
      return await this.#inTime(run, limitMs);
    } catch (error) {
      if (Defect.is(error)) throw error;
      if (memory.optional === true) return undefined;
      const position = this.#memories.indexOf(memory);
      throw new MemoryError(kind, `memory ${safeLabel(memory.name ?? String(position))} failed`, { cause: error });
    }
  }

  #inTime<T>(run: () => Promise<T>, limitMs: number): Promise<T> {
    return new Promise((resolve, reject) => {
      const late = (): void => reject(new Error(`no answer within ${limitMs} ms`));
      const cancel = this.#runtime.after(limitMs, late, { keepAlive: true });
      void run().then(resolve, reject).finally(cancel);
    });
  }
}

/** What a memory answered, so far as types bind nobody's memory. Throws a TypeError. */
function idOf(answer: unknown): string {
  if (typeof answer === "string") return answer;
  throw new TypeError("a memory answered a store without an id");
}

/** The same for what it found, as copies: an entry stays what it was when it was looked at. */
function entriesOf(answer: unknown): readonly MemoryEntry[] {
  if (Array.isArray(answer)) return Array.from(answer, entryOf);
  throw new TypeError("a memory answered a search with something else than entries");
}

function entryOf(value: unknown): MemoryEntry {
  const { id, content, metadata, score } = adopt(isJsonObject(value) ? ownFields(value) : {}, "an entry");
  if (typeof id !== "string" || typeof content !== "string" || !isJsonObject(metadata) || !isScore(score))
    throw new TypeError("a memory answered a search with something else than entries");
  return { id, content, metadata, ...(score !== undefined && { score }) };
}

/** What else a memory knows of it, such as the row it is from, need not be JSON. */
function ownFields({ id, content, metadata, score }: JsonObject): Readonly<Record<string, Json | undefined>> {
  return { id, content, metadata, score };
}

/** None that JSON cannot hold: `adopt` refuses those. */
function isScore(score: unknown): score is number | undefined {
  return score === undefined || typeof score === "number";
}

function scoreOf(entry: MemoryEntry): number {
  return entry.score ?? Number.NEGATIVE_INFINITY;
}
