import { MemoryError } from "../../domain/errors.js";
import type { SqliteRow } from "../databases/sqlite-database.js";
import { centroidOf, SignCoder } from "./sign-codes.js";
import { numberOf, numbersOf } from "./sqlite-entries.js";
import type { MemoryStatements } from "./sqlite-memory-file.js";
import type { Space } from "./vector-space.js";

/** So many vectors are compared with a query one by one; of more, codes choose which. */
export const COMPARED = 1_024;

/** True while there are enough vectors without a code for a chunk. */
export function lacksCodes(sql: MemoryStatements, space: Space): boolean {
  return sql.manyUncoded.get(space.key, COMPARED - 1) !== undefined;
}

/** Gives codes to one chunk of vectors that have none; to be run in a write transaction. */
export function encodeChunk(sql: MemoryStatements, space: Space): void {
  const rows = sql.uncodedVectors.all(space.key, COMPARED);
  const entries = rows.map((row) => numberOf(row, "entry"));
  const vectors = rows.map((row) => new Float32Array(bytesIn(row, "vector").buffer));
  const known = centroidFor(sql, space);
  const centroid = known ?? centroidOf(vectors);
  if (known === undefined) sql.setCentroid.run(bytesOf(centroid), space.key);
  const chunk = Number(sql.addChunk.run(space.key, rows.length).lastInsertRowid);
  addCodes(sql, chunk, new SignCoder(centroid), { entries, vectors });
  sql.setChunk.run(chunk, JSON.stringify(entries));
}

/** The entries that have no code yet, fewer than `COMPARED` unless a file of an older version is just being read. */
export function uncodedEntries(sql: MemoryStatements, space: Space): readonly number[] {
  return numbersOf(sql.uncoded.get(space.key) ?? {}, "entries");
}

function addCodes(
  sql: MemoryStatements,
  chunk: number,
  coder: SignCoder,
  { entries, vectors }: { readonly entries: readonly number[]; readonly vectors: readonly Float32Array[] },
): void {
  const coded: number[] = [];
  const weights: number[] = [];
  const signs = new Uint8Array(vectors.length * coder.bytes);
  for (const [n, vector] of vectors.entries()) {
    const code = coder.encode(vector);
    const entry = entries[n];
    if (code === undefined || entry === undefined) continue;
    signs.set(code.signs, coded.length * coder.bytes);
    coded.push(entry);
    weights.push(code.scale, code.offset);
  }
  sql.addCodes.run(
    chunk,
    bytesOf(Float64Array.from(coded)),
    bytesOf(Float32Array.from(weights)),
    signs.subarray(0, coded.length * coder.bytes),
  );
}

/** Nothing before the first chunk. */
export function centroidFor(sql: MemoryStatements, space: Space): Float32Array | undefined {
  const row = sql.centroid.get(space.key);
  return row?.["centroid"] instanceof Uint8Array ? new Float32Array(bytesIn(row, "centroid").buffer) : undefined;
}

/** Those of a vector as SQLite keeps them. */
export function bytesOf({ buffer, byteOffset, byteLength }: Float32Array | Float64Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** At the begin of a buffer of their own, so that they can be read as numbers. */
export function bytesIn(row: SqliteRow, column: string): Uint8Array {
  const value = row[column];
  if (!(value instanceof Uint8Array) || value.length % 4 !== 0) throw damagedCodes();
  return value.byteOffset === 0 && value.byteLength === value.buffer.byteLength ? value : value.slice();
}

export function damagedCodes(): MemoryError {
  return new MemoryError("search", "the codes of vectors are damaged");
}
