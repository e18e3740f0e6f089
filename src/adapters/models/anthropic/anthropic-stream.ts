import { isJsonObject, type JsonObject } from "../../../domain/json.js";
import type { FinishReason } from "../../../domain/finish-reason.js";
import type { StreamChunk } from "../../../domain/stream-chunk.js";
import { BlockReader } from "./anthropic-blocks.js";
import { UsageReader } from "./anthropic-usage.js";
import type { ReplyDecoder } from "../wire/call-model.js";
import { streamFailure } from "../wire/http-errors.js";
import { JsonEvents } from "../wire/json-events.js";
import { decodeLossless } from "../wire/lossless-json.js";
import { complaintInStream } from "../wire/provider-complaint.js";
import { fieldOf, listField, objectField, textField } from "../wire/wire-json.js";

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

/**
 * Turns a messages body, streamed or whole, into chunks. Each chunk is handed on as soon as it is read; `finish` comes once, from `end`.
 * Throws `ModelFailure`.
 */
export class AnthropicDecoder implements ReplyDecoder {
  /** The model the server says has answered. */
  model: string | undefined;
  readonly #emit: (chunk: StreamChunk) => void;
  readonly events: JsonEvents;
  readonly #usage = new UsageReader();
  readonly #blocks: BlockReader;
  #stop: string | undefined;
  #isWhole = false;
  #told = "";

  constructor(emit: (chunk: StreamChunk) => void) {
    this.#emit = emit;
    this.#blocks = new BlockReader(emit);
    this.events = new JsonEvents({
      take: (value, isErrorEvent) => this.#take(value, isErrorEvent),
      isWhole: () => this.finished,
      decode: decodeLossless,
    });
  }

  get finished(): boolean {
    return this.events.done || this.#isWhole || this.#stop !== undefined;
  }

  end(): void {
    const isOver = this.#stop !== undefined || (this.#isWhole && this.#blocks.hasOutput);
    if (!isOver) throw this.events.incomplete();
    this.#blocks.end();
    this.#emit({ type: "finish", reason: finishReasonOf(this.#stop ?? ""), rawReason: this.#stop });
  }

  #take(value: JsonObject, isErrorEvent: boolean): void {
    const type = textField(value, "type");
    const mayComplain = isErrorEvent || type === undefined || type === "error" || Object.hasOwn(value, "error");
    const complaint = mayComplain ? complaintInStream(value, { isErrorEvent }) : undefined;
    if (complaint !== undefined) throw streamFailure(complaint, value);
    switch (type) {
      case "message_start":
        this.#begin(objectField(value, "message"));
        return this.#takeContent(objectField(value, "message"));
      case "content_block_start":
        return this.#blocks.open(indexOf(value), objectField(value, "content_block") ?? {});
      case "content_block_delta":
        return this.#blocks.delta(indexOf(value), objectField(value, "delta"));
      case "content_block_stop":
        return this.#blocks.close(indexOf(value));
      case "message_delta":
        this.#takeEnd(objectField(value, "delta"));
        return this.#takeUsage(value["usage"]);
      case "message_stop":
        this.#isWhole = true;
        this.events.done = true;
        return;
      default:
        if (Array.isArray(value["content"]) || value["role"] === "assistant") this.#takeWhole(value);
    }
  }

  #begin(message: JsonObject | undefined): void {
    this.model ??= textField(message, "model");
    this.#takeUsage(message?.["usage"]);
  }

  #takeWhole(message: JsonObject): void {
    this.#isWhole = true;
    this.#begin(message);
    this.#takeContent(message);
    this.#takeEnd(message);
  }

  /** Blocks that come whole; the start of a stream holds them where a server had the reply before it began to send. */
  #takeContent(message: JsonObject | undefined): void {
    const text = textField(message, "content");
    if (text !== undefined) this.#blocks.whole({ type: "text", text });
    for (const block of listField(message, "content")) if (isJsonObject(block)) this.#blocks.whole(block);
  }

  #takeEnd(source: JsonObject | undefined): void {
    this.#stop = textField(source, "stop_reason") ?? this.#stop;
  }

  #takeUsage(value: unknown): void {
    const usage = this.#usage.read(value);
    const text = JSON.stringify(usage);
    if (usage !== undefined && text !== this.#told) this.#emit({ type: "usage", usage });
    this.#told = text;
  }
}

function indexOf(value: JsonObject): number {
  const index = Number(fieldOf(value, "index"));
  return Number.isSafeInteger(index) ? index : 0;
}
