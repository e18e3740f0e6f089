import type { Content, ContentSource } from "../../domain/content.js";
import { isJsonObject } from "../../domain/json.js";
import type { AssistantMessage, Message, ToolCallPart, ToolMessage } from "../../domain/message.js";
import { reasoningFields } from "./openai-chat-reasoning.js";
import { decodeJson, encodeJson, objectField } from "./wire-json.js";
import type { WireNames } from "./wire-names.js";

/** A message or a part of one as JSON of the chat-completions wire. */
export type WireObject = { readonly [key: string]: unknown };

/** What the encoding of messages depends on beside the messages. */
export type EncodingContext = {
  readonly names: WireNames;
  /** Replies of other providers keep their reasoning to themselves. */
  readonly provider: string;
  readonly echoReasoning: "when-present" | "always" | "never";
};

/**
 * Messages of a legal transcript in the wire's form. Left out: replies without text or calls, messages without any part that can be
 * sent, unknown roles. Tool messages hold text only on this wire, so what else a result holds follows as one user message behind the batch.
 */
export function encodeMessages(messages: readonly Message[], context: EncodingContext): readonly WireObject[] {
  const wire: WireObject[] = [];
  let attachments: WireObject[] = [];
  const flush = (): void => {
    if (attachments.length > 0) wire.push({ role: "user", content: attachments });
    attachments = [];
  };
  for (const message of messages) {
    if (message.role === "tool") {
      wire.push(encodeResult(message));
      attachments.push(...attachmentsOf(message));
      continue;
    }
    flush();
    const encoded = encodeMessage(message, context);
    if (encoded !== undefined) wire.push(encoded);
  }
  flush();
  return wire;
}

function encodeMessage(message: Exclude<Message, ToolMessage>, context: EncodingContext): WireObject | undefined {
  switch (message.role) {
    case "system":
    case "user": {
      const content = encodeContent(message.content);
      return content.length === 0 ? undefined : { role: message.role, content, ...nameOf(message.name) };
    }
    case "assistant":
      return encodeReply(message, context);
    default:
      // A custom message that was not projected.
      return undefined;
  }
}

function nameOf(name: string | undefined): WireObject {
  const accepted = name?.replace(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64) ?? "";
  return accepted === "" ? {} : { name: accepted };
}

/** One text part goes as a plain string, which every server reads. */
function encodeContent(content: readonly Content[]): string | readonly WireObject[] {
  const [first] = content;
  if (content.length === 1 && first?.type === "text") return first.text;
  return content.map(encodePart).filter((part) => part !== undefined);
}

function encodePart(part: Content): WireObject | undefined {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text };
    case "image":
      return { type: "image_url", image_url: { url: addressOf(part.source, part.mimeType) } };
    case "file":
      return encodeFile(part.source, part.mimeType, part.name);
    default:
      return undefined;
  }
}

function encodeFile(source: ContentSource, mimeType: string, name: string | undefined): WireObject {
  const audio = /^audio\/(?:x-)?(wav|mp3|mpeg)$/.exec(mimeType)?.[1];
  if (audio !== undefined && "base64" in source) {
    return { type: "input_audio", input_audio: { data: source.base64, format: audio === "wav" ? "wav" : "mp3" } };
  }
  return { type: "file", file: { filename: name ?? "file", file_data: addressOf(source, mimeType) } };
}

function addressOf(source: ContentSource, mimeType: string): string {
  return "url" in source ? source.url : `data:${mimeType};base64,${source.base64}`;
}

function encodeReply(message: AssistantMessage, context: EncodingContext): WireObject | undefined {
  let text = "";
  const calls: WireObject[] = [];
  for (const part of message.parts) {
    if (part.type === "text") text += part.text;
    else if (part.type === "toolCall") calls.push(encodeCall(part, context.names, isOwn(message, context)));
  }
  if (calls.length === 0) {
    return text.trim() === "" ? undefined : { role: "assistant", content: text, ...nameOf(message.name) };
  }
  return {
    role: "assistant",
    content: text === "" ? null : text,
    ...nameOf(message.name),
    ...encodeReasoning(message, context),
    tool_calls: calls,
  };
}

/** True where data that only the reply's own provider understands may go back with it. */
function isOwn(message: AssistantMessage, { provider }: EncodingContext): boolean {
  return message.provider === undefined || message.provider === provider;
}

/** Thinking models refuse a transcript in which the reasoning that led to a call is missing; others refuse the field. */
function encodeReasoning(message: AssistantMessage, context: EncodingContext): WireObject {
  if (context.echoReasoning === "never" || !isOwn(message, context)) return {};
  const parts = message.parts.filter((part) => part.type === "reasoning" && part.redacted !== true);
  const text = parts.map((part) => (part.type === "reasoning" ? part.text : "")).join("");
  return reasoningFields(
    text,
    parts.map((part) => part.providerData),
    context.echoReasoning === "always",
  );
}

function encodeCall(call: ToolCallPart, names: WireNames, own: boolean): WireObject {
  const extra = own ? objectField(call.providerData, "extra_content") : undefined;
  return {
    id: call.id,
    type: "function",
    function: { name: names.toWire(call.name), arguments: argumentsOf(call) },
    ...(extra === undefined ? undefined : { extra_content: extra }),
  };
}

/** Always the text of a JSON object: providers refuse a transcript with anything else, for good. */
function argumentsOf(call: ToolCallPart): string {
  if (call.raw !== undefined && isJsonObject(decodeJson(call.raw))) return call.raw;
  const args: unknown = typeof call.arguments === "string" ? decodeJson(call.arguments) : call.arguments;
  return isJsonObject(args) ? encodeJson(args) : "{}";
}

function encodeResult(message: ToolMessage): WireObject {
  const texts = message.content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  const isEmpty = message.content.length === 0 && message.structured !== undefined;
  const text = isEmpty ? encodeJson(message.structured) : texts.join("\n");
  const hasMore = text === "" && attachmentsOf(message).length > 0;
  const content = hasMore ? "The result follows as an attachment." : text;
  return {
    role: "tool",
    tool_call_id: message.toolCallId,
    content: message.isError ? `<tool_error>${content}</tool_error>` : content,
  };
}

function attachmentsOf(message: ToolMessage): readonly WireObject[] {
  const parts = message.content
    .filter((part) => part.type !== "text")
    .map(encodePart)
    .filter((part) => part !== undefined);
  const label = `Attachment of the result of ${message.toolCallId}:`;
  return parts.length === 0 ? [] : [{ type: "text", text: label }, ...parts];
}
