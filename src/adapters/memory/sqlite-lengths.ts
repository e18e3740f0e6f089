import { MemoryError } from "../../domain/errors.js";
import { numbersOf } from "./sqlite-entries.js";
import { Kept } from "./sqlite-kept.js";
import type { MemoryStatements } from "./sqlite-memory-file.js";

/** So many entries in one piece: keys of entries that are gone take no room where all of a piece were when it was to be read. */
const PIECE = 1_024;
/** Beside twice the pieces that were there. */
const SPARE_PIECES = 8;

/** How many terms entries have: that of an entry never changes. Those of entries that go are forgotten once there may be more of them than others. */
export class TextLengths {
  readonly #pieces = new Map<number, Uint32Array>();
  #last = 0;
  #most = 0;

  /** Reads what was stored since; to be called in a read transaction. */
  update(sql: MemoryStatements): void {
    if (this.#pieces.size > this.#most) {
      this.#pieces.clear();
      this.#last = 0;
    }
    const anew = this.#last === 0;
    this.#read(sql);
    if (anew) this.#most = 2 * this.#pieces.size + SPARE_PIECES;
  }

  #read(sql: MemoryStatements): void {
    const row = sql.lengths.get(this.#last) ?? {};
    const entries = numbersOf(row, "entries");
    const sizes = String(row["sizes"] ?? "").split(",");
    for (const [n, entry] of entries.entries()) this.#set(entry, lengthIn(sizes[n] ?? ""));
    this.#last = entries.at(-1) ?? this.#last;
  }

  /** Throws `MemoryError("search")` for one whose length is not there. */
  of(entry: number): number {
    const length = this.#pieces.get(Math.floor(entry / PIECE))?.[entry % PIECE] ?? 0;
    if (length === 0) throw damaged();
    return length;
  }

  #set(entry: number, length: number): void {
    const piece = this.#pieces.get(Math.floor(entry / PIECE)) ?? new Uint32Array(PIECE);
    this.#pieces.set(Math.floor(entry / PIECE), piece);
    piece[entry % PIECE] = length;
  }
}

const lengths = new Kept(() => new TextLengths());

/** The lengths of an open file, up to date with what a read transaction sees. */
export function lengthsOf(sql: MemoryStatements): TextLengths {
  const known = lengths.of(sql);
  known.update(sql);
  return known;
}

/** FTS5 keeps a number as groups of seven bits, the highest first, each but the last in a byte above 127. */
function lengthIn(hex: string): number {
  let length = 0;
  for (const byte of Buffer.from(hex, "hex")) length = length * 128 + (byte & 127);
  return length;
}

function damaged(): MemoryError {
  return new MemoryError("search", "the lengths of entries are damaged");
}
