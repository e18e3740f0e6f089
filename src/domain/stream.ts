import { parseArguments } from "./call-arguments.js";
import { ModelError } from "./errors.js";
import type { AssistantPart, ProviderData, ToolCallPart } from "./message.js";
import type { ModelResponse } from "./model.js";
import type { FinishChunk, ReasoningDelta, StreamChunk, TextDelta, ToolCallDelta } from "./stream-chunk.js";
import type { MalformedArguments } from "./tool.js";
import { unreachable } from "./unreachable.js";
import { mergeUsage, type Usage } from "./usage.js";

/** What a reply looks like so far. Without `finishReason` it is not over, and each of its calls is marked malformed. */
export type PartialResponse = Omit<ModelResponse, "finishReason"> & Partial<Pick<ModelResponse, "finishReason">>;

type TextBlock = {
  readonly type: "text" | "reasoning";
  readonly part: number | undefined;
  text: string;
  signature: string | undefined;
  redacted: boolean;
  providerData: ProviderData | undefined;
};
type CallBlock = {
  readonly type: "toolCall";
  readonly index: number;
  id: string | undefined;
  name: string;
  raw: string;
  /** The newest piece of `raw`: looking at it does not join the pieces. */
  tail: string;
  guesses: number;
  providerData: ProviderData | undefined;
};

/** How often one call's arguments are parsed early to see whether they are complete; bounds the cost of hostile streams. */
const MAX_GUESSES = 8;

/**
 * Folds the chunks of one model call into its response. `push` costs the length of its chunk whatever came before: strings grow by
 * appending, and arguments are parsed once, when the response is asked for. Parts are in the order in which they were opened.
 */
export class StreamAccumulator {
  #blocks: (TextBlock | CallBlock)[] = [];
  /** The block opened last: what a delta without `part` continues. */
  #last: TextBlock | CallBlock | undefined;
  #texts = new Map<number, TextBlock>();
  #reasonings = new Map<number, TextBlock>();
  #callAt = new Map<number, CallBlock>();
  #callOf = new Map<string, CallBlock>();
  #call: CallBlock | undefined;
  #usage: Usage | undefined;
  #finish: FinishChunk | undefined;

  /** Takes the next chunk, also after a finish: what trails it still counts. A reset forgets all before it, usage included. */
  push(chunk: StreamChunk): void {
    switch (chunk.type) {
      case "textDelta":
      case "reasoningDelta":
        return this.#pushText(chunk);
      case "toolCallDelta":
        return this.#pushCall(chunk);
      case "usage":
        this.#usage = mergeUsage(this.#usage, chunk.usage);
        return;
      case "finish":
        this.#finish = chunk;
        return;
      case "reset":
        return this.#reset();
      default:
        // Written by another version: nothing here can be lost by skipping it.
        return;
    }
  }

  /**
   * The whole response; fresh objects each time. Rejects a stream without a finish with `ModelError("response-parse")` that holds what
   * came. A malformed call is marked and given an id where it has none, or, with `"throw"`, is such an error too; its text quotes
   * nothing that was streamed.
   */
  toResponse(options: { readonly malformed: "throw" | "mark" }): ModelResponse {
    const finish = this.#finish;
    if (finish === undefined) throw this.#error("the stream ended before the reply was finished");
    if (options.malformed === "throw") this.#refuseMalformed();
    return this.#response(finish);
  }

  /** The response so far, without throwing and without parsing: equal to `toResponse({malformed: "mark"})` once the stream finished. */
  partial(): PartialResponse {
    return this.#finish === undefined ? this.#soFar() : this.#response(this.#finish);
  }

