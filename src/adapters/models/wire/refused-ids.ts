import { ModelError } from "../../../domain/errors.js";
import { isJsonObject } from "../../../domain/json.js";
import type { AssistantMessage, Message } from "../../../domain/message.js";
import type { Healer } from "./healed-call.js";
import { shortHash } from "./short-hash.js";

/** What servers of Mistral's models say; the text of an error is cut, and may end before it comes to the nine. */
const WORDS = /tool.?call.?id was .{1,60} but must\b|tool.?call.?ids?\b.{0,60}\b9 (?:characters|letters)/is;
const ACCEPTED = /^[a-zA-Z0-9]{9}$/;

/**
 * Cures a request that was refused, before any output, because the ids of calls in it are not of nine letters and digits: those that another
 * model gave get such a form, the same in every request. Otherwise no conversation could go on with such a model, nor fall back to one.
 */
export const idHealer: Healer = (asked, error) => {
  if (!(error instanceof ModelError) || error.kind !== "invalid-request" || error.partial !== undefined)
    return undefined;
  if (!WORDS.test(error.message)) return undefined;
  const messages = asked.request.messages.map(withAcceptedIds);
  const changed = messages.some((message, at) => message !== asked.request.messages[at]);
  return changed ? { ...asked, request: { ...asked.request, messages } } : undefined;
};

/** Sessions may be damaged: what is no message, no part or no id stays as it is. */
function withAcceptedIds(message: Message): Message {
  if (!isJsonObject(message)) return message;
  if (message.role === "tool") return withAcceptedId(message, "toolCallId");
  if (message.role !== "assistant" || !Array.isArray(message.parts)) return message;
  const stored: AssistantMessage["parts"] = message.parts;
  const parts = stored.map((part) =>
    isJsonObject(part) && part.type === "toolCall" ? withAcceptedId(part, "id") : part,
  );
  return parts.some((part, at) => part !== stored[at]) ? { ...message, parts } : message;
}

function withAcceptedId<K extends string, T extends { readonly [key in K]: string }>(holder: T, key: K): T {
  const id: unknown = holder[key];
  if (typeof id !== "string" || ACCEPTED.test(id)) return holder;
  return { ...holder, [key]: `${shortHash(id, 0)}${shortHash(id, 1).slice(0, 1)}` };
}
