import { MemoryError } from "../../domain/errors.js";
import type { Embedded } from "./embedder.js";
import { CodedEntries } from "./sqlite-coded-entries.js";
import { bytesOf, COMPARED, encodeChunk, lacksCodes, uncodedEntries } from "./sqlite-codes.js";
import { numberOf } from "./sqlite-entries.js";
import type { MemoryStatements, SqliteMemoryFile } from "./sqlite-memory-file.js";
import { textIn } from "./stored-entry.js";
import { checkPresent, fits, fittingSpace, type Space, type VectorTable } from "./vector-space.js";

function presentSpace(sql: MemoryStatements): Space | undefined {
  const row = sql.space.get();
  if (row === undefined) return undefined;
  return { key: numberOf(row, "key"), model: String(row["model"]), dimensions: numberOf(row, "dimensions") };
}

function beginSpace(sql: MemoryStatements, model: string, vector: Float32Array): Space {
  const key = Number(sql.addSpace.run(model, vector.length).lastInsertRowid);
  return { key, model, dimensions: vector.length };
}

/** The space that the vector is stored in or compared with, like `fittingSpace`; a store begins the first one. */
export function spaceFor(sql: MemoryStatements, kind: "store" | "search", embedded: Embedded): Space | undefined {
  const first = kind === "store" ? () => beginSpace(sql, embedded.model, embedded.vector) : () => undefined;
  return fittingSpace(kind, presentSpace(sql) ?? first(), embedded);
}

/** In place of the one the entry has; to be run in a write transaction. */
export function putVector(sql: MemoryStatements, entry: number, space: Space, vector: Float32Array): void {
  sql.removeVector.run(entry);
  sql.addVector.run(entry, space.key, bytesOf(vector));
}

/** Gives codes to vectors that have none, where there are enough; answers whether there may be more. To be run in a write transaction. */
export function encodeSome(sql: MemoryStatements): boolean {
  const space = presentSpace(sql);
  if (space === undefined || !lacksCodes(sql, space)) return false;
  encodeChunk(sql, space);
  return true;
}

/** Brings a file up to date in which vectors are without codes, such as one that an older version wrote. A chunk at a time, so that nobody waits for long. */
export function encodeFile(file: SqliteMemoryFile): void {
  const lacking = (sql: MemoryStatements): boolean => {
    const space = presentSpace(sql);
    return space !== undefined && lacksCodes(sql, space);
  };
  while (file.read(lacking)) file.write(encodeSome);
}

/** So many of those that codes choose are compared at least, and so many for each that is asked for. */
const LEAST_CHOSEN = 1_000;
const CHOSEN_PER_HIT = 2;

/** The nearest entries of `among`, or of all, with their cosine: exact where few are in question, else of those that codes choose. */
export function nearest(
  sql: MemoryStatements,
  space: Space,
  vector: Float32Array,
  { limit, among }: { readonly limit: number; readonly among: ReadonlySet<number> | undefined },
): Map<number, number> {
  if (among !== undefined && among.size <= COMPARED)
    return compared(sql, space, vector, { limit, entries: [...among] });
  const uncoded = uncodedEntries(sql, space).filter((entry) => among?.has(entry) !== false);
  const chosen = new CodedEntries(sql, space, vector, among).nearest(Math.max(LEAST_CHOSEN, limit * CHOSEN_PER_HIT));
  return compared(sql, space, vector, { limit, entries: [...uncoded, ...chosen] });
}

function compared(
  sql: MemoryStatements,
  space: Space,
  vector: Float32Array,
  { limit, entries }: { readonly limit: number; readonly entries: readonly number[] },
): Map<number, number> {
  const rows = sql.near.all(bytesOf(vector), JSON.stringify(entries), space.key, limit);
  const near = rows.filter((row) => row["cosine"] !== null);
  return new Map(near.map((row) => [numberOf(row, "entry"), numberOf(row, "cosine")]));
}

/** How near an entry is; nothing when it has no vector in the space. */
export function cosineOf(sql: MemoryStatements, entry: number, space: Space, vector: Float32Array): number | undefined {
  const cosine = sql.cosine.get(bytesOf(vector), entry, space.key)?.["cosine"];
  return typeof cosine === "number" ? cosine : undefined;
}

/** The vectors as `reembedAll` goes through them. */
export function vectorTable(file: SqliteMemoryFile): VectorTable {
  return {
    next: (after, space) =>
      file.read((sql) => {
        const row = sql.withoutVector.get(after, space?.key ?? 0);
        if (row === undefined) return undefined;
        const content = textIn(row, "content");
        if (content === undefined) throw new MemoryError("store", "an entry is damaged");
        return { key: numberOf(row, "key"), content };
      }),
    begin: (model, vector) =>
      file.write((sql) => {
        const present = presentSpace(sql);
        return present && fits(present, model, vector) ? present : beginSpace(sql, model, vector);
      }),
    put: (key, space, vector) =>
      file.write((sql) => {
        // Deleted or replaced meanwhile: keys are not used twice.
        if (sql.entry.get(key) === undefined) return false;
        checkPresent(space, presentSpace(sql), vector);
        putVector(sql, key, space, vector);
        encodeSome(sql);
        return true;
      }),
  };
}
