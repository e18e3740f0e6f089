import { ModelError, CompositionError } from "../../domain/errors.js";
import { estimateAll, estimateTokens } from "../../domain/estimate.js";
import type { Exchange } from "../../domain/exchanges.js";
import { checkValues, FUNCTION, OBJECT, TEXT, wholeNumber } from "../../domain/check-values.js";
import { checkFields } from "../../domain/known-fields.js";
import type { AgentMessage } from "../../domain/message.js";
import type { ChatOptions } from "../../domain/model.js";
import { stampMessage } from "../../domain/stamp-message.js";
import { textTokens } from "../../domain/text-tokens.js";
import type { CompressAction, CompressContext, Compressor, ContextMessages } from "../../ports/compressor.js";
import type { ModelPort } from "../../ports/model.js";
import { newestWithin } from "./newest-within.js";
import { TriedSessions } from "./tried-sessions.js";
import { checkRoom, roomFor, type RequestRoomOptions } from "./request-room.js";
import { Summarizer, type Summarized } from "./summarizer.js";
import { messagesOf, summaryCut } from "./summary-cut.js";
import { summaryIn, summaryMessage } from "./summary-text.js";

export type { RequestRoomOptions } from "./request-room.js";

/** Which model writes summaries, when, and what stays beside them. */
export type SummarizeOptions = RequestRoomOptions & {
  /** Writes the summaries; may be a cheaper model than the agent's. */
  readonly model: ModelPort;
  /** `"replace"` (default) keeps the session and its originals; `"newThread"` goes on in a new session that begins with the summary. */
  readonly into?: "replace" | "newThread" | undefined;
  /** Newest replies with their results and questions that stay as they are; default 4, fewer where they fill half the room, at least 1. */
  readonly keepExchanges?: number | undefined;
  /** What a summary may take; default 2,000. One of twice that is not used. */
  readonly maxSummaryTokens?: number | undefined;
  /** What summaries of this application have to mention, in words for the model. */
  readonly instructions?: string | undefined;
  /** Options of the model calls; `maxOutputTokens` defaults to four times `maxSummaryTokens`, so that a model may think first. */
  readonly options?: ChatOptions | undefined;
  /** Names a new session; default a random UUID. */
  readonly newSessionId?: (() => string) | undefined;
};

const DEFAULT_SHARE = 0.75;
const FIELDS = [
  "model",
  "into",
  "share",
  "maxTokens",
  "keepExchanges",
  "maxSummaryTokens",
  "instructions",
  "options",
  "newSessionId",
];
const RULES = {
  keepExchanges: wholeNumber(1),
  maxSummaryTokens: wholeNumber(1),
  instructions: TEXT,
  options: OBJECT,
  newSessionId: FUNCTION,
};
/** Less than this is not worth a model call. */
const LEAST_TOKENS = 100;

/**
 * Lets a model write a summary of the older part of a conversation once a request takes more than its share of the window (default
 * three quarters). Whole exchanges only; instructions, pinned and custom messages stay as they are; an earlier summary goes into the
 * next. Where a request was refused and there is nothing to summarise, the newest messages alone are sent, once. What the model is shown of the conversation is marked as data. The model calls count in the turn and its budgets. Rejects with
 * `ModelError` where no usable summary comes about. After each try a session is left alone until it has grown by a tenth, unless a
 * request was refused as too large or somebody asks.
 */
export class SummarizeCompressor implements Compressor {
  readonly name = "summarize";
  readonly #room: RequestRoomOptions;
  readonly #keepExchanges: number;
  readonly #newSessionId: (() => string) | undefined;
  readonly #summarizer: Summarizer;
  readonly #tried = new TriedSessions();

