/** More bits cost more time at every search, and tell ever less that is new. */
const LEAST_BITS = 256;
const MOST_BITS = 512;

/** The code of one vector; of two codes' estimates for a query the higher is the nearer, likely. */
export type SignCode = { readonly signs: Uint8Array; readonly scale: number; readonly offset: number };

/**
 * Codes of 256 or 512 bits for vectors of any length, from which the cosine with a query can be estimated: what is left of a vector of length 1
 * beside the centroid is turned by a fixed rotation, and of each number only the sign is kept. `scale` makes the estimate right on average
 * ("RaBitQ", Gao and Long 2024). Codes are stored, so nothing here may change the code of a vector.
 */
export class SignCoder {
  readonly bytes: number;
  readonly #centroid: Float32Array;
  readonly #turnedCentroid: Float64Array;
  readonly #flips: Int8Array;

  /** Of the vectors that are to be told from each other; where the centroid lies far from them estimates are worse, never wrong on average. */
  constructor(centroid: Float32Array) {
    const size = 2 ** Math.ceil(Math.log2(Math.max(centroid.length, LEAST_BITS)));
    this.bytes = Math.min(size, MOST_BITS) / 8;
    this.#centroid = centroid;
    this.#flips = flipsOf(2 * size);
    this.#turnedCentroid = this.#turned(centroid);
  }

  /** Nothing for a vector of zeros, nor for one of another length than the centroid. */
  encode(vector: Float32Array): SignCode | undefined {
    const unit = unitOf(vector);
    if (unit === undefined || unit.length !== this.#centroid.length) return undefined;
    const rest = unit.map((value, n) => value - (this.#centroid[n] ?? 0));
    const turned = this.#turned(rest);
    const signs = new Uint8Array(this.bytes);
    let size = 0;
    let ofCentroid = 0;
    for (let bit = 0; bit < this.bytes * 8; bit++) {
      const value = turned[bit] ?? 0;
      const centre = this.#turnedCentroid[bit] ?? 0;
      if (value > 0) signs[bit >> 3] = (signs[bit >> 3] ?? 0) | (1 << (bit & 7));
      size += Math.abs(value);
      ofCentroid += value > 0 ? centre : -centre;
    }
    const scale = size === 0 ? 0 : dot(rest, rest) / size;
    return { signs, scale, offset: dot(unit, this.#centroid) - scale * ofCentroid };
  }

  /**
   * What each value of each byte of a code adds for this query. The estimate of an entry is `scale` times the sum over its bytes, and `offset`; it
   * lacks a part that is the same for all entries.
   */
  tableFor(query: Float32Array): Float32Array {
    const turned = this.#turned(unitOf(query) ?? new Float64Array(query.length));
    const table = new Float32Array(this.bytes * 256);
    for (let byte = 0; byte < this.bytes; byte++) {
      const parts = turned.subarray(byte * 8, byte * 8 + 8);
      table[byte * 256] = -parts.reduce((sum, part) => sum + part, 0);
      for (let value = 1; value < 256; value++) {
        const rest = table[byte * 256 + (value & (value - 1))] ?? 0;
        table[byte * 256 + value] = rest + 2 * (parts[31 - Math.clz32(value & -value)] ?? 0);
      }
    }
    return table;
  }

  /** By a rotation, and longer by a factor that is the same for all: two rounds of flips and a Walsh-Hadamard transform. */
  #turned(vector: Float32Array | Float64Array): Float64Array {
    const size = this.#flips.length / 2;
    const turned = new Float64Array(size);
    turned.set(vector);
    for (const round of [0, size]) {
      for (let n = 0; n < size; n++) turned[n] = (turned[n] ?? 0) * (this.#flips[round + n] ?? 1);
      transform(turned);
    }
    return turned;
  }
}

/** The mean of the vectors, each made to have the length 1. */
export function centroidOf(vectors: readonly Float32Array[]): Float32Array {
  const sum = new Float64Array(vectors[0]?.length ?? 0);
  for (const vector of vectors) unitOf(vector)?.forEach((value, n) => (sum[n] = (sum[n] ?? 0) + value));
  return Float32Array.from(sum, (value) => value / vectors.length);
}

function unitOf(vector: Float32Array): Float64Array | undefined {
  const unit = Float64Array.from(vector);
  const length = Math.sqrt(dot(unit, unit));
  return length > 0 ? unit.map((value) => value / length) : undefined;
}

function dot(a: Float64Array, b: Float64Array | Float32Array): number {
  return a.reduce((sum, value, n) => sum + value * (b[n] ?? 0), 0);
}

function transform(values: Float64Array): void {
  for (let half = 1; half < values.length; half *= 2) {
    for (let at = 0; at < values.length; at += 2 * half) {
      for (let n = at; n < at + half; n++) {
        const a = values[n] ?? 0;
        const b = values[n + half] ?? 0;
        values[n] = a + b;
        values[n + half] = a - b;
      }
    }
  }
}

/** As good as chance, and the same in every process. */
function flipsOf(count: number): Int8Array {
  let state = 1;
  return Int8Array.from({ length: count }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state >>> 31 === 0 ? 1 : -1;
  });
}
