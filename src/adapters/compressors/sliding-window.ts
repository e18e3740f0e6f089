import { CompositionError } from "../../domain/errors.js";
import { type AgentMessage, isMessage, toolCallsOf } from "../../domain/message.js";
import type { CompressAction, Compressor } from "../../ports/compressor.js";

/** How much a request may hold; counted in messages, whatever their length. */
export type SlidingWindowOptions = {
  /** Messages a request may hold, system messages included; default 40. */
  readonly maxMessages?: number | undefined;
};

const DEFAULT_MAX_MESSAGES = 40;

/** Neighbouring messages that are kept or left out together: one message, or a reply with calls and everything up to its last result. */
type Unit = { readonly messages: readonly AgentMessage[]; readonly opensWithUser: boolean };

/**
 * Keeps the newest messages of a request; the session keeps all. System messages always stay and count. The kept rest begins with a
 * user message; calls stay with their results. Where the newest user message and what follows is more than the limit, that message and
 * the newest whole exchanges after it are kept, at least one, so a request may exceed a small limit.
 */
export class SlidingWindowCompressor implements Compressor {
  readonly name = "sliding-window";
  readonly #maxMessages: number;

  /** Throws `CompositionError("invalid-config")` for a limit that is no whole number of at least 0. */
  constructor({ maxMessages = DEFAULT_MAX_MESSAGES }: SlidingWindowOptions = {}) {
    if (!Number.isSafeInteger(maxMessages) || maxMessages < 0) {
      throw new CompositionError("invalid-config", "maxMessages is not a whole number of at least 0");
    }
    this.#maxMessages = maxMessages;
  }

  compress(messages: readonly AgentMessage[]): CompressAction {
    if (messages.length <= this.#maxMessages) return { type: "none" };
    const system = messages.filter(isSystem);
    const units = unitsOf(messages.filter((message) => !isSystem(message)));
    const kept = newestUnits(units, this.#maxMessages - system.length).flatMap((unit) => unit.messages);
    if (kept.length === 0 || system.length + kept.length >= messages.length) return { type: "none" };
    const chosen = new Set(kept);
    return { type: "view", messages: messages.filter((message) => isSystem(message) || chosen.has(message)) };
  }
}

function isSystem(message: AgentMessage): boolean {
  return message.role === "system";
}

function unitsOf(messages: readonly AgentMessage[]): readonly Unit[] {
  const units: Unit[] = [];
  for (let at = 0; at < messages.length; ) {
    const first = messages[at] as AgentMessage;
    const end = endOfExchange(messages, at);
    units.push({ messages: messages.slice(at, end), opensWithUser: first.role === "user" });
    at = end;
  }
  return units;
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

/** The longest ending that begins with a user message and holds at most `limit` messages; else see the class. */
function newestUnits(units: readonly Unit[], limit: number): readonly Unit[] {
  let start: number | undefined;
  let size = 0;
  for (let at = units.length - 1; at >= 0 && size <= limit; at--) {
    const unit = units[at] as Unit;
    size += unit.messages.length;
    if (unit.opensWithUser && size <= limit) start = at;
  }
  return start === undefined ? newestExchanges(units, limit) : units.slice(start);
}

function newestExchanges(units: readonly Unit[], limit: number): readonly Unit[] {
  const user = units.findLastIndex((unit) => unit.opensWithUser);
  if (user < 0) return [];
  const first = units[user] as Unit;
  // A user message may stand between a call and its result.
  const inside = units.findLastIndex((unit) => unit.messages.some((message) => message.role === "user"));
  let from = Math.max(user + 1, inside > user ? inside : units.length - 1);
  let size = first.messages.length + units.slice(from).reduce((sum, unit) => sum + unit.messages.length, 0);
  while (from > user + 1) {
    size += (units[from - 1] as Unit).messages.length;
    if (size > limit) break;
    from -= 1;
  }
  return [first, ...units.slice(from)];
}
