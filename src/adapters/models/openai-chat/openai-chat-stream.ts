import { isJsonObject, type JsonObject } from "../../../domain/json.js";
import type { StreamChunk } from "../../../domain/stream-chunk.js";
import type { ReplyDecoder } from "../wire/call-model.js";
import { streamFailure } from "../wire/http-errors.js";
import { JsonEvents } from "../wire/json-events.js";
import { ModelFailure } from "../wire/model-failure.js";
import { ToolCallReader } from "./openai-chat-calls.js";
import { replyText } from "./openai-chat-content.js";
import { failureOf, finishReasonOf, isReason } from "./openai-chat-finish.js";
import { ReasoningReader } from "./openai-chat-reasoning.js";
import { openAiUsage } from "../openai/openai-usage.js";
import { complaintInStream, complaintOf } from "../wire/provider-complaint.js";
import { listField, objectField, textField } from "../wire/wire-json.js";

/**
 * Turns a chat-completions body, streamed or whole, into chunks. Each chunk is handed on as soon as it is read; `finish` comes once, from
 * `end`, since text and usage may trail the wire's own finish reason. Throws `ModelFailure`.
 */
export class ChatDecoder implements ReplyDecoder {
  /** The model the server says has answered. */
  model: string | undefined;
  readonly #emit: (chunk: StreamChunk) => void;
  readonly events: JsonEvents;
  readonly #calls = new ToolCallReader();
  readonly #reasoning = new ReasoningReader();
  #choice: unknown;
  #finish: string | undefined;
  #isWhole = false;
  #hasOutput = false;
  #hasCalls = false;
  #isRefusal = false;
  #usage = "";

  constructor(emit: (chunk: StreamChunk) => void) {
    this.#emit = emit;
    this.events = new JsonEvents({
      take: (value, isErrorEvent) => this.take(value, isErrorEvent),
      isWhole: () => this.finished,
    });
  }

  get finished(): boolean {
    return this.events.done || this.#isWhole || this.#finish !== undefined;
  }

  end(): void {
    // The end marker is the wire's own end, for servers that give no reason; of what is cut all the same no call runs, since its reason is no whole one.
    const isOver = this.finished && this.#hasOutput && !this.events.endsInNoise;
    if (this.#finish === undefined && !isOver) throw this.events.incomplete();
    const details = this.#reasoning.end();
    if (details !== undefined) this.#emit(details);
    const reason = finishReasonOf(this.#finish ?? "");
    const isRefusal = this.#isRefusal && (reason === "stop" || reason === "content-filter");
    this.#emit({ type: "finish", reason: isRefusal ? "refusal" : reason, rawReason: this.#finish });
  }

  /** Takes one chunk of the wire, or a whole completion. */
  take(value: JsonObject, isErrorEvent = false): void {
    this.model ??= textField(value, "model");
    const choices = this.#ownChoices(value);
    // Some servers repeat the whole message beside the last delta.
    const mayBeWhole = !this.#hasOutput;
    for (const choice of choices) this.#takeChoice(choice, mayBeWhole);
    const told = choices.map((choice) => choice["usage"]).find(isJsonObject);
    this.#takeUsage(value["usage"] ?? told ?? objectField(value, "x_groq")?.["usage"]);
    const complaint =
      complaintInStream(value, { isErrorEvent }) ??
      choices.map(({ error }) => complaintOf(error)).find((found) => found !== undefined);
    if (complaint !== undefined) throw streamFailure(complaint, value);
    for (const choice of choices) this.#takeReason(textField(choice, "finish_reason"));
  }

  #takeReason(raw: string | undefined): void {
    if (raw === undefined || !isReason(raw)) return;
    const failure = failureOf(raw);
    if (failure !== undefined) throw new ModelFailure(failure, "the provider broke off the reply", { quote: raw });
    this.#finish = raw;
  }

  /**
   * The choice this reply is read from: the first one seen, which some servers send in several pieces at once. Others belong to other
   * replies to the same request.
   */
  #ownChoices(value: JsonObject): readonly JsonObject[] {
    return listField(value, "choices")
      .filter(isJsonObject)
      .filter((choice) => {
        const index = Number(choice["index"] ?? 0);
        this.#choice ??= index;
        return this.#choice === index;
      });
  }

  #takeChoice(choice: JsonObject, mayBeWhole: boolean): void {
    const delta = objectField(choice, "delta");
    const message = objectField(choice, "message");
    const isWhole = message !== undefined && (delta === undefined || Object.keys(delta).length === 0) && mayBeWhole;
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
    const usage = isJsonObject(value) ? openAiUsage(value) : undefined;
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
