import type { Content } from "../../../domain/content.js";
import { isJsonObject, type JsonObject } from "../../../domain/json.js";
import type {
  AssistantMessage,
  AssistantPart,
  Message,
  ReasoningPart,
  ToolCallPart,
  ToolMessage,
} from "../../../domain/message.js";
import { contentBlocks, textBlock, type WireBlock } from "./anthropic-content.js";
import { ServerBlocks } from "./anthropic-server-blocks.js";
import { legalTranscript } from "../wire/legal-transcript.js";
import { WireCallIds } from "../wire/wire-call-ids.js";
import { losslessJson } from "../wire/lossless-json.js";
import { decodeJson, encodeJson, listField, textField } from "../wire/wire-json.js";
import type { WireNames } from "../wire/wire-names.js";

/** A message as JSON of the messages wire; its content is never empty. */
export type WireMessage = { readonly role: "user" | "assistant"; readonly content: readonly WireBlock[] };

/** A conversation as the messages wire takes it. */
export type ProviderTranscript = {
  readonly system: readonly WireBlock[];
  readonly messages: readonly WireMessage[];
};

/** What the form of a transcript depends on beside its messages. */
export type TranscriptContext = {
  readonly names: WireNames;
  /** Replies of other providers keep their reasoning to themselves: nobody else can read its signatures. */
  readonly provider: string;
  /** False where the provider demands that the user has the last word. */
  readonly prefill: boolean;
  /** False leaves out all reasoning, where the provider has refused a piece of it. */
  readonly reasoning: boolean;
};

/** Stands for a message of the user where the wire demands one and the conversation has none. */
const GO_ON: WireBlock = { type: "text", text: "Continue." };

/**
 * Stored messages as a conversation the provider takes, whatever they hold: it begins with the user, roles alternate, the results of a
 * reply's calls stand first in the message behind it, all ids and names are accepted and no id stands twice, nothing is empty or blank.
 * System messages in front become the system prompt; later ones are told by the user as `<system>` text. Pure; the same messages give
 * the same beginning however the conversation goes on.
 */
export function toProviderTranscript(messages: readonly Message[], context: TranscriptContext): ProviderTranscript {
  const view = legalTranscript(messages);
  const start = view.findIndex(({ role }) => role !== "system");
  const head = start === -1 ? view : view.slice(0, start);
  const turns = new Turns(context);
  if (start !== -1) for (const message of view.slice(start)) turns.add(message);
  return {
    system: head.flatMap((message) => (message.role === "system" ? contentBlocks(texts(message.content)) : [])),
    messages: turns.end(),
  };
}

function texts(content: readonly Content[]): readonly Content[] {
  return content.filter(({ type }) => type === "text");
}

/** Puts messages together into turns that alternate. */
class Turns {
  readonly #context: TranscriptContext;
  readonly #ids = new WireCallIds(64);
  readonly #server = new ServerBlocks();
  readonly #turns: { readonly role: "user" | "assistant"; readonly content: WireBlock[] }[] = [];
  /** Wire ids of the calls whose results are to come, in the order of the calls. */
  #open: string[] = [];
  /** What results hold that an error result may not: it follows behind the batch. */
  #attachments: WireBlock[] = [];

  constructor(context: TranscriptContext) {
    this.#context = context;
  }

  add(message: Message): void {
    switch (message.role) {
      case "tool":
        return this.#result(message);
      case "assistant":
        return this.#say("assistant", this.#reply(message));
      case "user":
        return this.#say("user", contentBlocks(message.content));
      default:
        return this.#say("user", contentBlocks(texts(message.content)).map(asInstruction));
    }
  }

  end(): readonly WireMessage[] {
    this.#flush();
    const last = this.#turns.at(-1);
    if (last === undefined) return [{ role: "user", content: [GO_ON] }];
    if (last.role === "assistant") this.#endOfReply(last.content);
    return this.#turns;
  }

  #say(role: "user" | "assistant", blocks: readonly WireBlock[]): void {
    if (blocks.length === 0) return;
    this.#flush();
    if (role === "assistant" && this.#turns.length === 0) this.#push("user", [GO_ON]);
    this.#push(role, blocks);
  }

