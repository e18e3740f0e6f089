import { PassThrough, Writable } from "node:stream";

/** Both ends of a terminal without one: lines go in, and what comes out can be waited for. */
export class Screen {
  readonly input = new PassThrough();
  readonly output: Writable;
  #shown = "";
  #waiting: { readonly wanted: string; readonly from: number; readonly seen: () => void }[] = [];

  constructor() {
    this.output = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        this.show(chunk.toString());
        done();
      },
    });
  }

  get shown(): string {
    return this.#shown;
  }

  /** Adds output that came another way. */
  show(text: string): void {
    this.#shown += text;
    this.#waiting = this.#waiting.filter(({ wanted, from, seen }) => {
      if (!this.#shown.slice(from).includes(wanted)) return true;
      seen();
      return false;
    });
  }

  type(...lines: readonly string[]): void {
    for (const line of lines) this.input.write(`${line}\n`);
  }

  /** Resolves once `wanted` stands anywhere in the output behind position `from`. */
  async see(wanted: string, from = 0): Promise<void> {
    if (this.#shown.slice(from).includes(wanted)) return;
    await new Promise<void>((seen) => {
      this.#waiting.push({ wanted, from, seen });
    });
  }
}
