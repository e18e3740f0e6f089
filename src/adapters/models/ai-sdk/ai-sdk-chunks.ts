import type { ModelErrorKind } from "../../../domain/errors.js";
import type { FinishReason } from "../../../domain/finish-reason.js";
import { isJsonObject, type JsonObject } from "../../../domain/json.js";
import type { ProviderData } from "../../../domain/message.js";
import type { StreamChunk } from "../../../domain/stream-chunk.js";
import { decodedHeaders } from "./ai-sdk-errors.js";
import { aiSdkUsage } from "./ai-sdk-usage.js";
import { ModelFailure } from "../wire/model-failure.js";
import { encodeJson, fieldOf, textField } from "../wire/wire-json.js";

/** A text or reasoning block, or a call, that the provider has begun. */
type Block = {
  readonly index: number;
  readonly type: "text" | "reasoning" | "call";
  data: JsonObject;
  input: string;
  named: boolean;
};

/**
 * Turns what a model of the AI SDK gives, piece by piece or whole, into chunks. Provider metadata of a part, from its start to its end,
 * becomes its provider data. Calls and results of tools that the provider ran itself are skipped, as is what is no text, reasoning or
 * call. Throws `ModelFailure`, and the errors of a stream as they are.
 */
export class AiSdkDecoder {
  /** The model that the provider says has answered. */
  model: string | undefined;
  /** The provider's id of the reply. */
  responseId: string | undefined;
  /** The reply has its finish, whatever else its stream may bring. */
  finished = false;
  /** Of the HTTP answer, where the provider shows them. */
  headers: Headers | undefined;
  readonly #emit: (chunk: StreamChunk) => void;
  readonly #blocks = new Map<string, Block>();
  readonly #skipped = new Set<unknown>();
  #count = 0;

  constructor(emit: (chunk: StreamChunk) => void) {
    this.#emit = emit;
  }

  /** What the provider shows of the HTTP answer. */
  answer(response: unknown): void {
    this.headers = decodedHeaders(fieldOf(response, "headers"));
  }

  /** One part of a stream; true where it brought something. */
  part(part: unknown): boolean {
    const type = textField(part, "type") ?? "";
    const id = textField(part, "id") ?? "";
    switch (type) {
      case "text-start":
      case "text-delta":
      case "text-end":
        return this.#text("text", type, id, part);
      case "reasoning-start":
      case "reasoning-delta":
      case "reasoning-end":
        return this.#text("reasoning", type, id, part);
      case "tool-input-start":
      case "tool-input-delta":
      case "tool-input-end":
        return this.#input(id, part);
      case "tool-call":
        return this.#call(part);
      case "response-metadata":
        return this.#metadata(part);
      case "finish":
        this.finish(part, { streamed: true });
        return true;
      case "error":
        throw fieldOf(part, "error");
      default:
        return false;
    }
  }

  /** One part of a whole reply. */
  content(part: unknown, place: number): void {
    const type = textField(part, "type");
    if (type === "text" || type === "reasoning") this.#text(type, "", String(place), part);
    else if (type === "tool-call") this.#call(part);
  }

  /** Usage and finish of a whole reply, or of a stream's last part. */
  finish(from: unknown, { streamed }: { readonly streamed: boolean }): void {
    const usage = aiSdkUsage(fieldOf(from, "usage"));
    if (usage !== undefined) this.#emit({ type: "usage", usage });
    const given = fieldOf(from, "finishReason");
    const unified = typeof given === "string" ? given : (textField(given, "unified") ?? "");
    const raw = textField(given, "raw");
    // Providers make up an end for a stream that had none.
    const hasNoEnd = unified === "interrupted" || (streamed && unified === "other" && raw === undefined);
    if (hasNoEnd) throw failure("response-parse", "the stream ended before the reply was finished", raw);
    if (unified === "error") throw failure("server", "the provider broke off the reply", raw);
    this.finished = true;
    this.#emit({ type: "finish", reason: REASONS[unified] ?? "other", rawReason: raw ?? unified });
  }