  #push(role: "user" | "assistant", blocks: readonly WireBlock[]): void {
    const last = this.#turns.at(-1);
    if (last?.role !== role) this.#turns.push({ role, content: [...blocks] });
    else for (const block of blocks) last.content.push(block);
  }

  #flush(): void {
    if (this.#attachments.length > 0) this.#push("user", this.#attachments);
    this.#attachments = [];
  }

  #reply(message: AssistantMessage): readonly WireBlock[] {
    const own = message.provider === undefined || message.provider === this.#context.provider;
    this.#server.pair(own ? message.parts : []);
    this.#open = [];
    const blocks = message.parts.flatMap((part) => this.#server.take(part) ?? this.#part(part, own) ?? []);
    return withoutReasoningAtEnd(blocks);
  }

  #part(part: AssistantPart, own: boolean): WireBlock | undefined {
    switch (part.type) {
      case "text":
        return own ? withCitations(textBlock(part.text), part.providerData) : textBlock(part.text);
      case "reasoning":
        return own && this.#context.reasoning ? reasoningBlock(part) : undefined;
      case "toolCall":
        return this.#call(part);
      default:
        return undefined;
    }
  }

  #call(call: ToolCallPart): WireBlock {
    const id = this.#ids.next(call.id);
    this.#open.push(id);
    return { type: "tool_use", id, name: this.#context.names.toWire(call.name), input: inputOf(call) };
  }

  #result(message: ToolMessage): void {
    const id = this.#open.shift();
    if (id === undefined) return;
    const isEmpty = message.content.length === 0 && message.structured !== undefined;
    const content: readonly Content[] = isEmpty
      ? [{ type: "text", text: encodeJson(message.structured) }]
      : message.content;
    const blocks = contentBlocks(content);
    const result = { type: "tool_result", tool_use_id: id };
    if (!message.isError) return this.#push("user", [blocks.length === 0 ? result : { ...result, content: blocks }]);
    const told = blocks.filter(({ type }) => type === "text");
    this.#push("user", [{ ...result, is_error: true, content: told.length === 0 ? [FAILED] : told }]);
    this.#attachments.push(...blocks.filter(({ type }) => type !== "text"));
  }

  #endOfReply(content: WireBlock[]): void {
    const last = content.at(-1);
    if (!this.#context.prefill) return this.#push("user", [GO_ON]);
    const text = last?.type === "text" ? last["text"] : undefined;
    if (typeof text === "string") content[content.length - 1] = { ...last, type: "text", text: text.trimEnd() };
  }
}

/** An error result without any text is refused. */
const FAILED: WireBlock = { type: "text", text: "The tool failed without a message." };

function asInstruction(block: WireBlock): WireBlock {
  return { type: "text", text: `<system>${String(block["text"])}</system>` };
}

/** What the provider quoted goes back with the text: it counts as a part of what reasoning was signed for. */
function withCitations(block: WireBlock | undefined, data: unknown): WireBlock | undefined {
  const citations = listField(data, "citations").filter((one) => textField(one, "type") !== undefined);
  return block === undefined || citations.length === 0 ? block : { ...block, citations };
}

/** Reasoning is taken back only signed, as it came; that of a broken stream has no signature. */
function reasoningBlock({ text, signature = "", redacted }: ReasoningPart): WireBlock | undefined {
  if (redacted === true) return text === "" ? undefined : { type: "redacted_thinking", data: text };
  const isSigned = typeof signature === "string" && signature !== "";
  return isSigned ? { type: "thinking", thinking: text, signature } : undefined;
}

/** No message may end with reasoning: it is what is left of a reply that was cut. */
function withoutReasoningAtEnd(blocks: readonly WireBlock[]): readonly WireBlock[] {
  const end = blocks.findLastIndex(({ type }) => type !== "thinking" && type !== "redacted_thinking");
  return blocks.slice(0, end + 1);
}

/** Always an object: sessions of older versions hold text, and broken calls may hold anything. */
function inputOf({ raw, arguments: given }: ToolCallPart): JsonObject {
  const kept = raw === undefined ? undefined : losslessJson(raw);
  if (isJsonObject(kept)) return kept;
  const args: unknown = typeof given === "string" ? decodeJson(given) : given;
  return isJsonObject(args) ? args : {};
}
