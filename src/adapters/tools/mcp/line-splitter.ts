/** A line longer than is allowed: how it begins and ends, and how many bytes it had. */
export type LongLine = { readonly head: string; readonly tail: string; readonly bytes: number };

const ENDS = 256;
const NEWLINE = 0x0a;

/** Cuts bytes into lines. Holds `maxBytes` of one line at most; a longer one is read to its end and told in short. */
export class LineSplitter {
  readonly #maxBytes: number;
  readonly #onLine: (line: string) => void;
  readonly #onLongLine: (line: LongLine) => void;
  #pieces: Buffer[] = [];
  #bytes = 0;

  constructor(
    maxBytes: number,
    handlers: { readonly onLine: (line: string) => void; readonly onLongLine: (line: LongLine) => void },
  ) {
    this.#maxBytes = maxBytes;
    this.#onLine = handlers.onLine;
    this.#onLongLine = handlers.onLongLine;
  }

  push(chunk: Buffer): void {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
      this.#keep(chunk.subarray(from, at));
      this.#end();
      from = at + 1;
    }
    this.#keep(chunk.subarray(from));
  }

  #keep(piece: Buffer): void {
    if (piece.length === 0) return;
    this.#bytes += piece.length;
    this.#pieces.push(piece);
    if (this.#bytes <= this.#maxBytes) return;
    const all = this.#pieces.length === 1 ? piece : Buffer.concat(this.#pieces);
    // Copies, so that the large buffers can go.
    this.#pieces = [Buffer.from(all.subarray(0, ENDS)), Buffer.from(all.subarray(Math.max(ENDS, all.length - ENDS)))];
  }

  #end(): void {
    const [pieces, bytes] = [this.#pieces, this.#bytes];
    this.#pieces = [];
    this.#bytes = 0;
    if (bytes <= this.#maxBytes) {
      const line = pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);
      this.#onLine(line.toString("utf8"));
      return;
    }
    const ends = Buffer.concat(pieces).toString("utf8");
    this.#onLongLine({ head: ends.slice(0, ENDS), tail: ends.slice(-ENDS), bytes });
  }
}
