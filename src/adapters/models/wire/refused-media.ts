import type { Content } from "../../../domain/content.js";
import { ModelError } from "../../../domain/errors.js";
import type { Message } from "../../../domain/message.js";
import { contentFault } from "../../../domain/part-shape.js";
import type { ChatRequest } from "../../../ports/model.js";
import type { Healer } from "./healed-call.js";
import { noteOn } from "./media-note.js";

/**
 * Cures a request that the provider refused, before any output, for a picture or a file: it is made again with notes in place of all that
 * came before the newest message of the user. An address that has gone, or bytes that cannot be read, would otherwise be
 * refused for ever, and the conversation with it. What the user just sent is never left out silently.
 */
export const mediaHealer: Healer = (asked, error) => {
  const request = isRefusal(error) ? withoutMedia(asked.request) : undefined;
  return request === undefined ? undefined : { ...asked, request };
};

function withoutMedia(request: ChatRequest): ChatRequest | undefined {
  const newest = request.messages.findLastIndex((message) => roleOf(message) === "user");
  const messages = request.messages.map((message, at) => (at < newest ? withNotes(message) : message));
  return messages.some((message, at) => message !== request.messages[at]) ? { ...request, messages } : undefined;
}

/** Providers of the AI SDK refuse a file before they send it. */
const KINDS = new Set(["invalid-request", "content-filter", "request-build"]);

const WORDS =
  /\bimages?\b|image_|_image\b|\bfiles?\b|file_|_file\b|\bpdfs?\b|\bdownload|\bcannot fetch\b|\bmime.?type|\bdocument has no pages/i;

function isRefusal(error: unknown): boolean {
  if (!(error instanceof ModelError) || error.partial !== undefined) return false;
  // A stored file that has expired is one that nobody may read.
  if (error.kind === "auth") return /permission to access the file/i.test(error.message);
  if (!KINDS.has(error.kind)) return false;
  return WORDS.test(error.message);
}

/** Sessions may be damaged: what is no message has no role. */
function roleOf(message: Message | null): string | undefined {
  return message?.role;
}

function withNotes(message: Message): Message {
  const role = roleOf(message);
  if (role === undefined || message.role === "assistant" || !Array.isArray(message.content)) return message;
  const content = message.content as readonly Content[];
  const noted = content.map((part): Content => (isMedia(part) ? { type: "text", text: noteOn(part) } : part));
  return noted.some((part, at) => part !== content[at]) ? { ...message, content: noted } : message;
}

function isMedia(part: Content): part is Exclude<Content, { type: "text" }> {
  return contentFault(part) === undefined && part.type !== "text";
}
