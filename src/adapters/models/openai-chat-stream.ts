import { isJsonObject, type JsonObject } from "../../domain/json.js";
import type { StreamChunk } from "../../domain/stream-chunk.js";
import { streamFailure } from "./http-errors.js";
import { ModelFailure } from "./model-failure.js";
import { ToolCallReader } from "./openai-chat-calls.js";
import { replyText } from "./openai-chat-content.js";
import { failureOf, finishReasonOf } from "./openai-chat-finish.js";
import { ReasoningReader } from "./openai-chat-reasoning.js";
import { chatUsage } from "./openai-chat-usage.js";
import { complaintInStream, complaintOf, plainText } from "./provider-complaint.js";
import type { BodySink } from "./reply-body.js";
import { decodeJson, fieldOf, listField, objectField, textField } from "./wire-json.js";

/** Lines and events that are no JSON before a reply is given up: each costs more than one that is. */
const MAX_NOISE = 10_000;

/**
 * Turns a chat-completions body, streamed or whole, into chunks. Each chunk is handed on as soon as it is read; `finish` comes once, from
 * `end`, since text and usage may trail the wire's own finish reason. Throws `ModelFailure`.
 */
export class ChatDecoder implements BodySink {
  /** The wire's end marker was read: nothing more counts. */
  done = false;
  /** The model the server says has answered. */
  model: string | undefined;
  readonly #emit: (chunk: StreamChunk) => void;
  readonly #calls = new ToolCallReader();
  readonly #reasoning = new ReasoningReader();
  #choice: unknown;
  #finish: string | undefined;
  #isWhole = false;
  #hasOutput = false;
  #hasCalls = false;
  #isRefusal = false;
  #usage = "";
  /** What was skipped because it is no part of the protocol; quoted when the reply turns out to be incomplete. */
  #noise = "";
  #skipped = 0;
  #isEnding = false;

  constructor(emit: (chunk: StreamChunk) => void) {
    this.#emit = emit;
  }

  /** True when the reply is whole, even if the connection should break now. */
  get finished(): boolean {
    return this.done || this.#isWhole || this.#finish !== undefined;
  }

  readonly onData = (data: string, event: string | undefined): void => {
    const text = data.trim();
    // A payload that begins with a colon is a comment that a proxy wrapped.
    if (this.done || text === "" || text.startsWith(":")) return;
    if (text.startsWith("[DONE]")) {
      this.done = true;
      return;
    }
    const value = this.#decode(text);
    if (value !== undefined) this.#take(value, event === "error");
    else this.#unreadable(text, event === "error");
  };

  readonly onStray = (line: string): void => this.onData(line, undefined);

  readonly onDocument = (value: unknown, text: string): void => {
    if (value !== undefined) this.#take(value, false);
    else this.#noise = plainText(text);
  };

  /** What is read from now on may be cut short, because the body is over. */
  ending(): void {
    this.#isEnding = true;
  }

  /** Emits the finish, or fails where the body ended before the reply did. */
  end(): void {
    if (this.#finish === undefined && !(this.#hasOutput && this.finished)) throw this.#incomplete();
    const details = this.#reasoning.end();
    if (details !== undefined) this.#emit(details);
    const reason = finishReasonOf(this.#finish ?? "");
    const isRefusal = this.#isRefusal && (reason === "stop" || reason === "content-filter");
    this.#emit({ type: "finish", reason: isRefusal ? "refusal" : reason, rawReason: this.#finish });
  }

  #incomplete(): ModelFailure {
    const quote = this.#noise === "" ? undefined : this.#noise;
    return new ModelFailure("response-parse", "the body ended before the reply was finished", {
      quote,
      retryable: true,
    });
  }

  #unreadable(text: string, isErrorEvent: boolean): void {
    if (isErrorEvent) throw streamFailure({ message: text, code: "", status: undefined }, text);
    // Where blank lines got lost, several documents arrive as the lines of one event.
    const lines = text.split("\n");
    const rest = lines.length > 1 ? lines.filter((line) => !this.#takeLine(line)).join(" ") : text;
    if (!this.finished) this.#refuse(rest);
  }

  #takeLine(line: string): boolean {
    const value = this.#decode(line);
    if (value !== undefined) this.#take(value, false);
    return value !== undefined;
  }

