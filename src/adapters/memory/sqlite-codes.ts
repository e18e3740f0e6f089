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

/** The entries of `among`, or of all, that have a code: nearest first, as far as codes tell, with some that were deleted since. */
export class CodedEntries {
  readonly #entries: Float64Array;
  readonly #estimates: Float64Array;
  /** How many of some entries are there; nothing where all are. */
  readonly #present: ((entries: readonly number[]) => number) | undefined;

  /** To be made in a read transaction. */
  constructor(sql: MemoryStatements, space: Space, vector: Float32Array, among: ReadonlySet<number> | undefined) {
    const chunks = sql.codes.all(space.key);
    const total = chunks.reduce((sum, row) => sum + bytesIn(row, "entries").length / 8, 0);
    const found = { entries: new Float64Array(total), estimates: new Float64Array(total), count: 0 };
    const centroid = centroidFor(sql, space);
    if (centroid !== undefined) {
      const coder = new SignCoder(centroid);
      const table = coder.tableFor(vector);
      for (const row of chunks) estimate(row, table, coder.bytes, among, found);
    }
    const countOf = (entries: readonly number[]): number =>
      numberOf(sql.present.get(JSON.stringify(entries), space.key) ?? {}, "count");
    this.#present = chunks.some((row) => numberOf(row, "gone") > 0) ? countOf : undefined;
    this.#entries = found.entries.subarray(0, found.count);
    this.#estimates = found.estimates.subarray(0, found.count);
  }

  /** At least half as many as asked for are there still, unless all are answered. Of equals the ones stored last. */
  nearest(count: number): readonly number[] {
    const nearest = this.#nearest(count);
    const enough = count >= this.#entries.length || (this.#present?.(nearest) ?? count) >= count / 2;
    return enough ? nearest : this.nearest(count * 2);
  }

  #nearest(count: number): readonly number[] {
    const entries = this.#entries;
    const estimates = this.#estimates;
    const least = count < entries.length ? atMostKth(estimates, count) : Number.NEGATIVE_INFINITY;
    const best: number[] = [];
    for (let n = 0; n < entries.length; n++) if ((estimates[n] ?? 0) >= least) best.push(n);
    best.sort((a, b) => (estimates[b] ?? 0) - (estimates[a] ?? 0) || (entries[b] ?? 0) - (entries[a] ?? 0));
    return best.slice(0, count).map((n) => entries[n] ?? 0);
  }
}

type Estimates = { readonly entries: Float64Array; readonly estimates: Float64Array; count: number };

/** This loop is what a search costs: one look-up for eight numbers of a vector. */
function estimate(
  row: SqliteRow,
  table: Float32Array,
  bytes: number,
  among: ReadonlySet<number> | undefined,
  found: Estimates,
): void {
  const entries = new Float64Array(bytesIn(row, "entries").buffer);
  const weights = new Float32Array(bytesIn(row, "weights").buffer);
  const signs = bytesIn(row, "signs");
  if (weights.length !== 2 * entries.length || signs.length !== bytes * entries.length) throw damaged();
  let { count } = found;
  for (let n = 0; n < entries.length; n++) {
    const entry = entries[n] as number;
    if (among !== undefined && !among.has(entry)) continue;
    let sum = 0;
    const first = n * bytes;
    for (let byte = 0; byte < bytes; byte++) sum += table[byte * 256 + (signs[first + byte] as number)] as number;
    found.entries[count] = entry;
    found.estimates[count++] = sum * (weights[2 * n] as number) + (weights[2 * n + 1] as number);
  }
  found.count = count;
}

const STEPS = 4_096;

/** What the kth best of many reaches, or a little less: found without sorting them all. */
function atMostKth(values: Float64Array, k: number): number {
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of values) {
    if (value < least) least = value;
    if (value > most) most = value;
  }
  const width = (most - least) / STEPS;
  if (!(width > 0)) return least;
  const counts = new Uint32Array(STEPS + 1);
  const stepOf = (value: number): number => Math.floor((value - least) / width);
  for (const value of values)
    counts[Math.min(stepOf(value), STEPS)] = (counts[Math.min(stepOf(value), STEPS)] ?? 0) + 1;
  let step = STEPS;
  for (let seen = counts[step] ?? 0; seen < k && step > 0; seen += counts[step] ?? 0) step -= 1;
  // A step lower: what is in it must not be lost to rounding.
  return least + (step - 1) * width;
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

function centroidFor(sql: MemoryStatements, space: Space): Float32Array | undefined {
  const row = sql.centroid.get(space.key);
  return row?.["centroid"] instanceof Uint8Array ? new Float32Array(bytesIn(row, "centroid").buffer) : undefined;
}

/** Those of a vector as SQLite keeps them. */
export function bytesOf({ buffer, byteOffset, byteLength }: Float32Array | Float64Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** At the begin of a buffer of their own, so that they can be read as numbers. */
function bytesIn(row: SqliteRow, column: string): Uint8Array {
  const value = row[column];
  if (!(value instanceof Uint8Array) || value.length % 4 !== 0) throw damaged();
  return value.byteOffset === 0 && value.byteLength === value.buffer.byteLength ? value : value.slice();
}

function damaged(): MemoryError {
  return new MemoryError("search", "the codes of vectors are damaged");
}
