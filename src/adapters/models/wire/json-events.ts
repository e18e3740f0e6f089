import { isJsonObject, type JsonObject } from "../../../domain/json.js";
import { streamFailure } from "./http-errors.js";
import { ModelFailure } from "./model-failure.js";
import { type Complaint, complaintInStream, plainText } from "./provider-complaint.js";
import type { BodySink } from "./reply-body.js";
import { decodeJson } from "./wire-json.js";

/** Lines and events that are no JSON before a reply is given up: each costs more than one that is. */
const MAX_NOISE = 10_000;
/** What proxies put in front of a payload once more, and servers indent or write in capitals. */
const PREFIX = /^(?:\s*data\s*:)+/i;
/** Where an error may begin that was written behind half an event. */
const ERROR_BEGINS = /\{\s*"error"\s*:/g;
const OBJECT_BEGINS = /\{\s*"(?:error|type|object|code|message|detail|errors)"\s*:/g;
/** How many of these places are looked at. */
const MAX_PLACES = 8;

/** Takes the JSON objects of a body in their order; throws `ModelFailure`. */
export type JsonReader = {
  /** `isErrorEvent`: the event is named an error, whatever its form. */
  readonly take: (value: JsonObject, isErrorEvent: boolean) => void;
  /** The reply is whole: what cannot be read any more is no loss. */
  readonly isWhole: () => boolean;
  /** The value of JSON text; undefined for what is none. Default: rounds numbers that no double holds. */
  readonly decode?: (text: string) => unknown;
};

/**
 * Reads the JSON objects out of a body whose events hold one each, as providers and the proxies before them really send it: comments
 * wrapped as data, several documents in one event, lists, an error glued to half an event or sent behind it, noise. Throws
 * `ModelFailure` for half an event, and for more noise than a stream may hold.
 */
export class JsonEvents implements BodySink {
  /** The wire's own end marker was read: nothing more counts. */
  done = false;
  readonly #reader: JsonReader;
  /** What was skipped because it is no part of the protocol; quoted when the reply turns out to be incomplete. */
  #noise = "";
  #skipped = 0;
  #isEnding = false;
  #endsInNoise = false;
  /** The failure of half an event; the next event may tell why it is half. */
  #half: ModelFailure | undefined;

  constructor(reader: JsonReader) {
    this.#reader = reader;
  }

  /** The last thing before the end marker was no part of the protocol: a server that has no words of the wire for its failure. */
  get endsInNoise(): boolean {
    return this.#endsInNoise;
  }

  /** Half an event was read: only what broke it off is still of interest. */
  get isBroken(): boolean {
    return this.#half !== undefined;
  }

  readonly onData = (data: string, event: string | undefined): void => {
    const text = data.replace(PREFIX, "").trim();
    // A payload that begins with a colon is a comment that a proxy wrapped.
    if (this.done || text === "" || text.startsWith(":")) return;
    if (text.startsWith("[DONE]")) return this.#end();
    const value = this.#decode(text);
    if (value !== undefined) this.#take(value, event === "error");
    else this.#unreadable(text, event === "error");
  };

  readonly onStray = (line: string): void => this.onData(line, undefined);

  readonly onDocument = (value: unknown, text: string): void => {
    const { decode } = this.#reader;
    if (value === undefined) this.#noise = plainText(text);
    else this.#take(decode === undefined ? value : decode(text), false);
  };

  /** What is read from now on may be cut short, because the body is over. */
  ending(): void {
    this.#isEnding = true;
  }

  /** The failure of a body that ended before its reply did. */
  incomplete(): ModelFailure {
    if (this.#half !== undefined) return this.#half;
    const quote = this.#noise === "" ? undefined : this.#noise;
    return new ModelFailure("response-parse", "the body ended before the reply was finished", {
      quote,
      retryable: true,
    });
  }

  #unreadable(text: string, isErrorEvent: boolean): void {
    if (isErrorEvent) {
      const glued = gluedError(text, OBJECT_BEGINS);
      throw streamFailure(glued?.complaint ?? { message: text, code: "", status: undefined }, glued?.text ?? text);
    }
    // Where blank lines got lost, several documents arrive as the lines of one event.
    const lines = text.split("\n");
    const rest = lines.length > 1 ? lines.filter((line) => !this.#takeLine(line)).join(" ") : text;
    if (!this.done && !this.#reader.isWhole()) this.#refuse(rest);
  }

  #takeLine(line: string): boolean {
    const value = this.#decode(line.replace(PREFIX, ""));
    if (value !== undefined) this.#take(value, false);
    return value !== undefined;
  }

  /** The value of JSON text; undefined for noise, of which a stream may hold only so much. */
  #decode(text: string): unknown {
    if (this.#skipped > MAX_NOISE) return undefined;
    const value = (this.#reader.decode ?? decodeJson)(text);
    if (value === undefined) this.#skipped += 1;
    if (this.#skipped <= MAX_NOISE || this.#reader.isWhole()) return value;
    throw new ModelFailure("response-parse", "too much of the stream is no part of a reply", { quote: text });
  }

  /** Noise is skipped; half an event is not, since a part of the reply is lost with it. An error glued to it counts. */
  #refuse(text: string): void {
    if (text.startsWith("[DONE]")) return this.#end();
    const isHalf = text.startsWith("{");
    const glued = gluedError(text, isHalf ? OBJECT_BEGINS : ERROR_BEGINS);
    if (glued !== undefined) throw streamFailure(glued.complaint, glued.text);
    this.#noise = text;
    this.#endsInNoise = true;
    if (!isHalf) return;
    if (this.#isEnding) throw this.incomplete();
    this.#half ??= new ModelFailure("response-parse", "an event of the stream is not JSON", {
      quote: text,
      retryable: true,
    });
  }

  /** The wire's end marker. */
  #end(): void {
    if (this.#half !== undefined) throw this.#half;
    this.done = true;
  }

  #take(value: unknown, isErrorEvent: boolean): void {
    if (this.#half !== undefined) {
      const complaint = mayComplain(value, isErrorEvent) ? complaintInStream(value, { isErrorEvent }) : undefined;
      throw complaint === undefined ? this.#half : streamFailure(complaint, value);
    }
    if (isJsonObject(value)) this.#endsInNoise = false;
    if (Array.isArray(value)) for (const item of value) this.#take(item, isErrorEvent);
    else if (value === "[DONE]") this.#end();
    else if (isJsonObject(value)) this.#reader.take(value, isErrorEvent);
    else if (isErrorEvent) throw streamFailure({ message: String(value), code: "", status: undefined }, value);
    else this.#noise = String(value);
  }
}

/** An event of the wire may have a message without complaining. */
function mayComplain(value: unknown, isErrorEvent: boolean): value is JsonObject {
  if (!isJsonObject(value)) return false;
  const { type } = value;
  return isErrorEvent || Object.hasOwn(value, "error") || typeof type !== "string" || /error/i.test(type);
}

/** The error that stands behind half an event or a line of noise. */
function gluedError(
  text: string,
  begins: RegExp,
): { readonly complaint: Complaint; readonly text: string } | undefined {
  const places = [...text.matchAll(begins)].slice(-MAX_PLACES).filter(({ index }) => index > 0);
  for (const { index } of places) {
    const rest = text.slice(index);
    const value = decodeJson(rest);
    const complaint = isJsonObject(value) ? complaintInStream(value, { isErrorEvent: false }) : undefined;
    if (complaint !== undefined) return { complaint, text: rest };
  }
  return undefined;
}
