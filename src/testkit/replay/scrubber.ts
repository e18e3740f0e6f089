import { copyJson, setOwn } from "../../domain/adopt.js";
import type { Json } from "../../domain/json.js";
import type { StreamChunk } from "../../domain/stream-chunk.js";
import { type DeclaredSecret, declaredSecret, isSecretName, type Range, secretRanges } from "./secret-ranges.js";

/** What stands in a recording where a secret stood. */
export const SECRET = "[secret]";

/** Takes secrets out of what is recorded: those that were declared, in many a disguise, and what has the shape of one. */
export class Scrubber {
  readonly #declared: readonly DeclaredSecret[];

  /** Throws a RangeError for a declared secret of less than four characters. */
  constructor(secrets: readonly string[] = []) {
    this.#declared = secrets.map(declaredSecret);
  }

  text(text: string): string {
    return this.pieces([text])[0] ?? "";
  }

  /** Pieces of one text, cut anywhere: there are as many afterwards, and what stands in for a secret is in the one where it began. */
  pieces(pieces: readonly string[]): string[] {
    const ranges = secretRanges(pieces.join(""), this.#declared);
    if (ranges.length === 0) return [...pieces];
    let from = 0;
    return pieces.map((piece) => {
      const start = from;
      from += piece.length;
      return withoutRanges(piece, start, ranges);
    });
  }

  /** A copy of any JSON, names of fields included. The text of a field with a name like `password` is a secret whatever it is. */
  json(value: unknown): Json {
    return this.#walk(copyJson(value, "recording"), false);
  }

  /** Chunks of one reply: their texts are looked at as what they add up to, each part and call for itself. */
  chunks(chunks: readonly StreamChunk[]): StreamChunk[] {
    const streams = new Map<string, { readonly at: number; readonly piece: string }[]>();
    let epoch = 0;
    chunks.forEach((chunk, at) => {
      if (chunk.type === "reset") epoch += 1;
      const field = FIELDS[chunk.type];
      const piece: unknown = field === undefined ? undefined : Reflect.get(chunk, field);
      if (typeof piece !== "string") return;
      const place = "index" in chunk ? chunk.index : "part" in chunk ? chunk.part : undefined;
      const key = JSON.stringify([epoch, chunk.type, place ?? null]);
      const stream = streams.get(key) ?? [];
      stream.push({ at, piece });
      streams.set(key, stream);
    });
    const told = chunks.map((chunk) => chunk as unknown);
    for (const stream of streams.values()) {
      const scrubbed = this.pieces(stream.map(({ piece }) => piece));
      stream.forEach(({ at }, index) => {
        const field = FIELDS[(chunks[at] as StreamChunk).type] ?? "";
        told[at] = { ...(told[at] as object), [field]: scrubbed[index] };
      });
    }
    return told.map((chunk) => this.json(chunk) as unknown as StreamChunk);
  }

  #walk(value: Json, secret: boolean): Json {
    if (typeof value === "string") return secret && value !== "" ? SECRET : this.text(value);
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) return (value as readonly Json[]).map((item) => this.#walk(item, secret));
    const out: Record<string, Json> = {};
    for (const [key, field] of Object.entries<Json>(value as Record<string, Json>)) {
      const inner = this.#walk(field, isSecretName(key) && (typeof field === "string" || Array.isArray(field)));
      setOwn(out, this.text(key), inner);
    }
    return out;
  }
}

/** Where a chunk has its piece of a longer text. */
const FIELDS: Readonly<Partial<Record<string, string>>> = {
  textDelta: "text",
  reasoningDelta: "text",
  toolCallDelta: "argumentsDelta",
};

/** One piece, which begins at `start` of the whole text. */
function withoutRanges(piece: string, start: number, ranges: readonly Range[]): string {
  let out = "";
  let at = 0;
  for (const range of ranges) {
    const from = range.start - start;
    const to = range.end - start;
    if (to <= 0 || from >= piece.length) continue;
    out += piece.slice(at, Math.max(from, at));
    if (from >= 0) out += SECRET;
    at = Math.min(to, piece.length);
  }
  return out + piece.slice(at);
}
