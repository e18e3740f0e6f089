import { ModelError } from "../../../domain/errors.js";
import { isJsonObject } from "../../../domain/json.js";
import type { Message } from "../../../domain/message.js";
import type { ChatRequest } from "../../../ports/model.js";
import type { Healer } from "./healed-call.js";

/** What providers say of a cipher, a signature or an item of an earlier reply that they do not take back. */
const WORDS =
  /reasoning_content|encrypted.?content|\bitem\b.{0,20}\brs_|of type .reasoning|thought.?signature|invalid `?signature|thinking`? block|`thinking`|redacted_thinking/i;

/** What thinking models say that want the field of reasoning with every call in a conversation. */
const DEMAND =
  /reasoning_content\b.{0,40}\b(?:missing|required|must\b)|\b(?:missing|requires?|must\b).{0,40}reasoning_content/is;

/**
 * Cures a request refused, before any output, because a call in it comes without the field of reasoning: one that another model made, or that
 * was made without a thought. It is made again with the field at every call. Otherwise no conversation could go on with such a model.
 */
export const demandHealer: Healer = (asked, error) =>
  asked.demandsReasoning !== true && isInvalid(error) && DEMAND.test(error.message) && hasCall(asked.request)
    ? { ...asked, demandsReasoning: true }
    : undefined;

function hasCall({ messages }: ChatRequest): boolean {
  return messages.some((message: Message | null) => {
    const parts: unknown = message?.role === "assistant" ? message.parts : undefined;
    return Array.isArray(parts) && parts.some((part) => isJsonObject(part) && part["type"] === "toolCall");
  });
}

/**
 * Cures a request refused, before any output, because of the reasoning in it: made by another organization or model, expired, without
 * what followed it, or of a model that has none. It is made again with nothing of the kind, where `isWorth` says that this changes it.
 */
export function replayHealer(isWorth: (request: ChatRequest) => boolean): Healer {
  return (asked, error) =>
    asked.replays && isRefusal(error) && isWorth(asked.request) ? { ...asked, replays: false } : undefined;
}

function isRefusal(error: unknown): boolean {
  return isInvalid(error) && WORDS.test(error.message) && !DEMAND.test(error.message);
}

function isInvalid(error: unknown): error is ModelError {
  return error instanceof ModelError && error.kind === "invalid-request" && error.partial === undefined;
}

/** Holds where a reply of this provider, has reasoning or data of its own. */
export function hasReplay({ messages }: ChatRequest, provider: string): boolean {
  return messages.some((message: Message | null) => {
    if (message?.role !== "assistant" || (message.provider !== undefined && message.provider !== provider))
      return false;
    const parts: unknown = message.parts;
    return Array.isArray(parts) && parts.some(isReplay);
  });
}

/** Sessions may be damaged: anything may stand among the parts. */
function isReplay(part: unknown): boolean {
  return isJsonObject(part) && (part["type"] === "reasoning" || part["providerData"] !== undefined);
}
