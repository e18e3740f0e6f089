import type { JsonObject } from "../../../domain/json.js";
import { ModelFailure } from "../wire/model-failure.js";
import { fieldOf, idField, textField } from "../wire/wire-json.js";

/** The kinds of text an output item consists of. */
export type PieceKind = "text" | "refusal" | "summary" | "reasoning" | "arguments";

/** One output item, as far as it has been read. */
export type OutputItem = {
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

/** Each item is compared with those before it. */
const MAX_ITEMS = 2_000;

/** The items of one reply, and which of them an event means. */
export class OutputIndex {
  readonly #items: OutputItem[] = [];
  /** The newest item of each number the server gave. */
  readonly #numbered = new Map<number, OutputItem>();
  readonly #named = new Map<string, OutputItem>();

  get all(): readonly OutputItem[] {
    return this.#items;
  }

  /** Adds an item. Throws `ModelFailure` beyond as many as no provider sends. */
  add(source: JsonObject, index: number | undefined): OutputItem {
    if (this.#items.length === MAX_ITEMS) throw new ModelFailure("response-parse", "the reply has too many items");
    const item: OutputItem = {
      place: this.#items.length,
      type: textField(source, "type") ?? "",
      id: textField(source, "id"),
      callId: idField(source, "call_id"),
      phase: textField(source, "phase"),
      sent: new Map(),
      thought: undefined,
      isOver: false,
    };
    this.#items.push(item);
    if (index !== undefined) this.#numbered.set(index, item);
    if (item.id !== undefined) this.#named.set(item.id, item);
    return item;
  }

  /** The newest item of a number. */
  at(index: number | undefined): OutputItem | undefined {
    return index === undefined ? undefined : this.#numbered.get(index);
  }

  /** The item that a piece belongs to: by its number, else by its id. */
  find(event: JsonObject): OutputItem | undefined {
    return this.at(outputIndex(event)) ?? this.#named.get(textField(event, "item_id") ?? "");
  }

  /**
   * The item that a whole one repeats, if it is free. Numbers and ids say so together where both are right, but some servers number all
   * items alike, leave items out, or give the same item another id in every event.
   */
  match(source: JsonObject, index: number | undefined, isFree: (item: OutputItem) => boolean): OutputItem | undefined {
    const type = textField(source, "type") ?? "";
    const callId = idField(source, "call_id");
    const id = textField(source, "id");
    const isSame = (item: OutputItem): boolean => (callId === undefined ? item.id === id : item.callId === callId);
    const alike = this.#items.filter((item) => item.type === type);
    const numbered = alike.find((item) => item === this.at(index));
    if (numbered !== undefined && isSame(numbered) && isFree(numbered)) return numbered;
    const same = alike.find((item) => isSame(item) && isFree(item));
    if (same !== undefined || numbered === undefined || callId !== undefined) return same;
    return isFree(numbered) ? numbered : undefined;
  }
}

/** The number a server gives an item. */
export function outputIndex(event: JsonObject): number | undefined {
  const index = fieldOf(event, "output_index");
  return typeof index === "number" ? index : undefined;
}
