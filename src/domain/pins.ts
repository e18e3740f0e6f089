import { exchangesOf } from "./exchanges.js";
import { isJsonObject } from "./json.js";
import type { AgentMessage, MessageInput } from "./message.js";

/** The metadata key that pins a message: where it is `true`, no compression takes the message away. */
export const PINNED_KEY = "ennead.pinned";

/** The same message pinned: it stays in every request as it is, whatever compresses the conversation (C1). A reply or result keeps its whole exchange, and the user message before it. */
export function pinned<M extends MessageInput>(message: M): M {
  return { ...message, metadata: { ...message.metadata, [PINNED_KEY]: true } };
}

/** True for a message that somebody pinned, custom messages included. */
export function isPinned(message: AgentMessage): boolean {
  const metadata: unknown = Reflect.get(message, "metadata");
  return isJsonObject(metadata) && metadata[PINNED_KEY] === true;
}

/** What stays because of pins, in order: each pinned message, its whole exchange, and where that is a reply's, the user message before it. */
export function pinnedMessages(messages: readonly AgentMessage[]): readonly AgentMessage[] {
  if (!messages.some(isPinned)) return NONE;
  const kept = new Set<AgentMessage>();
  let user: AgentMessage | undefined;
  for (const { messages: exchange } of exchangesOf(messages)) {
    const first = exchange[0];
    if (exchange.some(isPinned)) {
      if (user !== undefined && first?.role === "assistant") kept.add(user);
      for (const message of exchange) kept.add(message);
    }
    user = exchange.findLast(({ role }) => role === "user") ?? user;
  }
  return messages.filter((message) => kept.has(message));
}

const NONE: readonly AgentMessage[] = Object.freeze([]);