  #response(finish: FinishChunk): ModelResponse {
    return {
      ...this.#soFar(),
      finishReason: finish.reason,
      ...(finish.rawReason === undefined ? undefined : { rawFinishReason: finish.rawReason }),
    };
  }

  #soFar(): { readonly parts: readonly AssistantPart[]; readonly usage?: Usage } {
    const parts: AssistantPart[] = [];
    for (const block of this.#blocks) {
      const part = block.type === "toolCall" ? callPart(block, this.#finish) : textPart(block);
      if (part !== undefined) parts.push(part);
    }
    return this.#usage === undefined ? { parts } : { parts, usage: this.#usage };
  }

  #refuseMalformed(): void {
    let count = 0;
    for (const block of this.#blocks) {
      if (block.type !== "toolCall") continue;
      count += 1;
      const reason = block.id === undefined ? "the call has no id" : callPart(block, this.#finish).malformed?.reason;
      if (reason !== undefined) throw this.#error(`tool call ${count} of the reply is malformed: ${reason}`);
    }
  }

  #error(message: string): ModelError {
    return new ModelError("response-parse", message, { ...withUsage(this.#usage), partial: this.#soFar().parts });
  }

  #pushText(chunk: TextDelta | ReasoningDelta): void {
    const type = chunk.type === "textDelta" ? "text" : "reasoning";
    const last = this.#last;
    const block =
      last !== undefined && last.type === type && (chunk.part === undefined || chunk.part === last.part)
        ? last
        : this.#textBlock(type, chunk.part);
    block.text += chunk.text;
    if (chunk.providerData !== undefined) block.providerData = chunk.providerData;
    if (chunk.type === "textDelta") return;
    if (chunk.signature !== undefined) block.signature = (block.signature ?? "") + chunk.signature;
    if (chunk.redacted === true) block.redacted = true;
  }

  #textBlock(type: "text" | "reasoning", part: number | undefined): TextBlock {
    const known = type === "text" ? this.#texts : this.#reasonings;
    const old = part === undefined ? undefined : known.get(part);
    if (old !== undefined) return old;
    const block: TextBlock = { type, part, text: "", signature: undefined, redacted: false, providerData: undefined };
    if (part !== undefined) known.set(part, block);
    this.#blocks.push(block);
    this.#last = block;
    return block;
  }

  #pushCall(chunk: ToolCallDelta): void {
    const id = chunk.id === "" ? undefined : chunk.id;
    const name = chunk.name === "" ? undefined : chunk.name;
    const piece = chunk.argumentsDelta ?? "";
    const call = this.#findCall(chunk.index, id, name, piece) ?? this.#openCall(chunk.index);
    this.#call = call;
    if (call.id === undefined && id !== undefined) {
      call.id = id;
      this.#callOf.set(id, call);
    }
    if (name !== undefined && name !== call.name) call.name += name;
    if (piece !== "") {
      call.raw += piece;
      call.tail = piece;
    }
    if (chunk.providerData !== undefined) call.providerData = chunk.providerData;
  }

  /** The call a delta continues; undefined where it opens one. */
  #findCall(index: number, id: string | undefined, name: string | undefined, piece: string): CallBlock | undefined {
    const current = this.#call;
    if (id === undefined && name === undefined && current?.index === index) return current;
    let call = this.#callAt.get(index);
    if (call === undefined) {
      // Some servers send a call's header and its arguments under different indexes.
      if (name !== undefined) return undefined;
      return id === undefined ? this.#call : this.#callOf.get(id);
    }
    if (id !== undefined && call.id !== undefined && call.id !== id) {
      const known = this.#callOf.get(id);
      // Some servers make up an id for every delta: more arguments for arguments that are not complete are no new call.
      if (known?.index !== index) return name === undefined && piece !== "" && !isComplete(call) ? call : undefined;
      call = known;
    }
    return name !== undefined && opensAnother(call, name, piece) ? undefined : call;
  }

  #openCall(index: number): CallBlock {
    const call: CallBlock = {
      type: "toolCall",
      index,
      id: undefined,
      name: "",
      raw: "",
      tail: "",
      guesses: 0,
      providerData: undefined,
    };
    this.#callAt.set(index, call);
    this.#blocks.push(call);
    this.#last = call;
    return call;
  }

  #reset(): void {
    this.#blocks = [];
    this.#last = undefined;
    this.#texts.clear();
    this.#reasonings.clear();
    this.#callAt.clear();
    this.#callOf.clear();
    this.#call = undefined;
    this.#usage = undefined;
    this.#finish = undefined;
  }
}

function withUsage(usage: Usage | undefined): { readonly usage?: Usage } {
  return usage === undefined ? {} : { usage };
}

/** True for a named delta that, on a call whose arguments are complete, can only be the next call under the same index. */
function opensAnother(call: CallBlock, name: string, piece: string): boolean {
  return (name !== call.name || piece.trimStart().startsWith("{")) && isComplete(call);
}

function isComplete(call: CallBlock): boolean {
  if (call.guesses === MAX_GUESSES || !call.tail.trimEnd().endsWith("}")) return false;
  call.guesses += 1;
  return parseArguments(call.raw).ok;
}

/** Nothing for a block that stayed empty. */
function textPart(block: TextBlock): AssistantPart | undefined {
  const { type, text, signature, redacted, providerData } = block;
  if (text === "" && signature === undefined && !redacted && providerData === undefined) return undefined;
  const extras = providerData === undefined ? undefined : { providerData };
  switch (type) {
    case "text":
      return { type, text, ...extras };
    case "reasoning":
      return {
        type,
        text,
        ...(signature === undefined ? undefined : { signature }),
        ...(redacted ? { redacted } : undefined),
        ...extras,
      };
    default:
      return unreachable(type);
  }
}

function callPart(block: CallBlock, finish: FinishChunk | undefined): ToolCallPart {
  const call = { type: "toolCall", id: block.id ?? `call_${block.index}`, name: block.name } as const;
  const extras = block.providerData === undefined ? undefined : { providerData: block.providerData };
  const parsed = parseCall(block, finish);
  if ("reason" in parsed) return { ...call, arguments: {}, malformed: parsed, ...extras };
  return { ...call, ...parsed, ...extras };
}

function parseCall(
  block: CallBlock,
  finish: FinishChunk | undefined,
): MalformedArguments | Pick<ToolCallPart, "arguments" | "raw"> {
  const { raw, name } = block;
  if (finish === undefined) return { raw, reason: "the stream has not reached the end of the call" };
  if (name === "") return { raw, reason: "the call has no name" };
  const cut = finish.reason === "length" && raw.trim() === "";
  const parsed = cut ? ({ ok: false, reason: "the arguments were cut off" } as const) : parseArguments(raw);
  if (!parsed.ok) return { raw, reason: parsed.reason };
  return parsed.raw === undefined ? { arguments: parsed.value } : { arguments: parsed.value, raw: parsed.raw };
}
