import { isJsonObject, type JsonObject } from "../../../domain/json.js";
import type { StreamChunk } from "../../../domain/stream-chunk.js";
import { serverBlockData } from "./anthropic-server-blocks.js";
import {
  argumentsField,
  decodeJson,
  encodeJson,
  fieldOf,
  idField,
  listField,
  objectField,
  textField,
} from "../wire/wire-json.js";

/** A block that is open; `part` is its place among all blocks, whatever index the wire has given it. */
type Block = {
  readonly part: number;
  readonly start: JsonObject;
  readonly citations: JsonObject[];
  json: string;
};

/**
 * Turns the blocks of a reply into chunks, each as soon as it is known. Blocks may be open side by side; an index that is opened again
 * stands for another block, and a piece without a block opens its own.
 */
export class BlockReader {
  readonly #emit: (chunk: StreamChunk) => void;
  readonly #open = new Map<number, Block>();
  /** The block that was opened last, while it is open. */
  #newest: Block | undefined;
  /** The call that was opened last. */
  #call: Block | undefined;
  #count = 0;
  #hasOutput = false;

  constructor(emit: (chunk: StreamChunk) => void) {
    this.#emit = emit;
  }

  /** Something of the reply was read. */
  get hasOutput(): boolean {
    return this.#hasOutput;
  }

  /** A block with all its content. */
  whole(block: JsonObject): void {
    const index = this.#count;
    this.open(index, block);
    this.close(index);
  }

  open(index: number, start: JsonObject): void {
    this.close(index);
    if (this.#newest !== undefined) this.#hold(this.#newest);
    const part = this.#count++;
    const block: Block = { part, start, citations: listField(start, "citations").filter(isJsonObject), json: "" };
    this.#open.set(index, block);
    this.#newest = block;
    if (takesInput(block)) this.#call = block;
    switch (textField(start, "type")) {
      case "text":
        return this.#text(part, textField(start, "text"));
      case "thinking":
        return this.#reason(part, textField(start, "thinking"), textField(start, "signature"));
      case "redacted_thinking":
        return this.#send({ type: "reasoningDelta", text: textField(start, "data") ?? "", part, redacted: true });
      case "tool_use":
        return this.#send({
          type: "toolCallDelta",
          index: part,
          id: idField(start, "id"),
          name: textField(start, "name"),
        });
      default:
        return;
    }
  }

  delta(index: number, delta: JsonObject | undefined): void {
    if (!this.#open.has(index)) this.open(index, {});
    const block = this.#open.get(index);
    if (block === undefined) return;
    switch (textField(delta, "type")) {
      case "text_delta":
        return this.#text(block.part, textField(delta, "text"));
      case "thinking_delta":
        return this.#reason(block.part, textField(delta, "thinking"), undefined);
      case "signature_delta":
        return this.#reason(block.part, undefined, textField(delta, "signature"));
      case "input_json_delta":
        // Some servers number the pieces of a call otherwise than the call.
        return this.#input(takesInput(block) ? block : this.#call, argumentsField(delta, "partial_json"));
      case "citations_delta":
        block.citations.push(...listField(delta, "citation").filter(isJsonObject));
        return;
      default:
        return;
    }
  }

  close(index: number): void {
    const block = this.#open.get(index);
    if (block === undefined) return;
    this.#open.delete(index);
    if (this.#newest === block) this.#newest = undefined;
    const { part, start, json, citations } = block;
    if (citations.length > 0) {
      this.#send({ type: "textDelta", text: "", part, providerData: plain({ citations }) });
    } else if (isCall(start)) {
      // In a stream the input follows in pieces; a whole reply, and some servers, bring it at once, as a value or as text.
      const given = isEmpty(fieldOf(start, "input")) ? "" : argumentsField(start, "input");
      const isMissing = json.length < 16 && /^\s*(?:\{\s*\}\s*)?$/.test(json);
      if (isMissing && given !== "") this.#send({ type: "toolCallDelta", index: part, argumentsDelta: given });
    } else if (isServerBlock(start)) {
      const given = json === "" ? objectField(start, "input") : decodeJson(json);
      const whole = isJsonObject(given) ? { ...start, input: given } : start;
      this.#send({ type: "reasoningDelta", text: "", part, providerData: serverBlockData(plain(whole)) });
    }
  }

  /** Closes what the stream left open. */
  end(): void {
    for (const index of [...this.#open.keys()]) this.close(index);
  }

  /** A block that may have brought nothing yet has its place in front of the next all the same. */
  #hold({ part, start }: Block): void {
    if (start["type"] === "text") this.#emit({ type: "textDelta", text: "", part });
    else if (start["type"] === "thinking" || isServerBlock(start))
      this.#emit({ type: "reasoningDelta", text: "", part });
  }

  #text(part: number, text: string | undefined): void {
    if (text !== undefined) this.#send({ type: "textDelta", text, part });
  }

  #reason(part: number, text = "", signature: string | undefined): void {
    if (text === "" && signature === undefined) return;
    this.#send({ type: "reasoningDelta", text, part, ...(signature === undefined ? undefined : { signature }) });
  }

  #input(block: Block | undefined, piece: string): void {
    if (piece === "" || block === undefined) return;
    block.json += piece;
    if (isCall(block.start)) this.#send({ type: "toolCallDelta", index: block.part, argumentsDelta: piece });
  }

  #send(chunk: StreamChunk): void {
    this.#hasOutput = true;
    this.#emit(chunk);
  }
}

function isCall(start: JsonObject): boolean {
  return start["type"] === "tool_use";
}

function takesInput({ start }: Block): boolean {
  return isCall(start) || isServerBlock(start);
}

/** An object without fields, which stands at the start of a call whose input follows; some languages write it as a list. */
function isEmpty(input: unknown): boolean {
  return typeof input === "object" && input !== null && Object.keys(input).length === 0;
}

/** A call of the provider's own tools, or what came of it. */
function isServerBlock(start: JsonObject): boolean {
  return /_tool_(?:use|result)$/.test(textField(start, "type") ?? "");
}

/** What is stored holds plain values: digits of numbers that were kept while reading are rounded there. */
function plain(value: JsonObject): JsonObject {
  const copy = decodeJson(encodeJson(value));
  return isJsonObject(copy) ? copy : {};
}
