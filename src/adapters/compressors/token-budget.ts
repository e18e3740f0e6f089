import { isAdopted } from "../../domain/adopt.js";
import { type CountText, estimateTokens, messageTokens } from "../../domain/estimate.js";
import { checkValues, FUNCTION } from "../../domain/check-values.js";
import { checkFields } from "../../domain/known-fields.js";
import type { AgentMessage } from "../../domain/message.js";
import { textTokens } from "../../domain/text-tokens.js";
import type { CompressAction, CompressContext, Compressor } from "../../ports/compressor.js";
import { newestWithin } from "./newest-within.js";
import { checkRoom, type RequestRoomOptions, roomNow } from "./request-room.js";

export type { RequestRoomOptions } from "./request-room.js";

/** How many tokens a request may take; default three quarters of the model's window. */
export type TokenBudgetOptions = RequestRoomOptions & {
  /** Tokens of a text by the model's own tokenizer, such as `gptTokens()`; default our estimate, corrected by reported usage. */
  readonly count?: CountText | undefined;
};

const DEFAULT_SHARE = 0.75;
/** The cut moves in steps of about this part of the room, so that the beginning of requests stays the same, and cached, for many rounds. */
const STEP = 8;

/**
 * Keeps the newest messages that fit the budget together with the system prompt and the tools; the session keeps all. System messages
 * and what is pinned always stay, calls stay with their results, and the newest user message and the last exchange stay even where they
 * are larger than the budget. After a provider refused a request as too large, half of it is kept at most. Does nothing where neither
 * the window nor `maxTokens` is known and nothing was refused.
 */
export class TokenBudgetCompressor implements Compressor {
  readonly name = "token-budget";
  readonly #room: RequestRoomOptions & { readonly defaultShare: number };
  readonly #count: CountText | undefined;
  readonly #counted = new WeakMap<AgentMessage, number>();

  /** Throws `CompositionError("invalid-config")` for an option that is none. */
  constructor(options: TokenBudgetOptions = {}) {
    const what = "TokenBudgetCompressor";
    checkFields(what, options, ["share", "maxTokens", "count"]);
    checkRoom(what, options);
    checkValues(what, options, { count: FUNCTION });
    const { count, share, maxTokens } = options;
    this.#room = { share, maxTokens, defaultShare: DEFAULT_SHARE };
    this.#count = count;
  }

  compress(messages: readonly AgentMessage[], context: CompressContext): CompressAction {
    const { correction = 1 } = context;
    const weigh = (message: AgentMessage): number => this.#exact(message) ?? estimateTokens(message) * correction;
    const total = messages.reduce((sum, message) => sum + weigh(message), 0);
    const room = roomNow(context, this.#room, total);
    if (room === undefined || total <= room) return { type: "none" };
    const kept = newestWithin(messages, { limit: steppedLimit(total, room), weigh });
    return kept.length < messages.length ? { type: "view", messages: kept } : { type: "none" };
  }

  /** Counted once a message. A text that the tokenizer refuses is estimated: what people write must not fail a turn. */
  #exact(message: AgentMessage): number | undefined {
    const count = this.#count;
    if (count === undefined) return undefined;
    const before = this.#counted.get(message);
    if (before !== undefined) return before;
    const tokens = messageTokens(message, (text) => safeCount(count, text));
    if (isAdopted(message)) this.#counted.set(message, tokens);
    return tokens;
  }
}

function safeCount(count: CountText, text: string): number {
  try {
    const tokens: unknown = count(text);
    if (typeof tokens === "number" && tokens >= 0 && tokens < Number.POSITIVE_INFINITY) return tokens;
    // Nobody waits for a promise, and one that rejects must not end the process.
    Promise.resolve(tokens).catch(() => undefined);
  } catch {
    // The estimate stands in.
  }
  return textTokens(text);
}

function steppedLimit(total: number, room: number): number {
  const step = 2 ** Math.floor(Math.log2(Math.max(1, room / STEP)));
  return Math.max(0, total - Math.ceil((total - room) / step) * step);
}
