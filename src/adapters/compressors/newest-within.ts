import { type Exchange, exchangesOf } from "../../domain/exchanges.js";
import type { AgentMessage } from "../../domain/message.js";
import { pinnedMessages } from "../../domain/pins.js";

/** How much may be kept, and how much of that one message takes. */
export type Room = { readonly limit: number; readonly weigh: (message: AgentMessage) => number };

/**
 * The newest messages that fit, in order. System messages and what is pinned always stay, and count. The kept rest begins with a user
 * message; calls stay with their results. Where the newest user message and what follows is more than the limit, that message and the
 * newest whole exchanges after it are kept, at least one. Everything where no user message is left to begin with.
 */
export function newestWithin(messages: readonly AgentMessage[], { limit, weigh }: Room): readonly AgentMessage[] {
  const pins = new Set(pinnedMessages(messages));
  const always = messages.filter((message) => message.role === "system" || pins.has(message));
  const weigher = (message: AgentMessage): number => (pins.has(message) ? 0 : weigh(message));
  const rest = limit - always.reduce((sum, message) => sum + weigh(message), 0);
  const spoken = messages.filter((message) => message.role !== "system");
  const kept = newestExchanges(weighed(exchangesOf(spoken), weigher), rest).flatMap((exchange) => exchange.messages);
  if (kept.length === 0) return messages;
  const chosen = new Set([...always, ...kept]);
  return messages.filter((message) => chosen.has(message));
}

type Weighed = Exchange & { readonly weight: number };

function weighed(exchanges: readonly Exchange[], weigh: Room["weigh"]): readonly Weighed[] {
  return exchanges.map((exchange) => ({
    ...exchange,
    weight: exchange.messages.reduce((sum, message) => sum + weigh(message), 0),
  }));
}

/** The longest ending that begins with a user message and fits. */
function newestExchanges(exchanges: readonly Weighed[], limit: number): readonly Weighed[] {
  let start: number | undefined;
  let size = 0;
  for (let at = exchanges.length - 1; at >= 0 && size <= limit; at--) {
    const exchange = exchanges[at] as Weighed;
    size += exchange.weight;
    if (exchange.opensWithUser && size <= limit) start = at;
  }
  return start === undefined ? partOfTurn(exchanges, limit) : exchanges.slice(start);
}

/** The newest user message, and the newest exchanges behind it that fit. */
function partOfTurn(exchanges: readonly Weighed[], limit: number): readonly Weighed[] {
  const user = exchanges.findLastIndex((exchange) => exchange.opensWithUser);
  if (user < 0) return [];
  const first = exchanges[user] as Weighed;
  // A user message may stand between a call and its result.
  const inside = exchanges.findLastIndex(({ messages }) => messages.some((message) => message.role === "user"));
  let from = Math.max(user + 1, inside > user ? inside : exchanges.length - 1);
  let size = first.weight + exchanges.slice(from).reduce((sum, exchange) => sum + exchange.weight, 0);
  while (from > user + 1) {
    size += (exchanges[from - 1] as Weighed).weight;
    if (size > limit) break;
    from -= 1;
  }
  return [first, ...exchanges.slice(from)];
}
