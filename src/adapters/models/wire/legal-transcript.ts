import { type Content, toContent } from "../../../domain/content.js";
import { type AgentMessage, type AssistantPart, isMessage, type Message } from "../../../domain/message.js";
import { contentFault } from "../../../domain/part-shape.js";
import { requestView } from "../../../domain/transcript.js";

/**
 * The messages that a provider can be sent, in an order it takes (S4): each call directly followed by its one result, results without a
 * call left out, of a stopped reply its text only; damaged and empty parts, messages of unknown roles and messages without any part
 * left out. Pure; a message that needs no change is shared. Whatever is stored, this never throws. `emptyText: "keep"` is for wires on
 * which an empty text of a reply can carry a signature.
 */
export function legalTranscript(
  messages: readonly Message[],
  { emptyText = "drop" }: { readonly emptyText?: "drop" | "keep" } = {},
): readonly Message[] {
  const passes = emptyText === "keep" ? isReplyPart : isSendable;
  return requestView(messages.flatMap((message) => whole(message, passes))).filter((message) => isMessage(message));
}

/** The message without what is damaged; nothing where nothing is left. A result stays even when it is empty: its call needs one. */
function whole(message: Message | AgentMessage, passes: (part: unknown) => part is AssistantPart): readonly Message[] {
  const stored: unknown = message;
  if (typeof stored !== "object" || stored === null || !isMessage(message)) return [];
  if (message.role === "assistant") {
    const parts = kept(message.parts, passes);
    return parts.length === 0 ? [] : [parts === message.parts ? message : { ...message, parts }];
  }
  const said: unknown = message.content;
  const content = kept(typeof said === "string" ? toContent(said) : said, isWhole);
  if (content.length === 0 && message.role !== "tool") return [];
  return [content === message.content ? message : { ...message, content }];
}

/** The items of a list that pass; the list itself where all do. */
function kept<T>(list: unknown, passes: (item: unknown) => item is T): readonly T[] {
  if (!Array.isArray(list)) return [];
  return list.every(passes) ? list : list.filter(passes);
}

function isWhole(part: unknown): part is Content {
  return contentFault(part) === undefined && !isEmptyText(part);
}

function isSendable(part: unknown): part is AssistantPart {
  return isReplyPart(part) && !isEmptyText(part);
}

function isReplyPart(part: unknown): part is AssistantPart {
  if (typeof part !== "object" || part === null || !("type" in part)) return false;
  if (part.type === "toolCall") return "name" in part && typeof part.name === "string" && hasId(part);
  return "text" in part && typeof part.text === "string";
}

function hasId(part: object): boolean {
  return "id" in part && typeof part.id === "string";
}

function isEmptyText(part: unknown): boolean {
  const { type, text } = part as { readonly type?: unknown; readonly text?: unknown };
  return type === "text" && text === "";
}
