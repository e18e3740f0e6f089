import { createParser } from "eventsource-parser";
import { ModelFailure } from "./model-failure.js";

/** Takes what a stream of server-sent events holds. */
export type SseSink = {
  /** The payload of one event, its data lines joined by line feeds. */
  readonly onData: (data: string, event: string | undefined) => void;
  /** A line that is no field: some servers write an error into the stream as it is. */
  readonly onStray: (line: string) => void;
};

/**
 * Parses server-sent events from text in pieces of any size; where the pieces are cut makes no difference. Fails as soon as one event
 * is longer than `maxLength` UTF-16 units. Errors of the sink come out of `feed` and `end`.
 */
export class SseReader {
  readonly #parser;
  readonly #maxLength: number;
  /** The line that is not over: the parser only gets whole ones, since it drops pieces of lines that are no field. */
  #pending = "";

  constructor(sink: SseSink, maxLength: number) {
    this.#maxLength = maxLength;
    this.#parser = createParser({
      maxBufferSize: maxLength,
      onEvent: ({ data, event }) => {
        if (data.length > maxLength) throw tooLong(maxLength);
        sink.onData(data, event);
      },
      onError: (error) => {
        if (error.type === "max-buffer-size-exceeded") throw tooLong(maxLength);
        if (error.type === "unknown-field") sink.onStray(error.line ?? "");
      },
    });
  }

  feed(text: string): void {
    const cut = Math.max(text.lastIndexOf("\n"), text.lastIndexOf("\r")) + 1;
    if (cut === 0) {
      this.#pending += text;
    } else {
      const whole = this.#pending + text.slice(0, cut);
      this.#pending = text.slice(cut);
      this.#parser.feed(whole);
    }
    if (this.#pending.length > this.#maxLength + "data: ".length) throw tooLong(this.#maxLength);
  }

  /** The stream is over: what is left counts as the last event, with or without its blank line. */
  end(): void {
    const rest = this.#pending;
    this.#pending = "";
    this.#parser.feed(`${rest}\n\n`);
  }
}

function tooLong(maxLength: number): ModelFailure {
  return new ModelFailure("response-parse", `an event of the stream is longer than ${maxLength} characters`);
}
