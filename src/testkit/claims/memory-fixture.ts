import type { MemoryEntry, MemoryEntryInput, MemoryQuery } from "../../domain/memory.js";
import type { Awaitable } from "../../ports/awaitable.js";
import type { MemoryPort } from "../../ports/memory.js";
import type { Claim, Fixture } from "./claim.js";
import { expectThat } from "./expectations.js";

/**
 * What a memory may lack. `search`: it keeps nothing. `words`: it ranks whatever there is, so that an entry without any word of the query
 * may be a hit. `scripts`: it finds words in scripts with spaces only. `damage` and `reopen` are offered by the fixture.
 */
export type MemoryPortCapability = "search" | "words" | "scripts" | "damage" | "reopen";

/** An empty memory that nobody else uses. */
export type MemoryPortFixture = Fixture & {
  readonly memory: MemoryPort;
  /** The lowest and highest score a hit may have; 0 and 1 by default. */
  readonly scores?: readonly [lowest: number, highest: number];
  /** Makes what is kept of this entry's metadata unreadable, behind the memory's back. */
  damage?(id: string): Awaitable<void>;
  /** Another memory on the same data, which the fixture disposes of. */
  reopen?(): Awaitable<MemoryPort>;
};

/** A claim of `memoryPortClaims`. */
export type MemoryPortClaim = Claim<MemoryPortFixture, MemoryPortCapability>;

/** More hits than any claim stores entries. */
export const ALL = 1_000;

/** Stores one after the other; a text is an entry whose id it is. */
export async function storeAll(
  memory: MemoryPort,
  ...entries: readonly (string | MemoryEntryInput)[]
): Promise<string[]> {
  const ids: string[] = [];
  for (const entry of entries)
    ids.push(await memory.store(typeof entry === "string" ? { id: entry, content: entry } : entry));
  return ids;
}

/** The ids that a query finds, in order, without a limit unless it names one. */
export async function found(memory: MemoryPort, query: string | MemoryQuery): Promise<string[]> {
  const asked = typeof query === "string" ? { query } : query;
  return (await memory.search({ topK: ALL, ...asked })).map(({ id }) => id);
}

/** The only hit with this id; fails where there is none, or more than one. */
export async function hitOf(memory: MemoryPort, id: string, query: string): Promise<MemoryEntry> {
  const hits = (await memory.search({ query, topK: ALL })).filter((entry) => entry.id === id);
  const [hit] = hits;
  expectThat(hit !== undefined && hits.length === 1, `${hits.length} hits have the id of the one entry stored`);
  return hit;
}
