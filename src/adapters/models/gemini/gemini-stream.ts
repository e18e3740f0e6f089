import { isJsonObject, type JsonObject } from "../../../domain/json.js";
import type { ProviderData } from "../../../domain/message.js";
import type { StreamChunk } from "../../../domain/stream-chunk.js";
import type { ReplyDecoder } from "../wire/call-model.js";
import { geminiFailure, geminiFinish } from "./gemini-finish.js";
import { geminiUsage } from "./gemini-usage.js";
import { streamFailure } from "../wire/http-errors.js";
import { JsonEvents } from "../wire/json-events.js";
import { ModelFailure } from "../wire/model-failure.js";
import { complaintInStream } from "../wire/provider-complaint.js";
import { decodeLossless } from "../wire/lossless-json.js";
import { encodeJson, fieldOf, idField, listField, objectField, textField } from "../wire/wire-json.js";

/**
 * Turns the responses of this wire, streamed or whole, into chunks. A part with a thought signature stays a part of its own, since the
 * signature is only valid there; text and thoughts without one are joined. `finish` comes once, from `end`. Throws `ModelFailure`.
 */
export class GeminiDecoder implements ReplyDecoder {
  model: string | undefined;
  readonly #emit: (chunk: StreamChunk) => void;
  readonly events: JsonEvents;
  /** The provider's id of the reply. */
  #responseId: string | undefined;
  #finish: string | undefined;
  #part = 0;
  #open: "text" | "reasoning" | undefined;
  #calls = 0;
  #usage = "";

  constructor(emit: (chunk: StreamChunk) => void) {
    this.#emit = emit;
    this.events = new JsonEvents({
      take: (value, isErrorEvent) => this.#take(value, isErrorEvent),
      isWhole: () => this.finished,
      decode: decodeLossless,
    });
  }

  get finished(): boolean {
    return this.#finish !== undefined;
  }

  end(): void {
    const raw = this.#finish;
    if (raw === undefined) throw this.events.incomplete();
    const failure = geminiFailure(raw);
    if (failure !== undefined) throw this.#failure(failure.kind, failure.message, raw, failure.retryable);
    this.#emit({ type: "finish", reason: geminiFinish(raw, this.#calls > 0), rawReason: raw });
  }

  #take(value: JsonObject, isErrorEvent: boolean): void {
    this.model ??= textField(value, "modelVersion");
    this.#responseId ??= textField(value, "responseId");
    const candidate = listField(value, "candidates").find((one) => Number(fieldOf(one, "index") ?? 0) === 0);
    for (const part of listField(objectField(candidate, "content"), "parts")) {
      if (isJsonObject(part)) this.#takePart(part);
    }
    this.#takeUsage(value["usageMetadata"]);
    const complaint = complaintInStream(value, { isErrorEvent });
    if (complaint !== undefined) throw streamFailure(complaint, value);
    this.#finish = textField(candidate, "finishReason") ?? this.#finish;
    const blocked = textField(objectField(value, "promptFeedback"), "blockReason");
    if (blocked !== undefined && candidate === undefined) {
      throw this.#failure("content-filter", "the provider blocked the prompt", blocked, false);
    }
  }

  #takePart(part: JsonObject): void {
    const signature = textField(part, "thoughtSignature");
    const call = objectField(part, "functionCall");
    if (call !== undefined) return this.#takeCall(call, signature);
    const text = fieldOf(part, "text") ?? (isBare(part) ? "" : undefined);
    if (typeof text !== "string" || (text === "" && signature === undefined)) return;
    const type = part["thought"] === true ? "reasoning" : "text";
    if (this.#open !== type || signature !== undefined) this.#part += 1;
    this.#open = signature === undefined ? type : undefined;
    const data = signature === undefined ? undefined : { providerData: { thoughtSignature: signature } };
    this.#emit({ type: type === "text" ? "textDelta" : "reasoningDelta", text, part: this.#part, ...data });
  }

  /** Calls come whole on this wire. */
  #takeCall(call: JsonObject, signature: string | undefined): void {
    const index = this.#calls++;
    this.#open = undefined;
    const given = idField(call, "id");
    const args = fieldOf(call, "args");
    const data: ProviderData = {
      ...(given === undefined ? undefined : { id: given }),
      ...(signature === undefined ? undefined : { thoughtSignature: signature }),
    };
    this.#emit({
      type: "toolCallDelta",
      index,
      id: given ?? this.#idOf(index),
      name: textField(call, "name"),
      argumentsDelta: args === undefined || args === null ? undefined : encodeJson(args),
      ...(Object.keys(data).length === 0 ? undefined : { providerData: data }),
    });
  }

  /** Unlike any of another reply, since other providers refuse a conversation in which two calls have one id. */
  #idOf(index: number): string {
    const reply = (this.#responseId ?? "").replace(/[^a-zA-Z0-9_-]/g, "").slice(0, 40);
    return reply === "" ? `call_${index}` : `call_${reply}_${index}`;
  }

  #takeUsage(value: unknown): void {
    const usage = geminiUsage(value);
    if (usage === undefined) return;
    const text = JSON.stringify(usage);
    // Each event repeats the numbers so far.
    if (text !== this.#usage) this.#emit({ type: "usage", usage });
    this.#usage = text;
  }

  #failure(kind: ModelFailure["kind"], message: string, quote: string, retryable: boolean): ModelFailure {
    return new ModelFailure(kind, message, { quote, retryable, requestId: this.#responseId });
  }
}

/** A part that holds nothing but a signature: an empty text may be left out. */
function isBare(part: JsonObject): boolean {
  return Object.keys(part).every((key) => key === "thought" || key === "thoughtSignature");
}
