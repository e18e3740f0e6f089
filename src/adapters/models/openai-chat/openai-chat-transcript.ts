import type { Content } from "../../../domain/content.js";
import type { AssistantMessage, AssistantPart, Message, ToolCallPart, ToolMessage } from "../../../domain/message.js";
import { unreachable } from "../../../domain/unreachable.js";
import { legalTranscript } from "../wire/legal-transcript.js";
import { reasoningFields } from "./openai-chat-reasoning.js";
import { type Media, mediaOf } from "../openai/openai-media.js";
import { argumentsText, flagged, isOwn, resultMedia, resultText, type WireObject } from "../openai/openai-parts.js";
import { WireCallIds } from "../wire/wire-call-ids.js";
import { objectField } from "../wire/wire-json.js";
import type { WireNames } from "../wire/wire-names.js";

/** What the encoding of messages depends on beside the messages. */
export type ChatTranscriptContext = {
  readonly names: WireNames;
  /** Replies of other providers keep their reasoning to themselves. */
  readonly provider: string;
  readonly echoReasoning: "when-present" | "always" | "never";
  /** False leaves out all that only the provider itself can read, where it has refused a piece of it. */
  readonly replays: boolean;
};

/** The longest id OpenAI takes for a call. It has no rule for the characters, and some models need theirs back as it was. */
const LONGEST_ID = 40;

/**
 * Any messages in the wire's form, always legal: what `legalTranscript` leaves, each call with an id of its own within its reply and the
 * text of a JSON object as its arguments. Left out: replies without text or calls, messages without any part that can be sent. Tool
 * messages hold text only on this wire, so what else a result holds follows as one user message behind the batch. Pure.
 */
export function toProviderTranscript(
  messages: readonly Message[],
  context: ChatTranscriptContext,
): readonly WireObject[] {
  const wire: WireObject[] = [];
  let ids: string[] = [];
  let attachments: WireObject[] = [];
  const flush = (): void => {
    if (attachments.length > 0) wire.push({ role: "user", content: attachments });
    attachments = [];
  };
  for (const message of legalTranscript(messages)) {
    if (message.role === "tool") {
      const id = ids.shift() ?? message.toolCallId;
      wire.push(encodeResult(message, id));
      attachments.push(...attachmentsOf(message, id));
      continue;
    }
    flush();
    if (message.role === "assistant") ids = idsOf(message);
    const encoded = message.role === "assistant" ? encodeReply(message, ids, context) : encodeInput(message);
    if (encoded !== undefined) wire.push(encoded);
  }
  flush();
  return wire;
}

function encodeInput(message: Extract<Message, { role: "system" | "user" }>): WireObject | undefined {
  const content = encodeContent(message.content);
  return content.length === 0 ? undefined : { role: message.role, content, ...nameOf(message.name) };
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
  if (part.type === "text") return { type: "text", text: part.text };
  return part.type === "image" || part.type === "file" ? encodeMedia(mediaOf(part)) : undefined;
}

function encodeMedia(media: Media): WireObject {
  switch (media.kind) {
    case "image":
      return { type: "image_url", image_url: { url: media.url } };
    case "sound":
      return { type: "input_audio", input_audio: { data: media.base64, format: media.format } };
    case "file":
      // The wire takes the bytes of a file only.
      return media.isInline
        ? { type: "file", file: { filename: media.name, file_data: media.url } }
        : { type: "text", text: media.note };
    case "none":
      return { type: "text", text: media.note };
    default:
      return unreachable(media);
  }
}

function callsOf(message: AssistantMessage): readonly ToolCallPart[] {
  return message.parts.filter((part) => part.type === "toolCall");
}

function idsOf(message: AssistantMessage): string[] {
  const ids = new WireCallIds(LONGEST_ID, /^/);
  return callsOf(message).map((call) => ids.next(call.id));
}

function encodeReply(
  message: AssistantMessage,
  ids: readonly string[],
  context: ChatTranscriptContext,
): WireObject | undefined {
  const text = message.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  if (ids.length === 0) {
    return text.trim() === "" ? undefined : { role: "assistant", content: text, ...nameOf(message.name) };
  }
  const own = context.replays && isOwn(message, context.provider);
  return {
    role: "assistant",
    content: text === "" ? null : text,
    ...nameOf(message.name),
    ...encodeReasoning(own ? message.parts : [], context),
    tool_calls: callsOf(message).map((call, place) => encodeCall(call, ids[place], context.names, own)),
  };
}

/** Thinking models refuse a transcript in which the reasoning that led to a call is missing; others refuse the field. */
function encodeReasoning(parts: readonly AssistantPart[], context: ChatTranscriptContext): WireObject {
  if (context.echoReasoning === "never") return {};
  const shown = parts.filter((part) => part.type === "reasoning").filter(({ redacted }) => redacted !== true);
  const text = shown.map((part) => part.text).join("");
  const data = shown.map((part) => part.providerData);
  return reasoningFields(text, data, { demanded: context.echoReasoning === "always" });
}

function encodeCall(call: ToolCallPart, id: string | undefined, names: WireNames, own: boolean): WireObject {
  const extra = own ? objectField(call.providerData, "extra_content") : undefined;
  return {
    id,
    type: "function",
    function: { name: names.toWire(call.name), arguments: argumentsText(call) },
    ...(extra === undefined ? undefined : { extra_content: extra }),
  };
}

function encodeResult(message: ToolMessage, id: string): WireObject {
  const text = resultText(message);
  const hasMore = text === "" && attachmentsOf(message, id).length > 0;
  const content = hasMore ? "The result follows as an attachment." : text;
  return { role: "tool", tool_call_id: id, content: flagged(content, message) };
}

function attachmentsOf(message: ToolMessage, id: string): readonly WireObject[] {
  const parts = resultMedia(message)
    .map(encodePart)
    .filter((part) => part !== undefined);
  return parts.length === 0 ? [] : [{ type: "text", text: `Attachment of the result of ${id}:` }, ...parts];
}
