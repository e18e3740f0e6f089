import { createInterface, type Interface } from "node:readline";

/** Where lines come from; with a terminal as output the line is edited there. */
export type LineReaderOptions = {
  readonly input: NodeJS.ReadableStream;
  /** Set for a terminal only. */
  readonly terminal?: NodeJS.WritableStream | undefined;
  readonly prompt: string;
  /** Ctrl-C as the terminal reads it; a signal of the process does not come here. */
  readonly onInterrupt: () => void;
};

/** Lines read ahead before a pipe is made to wait. */
const READ_AHEAD = 1_000;

/** Lines one at a time. None is lost between two calls of `next`, and those that came before the end of the input are still given. */
export class LineReader {
  readonly #lines: string[] = [];
  readonly #reader: Interface;
  #waiting: ((line: string | undefined) => void) | undefined;
  #ended = false;
  #taker: ((line: string) => boolean) | undefined;

  constructor({ input, terminal, prompt, onInterrupt }: LineReaderOptions) {
    this.#reader = createInterface({
      input,
      ...(terminal === undefined ? { terminal: false } : { output: terminal, terminal: true }),
      crlfDelay: Infinity,
      prompt,
    });
    this.#reader.on("line", (line) => this.#take(line));
    this.#reader.on("close", () => this.#end());
    this.#reader.on("SIGINT", onInterrupt);
  }

  /** The next line; nothing once the input has ended or the reader was closed. One call at a time. */
  next(): Promise<string | undefined> {
    const line = this.#lines.shift();
    if (line !== undefined || this.#ended) return Promise.resolve(line);
    this.#reader.resume();
    return new Promise((resolve) => {
      this.#waiting = resolve;
    });
  }

  /** From now on a line that nobody waits for is offered to `taker`; one that it answers false for is kept for `next`. */
  offer(taker: ((line: string) => boolean) | undefined): void {
    this.#taker = taker;
  }

  /** Shows the prompt, with what was typed meanwhile. */
  prompt(): void {
    if (!this.#ended) this.#reader.prompt(true);
  }

  /** Stops reading and forgets what was read ahead. Idempotent. */
  close(): void {
    this.#lines.length = 0;
    this.#reader.close();
    this.#end();
  }

  #take(line: string): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting !== undefined) return waiting(line);
    if (this.#taker?.(line) === true) return;
    this.#lines.push(line);
    if (!this.#reader.terminal && this.#lines.length >= READ_AHEAD) this.#reader.pause();
  }

  #end(): void {
    this.#ended = true;
    this.#waiting?.(undefined);
    this.#waiting = undefined;
  }
}