  /** Throws `CompositionError("invalid-config")` for an option that is none, or without a model. */
  constructor(options: SummarizeOptions) {
    const what = "SummarizeCompressor";
    checkFields(what, options, FIELDS);
    checkRoom(what, options);
    checkValues(what, options, RULES);
    const { into = "replace", keepExchanges = 4, maxSummaryTokens = 2_000, share, maxTokens, model } = options;
    if (typeof model?.chat !== "function") throw new CompositionError("invalid-config", `${what} needs a model`);
    if (into !== "replace" && into !== "newThread") {
      throw new CompositionError("invalid-config", `${what}: into is neither replace nor newThread`);
    }
    this.#room = { share, maxTokens };
    this.#keepExchanges = keepExchanges;
    this.#newSessionId = into === "newThread" ? (options.newSessionId ?? (() => crypto.randomUUID())) : undefined;
    const { instructions, options: chat } = options;
    this.#summarizer = new Summarizer({ model, maxTokens: maxSummaryTokens, instructions, options: chat });
  }

  async compress(messages: readonly AgentMessage[], context: CompressContext): Promise<CompressAction> {
    const { sessionId, estimatedTokens, reason } = context;
    const room = roomFor(context, this.#room, DEFAULT_SHARE);
    if (reason === "before-model") {
      if (room === undefined || estimatedTokens <= room) return { type: "none" };
      if (this.#tried.rests(sessionId, estimatedTokens)) return { type: "none" };
    }
    // What was refused as too large is larger than any estimate says.
    const most = reason === "overflow" ? Math.min(room ?? estimatedTokens, estimatedTokens) : (room ?? estimatedTokens);
    const cut = summaryCut(messages, this.#keepExchanges, most / 2 / (context.correction ?? 1));
    const old = cut.old.filter(({ messages: [first] }) => first !== undefined && summaryIn(first) === undefined);
    if (estimateAll(messagesOf(old)) < LEAST_TOKENS) {
      return reason === "overflow" ? newestOnly(messages, most / 2 / (context.correction ?? 1)) : { type: "none" };
    }
    try {
      const summarized = await this.#summarizer.summarize(old, earlierIn(cut.old), context);
      const action = this.#actionOf(messages, summarized, cut.kept);
      this.#tried.add(sessionId, sizeAfter(messages, action, summarized, context));
      return action;
    } catch (error) {
      if (!context.signal.aborted) this.#tried.add(sessionId, estimatedTokens);
      throw error;
    }
  }

  /** What stands behind the last message that was summarised stays. */
  #actionOf(
    messages: readonly AgentMessage[],
    { summary, last }: Summarized,
    stays: readonly AgentMessage[],
  ): Proposal {
    const cut = messages.indexOf(last) + 1;
    const before = new Set(messages.slice(0, cut));
    const kept = new Set(stays.filter((message) => before.has(message)));
    const replaced = messages.slice(0, cut).filter((message) => !kept.has(message));
    if (textTokens(summary) >= estimateAll(replaced)) {
      throw new ModelError("response-parse", "the summary is no shorter than what it stands for", { retryable: false });
    }
    const begun: ContextMessages = [summaryMessage(summary), ...kept];
    if (this.#newSessionId === undefined) return { type: "replace", messages: begun, upTo: last.id };
    const thread = [...begun, ...messages.slice(cut)];
    const counts = { messagesBefore: messages.length, messagesAfter: thread.length };
    return { type: "newThread", messages: thread, newSessionId: this.#newSessionId(), ...counts };
  }
}

type Proposal = Extract<CompressAction, { type: "replace" | "newThread" }>;

/** For a request that was refused for what no summary may stand for yet, such as one result that is larger than the window. */
function newestOnly(messages: readonly AgentMessage[], limit: number): CompressAction {
  const kept = newestWithin(messages, { limit, weigh: estimateTokens });
  return kept.length < messages.length ? { type: "view", messages: kept } : { type: "none" };
}

/** The newest summary there is. */
function earlierIn(old: readonly Exchange[]): string | undefined {
  return messagesOf(old)
    .map(summaryIn)
    .findLast((summary) => summary !== undefined);
}

function sizeAfter(
  messages: readonly AgentMessage[],
  action: Proposal,
  { last }: Summarized,
  { correction = 1 }: CompressContext,
): number {
  const begun = action.messages.map((message, index) => stampMessage(message, `summary.${index}`, 0, "message"));
  const behind = action.type === "replace" ? messages.slice(messages.indexOf(last) + 1) : [];
  return estimateAll([...begun, ...behind]) * correction;
}
