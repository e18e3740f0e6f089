import { MemoryError } from "../../domain/errors.js";
import { safeLabel } from "../../domain/safe-label.js";
import type { Awaitable } from "../../ports/awaitable.js";
import type { Embedded, Embedder } from "./embedder.js";

/** The vectors of one model. Of several in a database the one with the highest key is the present one. */
export type Space = { readonly key: number; readonly model: string; readonly dimensions: number };

/**
 * The space when the vector can be compared with those in it; nothing where there is none yet, or where the vector is of another length
 * and the words are to do. Throws `MemoryError(kind)` for a vector of another model or length.
 */
export function fittingSpace(
  kind: "store" | "search",
  space: Space | undefined,
  { vector, model, wordsWillDo }: Embedded,
): Space | undefined {
  if (space === undefined || fits(space, model, vector)) return space;
  if (wordsWillDo && space.model === model) return undefined;
  throw misfit(kind, space, model, vector);
}

/** True for a vector of the model and length of the space. */
export function fits(space: Space, model: string, vector: Float32Array): boolean {
  return space.model === model && space.dimensions === vector.length;
}

/** Throws `MemoryError("store")` where another model has begun a space since this one: a vector of this would take the place of one of that. */
export function checkPresent(space: Space, present: Space | undefined, vector: Float32Array): void {
  if (present !== undefined && present.key !== space.key) throw misfit("store", present, space.model, vector);
}

function misfit(kind: "store" | "search", space: Space, model: string, vector: Float32Array): MemoryError {
  const there = `the vectors there have ${named(space.model, space.dimensions)}`;
  const text = `${there}, embed gave ${named(model, vector.length)}; reembed() replaces them all`;
  return new MemoryError(kind, text);
}

function named(model: string, dimensions: number): string {
  return `${dimensions} dimensions${model === "" ? "" : ` of the model "${safeLabel(model)}"`}`;
}

/** What `reembedAll` does to a database; each method is a transaction of its own. */
export type VectorTable = {
  /** The first entry behind this key without a vector in the space; any entry counts as without where there is no space. */
  next(
    after: number,
    space: Space | undefined,
  ): Awaitable<{ readonly key: number; readonly content: string } | undefined>;
  /** The present space if the vector fits it, else a new one. */
  begin(model: string, vector: Float32Array): Awaitable<Space>;
  /** False for an entry that is there no more; rejects where the space is no longer the present one. */
  put(key: number, space: Space, vector: Float32Array): Awaitable<boolean>;
};

/** Gives a vector to every entry that has none of the embedder's model, one after the other; answers to how many. */
export async function reembedAll(table: VectorTable, embedder: Embedder): Promise<number> {
  const first = await table.next(0, undefined);
  if (first === undefined) return 0;
  const { model } = embedder;
  const space = await table.begin(model, await embedder.vector(first.content, "store"));
  let count = 0;
  let next = await table.next(0, space);
  while (next !== undefined) {
    const vector = await embedder.vector(next.content, "store");
    if (!fits(space, model, vector)) throw misfit("store", space, model, vector);
    if (await table.put(next.key, space, vector)) count += 1;
    next = await table.next(next.key, space);
  }
  return count;
}
