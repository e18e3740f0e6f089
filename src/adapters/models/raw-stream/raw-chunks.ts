import { decodeFinishReason } from "../../../domain/finish-reason.js";
import { isJsonObject } from "../../../domain/json.js";
import type { StreamChunk } from "../../../domain/stream-chunk.js";
import { decodeUsage, isUsage } from "../../../domain/usage.js";
import { ModelFailure } from "../wire/model-failure.js";
import { ChatDecoder } from "../openai-chat/openai-chat-stream.js";

/** What each of our chunks is about; a chunk without it is none. */
const FIELDS: Readonly<Record<StreamChunk["type"], readonly [field: string, type: "string" | "number" | "object"]>> = {
  textDelta: ["text", "string"],
  reasoningDelta: ["text", "string"],
  toolCallDelta: ["index", "number"],
  usage: ["usage", "object"],
  finish: ["reason", "string"],
  reset: ["reason", "string"],
};

/**
 * Reads what an application's own stream yields: our chunks go on as they are, chunks of chat completions are read like those of a
 * server. Each is taken for what it is by itself. Throws `ModelFailure`.
 */
export class RawChunks {
  /** The reply has its finish, whatever else the stream may bring. */
  finished = false;
  readonly #emit: (chunk: StreamChunk) => void;
  #decoder: ChatDecoder;
  #hasWire = false;

  constructor(emit: (chunk: StreamChunk) => void) {
    this.#emit = emit;
    this.#decoder = new ChatDecoder(emit);
  }

  get model(): string | undefined {
    return this.#decoder.model;
  }

  take(value: unknown): void {
    if (!isJsonObject(value)) throw new ModelFailure("response-parse", "the stream gave something that is no chunk");
    const own = ownChunk(value);
    if (own === undefined) {
      this.#hasWire = true;
      this.#decoder.take(value);
      this.finished ||= this.#decoder.finished;
    } else {
      if (own.type === "finish") this.finished = true;
      if (own.type === "reset") this.#beginAnew();
      this.#emit(decoded(own));
    }
  }

  /** Nothing that came before a reset says anything of the reply. */
  #beginAnew(): void {
    this.finished = false;
    this.#hasWire = false;
    this.#decoder = new ChatDecoder(this.#emit);
  }

  /** The stream is over. Fails where chunks of the wire did not add up to a whole reply; of our own the finish is one of them. */
  end(): void {
    if (this.#hasWire) this.#decoder.end();
  }
}

/** The chunk with counts and reasons there are: an application may get its own from elsewhere. */
function decoded(chunk: StreamChunk): StreamChunk {
  if (chunk.type === "usage") return isUsage(chunk.usage) ? chunk : { ...chunk, usage: decodeUsage(chunk.usage) };
  if (chunk.type !== "finish") return chunk;
  const reason = decodeFinishReason(chunk.reason);
  return reason === chunk.reason ? chunk : { ...chunk, reason, rawReason: chunk.rawReason ?? chunk.reason };
}

function ownChunk(value: object): StreamChunk | undefined {
  if (!isOwn(value)) return undefined;
  const [field, wanted] = FIELDS[value.type];
  const found: unknown = Reflect.get(value, field);
  if (typeof found === wanted && found !== null) return value;
  throw new ModelFailure("response-parse", "the stream gave a chunk that lacks what it is about", {
    quote: value.type,
  });
}

function isOwn(value: object): value is StreamChunk {
  return "type" in value && typeof value.type === "string" && Object.hasOwn(FIELDS, value.type);
}
