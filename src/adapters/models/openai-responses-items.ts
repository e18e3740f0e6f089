import type { Json, JsonObject } from "../../domain/json.js";
import type { StreamChunk } from "../../domain/stream-chunk.js";
import { ModelFailure } from "./model-failure.js";
import { fieldOf, listField, textField } from "./wire-json.js";

/** The kinds of text an output item consists of. */
export type PieceKind = "text" | "refusal" | "summary" | "reasoning" | "arguments";

/** Each item is compared with those before it. */
const MAX_ITEMS = 2_000;

/** One output item, as far as it has been read. */
type Item = {
  /** Its number among all items; servers number theirs in many ways. */
  readonly place: number;
  readonly type: string;
  readonly id: string | undefined;
  readonly callId: string | undefined;
  readonly phase: string | undefined;
  /** What was handed on, by kind and index. */
  readonly sent: Map<string, string>;
  /** Servers that send both give the same thoughts twice. */
  thought: PieceKind | undefined;
  isOver: boolean;
};

const CONTENT_KINDS: Readonly<Record<string, PieceKind>> = {
  output_text: "text",
  refusal: "refusal",
  reasoning_text: "reasoning",
};

/**
 * The output of one reply on the responses wire: turns the pieces of its items into chunks, and whole items into what their pieces had
 * not brought. Each text is handed on once, whichever of the wire's several repetitions of it arrives.
 */
export class ResponsesOutput {
  hasCalls = false;
  isRefusal = false;
  readonly #emit: (chunk: StreamChunk) => void;
  readonly #items: Item[] = [];
  /** The newest item of each number the server gave. */
  readonly #numbered = new Map<number, Item>();
  readonly #named = new Map<string, Item>();
  readonly #parts = new Map<string, number>();

  constructor(emit: (chunk: StreamChunk) => void) {
    this.#emit = emit;
  }

  /** An item begins. */
  open(item: JsonObject, index: number | undefined): void {
    const known = index === undefined ? undefined : this.#numbered.get(index);
    if (known === undefined || known.isOver || known.type !== textField(item, "type")) this.#open(item, index);
  }

  /** A piece of an item's text. Arguments of a call that is not open wait for the whole call. */
  piece(event: JsonObject, kind: PieceKind, text: string): void {
    const item = this.#find(event);
    if (item === undefined && kind === "arguments") return;
    this.#send(item ?? this.#open({ type: typeOf(kind) }, indexOf(event)), kind, partIndex(event), text);
  }

  /** A text of an item is over; `text` is all of it. */
  whole(event: JsonObject, kind: PieceKind, text: string): void {
    const item = this.#find(event);
    if (item !== undefined) this.#rest(item, kind, partIndex(event), text);
  }

  /** An item is over. */
  close(source: JsonObject, index: number | undefined): void {
    const known = this.#match(source, index, (item) => !item.isOver);
    this.#close(known ?? this.#open(source, index), source);
  }

  /** The reply is over; these are its items once more, or for the first time. */
  closeAll(output: readonly JsonObject[]): void {
    const rest = new Set(this.#items);
    output.forEach((source, index) => {
      const known = this.#match(source, index, (item) => rest.delete(item));
      this.#close(known ?? this.#open(source, undefined), source);
    });
  }

  #close(item: Item, source: JsonObject): void {
    this.#contents(item, source);
    if (item.isOver) return;
    item.isOver = true;
    const stored = storedForm(source);
    if (stored !== undefined) this.#emit({ type: "reasoningDelta", text: "", part: item.place, providerData: stored });
  }

