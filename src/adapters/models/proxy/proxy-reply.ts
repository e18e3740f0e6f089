import type { ModelResponse } from "../../../domain/model.js";
import type { StreamAccumulator } from "../../../domain/stream.js";
import type { StreamChunk } from "../../../domain/stream-chunk.js";
import { ModelFailure } from "../wire/model-failure.js";
import { decodeLine, type Done, FIRST_LINE, type ToldError } from "./proxy-lines.js";

/** A failure as the server tells it. An abort that this side did not ask for is a connection that ended. */
export class ProxyError extends ModelFailure {
  readonly told: ToldError;

  constructor(told: ToldError) {
    const { kind, message, status, retryAfterMs, requestId, retryable } = told;
    const aborted = kind === "aborted";
    super(aborted ? "transport" : kind, aborted ? "the proxy aborted the call" : "the proxy reports a failure", {
      quote: message,
      status,
      retryAfterMs,
      requestId,
      retryable: aborted ? undefined : retryable,
    });
    this.told = told;
  }
}

/** Reads a reply from text in pieces of any size; where they are cut makes no difference. */
export class ProxyReply {
  readonly #take: (chunk: StreamChunk) => void;
  readonly #accumulator: StreamAccumulator;
  readonly #maxLength: number;
  /** The line that is not over. */
  #pending = "";
  #begun = false;
  #finished = false;
  #done: Done | undefined;

  /** `take` gets every chunk at once, and is to push it into `accumulator`. */
  constructor(take: (chunk: StreamChunk) => void, accumulator: StreamAccumulator, maxLength: number) {
    this.#take = take;
    this.#accumulator = accumulator;
    this.#maxLength = maxLength;
  }

  /** The last line was read, and it was no error. */
  get done(): boolean {
    return this.#done !== undefined;
  }

  /** Returns whether a line that means something was completed. Throws `ModelFailure` for an error line and for what is no reply. */
  feed(text: string): boolean {
    let heard = false;
    let from = 0;
    for (let end = text.indexOf("\n"); end !== -1 && !this.done; end = text.indexOf("\n", from)) {
      const line = this.#pending + text.slice(from, end);
      this.#pending = "";
      from = end + 1;
      if (this.#line(line)) heard = true;
    }
    this.#pending += text.slice(from);
    if (this.#pending.length > this.#maxLength) {
      throw new ModelFailure(
        "response-parse",
        `a line of the proxy's reply is longer than ${this.#maxLength} characters`,
      );
    }
    return heard;
  }

  /** The response, exactly as the server's model gave it. Throws where the body ended before the last line. */
  response(): ModelResponse {
    const done = this.#done;
    if (done !== undefined) return { ...done, parts: done.parts ?? this.#accumulator.partial().parts };
    if (!this.#begun && !FIRST_LINE.startsWith(this.#pending)) throw noReply();
    throw new ModelFailure("transport", "the proxy's reply was cut off");
  }

  #line(given: string): boolean {
    // What stands in between may write line ends of its own.
    const line = given.replace(/\r$/, "");
    if (!this.#begun) {
      if (line === "") return false;
      if (line !== FIRST_LINE) throw noReply();
      this.#begun = true;
      return true;
    }
    const read = decodeLine(line);
    switch (read.type) {
      case "chunk":
        this.#chunk(read.chunk);
        return true;
      case "done":
        if (!this.#finished) this.#chunk(finishOf(read.done));
        this.#done = read.done;
        return true;
      case "error":
        throw new ProxyError(read.error);
      default:
        return false;
    }
  }

  #chunk(chunk: StreamChunk): void {
    if (chunk.type === "finish") this.#finished = true;
    if (chunk.type === "reset") this.#finished = false;
    this.#take(chunk);
  }
}

function finishOf({ finishReason: reason, rawFinishReason: rawReason }: Done): StreamChunk {
  return { type: "finish", reason, ...(rawReason === undefined ? undefined : { rawReason }) };
}

function noReply(): ModelFailure {
  return new ModelFailure("response-parse", "the answer is not the reply of a proxy that speaks this version");
}
