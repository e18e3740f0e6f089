import { isJsonObject, type JsonObject } from "../../domain/json.js";
import type { FinishReason } from "../../domain/finish-reason.js";
import type { StreamChunk } from "../../domain/stream-chunk.js";
import { serverBlockData } from "./anthropic-server-blocks.js";
import { UsageReader } from "./anthropic-usage.js";
import type { ReplyDecoder } from "./call-model.js";
import { streamFailure } from "./http-errors.js";
import { JsonEvents } from "./json-events.js";
import { complaintInStream } from "./provider-complaint.js";
import { decodeJson, encodeJson, fieldOf, listField, objectField, textField } from "./wire-json.js";

const REASONS: Readonly<Record<string, FinishReason>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  tool_use: "tool-calls",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  refusal: "refusal",
  sensitive: "content-filter",
  content_filtered: "content-filter",
  guardrail_intervened: "content-filter",
};

/** What a stop reason of the messages wire means; words not known are `"other"`, and so is a pause of the provider's own tools. */
export function finishReasonOf(raw: string): FinishReason {
  return (Object.hasOwn(REASONS, raw) ? REASONS[raw] : undefined) ?? "other";
}

/** A block of the reply; `part` is its place among all blocks, whatever index the wire has given it. */
type Block = { readonly part: number; readonly start: JsonObject; json: string };

/**
 * Turns a messages body, streamed or whole, into chunks. Each chunk is handed on as soon as it is read; `finish` comes once, from `end`.
 * Throws `ModelFailure`.
 */
export class AnthropicDecoder implements ReplyDecoder {
  /** The model the server says has answered. */
  model: string | undefined;
  readonly #emit: (chunk: StreamChunk) => void;
  readonly #events: JsonEvents;
  readonly #usage = new UsageReader();
  readonly #open = new Map<number, Block>();
  #parts = 0;
  #stop: string | undefined;
  #isWhole = false;
  #hasOutput = false;
  #told = "";

