import type { Content } from "../../domain/content.js";
import { ModelError } from "../../domain/errors.js";
import type { Message } from "../../domain/message.js";
import type { ChatRequest } from "../../ports/model.js";
import { noteOn } from "./media-note.js";

/**
 * The request to make instead of one that the provider refused, before any output, for a picture or a file: the same, with notes in place
 * of all that came before the newest message of the user. An address that has gone, or bytes that cannot be read, would otherwise be
 * refused for ever, and the conversation with it. Undefined where there is nothing to leave out, or another reason to fail: what the user
 * just sent is never left out silently.
 */
export function withoutRefusedMedia(request: ChatRequest, error: unknown): ChatRequest | undefined {
  if (!isRefusal(error)) return undefined;
  const newest = request.messages.findLastIndex(({ role }) => role === "user");
  const messages = request.messages.map((message, at) => (at < newest ? withNotes(message) : message));
  return messages.some((message, at) => message !== request.messages[at]) ? { ...request, messages } : undefined;
}

function isRefusal(error: unknown): boolean {
  if (!(error instanceof ModelError) || error.partial !== undefined) return false;
  if (error.kind !== "invalid-request" && error.kind !== "content-filter") return false;
  return /\bimages?\b|image_|_image\b|\bfiles?\b|file_|_file\b|\bpdfs?\b|\bdownload/i.test(error.message);
}

function withNotes(message: Message): Message {
  if (message.role === "assistant" || !Array.isArray(message.content)) return message;
  const content = message.content as readonly Content[];
  const noted = content.map((part): Content => (isMedia(part) ? { type: "text", text: noteOn(part) } : part));
  return noted.some((part, at) => part !== content[at]) ? { ...message, content: noted } : message;
}

function isMedia(part: Content): part is Exclude<Content, { type: "text" }> {
  return (part as Content | null)?.type === "image" || (part as Content | null)?.type === "file";
}