  /** The value of JSON text; undefined for noise, of which a stream may hold only so much. */
  #decode(text: string): unknown {
    if (this.#skipped > MAX_NOISE) return undefined;
    const value = decodeJson(text);
    if (value === undefined) this.#skipped += 1;
    if (this.#skipped <= MAX_NOISE || this.finished) return value;
    throw new ModelFailure("response-parse", "too much of the stream is no part of a reply", { quote: text });
  }

  /** Noise is skipped; half an event is not, since a part of the reply is lost with it. An error glued to it counts. */
  #refuse(text: string): void {
    if (text.startsWith("[DONE]")) {
      this.done = true;
      return;
    }
    const glued = text.slice(Math.max(0, text.search(/\{\s*"error"\s*:/)));
    const complaint = glued === text ? undefined : complaintOf(decodeJson(glued));
    if (complaint !== undefined) throw streamFailure(complaint, glued);
    this.#noise = glued;
    if (!text.startsWith("{")) return;
    if (this.#isEnding) throw this.#incomplete();
    throw new ModelFailure("response-parse", "an event of the stream is not JSON", { quote: glued, retryable: true });
  }

  #take(value: unknown, isErrorEvent: boolean): void {
    if (Array.isArray(value)) for (const item of value) this.#take(item, isErrorEvent);
    else if (value === "[DONE]") this.done = true;
    else if (isJsonObject(value)) this.#takeObject(value, isErrorEvent);
    else if (isErrorEvent) throw streamFailure({ message: String(value), code: "", status: undefined }, value);
    else this.#noise = String(value);
  }

  #takeObject(value: JsonObject, isErrorEvent: boolean): void {
    this.model ??= textField(value, "model");
    const choice = this.#ownChoice(value);
    if (choice !== undefined) this.#takeChoice(choice);
    this.#takeUsage(value["usage"] ?? fieldOf(choice, "usage") ?? objectField(value, "x_groq")?.["usage"]);
    const complaint = complaintInStream(value, { isErrorEvent }) ?? complaintOf(fieldOf(choice, "error"));
    if (complaint !== undefined) throw streamFailure(complaint, value);
    const raw = textField(choice, "finish_reason");
    if (raw === undefined) return;
    const failure = failureOf(raw);
    if (failure !== undefined) throw new ModelFailure(failure, "the provider broke off the reply", { quote: raw });
    this.#finish = raw;
  }

  /** The choice this reply is read from: the first one seen. Others belong to other replies to the same request. */
  #ownChoice(value: JsonObject): unknown {
    for (const choice of listField(value, "choices")) {
      if (!isJsonObject(choice)) continue;
      const index = Number(choice["index"] ?? 0);
      this.#choice ??= index;
      if (this.#choice === index) return choice;
    }
    return undefined;
  }

  #takeChoice(choice: unknown): void {
    const delta = objectField(choice, "delta");
    const message = objectField(choice, "message");
    // Some servers repeat the whole message beside the last delta.
    const isWhole =
      message !== undefined && (delta === undefined || Object.keys(delta).length === 0) && !this.#hasOutput;
    this.#isWhole ||= message !== undefined && delta === undefined;
    const source = isWhole ? message : delta;
    if (source === undefined) return;
    this.#takeText(source);
    this.#takeCalls(source, isWhole);
  }

  #takeText(source: JsonObject): void {
    const { text, refusal, reasoning, reasoningField } = replyText(source);
    if (reasoning !== "") this.#send(this.#reasoning.text(reasoning, reasoningField));
    this.#reasoning.details(source);
    if (refusal !== "") this.#isRefusal = true;
    if (text !== "") this.#send({ type: "textDelta", text, part: 0 });
    if (refusal !== "") this.#send({ type: "textDelta", text: refusal, part: 0 });
  }

  #takeCalls(source: JsonObject, isWhole: boolean): void {
    const entries = listField(source, "tool_calls").filter(isJsonObject);
    if (entries.length > 0) this.#hasCalls = true;
    entries.forEach((entry, place) => {
      const chunk = isWhole ? this.#calls.whole(entry, place) : this.#calls.delta(entry);
      if (chunk !== undefined) this.#send(chunk);
    });
    // The older form of a call; servers that send both mean the same call.
    const legacy = objectField(source, "function_call");
    const chunk =
      legacy === undefined || this.#hasCalls ? undefined : this.#calls.delta({ index: 0, function: legacy });
    if (chunk !== undefined) this.#send(chunk);
  }

  #takeUsage(value: unknown): void {
    const usage = isJsonObject(value) ? chatUsage(value) : undefined;
    if (usage === undefined) return;
    const text = JSON.stringify(usage);
    // Some servers repeat the same numbers in every event.
    if (text !== this.#usage) this.#emit({ type: "usage", usage });
    this.#usage = text;
  }

  #send(chunk: StreamChunk): void {
    this.#hasOutput = true;
    this.#emit(chunk);
  }
}
