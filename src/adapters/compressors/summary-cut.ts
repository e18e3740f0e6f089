import { estimateTokens } from "../../domain/estimate.js";
import { type Exchange, exchangesOf } from "../../domain/exchanges.js";
import { type AgentMessage, isMessage, type Message } from "../../domain/message.js";
import { pinnedMessages } from "../../domain/pins.js";

/** A conversation cut in two between exchanges. */
export type SummaryCut = {
  /** What a summary is to stand for, in pieces that stay together; instructions, pinned and custom messages and the newest user message are not among it. */
  readonly old: readonly Exchange[];
  /** What stands before the cut and stays as it is. */
  readonly kept: readonly AgentMessage[];
  /** Everything behind the cut. */
  readonly newest: readonly AgentMessage[];
};

/** Keeps the last `keepExchanges` replies with their results and what was asked before them, fewer where they take more than `room` tokens, at least one. */
export function summaryCut(messages: readonly AgentMessage[], keepExchanges: number, room: number): SummaryCut {
  const exchanges = exchangesOf(messages);
  const cut = cutOf(exchanges, keepExchanges, room);
  const before = exchanges.slice(0, cut).flatMap((exchange) => exchange.messages);
  const newest = exchanges.slice(cut).flatMap((exchange) => exchange.messages);
  const pins = new Set(pinnedMessages(before));
  const asked = newest.some(({ role }) => role === "user") ? undefined : before.findLast(({ role }) => role === "user");
  const stays = (message: AgentMessage): boolean =>
    message === asked || pins.has(message) || message.role === "system" || !isMessage(message);
  const old = exchanges.slice(0, cut).flatMap((exchange) => {
    const rest = exchange.messages.filter((message) => !stays(message));
    return rest.length === 0 ? [] : [{ ...exchange, messages: rest }];
  });
  return { old, kept: before.filter(stays), newest };
}

/** The index of the first exchange that stays. */
function cutOf(exchanges: readonly Exchange[], keepExchanges: number, room: number): number {
  let cut = exchanges.length;
  let replies = 0;
  let size = 0;
  for (let at = exchanges.length - 1; at >= 0; at--) {
    const { messages } = exchanges[at] as Exchange;
    const isReply = messages[0]?.role === "assistant";
    size += messages.reduce((sum, message) => sum + estimateTokens(message), 0);
    if (isReply && replies > 0 && (replies >= keepExchanges || size > room)) break;
    replies += isReply ? 1 : 0;
    cut = at;
  }
  return cut;
}

/** The messages of some exchanges that a model knows. */
export function messagesOf(exchanges: readonly Exchange[]): readonly Message[] {
  return exchanges.flatMap(({ messages }) => messages.filter(isMessage));
}
