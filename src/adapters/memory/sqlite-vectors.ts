import { MemoryError } from "../../domain/errors.js";
import { safeLabel } from "../../domain/safe-label.js";
import { textOfKey } from "../../domain/text-key.js";
import type { Embedded, Embedder } from "./embedder.js";
import { numberOf } from "./sqlite-entries.js";
import type { MemoryStatements, SqliteMemoryFile } from "./sqlite-memory-file.js";

/** The vectors of one model. */
export type Space = { readonly key: number; readonly model: string; readonly dimensions: number };

function presentSpace(sql: MemoryStatements): Space | undefined {
  const row = sql.space.get();
  if (row === undefined) return undefined;
  return { key: numberOf(row, "key"), model: String(row["model"]), dimensions: numberOf(row, "dimensions") };
}

function fits(space: Space, model: string, vector: Float32Array): boolean {
  return space.model === model && space.dimensions === vector.length;
}

function beginSpace(sql: MemoryStatements, model: string, vector: Float32Array): Space {
  const key = Number(sql.addSpace.run(model, vector.length).lastInsertRowid);
  return { key, model, dimensions: vector.length };
}

/**
 * The space that the vector belongs to; a store begins the first one. Nothing where no vector is there yet, or where this one is of another
 * length and the words are to do. Throws `MemoryError(kind)` for a vector of another model or length than those that are there.
 */
export function spaceFor(sql: MemoryStatements, kind: "store" | "search", embedded: Embedded): Space | undefined {
  const { vector, model, wordsWillDo } = embedded;
  const space = presentSpace(sql) ?? (kind === "store" ? beginSpace(sql, model, vector) : undefined);
  if (space === undefined || fits(space, model, vector)) return space;
  if (wordsWillDo && space.model === model) return undefined;
  throw misfit(kind, space, model, vector);
}

function misfit(kind: "store" | "search", space: Space, model: string, vector: Float32Array): MemoryError {
  const named = (name: string, dimensions: number): string =>
    `${dimensions} dimensions${name === "" ? "" : ` of the model "${safeLabel(name)}"`}`;
  const text = `the vectors there have ${named(space.model, space.dimensions)}, embed gave ${named(model, vector.length)}`;
  return new MemoryError(kind, `${text}; reembed() replaces them all`);
}

/** In place of the one the entry has; to be run in a write transaction. */
export function putVector(sql: MemoryStatements, entry: number, space: Space, vector: Float32Array): void {
  sql.setVector.run(entry, space.key, bytesOf(vector));
}

/** The nearest entries of `among`, or of all, with their cosine. */
export function nearest(
  sql: MemoryStatements,
  space: Space,
  vector: Float32Array,
  { limit, among }: { readonly limit: number; readonly among: ReadonlySet<number> | undefined },
): Map<number, number> {
  const keys = among === undefined ? null : JSON.stringify([...among]);
  const rows = sql.near.all(bytesOf(vector), space.key, keys, keys, limit);
  return new Map(rows.map((row) => [numberOf(row, "entry"), numberOf(row, "cosine")]));
}

/** How near an entry is; nothing when it has no vector in the space. */
export function cosineOf(sql: MemoryStatements, entry: number, space: Space, vector: Float32Array): number | undefined {
  const cosine = sql.cosine.get(bytesOf(vector), entry, space.key)?.["cosine"];
  return typeof cosine === "number" ? cosine : undefined;
}

/** Gives every entry without one a vector of the embedder's; answers how many. */
export async function reembedAll(file: SqliteMemoryFile, embedder: Embedder): Promise<number> {
  const first = file.read((sql) => nextWithout(sql, 0, undefined));
  if (first === undefined) return 0;
  const sample = await embedder.vector(first.content, "store");
  const space = file.write((sql) => {
    const present = presentSpace(sql);
    return present && fits(present, embedder.model, sample) ? present : beginSpace(sql, embedder.model, sample);
  });
  let count = 0;
  let next = file.read((sql) => nextWithout(sql, 0, space));
  while (next !== undefined) {
    const { key, content } = next;
    const vector = await embedder.vector(content, "store");
    if (!fits(space, embedder.model, vector)) throw misfit("store", space, embedder.model, vector);
    count += file.write((sql) => {
      // Deleted or replaced meanwhile: keys are not used twice.
      if (sql.entry.get(key) === undefined) return 0;
      putVector(sql, key, space, vector);
      return 1;
    });
    next = file.read((sql) => nextWithout(sql, key, space));
  }
  return count;
}

/** The next entry after this key that has no vector in the space, or none at all where there is no space. */
function nextWithout(sql: MemoryStatements, after: number, space: Space | undefined) {
  const row = sql.withoutVector.get(after, space?.key ?? 0);
  if (row === undefined) return undefined;
  const key = numberOf(row, "key");
  const content = typeof row["content"] === "string" ? textOfKey(row["content"]) : undefined;
  if (content === undefined) throw new MemoryError("store", `the entry number ${key} is damaged`);
  return { key, content };
}

function bytesOf(vector: Float32Array): Uint8Array {
  return new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength);
}
