import { adoptOwn } from "../domain/adopt.js";
import { thrownLabel } from "../domain/describe-thrown.js";
import { ModelError } from "../domain/errors.js";
import type { AssistantMessage, AssistantPart } from "../domain/message.js";
import type { ModelResponse } from "../domain/model.js";
import { decodeResponse } from "../domain/model-response.js";
import { replyPartFault } from "../domain/part-shape.js";
import { StreamAccumulator } from "../domain/stream.js";
import type { StreamChunk } from "../domain/stream-chunk.js";
import { isUsage, mergeUsage, type Usage } from "../domain/usage.js";
import type { Outcome } from "../ports/step-scope.js";
import type { ModelPort } from "../ports/model.js";
import type { PreparedRequest } from "./model-request.js";
import type { TurnRun } from "./turn-run.js";

/** What a model step records. */
type Reply = { readonly response: ModelResponse; readonly at: number };

/** One reply being made: its id, the chunks so far by reference, and whether anyone was told it began. */
export class ModelCall {
  readonly messageId: string;
  readonly #run: TurnRun;
  readonly #chunks: StreamChunk[] = [];
  #announced = false;
  #streamed = 0;

  constructor(run: TurnRun) {
    this.#run = run;
    this.messageId = run.nextMessageId();
  }

  /** Whether output began in this attempt. */
  get started(): boolean {
    return this.#chunks.length > 0;
  }

  /** Whether what was streamed is more than the output limits leave room for: such a reply is not waited for (L2). */
  get isTooLarge(): boolean {
    return this.#streamed > (this.#run.output?.room ?? Number.POSITIVE_INFINITY);
  }

  /** Publishes `messageStarted` once. */
  announce(): void {
    if (this.#announced) return;
    this.#announced = true;
    this.#run.bus.publish("messageStarted", { messageId: this.messageId, role: "assistant" });
  }

  /** Runs the model step. A late chunk or answer of a port that was given up changes nothing. */
  async send(prepared: PreparedRequest, attempt: number): Promise<Outcome<Reply>> {
    const run = this.#run;
    const { model, runtime, settings } = run.wiring;
    const { messages, tools, options, requestContext } = prepared;
    const { sessionId, turnId, round } = run;
    const signal = run.control.modelSignal;
    const request = { messages, tools: [...tools], options, requestContext, signal, sessionId, turnId, round };
    let live = true;
    const onChunk = (chunk: StreamChunk): void => {
      if (live) this.#take(chunk);
    };
    const name = attempt === 1 ? `model#${round}` : `model#${round}.${attempt - 1}`;
    const ask = async (): Promise<Reply> => {
      const response = await reply(model, request, settings.streaming ? onChunk : undefined);
      return { response: checked(response), at: runtime.now() };
    };
    const outcome = await run.scope.step(name, ask, { interruptible: true });
    live = false;
    return outcome;
  }

  /** Tells consumers that what was streamed is void, if anything was. */
  reset(reason: string): void {
    if (this.started) this.#run.bus.publishChunk(this.messageId, { type: "reset", reason });
    this.#chunks.length = 0;
    this.#streamed = 0;
  }

  /** What the stream has told of its usage so far, where it told anything. */
  streamedUsage(): Usage | undefined {
    let usage: Usage | undefined;
    for (const chunk of this.#chunks) if (chunk.type === "usage") usage = mergeUsage(usage, chunk.usage);
    return usage;
  }

  /** The stored form of a whole reply. */
  message(response: ModelResponse): AssistantMessage {
    const { parts, finishReason, usage, model, provider } = response;
    return adoptOwn({
      role: "assistant",
      parts,
      finishReason,
      ...(usage === undefined ? undefined : { usage }),
      ...(model === undefined ? undefined : { model }),
      ...(provider === undefined ? undefined : { provider }),
      id: this.messageId,
      at: this.#run.now,
    });
  }

  /** Text and reasoning that came, or what the port itself says came. */
  partialParts(told: readonly AssistantPart[]): AssistantPart[] {
    const accumulator = new StreamAccumulator();
    for (const chunk of this.#chunks) accumulator.push(chunk);
    const parts: readonly AssistantPart[] = this.started
      ? accumulator.partial().parts
      : Array.isArray(told)
        ? told
        : [];
    return parts.filter((part) => replyPartFault(part) === undefined && isSpoken(part));
  }

  /** A piece of text that is no text is no chunk, and changes nothing. */
  #take(chunk: StreamChunk): void {
    if (!isChunk(chunk)) return;
    if (!this.#announced) this.announce();
    this.#chunks.push(chunk);
    this.#run.bus.publishChunk(this.messageId, chunk);
    if (this.#run.output === undefined || this.isTooLarge) return;
    this.#streamed += lengthOf(chunk);
    if (this.isTooLarge) this.#run.control.stopModelCall();
  }
}

/** No more than the bytes the chunk adds to a message. */
function lengthOf(chunk: StreamChunk): number {
  if (chunk.type === "textDelta" || chunk.type === "reasoningDelta") return chunk.text.length;
  return chunk.type === "toolCallDelta" ? (chunk.argumentsDelta?.length ?? 0) : 0;
}

/** What is kept of a reply that is not whole. */
export function isSpoken(part: AssistantPart): boolean {
  return (part.type === "text" || part.type === "reasoning") && part.text !== "";
}

/** Ports are bound by types, and not everybody's is. A type unknown to this version is let through. */
function isChunk(chunk: unknown): boolean {
  if (typeof chunk !== "object" || chunk === null || !("type" in chunk)) return false;
  if (chunk.type === "textDelta" || chunk.type === "reasoningDelta")
    return "text" in chunk && typeof chunk.text === "string";
  if (chunk.type === "usage") return "usage" in chunk && isUsage(chunk.usage);
  return typeof chunk.type === "string";
}

function reply(
  model: ModelPort,
  request: Parameters<ModelPort["chat"]>[0],
  onChunk: ((chunk: StreamChunk) => void) | undefined,
): Promise<ModelResponse> {
  return onChunk === undefined || model.chatStreaming === undefined
    ? model.chat(request)
    : model.chatStreaming(request, onChunk);
}

/** A frozen copy of what the port answered; what is no response is `response-parse`. */
function checked(response: unknown): ModelResponse {
  try {
    return decodeResponse(response, "the reply");
  } catch (error) {
    throw new ModelError("response-parse", thrownLabel(error), { cause: error });
  }
}
