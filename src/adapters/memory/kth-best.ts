/** What the kth highest of some numbers is, without keeping or sorting them all. */
export class KthBest {
  readonly #k: number;
  /** The highest so far, as a heap whose first is the lowest of them. */
  readonly #heap: number[] = [];

  /** `k` is 1 or more. */
  constructor(k: number) {
    this.#k = k;
  }

  /** Below any number while there are fewer than k. */
  get value(): number {
    return this.#heap.length < this.#k ? Number.NEGATIVE_INFINITY : (this.#heap[0] as number);
  }

  add(value: number): void {
    if (this.#heap.length < this.#k) raise(this.#heap, value);
    else if (value > (this.#heap[0] as number)) sink(this.#heap, value);
  }
}

/** That of all these. */
export function kthBest(values: Iterable<number>, k: number): number {
  const best = new KthBest(k);
  for (const value of values) best.add(value);
  return best.value;
}

function raise(heap: number[], value: number): void {
  let at = heap.length;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    const above = heap[parent] as number;
    if (above <= value) break;
    heap[at] = above;
    at = parent;
  }
  heap[at] = value;
}

/** In place of the first. */
function sink(heap: number[], value: number): void {
  let at = 0;
  for (;;) {
    const left = 2 * at + 1;
    if (left >= heap.length) break;
    const least = left + 1 < heap.length && (heap[left + 1] as number) < (heap[left] as number) ? left + 1 : left;
    const below = heap[least] as number;
    if (below >= value) break;
    heap[at] = below;
    at = least;
  }
  heap[at] = value;
}
