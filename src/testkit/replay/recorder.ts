import type { Json } from "../../domain/json.js";
import type { Runtime } from "../../ports/runtime.js";
import { errorToJson } from "../error-json.js";
import { RecordingError } from "./recording-error.js";
import type { RecordingSink } from "./recording-file.js";
import type { RecordedEnd, RecordingHead, RecordingLine } from "./recording-line.js";
import type { Scrubber } from "./scrubber.js";

/** A call that began: what it comes to is recorded once, when it settles or when the recording is closed. */
export type BegunCall = {
  ms(): number;
  settle<T>(
    run: () => PromiseLike<T>,
    line: (end: RecordedEnd) => RecordingLine,
    json: (value: T) => Json | undefined,
  ): Promise<T>;
};

/** An answer that JSON cannot hold is an error in the recording, and reaches whoever asked as it is. */
function endOf(json: () => Json | undefined): Omit<RecordedEnd, "ms"> {
  try {
    const value = json();
    return value === undefined ? {} : { value };
  } catch (error) {
    return { error: errorToJson(error) };
  }
}

/** Writes lines in the order in which they come, each without secrets. */
export class Recorder {
  readonly scrubber: Scrubber;
  readonly #sink: RecordingSink;
  readonly #runtime: Pick<Runtime, "elapsed">;
  readonly #open = new Set<() => void>();
  #writing: Promise<void> = Promise.resolve();
  #failure: RecordingError | undefined;
  #closing: Promise<void> | undefined;

  constructor(sink: RecordingSink, scrubber: Scrubber, runtime: Pick<Runtime, "elapsed">) {
    this.#sink = sink;
    this.scrubber = scrubber;
    this.#runtime = runtime;
  }

  head(head: RecordingHead): void {
    this.#append(head);
  }

  write(line: RecordingLine): void {
    if (this.#closing === undefined) this.#append(line);
  }

  /** Texts among partial results are looked at as what they add up to, as chunks are. */
  partials(progress: readonly (readonly [number, Json])[]): readonly (readonly [number, Json])[] {
    const texts = progress.filter(([, partial]) => typeof partial === "string");
    const scrubbed = this.scrubber.pieces(texts.map(([, partial]) => partial as string));
    let next = 0;
    return progress.map(([ms, partial]) => [ms, typeof partial === "string" ? (scrubbed[next++] ?? "") : partial]);
  }

  begin(): BegunCall {
    const began = this.#runtime.elapsed();
    const ms = (): number => Math.round(this.#runtime.elapsed() - began);
    return {
      ms,
      settle: async (run, line, json) => {
        const giveUp = (): void => this.write(line({ ms: ms(), open: true }));
        this.#open.add(giveUp);
        const note = (end: Omit<RecordedEnd, "ms">): void => {
          if (this.#open.delete(giveUp)) this.write(line({ ms: ms(), ...end }));
        };
        try {
          const value = await run();
          note(endOf(() => json(value)));
          return value;
        } catch (error) {
          note({ error: errorToJson(error) });
          throw error;
        }
      },
    };
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    for (const giveUp of this.#open) giveUp();
    this.#open.clear();
    await this.#writing;
    await this.#sink.close?.();
    if (this.#failure !== undefined) throw this.#failure;
  }

  #append(line: RecordingHead | RecordingLine): void {
    const text = `${JSON.stringify(this.scrubber.json(line))}\n`;
    this.#writing = this.#writing.then(async () => {
      if (this.#failure !== undefined) return;
      try {
        await this.#sink.write(text);
      } catch (cause) {
        this.#failure = new RecordingError("unwritable", "a line could not be written", { cause });
      }
    });
  }
}
