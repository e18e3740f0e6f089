import type { Json, JsonObject } from "../../../domain/json.js";
import type { StreamChunk } from "../../../domain/stream-chunk.js";
import { OutputIndex, outputIndex, type OutputItem, type PieceKind } from "./openai-responses-index.js";
import { argumentsField, fieldOf, listField, textField } from "../wire/wire-json.js";

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
  /** The reply asks for a tool. */
  hasCalls = false;
  /** The model declined, in words of its own. */
  isRefusal = false;
  readonly #emit: (chunk: StreamChunk) => void;
  readonly #items = new OutputIndex();
  readonly #parts = new Map<string, number>();
  /** Arguments under a number that no item has. */
  #stray = "";

  constructor(emit: (chunk: StreamChunk) => void) {
    this.#emit = emit;
  }

  /** An item begins. */
  open(item: JsonObject, index: number | undefined): void {
    const known = this.#items.at(index);
    if (known === undefined || known.isOver || known.type !== textField(item, "type")) this.#open(item, index);
  }

  /** A piece of an item's text. Arguments of a call that is not open wait for the whole call, or for the end. */
  piece(event: JsonObject, kind: PieceKind, text: string): void {
    const item = this.#items.find(event);
    if (item === undefined && kind === "arguments") this.#stray += text;
    else this.#send(item ?? this.#open({ type: typeOf(kind) }, outputIndex(event)), kind, partIndex(event), text);
  }

  /** A text of an item is over; `text` is all of it. */
  whole(event: JsonObject, kind: PieceKind, text: string): void {
    const isFirst = kind !== "arguments" && !this.#items.all.some(({ type }) => type === typeOf(kind));
    const item =
      this.#items.find(event) ?? (isFirst ? this.#open({ type: typeOf(kind) }, outputIndex(event)) : undefined);
    if (item !== undefined) this.#rest(item, kind, partIndex(event), text);
  }

  /** An item is over. */
  close(source: JsonObject, index: number | undefined): void {
    const known = this.#items.match(source, index, (item) => !item.isOver);
    this.#close(known ?? this.#open(source, index), source);
  }

  /** The reply is over; these are its items once more, or for the first time. */
  closeAll(output: readonly JsonObject[]): void {
    const rest = new Set(this.#items.all);
    output.forEach((source, index) => {
      const known = this.#items.match(source, index, (item) => rest.delete(item));
      this.#close(known ?? this.#open(source, undefined), source);
    });
    this.#settleStray();
  }

  /** Arguments that nobody else claims are those of the call that has none: it must not run without. */
  #settleStray(): void {
    const bare = this.#items.all.findLast(({ type, sent }) => type === "function_call" && sent.size === 0);
    if (bare !== undefined) this.#send(bare, "arguments", 0, this.#stray);
    this.#stray = "";
  }

  #close(item: OutputItem, source: JsonObject): void {
    this.#contents(item, source);
    if (item.isOver) return;
    item.isOver = true;
    const stored = storedForm(source);
    if (stored !== undefined) this.#emit({ type: "reasoningDelta", text: "", part: item.place, providerData: stored });
  }

  #contents(item: OutputItem, source: JsonObject): void {
    if (item.type === "function_call") this.#rest(item, "arguments", 0, argumentsField(source, "arguments"));
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
  #rest(item: OutputItem, kind: PieceKind, at: number, whole: string): void {
    const sent = item.sent.get(`${kind}/${at}`) ?? "";
    if (whole.length > sent.length && whole.startsWith(sent)) this.#send(item, kind, at, whole.slice(sent.length));
  }

  #send(item: OutputItem, kind: PieceKind, at: number, text: string): void {
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

  #chunk(item: OutputItem, kind: PieceKind, at: number, text: string, isNext: boolean): void {
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

  #partOf(item: OutputItem, at: number): number {
    const key = `${item.place}/${at}`;
    const part = this.#parts.get(key) ?? this.#parts.size;
    this.#parts.set(key, part);
    return part;
  }

  /** An item that has brought nothing yet has its place in front of the next all the same. */
  #hold(item: OutputItem | undefined): void {
    if (item === undefined || item.isOver || item.sent.size > 0) return;
    if (item.type === "reasoning") this.#emit({ type: "reasoningDelta", text: "", part: item.place });
    else if (item.type === "message") this.#emit({ type: "textDelta", text: "", part: this.#partOf(item, 0) });
  }

  #open(source: JsonObject, index: number | undefined): OutputItem {
    this.#hold(this.#items.all.at(-1));
    const item = this.#items.add(source, index);
    if (item.type === "function_call") {
      this.hasCalls = true;
      const name = textField(source, "name");
      this.#emit({ type: "toolCallDelta", index: item.place, id: item.callId ?? item.id, name });
    }
    return item;
  }
}

/** The type of the items that consist of such texts. */
function typeOf(kind: PieceKind): string {
  if (kind === "arguments") return "function_call";
  return kind === "summary" || kind === "reasoning" ? "reasoning" : "message";
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
