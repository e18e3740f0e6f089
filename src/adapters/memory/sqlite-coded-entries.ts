import type { MemoryStatements } from "./sqlite-memory-file.js";
import { bytesIn, centroidFor, damagedCodes } from "./sqlite-codes.js";
import { KthBest } from "./kth-best.js";
import { SignCoder } from "./sign-codes.js";
import { numberOf } from "./sqlite-entries.js";
import { Kept } from "./sqlite-kept.js";
import type { Space } from "./vector-space.js";

/** The codes of some vectors; `weights` has two numbers for each. */
type Chunk = { readonly entries: Float64Array; readonly weights: Float32Array; readonly signs: Uint8Array };

const read = new Kept(() => new Map<number, Chunk>());

/** Those of a space as a read transaction sees them. A chunk is never written again, so each is read once while it is there. */
function chunksOf(sql: MemoryStatements, space: Space): { readonly chunks: readonly Chunk[]; readonly gone: boolean } {
  const known = read.of(sql);
  const chunks = new Map<number, Chunk>();
  let gone = false;
  for (const row of sql.chunks.all(space.key)) {
    const key = numberOf(row, "key");
    chunks.set(key, known.get(key) ?? readChunk(sql, key));
    gone ||= numberOf(row, "gone") > 0;
  }
  known.clear();
  for (const [key, chunk] of chunks) known.set(key, chunk);
  return { chunks: [...chunks.values()], gone };
}

function readChunk(sql: MemoryStatements, key: number): Chunk {
  const row = sql.codes.get(key) ?? {};
  const entries = new Float64Array(bytesIn(row, "entries").buffer);
  const weights = new Float32Array(bytesIn(row, "weights").buffer);
  if (weights.length !== 2 * entries.length) throw damagedCodes();
  return { entries, weights, signs: bytesIn(row, "signs") };
}

/** The entries of `among`, or of all, that have a code: nearest first, as far as codes tell, with some that were deleted since. */
export class CodedEntries {
  readonly #chunks: readonly Chunk[];
  readonly #table: Float32Array;
  readonly #among: ReadonlySet<number> | undefined;
  /** How many of some entries are there; nothing where all are. */
  readonly #present: ((entries: readonly number[]) => number) | undefined;

  /** To be made and used in one read transaction. */
  constructor(sql: MemoryStatements, space: Space, vector: Float32Array, among: ReadonlySet<number> | undefined) {
    const { chunks, gone } = chunksOf(sql, space);
    const centroid = centroidFor(sql, space);
    const coder = centroid && new SignCoder(centroid);
    const countOf = (entries: readonly number[]): number =>
      numberOf(sql.present.get(JSON.stringify(entries), space.key) ?? {}, "count");
    this.#chunks = coder === undefined ? [] : chunks;
    this.#table = coder?.tableFor(vector) ?? new Float32Array();
    this.#among = among;
    this.#present = gone ? countOf : undefined;
  }

  /** At least half as many as asked for are there still, unless all are answered. Of equals the ones stored last. */
  nearest(count: number): readonly number[] {
    const nearest = this.#nearest(count);
    const enough = nearest.length < count || (this.#present?.(nearest) ?? count) >= count / 2;
    return enough ? nearest : this.nearest(count * 2);
  }

  #nearest(count: number): readonly number[] {
    const found: Estimate[] = [];
    const best = new KthBest(count);
    for (const chunk of this.#chunks)
      estimate(chunk, this.#table, this.#among, (entry, value) => {
        if (value < best.value) return;
        best.add(value);
        found.push({ entry, value });
      });
    const least = best.value;
    const nearest = found.filter(({ value }) => value >= least);
    return nearest
      .sort((a, b) => b.value - a.value || b.entry - a.entry)
      .slice(0, count)
      .map(({ entry }) => entry);
  }
}

type Estimate = { readonly entry: number; readonly value: number };

/** This loop is what a search costs: one look-up for eight numbers of a vector. */
function estimate(
  { entries, weights, signs }: Chunk,
  table: Float32Array,
  among: ReadonlySet<number> | undefined,
  found: (entry: number, value: number) => void,
): void {
  const bytes = table.length / 256;
  if (signs.length !== bytes * entries.length) throw damagedCodes();
  for (let n = 0; n < entries.length; n++) {
    const entry = entries[n] as number;
    if (among !== undefined && !among.has(entry)) continue;
    // Sums that do not wait for one another; the bytes of a code are a multiple of four.
    let [a, b, c, d] = [0, 0, 0, 0];
    for (let at = n * bytes, row = 0; row < table.length; at += 4, row += 1_024) {
      a += table[row + (signs[at] as number)] as number;
      b += table[row + 256 + (signs[at + 1] as number)] as number;
      c += table[row + 512 + (signs[at + 2] as number)] as number;
      d += table[row + 768 + (signs[at + 3] as number)] as number;
    }
    found(entry, (a + b + c + d) * (weights[2 * n] as number) + (weights[2 * n + 1] as number));
  }
}
