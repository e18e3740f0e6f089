import { type AgentMessage, isMessage, toolCallsOf } from "./message.js";

/** Neighbouring messages that are kept or left out together: one message, or a reply with calls and everything up to its last result. */
export type Exchange = { readonly messages: readonly AgentMessage[]; readonly opensWithUser: boolean };

/** A conversation in pieces that may be cut between, in order; nothing is left out. */
export function exchangesOf(messages: readonly AgentMessage[]): readonly Exchange[] {
  const exchanges: Exchange[] = [];
  for (let at = 0; at < messages.length; ) {
    const first = messages[at] as AgentMessage;
    const end = endOfExchange(messages, at);
    exchanges.push({ messages: messages.slice(at, end), opensWithUser: first.role === "user" });
    at = end;
  }
  return exchanges;
}

/** One past the last result that answers the message at `at`, wherever it stands before the next reply. */
function endOfExchange(messages: readonly AgentMessage[], at: number): number {
  const first = messages[at] as AgentMessage;
  const calls = new Set(isMessage(first) ? toolCallsOf(first).map((call) => call.id) : []);
  let end = at + 1;
  for (let i = end; i < messages.length && calls.size > 0; i++) {
    const message = messages[i] as AgentMessage;
    if (message.role === "assistant") break;
    if (isMessage(message) && message.role === "tool" && calls.delete(message.toolCallId)) end = i + 1;
  }
  return end;
}
