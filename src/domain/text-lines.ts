import { SessionError } from "./errors.js";

/** Text in pieces of any size, cut anywhere, also within a character: a file or a body as it is read. */
export type TextSource = string | Uint8Array | Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>;

/** A line without its end, and its number, from 1. */
export type TextLine = { readonly text: string; readonly number: number };

/** In UTF-16 units. Longer lines are refused: no string of the platform is much longer. */
export const LONGEST_LINE = 256 * 1024 * 1024;
const LINE_FEED = 10;

/**
 * The lines of a text, in order, each as soon as it is whole; what follows the last line end is one where it is not empty. Holds one line at a time.
 * Throws `SessionError("corrupt")` naming the line for bytes that are no UTF-8 and for a line of more than 256 Mi units, and
 * `SessionError("load")` for a source that fails.
 */
export async function* linesOf(source: TextSource): AsyncGenerator<TextLine, void> {
  const line = new OpenLine();
  for await (const piece of piecesOf(source)) {
    let start = 0;
    for (let end = endIn(piece, start); end >= 0; end = endIn(piece, start)) {
      line.add(piece, start, end);
      yield line.close();
      start = end + 1;
    }
    line.add(piece, start, piece.length);
  }
  if (line.begun) yield line.close();
}

async function* piecesOf(source: TextSource): AsyncGenerator<string | Uint8Array, void> {
  if (typeof source === "string" || source instanceof Uint8Array) {
    yield source;
    return;
  }
  const pieces = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
  try {
    for (let next = await nextOf(pieces); next.done !== true; next = await nextOf(pieces)) yield next.value;
  } finally {
    await pieces.return?.();
  }
}

async function nextOf(
  pieces: AsyncIterator<string | Uint8Array> | Iterator<string | Uint8Array>,
): Promise<IteratorResult<string | Uint8Array>> {
  try {
    return await pieces.next();
  } catch (cause) {
    throw new SessionError("load", "the text could not be read", { cause });
  }
}

function endIn(piece: string | Uint8Array, from: number): number {
  return typeof piece === "string" ? piece.indexOf("\n", from) : piece.indexOf(LINE_FEED, from);
}

/** The line that is being read. */
class OpenLine {
  #number = 1;
  #parts: string[] = [];
  #length = 0;
  #decoder = new TextDecoder("utf-8", { fatal: true });
  #bytes = false;

  get begun(): boolean {
    return this.#length > 0 || this.#bytes;
  }

  add(piece: string | Uint8Array, start: number, end: number): void {
    if (start === end) return;
    if (typeof piece === "string") return this.#push(piece.slice(start, end));
    if (!(piece instanceof Uint8Array)) throw new SessionError("load", "a piece of the text is neither text nor bytes");
    this.#bytes = true;
    this.#push(this.#decode(piece.subarray(start, end)));
  }

  close(): TextLine {
    if (this.#bytes) this.#push(this.#decode());
    const line = { text: this.#parts.join(""), number: this.#number };
    this.#parts = [];
    this.#length = 0;
    this.#bytes = false;
    this.#number += 1;
    return line;
  }

  /** Without bytes the end of the line: a character that is not whole is none. */
  #decode(bytes?: Uint8Array): string {
    try {
      return bytes === undefined ? this.#decoder.decode() : this.#decoder.decode(bytes, { stream: true });
    } catch (cause) {
      throw new SessionError("corrupt", `line ${this.#number}: is no UTF-8`, { cause });
    }
  }

  #push(text: string): void {
    this.#length += text.length;
    if (this.#length > LONGEST_LINE)
      throw new SessionError("corrupt", `line ${this.#number}: is longer than ${LONGEST_LINE} units`);
    this.#parts.push(text);
  }
}
