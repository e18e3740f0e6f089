import { checkValues, wholeNumber } from "../../domain/check-values.js";
import { checkFields } from "../../domain/known-fields.js";
import type { AgentMessage } from "../../domain/message.js";
import type { CompressAction, CompressContext, Compressor } from "../../ports/compressor.js";
import { newestWithin } from "./newest-within.js";

/** How much a request may hold; counted in messages, whatever their length. */
export type SlidingWindowOptions = {
  /** Messages a request may hold, system messages and pinned ones included; default 40. */
  readonly maxMessages?: number | undefined;
};

const DEFAULT_MAX_MESSAGES = 40;

/**
 * Keeps the newest messages of a request; the session keeps all. System messages and what is pinned always stay and count. The kept
 * rest begins with a user message; calls stay with their results. Where the newest user message and what follows is more than the
 * limit, that message and the newest whole exchanges after it are kept, at least one, so a request may exceed a small limit. After a
 * provider refused a request as too large, half of its messages are kept at most.
 */
export class SlidingWindowCompressor implements Compressor {
  readonly name = "sliding-window";
  readonly #maxMessages: number;

  /** Throws `CompositionError("invalid-config")` for an option that is none, and a limit that is no whole number of at least 0. */
  constructor(options: SlidingWindowOptions = {}) {
    checkFields("SlidingWindowCompressor", options, ["maxMessages"]);
    checkValues("SlidingWindowCompressor", options, { maxMessages: wholeNumber(0) });
    const { maxMessages = DEFAULT_MAX_MESSAGES } = options;
    this.#maxMessages = maxMessages;
  }

  compress(messages: readonly AgentMessage[], context?: Pick<CompressContext, "reason">): CompressAction {
    const most = context?.reason === "overflow" ? Math.floor(messages.length / 2) : Number.POSITIVE_INFINITY;
    const limit = Math.min(this.#maxMessages, most);
    if (messages.length <= limit) return { type: "none" };
    const kept = newestWithin(messages, { limit, weigh: () => 1 });
    return kept.length < messages.length ? { type: "view", messages: kept } : { type: "none" };
  }
}