  #contents(item: Item, source: JsonObject): void {
    if (item.type === "function_call") this.#rest(item, "arguments", 0, textField(source, "arguments") ?? "");
    if (item.type !== "message" && item.type !== "reasoning") return;
    listField(source, "summary").forEach((part, at) => {
      this.#rest(item, "summary", at, textField(part, "text") ?? "");
    });
    listField(source, "content").forEach((part, at) => {
      const type = textField(part, "type") ?? "";
      const kind = Object.hasOwn(CONTENT_KINDS, type) ? CONTENT_KINDS[type] : undefined;
      const text = textField(part, "text") ?? textField(part, "refusal") ?? "";
      if (kind !== undefined) this.#rest(item, kind, at, text);
    });
  }

  /** What has been sent is a part of the whole, or else the whole is no news. */
  #rest(item: Item, kind: PieceKind, at: number, whole: string): void {
    const sent = item.sent.get(`${kind}/${at}`) ?? "";
    if (whole.length > sent.length && whole.startsWith(sent)) this.#send(item, kind, at, whole.slice(sent.length));
  }

  #send(item: Item, kind: PieceKind, at: number, text: string): void {
    // A call's arguments under the number of a text would be taken for another call's.
    if (text === "" || item.type !== typeOf(kind)) return;
    const key = `${kind}/${at}`;
    const sent = item.sent.get(key);
    if (kind === "summary" || kind === "reasoning") {
      item.thought ??= kind;
      if (item.thought !== kind) return;
    }
    const isNext = sent === undefined && item.sent.size > 0;
    item.sent.set(key, (sent ?? "") + text);
    this.#chunk(item, kind, at, text, isNext);
  }

  #chunk(item: Item, kind: PieceKind, at: number, text: string, isNext: boolean): void {
    switch (kind) {
      case "summary":
      case "reasoning":
        // Paragraphs of a summary come without anything between them.
        return this.#emit({ type: "reasoningDelta", text: isNext ? `\n\n${text}` : text, part: item.place });
      case "arguments":
        return this.#emit({ type: "toolCallDelta", index: item.place, argumentsDelta: text });
      default: {
        if (kind === "refusal") this.isRefusal = true;
        const data = item.phase === undefined ? undefined : { providerData: { phase: item.phase } };
        return this.#emit({ type: "textDelta", text, part: this.#partOf(item, at), ...data });
      }
    }
  }

  #partOf(item: Item, at: number): number {
    const key = `${item.place}/${at}`;
    const part = this.#parts.get(key) ?? this.#parts.size;
    this.#parts.set(key, part);
    return part;
  }

  #open(source: JsonObject, index: number | undefined): Item {
    if (this.#items.length === MAX_ITEMS) throw new ModelFailure("response-parse", "the reply has too many items");
    const type = textField(source, "type") ?? "";
    const item: Item = {
      place: this.#items.length,
      type,
      id: textField(source, "id"),
      callId: textField(source, "call_id"),
      phase: textField(source, "phase"),
      sent: new Map(),
      thought: undefined,
      isOver: false,
    };
    this.#items.push(item);
    if (index !== undefined) this.#numbered.set(index, item);
    if (item.id !== undefined) this.#named.set(item.id, item);
    if (type === "function_call") {
      this.hasCalls = true;
      const id = item.callId ?? item.id;
      this.#emit({ type: "toolCallDelta", index: item.place, id, name: textField(source, "name") });
    }
    return item;
  }

  #find(event: JsonObject): Item | undefined {
    const index = indexOf(event);
    const numbered = index === undefined ? undefined : this.#numbered.get(index);
    if (numbered !== undefined) return numbered;
    return this.#named.get(textField(event, "item_id") ?? "");
  }

  /**
   * The item that a whole one repeats, if it is free. Numbers and ids say so together where both are right, but some servers number all
   * items alike, leave items out, or give the same item another id in every event.
   */
  #match(source: JsonObject, index: number | undefined, isFree: (item: Item) => boolean): Item | undefined {
    const type = textField(source, "type") ?? "";
    const callId = textField(source, "call_id");
    const id = textField(source, "id");
    const isSame = (item: Item): boolean => (callId === undefined ? item.id === id : item.callId === callId);
    const alike = this.#items.filter((item) => item.type === type);
    const numbered = alike.find((item) => index !== undefined && item === this.#numbered.get(index));
    if (numbered !== undefined && isSame(numbered) && isFree(numbered)) return numbered;
    const same = alike.find((item) => isSame(item) && isFree(item));
    if (same !== undefined || numbered === undefined || callId !== undefined) return same;
    return isFree(numbered) ? numbered : undefined;
  }
}

/** The type of the items that consist of such texts. */
function typeOf(kind: PieceKind): string {
  if (kind === "arguments") return "function_call";
  return kind === "summary" || kind === "reasoning" ? "reasoning" : "message";
}

function indexOf(event: JsonObject): number | undefined {
  const index = fieldOf(event, "output_index");
  return typeof index === "number" ? index : undefined;
}

function partIndex(event: JsonObject): number {
  return Number(fieldOf(event, "content_index") ?? fieldOf(event, "summary_index") ?? 0);
}

/** What a later request must hold again: thoughts and compactions as they came, except for the state they were in. */
function storedForm(item: JsonObject): Json | undefined {
  const type = textField(item, "type");
  if (type !== "reasoning" && type !== "compaction") return undefined;
  const { status: _status, ...stored } = item;
  return stored;
}
