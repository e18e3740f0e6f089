import { SseReader, type SseSink } from "./sse.js";
import { decodeJson } from "./wire-json.js";

/** Takes a body: events and stray lines of a stream, or one document. */
export type BodySink = SseSink & {
  /** The whole body where it is no stream of events; `value` is undefined where it is no JSON either. */
  readonly onDocument: (value: unknown, text: string) => void;
};

/**
 * Tells a stream of events from one JSON or HTML document by what it begins with, not by its content type: servers answer a stream
 * request with a document and the other way round, and label either wrongly. Lines of JSON without `data:` count as a stream.
 */
export class ReplyBody {
  readonly #sink: BodySink;
  readonly #sse: SseReader;
  /** What came while the form was open, or the document. */
  #text = "";
  #form: "blank" | "json" | "document" | "events" = "blank";

  constructor(sink: BodySink, maxLength: number) {
    this.#sink = sink;
    this.#sse = new SseReader(sink, maxLength);
  }

  /** True while the body looks like one document: each piece of it is a piece of the reply. */
  get isDocument(): boolean {
    return this.#form === "json" || this.#form === "document";
  }

  feed(text: string): void {
    if (this.#form === "events") return this.#sse.feed(text);
    this.#text += text;
    const isFirst = this.#form === "blank";
    if (isFirst) this.#begin();
    if (this.#form === "json" && /[\r\n]/.test(isFirst ? this.#text : text)) this.#firstLine();
  }

  end(): void {
    if (this.#form === "events") return this.#sse.end();
    const text = this.#text.trim();
    const value = decodeJson(text);
    if (value === undefined && /[\r\n]data:/.test(text)) return this.#stream(true);
    this.#sink.onDocument(value, text);
  }

  #begin(): void {
    // Some servers send blank lines while they are busy.
    this.#text = this.#text.trimStart();
    const first = this.#text.charAt(0);
    if (first === "") return;
    if (first === "{" || first === "[") this.#form = "json";
    else if (first === "<") this.#form = "document";
    else this.#stream(false);
  }

  /** A first line that is JSON by itself may be the first of many lines; then each counts as soon as it is there. */
  #firstLine(): void {
    const text = this.#text.trimStart();
    if (decodeJson(text.slice(0, text.search(/[\r\n]/))) === undefined) this.#form = "document";
    else this.#stream(false);
  }

  #stream(ended: boolean): void {
    const head = this.#text;
    this.#text = "";
    this.#form = "events";
    this.#sse.feed(head);
    if (ended) this.#sse.end();
  }
}