  constructor(emit: (chunk: StreamChunk) => void) {
    this.#emit = emit;
    this.#events = new JsonEvents({
      take: (value, isErrorEvent) => this.#take(value, isErrorEvent),
      isWhole: () => this.finished,
    });
  }

  get done(): boolean {
    return this.#events.done;
  }

  get finished(): boolean {
    return this.done || this.#isWhole || this.#stop !== undefined;
  }

  get onData(): JsonEvents["onData"] {
    return this.#events.onData;
  }

  get onStray(): JsonEvents["onStray"] {
    return this.#events.onStray;
  }

  get onDocument(): JsonEvents["onDocument"] {
    return this.#events.onDocument;
  }

  ending(): void {
    this.#events.ending();
  }

  end(): void {
    const isOver = this.#stop !== undefined || (this.finished && (this.#hasOutput || this.#open.size > 0));
    if (!isOver) throw this.#events.incomplete();
    for (const index of [...this.#open.keys()]) this.#close(index);
    this.#emit({ type: "finish", reason: finishReasonOf(this.#stop ?? ""), rawReason: this.#stop });
  }

  #take(value: JsonObject, isErrorEvent: boolean): void {
    const type = textField(value, "type");
    const mayComplain = isErrorEvent || type === undefined || type === "error" || Object.hasOwn(value, "error");
    const complaint = mayComplain ? complaintInStream(value, { isErrorEvent }) : undefined;
    if (complaint !== undefined) throw streamFailure(complaint, value);
    switch (type) {
      case "message_start":
        return this.#begin(objectField(value, "message"));
      case "content_block_start":
        return this.#openBlock(indexOf(value), objectField(value, "content_block") ?? {});
      case "content_block_delta":
        return this.#takeDelta(indexOf(value), objectField(value, "delta"));
      case "content_block_stop":
        return this.#close(indexOf(value));
      case "message_delta":
        this.#takeEnd(objectField(value, "delta"));
        return this.#takeUsage(value["usage"]);
      case "message_stop":
        this.#events.done = true;
        return;
      default:
        if (Array.isArray(value["content"])) this.#takeWhole(value);
    }
  }

  #begin(message: JsonObject | undefined): void {
    this.model ??= textField(message, "model");
    this.#takeUsage(message?.["usage"]);
  }

  #takeWhole(message: JsonObject): void {
    this.#isWhole = true;
    this.#begin(message);
    for (const block of listField(message, "content")) {
      const index = this.#parts;
      if (isJsonObject(block)) this.#openBlock(index, block);
      this.#close(index);
    }
    this.#takeEnd(message);
  }

  #takeEnd(source: JsonObject | undefined): void {
    this.#stop = textField(source, "stop_reason") ?? this.#stop;
  }

  #openBlock(index: number, start: JsonObject): void {
    // An index that is used again stands for another block.
    this.#close(index);
    const block: Block = { part: this.#parts++, start, json: "" };
    this.#open.set(index, block);
    const { part } = block;
    switch (textField(start, "type")) {
      case "text":
        return this.#text(part, textField(start, "text"));
      case "thinking":
        this.#reason(part, textField(start, "thinking"), undefined);
        return this.#reason(part, undefined, textField(start, "signature"));
      case "redacted_thinking":
        return this.#send({ type: "reasoningDelta", text: textField(start, "data") ?? "", part, redacted: true });
      case "tool_use":
        return this.#send({
          type: "toolCallDelta",
          index: part,
          id: textField(start, "id"),
          name: textField(start, "name"),
        });
      default:
        return;
    }
  }

  #takeDelta(index: number, delta: JsonObject | undefined): void {
    if (!this.#open.has(index)) this.#openBlock(index, {});
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
        return this.#input(block, textField(delta, "partial_json"));
      default:
        return;
    }
  }

  #input(block: Block, piece: string | undefined): void {
    if (piece === undefined) return;
    block.json += piece;
    if (isCall(block)) this.#send({ type: "toolCallDelta", index: block.part, argumentsDelta: piece });
  }

  #close(index: number): void {
    const block = this.#open.get(index);
    if (block === undefined) return;
    this.#open.delete(index);
    const { part, start, json } = block;
    const input = objectField(start, "input");
    if (isCall(block)) {
      // In a stream the input follows in pieces; a whole reply, and some servers, bring it at once.
      const isGiven = json === "" && input !== undefined && Object.keys(input).length > 0;
      if (isGiven) this.#send({ type: "toolCallDelta", index: part, argumentsDelta: encodeJson(input) });
    } else if (isServerBlock(start)) {
      const given = json === "" ? input : decodeJson(json);
      const whole = isJsonObject(given) ? { ...start, input: given } : start;
      this.#send({ type: "reasoningDelta", text: "", part, providerData: serverBlockData(whole) });
    }
  }

  #text(part: number, text: string | undefined): void {
    if (text !== undefined) this.#send({ type: "textDelta", text, part });
  }

  #reason(part: number, text = "", signature: string | undefined): void {
    if (text === "" && signature === undefined) return;
    this.#send({ type: "reasoningDelta", text, part, ...(signature === undefined ? undefined : { signature }) });
  }

  #takeUsage(value: unknown): void {
    const usage = this.#usage.read(value);
    const text = JSON.stringify(usage);
    if (usage !== undefined && text !== this.#told) this.#emit({ type: "usage", usage });
    this.#told = text;
  }

  #send(chunk: StreamChunk): void {
    this.#hasOutput = true;
    this.#emit(chunk);
  }
}

function indexOf(value: JsonObject): number {
  const index = Number(fieldOf(value, "index"));
  return Number.isSafeInteger(index) ? index : 0;
}

function isCall({ start }: Block): boolean {
  return textField(start, "type") === "tool_use";
}

/** A call of the provider's own tools, or what came of it. */
function isServerBlock(start: JsonObject): boolean {
  const type = textField(start, "type") ?? "";
  return /_tool_use$|_tool_result$/.test(type) && type !== "tool_use";
}