  #metadata(part: unknown): boolean {
    this.model ??= textField(part, "modelId");
    this.responseId ??= textField(part, "id");
    return false;
  }

  #text(type: "text" | "reasoning", event: string, id: string, part: unknown): boolean {
    const text = fieldOf(part, event === "" ? "text" : "delta");
    const block = this.#block(`${type} ${id}`, type);
    const providerData = this.#dataOf(block, part);
    const delta = typeof text === "string" ? text : "";
    if (delta === "" && providerData === undefined) return false;
    const extras = providerData === undefined ? undefined : { providerData };
    this.#emit({ type: type === "text" ? "textDelta" : "reasoningDelta", text: delta, part: block.index, ...extras });
    // A provider may use an id again once its block has ended.
    if (event.endsWith("-end")) this.#blocks.delete(`${type} ${id}`);
    return true;
  }

  #input(id: string, part: unknown): boolean {
    if (fieldOf(part, "providerExecuted") === true) this.#skipped.add(id);
    if (this.#skipped.has(id)) return false;
    const block = this.#block(`call ${id}`, "call");
    const delta = textField(part, "delta");
    const name = textField(part, "toolName");
    const providerData = this.#dataOf(block, part);
    if (delta === undefined && name === undefined && providerData === undefined) return false;
    block.input += delta ?? "";
    block.named ||= name !== undefined;
    this.#emit({
      type: "toolCallDelta",
      index: block.index,
      id,
      ...(name === undefined ? undefined : { name }),
      ...(delta === undefined ? undefined : { argumentsDelta: delta }),
      ...(providerData === undefined ? undefined : { providerData }),
    });
    return true;
  }

  /** The whole call, which may have come in pieces before. */
  #call(part: unknown): boolean {
    const id = textField(part, "toolCallId") ?? "";
    if (fieldOf(part, "providerExecuted") === true || this.#skipped.has(id)) return false;
    const block = this.#block(`call ${id}`, "call");
    const given = fieldOf(part, "input");
    const input = typeof given === "string" ? given : encodeJson(given ?? {});
    const providerData = this.#dataOf(block, part);
    const name = textField(part, "toolName");
    this.#emit({
      type: "toolCallDelta",
      index: block.index,
      ...(id === "" ? undefined : { id }),
      ...(block.named || name === undefined ? undefined : { name }),
      ...(block.input === "" ? { argumentsDelta: input } : undefined),
      ...(providerData === undefined ? undefined : { providerData }),
    });
    // Two calls of one id are two calls.
    this.#blocks.delete(`call ${id}`);
    return true;
  }

  #block(key: string, type: Block["type"]): Block {
    const known = this.#blocks.get(key);
    if (known !== undefined) return known;
    const block: Block = { index: this.#count++, type, data: {}, input: "", named: false };
    this.#blocks.set(key, block);
    return block;
  }

  /** All metadata of the block so far, where this part adds some. */
  #dataOf(block: Block, part: unknown): ProviderData | undefined {
    const metadata = fieldOf(part, "providerMetadata");
    if (!isJsonObject(metadata)) return undefined;
    const before = encodeJson(block.data);
    const sum: { [key: string]: JsonObject } = { ...(block.data as { readonly [key: string]: JsonObject }) };
    for (const [provider, fields] of Object.entries(metadata)) {
      if (isJsonObject(fields)) sum[provider] = { ...sum[provider], ...plain(fields) };
    }
    block.data = sum;
    return encodeJson(sum) === before ? undefined : sum;
  }
}

/** Metadata is JSON by its type only: fields may be undefined, or hold a date. */
function plain(fields: JsonObject): JsonObject {
  return JSON.parse(encodeJson(fields)) as JsonObject;
}

const REASONS: Readonly<Record<string, FinishReason | undefined>> = Object.assign(Object.create(null) as object, {
  stop: "stop",
  length: "length",
  "content-filter": "content-filter",
  "tool-calls": "tool-calls",
} satisfies Record<string, FinishReason>);

function failure(kind: ModelErrorKind, message: string, quote: string | undefined): ModelFailure {
  return new ModelFailure(kind, message, { quote, retryable: true });
}
