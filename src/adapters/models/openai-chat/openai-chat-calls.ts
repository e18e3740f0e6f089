import type { ToolCallDelta } from "../../../domain/stream-chunk.js";
import { encodeJson, fieldOf, idField, objectField } from "../wire/wire-json.js";

/** Indexes of calls that the server did not number; far from any it could number. */
const UNNUMBERED = 1_000_000;

/**
 * Reads tool-call entries of every known shape: index missing, as text, or the same for all; ids as numbers, empty or null; arguments as
 * an object; name and arguments without `function` around them.
 */
export class ToolCallReader {
  readonly #indexOf = new Map<string, number>();
  #unnumbered = UNNUMBERED;
  #last: number | undefined;
  #lastName = "";

  /** One entry of a streamed delta; undefined where it says nothing. */
  delta(entry: unknown): ToolCallDelta | undefined {
    const { id, name, piece } = read(entry);
    // An empty object at the start of a streamed call is a placeholder: its arguments follow as text.
    const argumentsDelta = typeof piece === "object" && Object.keys(piece).length === 0 ? undefined : textOf(piece);
    if (
      id === undefined &&
      name === undefined &&
      argumentsDelta === undefined &&
      extraOf(entry).providerData === undefined
    ) {
      return undefined;
    }
    const index = numberOf(fieldOf(entry, "index")) ?? this.#unnumberedIndex(id, name, argumentsDelta);
    if (id !== undefined) this.#indexOf.set(id, index);
    this.#last = index;
    if (name !== undefined) this.#lastName = name;
    return { type: "toolCallDelta", index, id, name, argumentsDelta, ...extraOf(entry) };
  }

  /** One entry of a whole message: always a call of its own, `place` in the list. */
  whole(entry: unknown, place: number): ToolCallDelta {
    const { id, name, piece } = read(entry);
    const argumentsDelta = textOf(piece);
    return { type: "toolCallDelta", index: place, id: id ?? `call_${place}`, name, argumentsDelta, ...extraOf(entry) };
  }

  #unnumberedIndex(id: string | undefined, name: string | undefined, piece: string | undefined): number {
    const known = id === undefined ? undefined : this.#indexOf.get(id);
    if (known !== undefined) return known;
    // A piece without a name goes on with the last call, whatever id a server made up for it.
    if (name === undefined && this.#last !== undefined) return this.#last;
    if (id === undefined && this.#last !== undefined) {
      const repeatsName = name === this.#lastName && piece?.trimStart().startsWith("{") !== true;
      if (repeatsName) return this.#last;
    }
    return this.#unnumbered++;
  }
}

type Entry = { readonly id: string | undefined; readonly name: string | undefined; readonly piece: unknown };

function read(entry: unknown): Entry & { readonly piece: string | object | undefined } {
  const named = objectField(entry, "function") ?? entry;
  const name = fieldOf(named, "name");
  const piece = fieldOf(named, "arguments");
  return {
    id: idField(entry, "id"),
    name: typeof name === "string" && name !== "" ? name : undefined,
    piece: typeof piece === "object" && piece !== null ? piece : scalar(piece),
  };
}

/** Thought signatures and the like, which the server wants back with the call. */
function extraOf(entry: unknown): Pick<ToolCallDelta, "providerData"> {
  const extra = objectField(entry, "extra_content");
  return extra === undefined ? {} : { providerData: { extra_content: extra } };
}

function scalar(piece: unknown): string | undefined {
  if (piece === undefined || piece === null || piece === "") return undefined;
  return typeof piece === "string" ? piece : encodeJson(piece);
}

function textOf(piece: string | object | undefined): string | undefined {
  return typeof piece === "object" ? encodeJson(piece) : piece;
}

function numberOf(index: unknown): number | undefined {
  const number = typeof index === "string" && index.trim() !== "" ? Number(index) : index;
  return typeof number === "number" && Number.isSafeInteger(number) && number >= 0 ? number : undefined;
}
