import { ModelError } from "../../../domain/errors.js";
import { isJsonObject } from "../../../domain/json.js";
import type { Message } from "../../../domain/message.js";
import type { ChatRequest } from "../../../ports/model.js";
import type { Healer } from "./healed-call.js";

/** What providers say of a cipher, a signature or an item of an earlier reply that they do not take back. */
const WORDS =
  /encrypted.?content|\bitem\b.{0,20}\brs_|of type .reasoning|thought.?signature|invalid `?signature|thinking`? block|`thinking`|redacted_thinking/i;

/**
 * Cures a request refused, before any output, because of the reasoning in it: made by another organization or model, expired, without
 * what followed it, or of a model that has none. It is made again with nothing of the kind, where `isWorth` says that this changes it.
 */
export function replayHealer(isWorth: (request: ChatRequest) => boolean): Healer {
  return (asked, error) =>
    asked.replays && isRefusal(error) && isWorth(asked.request) ? { ...asked, replays: false } : undefined;
}

function isRefusal(error: unknown): boolean {
  if (!(error instanceof ModelError) || error.kind !== "invalid-request" || error.partial !== undefined) return false;
  return WORDS.test(error.message);
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
