import type { FinishReason } from "../../../domain/finish-reason.js";
import { isJsonObject, type JsonObject } from "../../../domain/json.js";
import type { StreamChunk } from "../../../domain/stream-chunk.js";
import type { ReplyDecoder } from "../wire/call-model.js";
import { streamFailure } from "../wire/http-errors.js";
import { JsonEvents } from "../wire/json-events.js";
import { outputIndex, type PieceKind } from "./openai-responses-index.js";
import { ResponsesOutput } from "./openai-responses-items.js";
import { openAiUsage } from "../openai/openai-usage.js";
import { complaintInStream } from "../wire/provider-complaint.js";
import { argumentsField, fieldOf, listField, objectField, textField } from "../wire/wire-json.js";

/** Events that bring a piece of a text, or all of it. */
const PIECES: Readonly<Record<string, PieceKind>> = {
  "response.output_text": "text",
  "response.refusal": "refusal",
  "response.reasoning_summary_text": "summary",
  "response.reasoning_text": "reasoning",
  "response.function_call_arguments": "arguments",
};

/** Why a response says it is not whole. */
const INCOMPLETE: Readonly<Record<string, FinishReason>> = {
  max_output_tokens: "length",
  content_filter: "content-filter",
};

/**
 * Turns a body of the responses wire, streamed or whole, into chunks. The reply is whole when its last event says how it ended; what was
 * streamed counts, and the repetitions in later events only fill what was missing. Throws `ModelFailure`.
 */
export class ResponsesDecoder implements ReplyDecoder {
  /** The model the server says has answered. */
  model: string | undefined;
  readonly #emit: (chunk: StreamChunk) => void;
  readonly events: JsonEvents;
  readonly #output: ResponsesOutput;
  /** The provider's word for how the reply ended. */
  #end: { readonly reason: FinishReason; readonly raw: string } | undefined;

  constructor(emit: (chunk: StreamChunk) => void) {
    this.#emit = emit;
    this.#output = new ResponsesOutput(emit);
    this.events = new JsonEvents({
      take: (value, isErrorEvent) => this.#take(value, isErrorEvent),
      isWhole: () => this.finished,
    });
  }

  get finished(): boolean {
    return this.#end !== undefined;
  }

  end(): void {
    if (this.#end === undefined) throw this.events.incomplete();
    this.#emit({ type: "finish", reason: this.#end.reason, rawReason: this.#end.raw });
  }

  #take(value: JsonObject, isErrorEvent: boolean): void {
    if (this.finished) return;
    const type = textField(value, "type") ?? "";
    if (isResponse(value, type)) return this.#takeResponse(value, "");
    const isNamedError = isErrorEvent || type === "response.error";
    if (isNamedError || !type.startsWith("response.") || Object.hasOwn(value, "error")) refuse(value, isNamedError);
    if (!type.startsWith("response.")) return;
    const response = objectField(value, "response");
    this.model ??= textField(response, "model");
    if (type === "response.output_item.added") return this.#takeItem(value, "open");
    if (type === "response.output_item.done") return this.#takeItem(value, "close");
    const [, stem = "", end = ""] = /^(.*)\.(delta|done)$/.exec(type) ?? [];
    const kind = Object.hasOwn(PIECES, stem) ? PIECES[stem] : undefined;
    if (kind !== undefined) return this.#takePiece(value, kind, end === "delta");
    if (LAST_EVENTS.includes(type)) this.#takeResponse(response ?? {}, type.slice(9));
  }

  #takePiece(event: JsonObject, kind: PieceKind, isDelta: boolean): void {
    const text = kind === "arguments" ? argumentsField : textOrNothing;
    if (isDelta) return this.#output.piece(event, kind, text(event, "delta"));
    const whole = textField(event, "text") ?? textField(event, "refusal") ?? text(event, "arguments");
    this.#output.whole(event, kind, whole);
  }

  #takeItem(event: JsonObject, how: "open" | "close"): void {
    const item = objectField(event, "item");
    if (item !== undefined) this.#output[how](item, outputIndex(event));
  }

  /** A whole response: the answer to a request without streaming, or what the last event of a stream holds. */
  #takeResponse(response: JsonObject, event: string): void {
    this.model ??= textField(response, "model");
    const usage = openAiUsage(fieldOf(response, "usage"));
    if (usage !== undefined) this.#emit({ type: "usage", usage });
    this.#output.closeAll(listField(response, "output").filter(isJsonObject));
    const { error = null } = response;
    const complaint = complaintInStream({ error }, { isErrorEvent: false });
    if (complaint !== undefined) throw streamFailure(complaint, error);
    // The name of an event says more than the state a careless server copies into it.
    const named = event === "" || event === "done" ? undefined : event;
    this.#finish(named ?? textField(response, "status") ?? "completed", objectField(response, "incomplete_details"));
  }

  /** A response that is still being made is no reply. */
  #finish(status: string, details: JsonObject | undefined): void {
    const reason = textField(details, "reason");
    if (status === "failed" || status === "cancelled") {
      throw streamFailure({ message: `the response is ${status}`, code: "", status: undefined }, undefined);
    } else if (status === "incomplete" || (status === "completed" && reason !== undefined)) {
      const raw = reason ?? status;
      this.#end = { reason: (Object.hasOwn(INCOMPLETE, raw) ? INCOMPLETE[raw] : undefined) ?? "other", raw };
    } else if (status === "completed") {
      this.#end = { reason: this.#completed(), raw: status };
    }
  }

  #completed(): FinishReason {
    if (this.#output.hasCalls) return "tool-calls";
    return this.#output.isRefusal ? "refusal" : "stop";
  }
}

const LAST_EVENTS = [
  "response.completed",
  "response.incomplete",
  "response.failed",
  "response.cancelled",
  "response.done",
];

function isResponse(value: JsonObject, type: string): boolean {
  return value["object"] === "response" || (type === "" && Array.isArray(value["output"]));
}

function refuse(value: JsonObject, isErrorEvent: boolean): void {
  const complaint = complaintInStream(value, { isErrorEvent });
  if (complaint !== undefined) throw streamFailure(complaint, value);
}

function textOrNothing(value: JsonObject, key: string): string {
  return textField(value, key) ?? "";
}
