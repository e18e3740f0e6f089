import { textOf } from "../domain/message.js";
import { orderResults } from "../domain/transcript.js";
import type { TurnResult, TurnStatus } from "../domain/turn-result.js";
import type { Turn } from "../domain/turn.js";
import type { TurnRun } from "./turn-run.js";

/** All that the turn did; lists are the reader's own. */
export function resultOf(run: TurnRun, turn: Turn, status: TurnStatus, stopReason: string | undefined): TurnResult {
  const { resumedReply } = run;
  // The order of results that answer an older reply is known from that reply.
  const messages =
    resumedReply === undefined ? orderResults(run.added) : orderResults([resumedReply, ...run.added]).slice(1);
  const message = run.assistantMessage;
  return {
    status,
    turnId: run.turnId,
    ...(message === undefined ? undefined : { message }),
    text: message === undefined ? "" : textOf(message),
    messages,
    toolResults: messages.filter((added) => added.role === "tool"),
    exchanges: inSourceOrder(run, messages),
    usage: turn.usage,
    rounds: turn.rounds,
    deferred: run.deferred.slice(),
    undelivered: [...run.undelivered, ...run.control.inbox.close().map(run.stamp)],
    finalSessionId: run.sessionId,
    ...(stopReason === undefined ? undefined : { stopReason }),
  };
}

function inSourceOrder(run: TurnRun, messages: TurnResult["messages"]): TurnResult["exchanges"] {
  if (run.exchanges.length < 2) return run.exchanges.slice();
  const replies = new Map<string, number>();
  messages.forEach(({ role, id }, index) => void (role === "assistant" && replies.set(id, index)));
  // Looked up once each, since a sort compares each many times.
  const placed = run.exchanges.map((exchange) => {
    const { executionId } = exchange;
    return { exchange, reply: replies.get(executionId.slice(0, executionId.lastIndexOf("."))) ?? 0 };
  });
  placed.sort((a, b) => a.reply - b.reply || a.exchange.sourceOrder - b.exchange.sourceOrder);
  return placed.map(({ exchange }) => exchange);
}
