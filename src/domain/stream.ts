import { CallAssembly, type CallBlock, callPart } from "./call-assembly.js";
import { ModelError } from "./errors.js";
import type { AssistantPart, ProviderData } from "./message.js";
import type { ModelResponse } from "./model.js";
import type { FinishChunk, ReasoningDelta, StreamChunk, TextDelta } from "./stream-chunk.js";
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

/**
 * Folds the chunks of one model call into its response. `push` costs the length of its chunk whatever came before: strings grow by
 * appending, and arguments are parsed once, when the response is asked for. Parts are in the order in which they were opened.
 */
export class StreamAccumulator {
  #blocks: (TextBlock | CallBlock)[] = [];
  /** The block opened last: what a delta without `part` continues. */
  #last: TextBlock | CallBlock | undefined;
  /** By the `part` of their deltas, as far as these name one. */
  #texts: Map<number, TextBlock> | undefined;
  #reasonings: Map<number, TextBlock> | undefined;
  #calls: CallAssembly | undefined;
  #usage: Usage | undefined;
  #finish: FinishChunk | undefined;

  /** Takes the next chunk, also after a finish: what trails it still counts. A reset forgets all before it, usage included. */
  push(chunk: StreamChunk): void {
    switch (chunk.type) {
      case "textDelta":
      case "reasoningDelta":
        return this.#pushText(chunk);
      case "toolCallDelta":
        this.#calls ??= new CallAssembly();
        return this.#open(this.#calls.push(chunk));
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
   * The whole response; fresh objects each time. Rejects a stream without a finish with `ModelError("response-parse")`, retryable, that
   * holds what came. A malformed call is marked and given an id where it has none, or, with `"throw"`, is such an error too; its text quotes
   * nothing that was streamed.
   */
  toResponse(options: { readonly malformed: "throw" | "mark" }): ModelResponse {
    const finish = this.#finish;
    if (finish === undefined) throw this.#error("the stream ended before the reply was finished", { retryable: true });
    if (options.malformed === "throw") this.#refuseMalformed();
    return this.#response(finish);
  }

  /** The response so far; never throws, parses nothing before the finish, and equals `toResponse({malformed: "mark"})` after it. */
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

  #error(message: string, details: { readonly retryable?: boolean } = {}): ModelError {
    const known = { ...withUsage(this.#usage), partial: this.#soFar().parts };
    return new ModelError("response-parse", message, { ...known, ...details });
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
    const old = part === undefined ? undefined : this.#blocksOf(type).get(part);
    if (old !== undefined) return old;
    const block: TextBlock = { type, part, text: "", signature: undefined, redacted: false, providerData: undefined };
    if (part !== undefined) this.#blocksOf(type).set(part, block);
    this.#open(block);
    return block;
  }

  #blocksOf(type: "text" | "reasoning"): Map<number, TextBlock> {
    if (type === "text") return (this.#texts ??= new Map<number, TextBlock>());
    return (this.#reasonings ??= new Map<number, TextBlock>());
  }

  #open(block: TextBlock | CallBlock | undefined): void {
    if (block === undefined) return;
    this.#blocks.push(block);
    this.#last = block;
  }

  #reset(): void {
    this.#blocks = [];
    this.#last = undefined;
    this.#texts = undefined;
    this.#reasonings = undefined;
    this.#calls = undefined;
    this.#usage = undefined;
    this.#finish = undefined;
  }
}

function withUsage(usage: Usage | undefined): { readonly usage?: Usage } {
  return usage === undefined ? {} : { usage };
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
