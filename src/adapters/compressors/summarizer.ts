import { ModelError } from "../../domain/errors.js";
import type { Exchange } from "../../domain/exchanges.js";
import type { AgentMessage } from "../../domain/message.js";
import type { ChatOptions, ModelResponse } from "../../domain/model.js";
import { textTokens } from "../../domain/text-tokens.js";
import type { CompressContext } from "../../ports/compressor.js";
import type { ChatRequest, ModelPort } from "../../ports/model.js";
import { messagesOf } from "./summary-cut.js";
import { summaryOf } from "./summary-reply.js";
import { summaryLine, summaryRequest } from "./summary-request.js";

/** Who writes summaries, and how long. */
export type SummarizerOptions = {
  readonly model: ModelPort;
  readonly maxTokens: number;
  readonly instructions: string | undefined;
  readonly options: ChatOptions | undefined;
};

/** A summary, and the last message it stands for. */
export type Summarized = { readonly summary: string; readonly last: AgentMessage };

/** Part of the model's window that one request for a summary may take, and what is assumed where nobody knows it. */
const SHARE = 0.6;
const UNKNOWN_WINDOW = 32_000;
/** Requests for one summary; what does not fit into them waits for the next time. */
const MOST_CALLS = 8;
const MOST_CHARACTERS = 8_000;

/** Writes one summary, in several requests where the model's window is too small for one: each takes up the summary of the one before. */
export class Summarizer {
  readonly #settings: SummarizerOptions;

  constructor(settings: SummarizerOptions) {
    this.#settings = settings;
  }

  /** Rejects with `ModelError` when one of the requests fails or answers with what is no summary. */
  async summarize(
    old: readonly Exchange[],
    earlier: string | undefined,
    context: CompressContext,
  ): Promise<Summarized> {
    const { maxTokens, instructions } = this.#settings;
    let summary = earlier;
    let last: AgentMessage | undefined;
    for (const piece of this.#pieces(old, context).slice(0, MOST_CALLS)) {
      if (context.signal.aborted) throw new ModelError("aborted", "the summary was aborted");
      const order = { earlier: summary, lines: piece.lines, maxTokens, instructions };
      summary = summaryOf(await this.#ask(summaryRequest(order), context), maxTokens);
      last = piece.last;
    }
    if (summary === undefined || last === undefined)
      throw new ModelError("request-build", "there is nothing to summarise");
    return { summary, last };
  }

  /** What fits into one request each, cut between exchanges. */
  #pieces(old: readonly Exchange[], { modelContextWindow, correction = 1 }: CompressContext): readonly Piece[] {
    const { model, maxTokens } = this.#settings;
    const window = model.describe?.().contextWindow ?? modelContextWindow ?? UNKNOWN_WINDOW;
    const room = Math.max(500, (window * SHARE) / correction - maxTokens);
    // Four characters are a token at most times, and one line must not fill a request.
    const length = Math.min(MOST_CHARACTERS, Math.floor(room / 2));
    const pieces: { lines: string[]; last: AgentMessage; size: number }[] = [];
    for (const exchange of old) {
      const messages = messagesOf([exchange]);
      const last = messages.at(-1);
      if (last === undefined) continue;
      const lines = messages.map((message) => summaryLine(message, length));
      const size = lines.reduce((sum, line) => sum + textTokens(line), 0);
      const current = pieces.at(-1);
      if (current === undefined || current.size + size > room) pieces.push({ lines, last, size });
      else {
        current.lines.push(...lines);
        current.last = last;
        current.size += size;
      }
    }
    return pieces;
  }

  async #ask(messages: ChatRequest["messages"], context: CompressContext): Promise<ModelResponse> {
    const { model, maxTokens } = this.#settings;
    const options = { maxOutputTokens: 4 * maxTokens, ...this.#settings.options };
    const { ask, signal, sessionId } = context;
    try {
      if (ask !== undefined) return await ask(model, { messages, options, signal });
      return await model.chat({ messages, tools: [], options, signal, sessionId, turnId: sessionId, round: 0 });
    } catch (error) {
      if (error instanceof ModelError) throw error;
      throw new ModelError("transport", "the model of summaries threw an untyped error", {
        cause: error,
        retryable: false,
      });
    }
  }
}

type Piece = { readonly lines: readonly string[]; readonly last: AgentMessage };
