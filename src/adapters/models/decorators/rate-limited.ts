import { ModelError } from "../../../domain/errors.js";
import { estimateAll } from "../../../domain/estimate.js";
import { decodeUsage, type Usage } from "../../../domain/usage.js";
import type { ChatRequest, ModelPort } from "../../../ports/model.js";
import { checkOptions } from "../common/check-options.js";
import { askModel, decoratedModel } from "./decorated-model.js";
import { type DecoratorRuntime, HOLD, platformRuntime } from "../common/decorator-runtime.js";
import { type Booking, RateWindow } from "./rate-window.js";

/** How much of a model may be used at once; what is absent is not limited. */
export type RateLimitOptions = {
  /** Calls that begin within any 60 seconds. */
  readonly requestsPerMinute?: number | undefined;
  /** Tokens within any 60 seconds: estimated when a call begins, corrected by the usage it reports. */
  readonly tokensPerMinute?: number | undefined;
  /** Calls that run at the same time. */
  readonly concurrency?: number | undefined;
  /** Tokens a call is thought to take. Default: an estimate of its messages, and `maxOutputTokens` of the request. */
  readonly estimate?: ((request: ChatRequest) => number) | undefined;
  /** Default: the platform's clock and timers. */
  readonly runtime?: DecoratorRuntime | undefined;
};

const OPTION_NAMES = [
  "requestsPerMinute",
  "tokensPerMinute",
  "concurrency",
  "estimate",
  "runtime",
] as const satisfies readonly (keyof RateLimitOptions)[];

/**
 * Lets calls wait, first come first served, until they fit the limits; all calls of the decorated port share them. An abort takes a call
 * out of the queue and rejects with `ModelError("aborted")`. A call larger than the token limit goes alone; one whose estimate fails is `request-build`. Throws
 * `CompositionError("invalid-config")` for options that make no sense.
 */
export function rateLimited(model: ModelPort, options: RateLimitOptions): ModelPort {
  checkOptions("rateLimited", options, OPTION_NAMES, { requestsPerMinute: 1, tokensPerMinute: 1, concurrency: 1 });
  const { tokensPerMinute = Infinity, estimate = estimateRequest } = options;
  const gate = new Gate(options);

  return decoratedModel("rateLimited", [model], async (request, onChunk) => {
    // Reading all messages only pays where tokens are limited.
    const tokens = tokensPerMinute === Infinity ? 0 : estimated(request, estimate);
    const booking = await gate.enter(tokens, request.signal);
    let usage: Usage | undefined;
    try {
      const response = await askModel(model, request, onChunk);
      usage = response.usage;
      return response;
    } catch (error) {
      if (error instanceof ModelError) usage = error.usage;
      throw error;
    } finally {
      gate.leave(booking, totalOf(usage));
    }
  });
}

function estimated(request: ChatRequest, estimate: (request: ChatRequest) => number): number {
  let tokens: number;
  try {
    tokens = estimate(request);
  } catch (error) {
    throw new ModelError("request-build", "the tokens of the request could not be estimated", { cause: error });
  }
  if (tokens >= 0 && tokens < Infinity) return tokens;
  throw new ModelError("request-build", "the estimate of the request's tokens is no count");
}

function estimateRequest({ messages, options }: ChatRequest): number {
  return estimateAll(messages) + (options.maxOutputTokens ?? 0);
}

function totalOf(usage: Usage | undefined): number | undefined {
  const { totalTokens, inputTokens, outputTokens } = decodeUsage(usage);
  if (totalTokens !== undefined) return totalTokens;
  if (inputTokens === undefined && outputTokens === undefined) return undefined;
  return (inputTokens ?? 0) + (outputTokens ?? 0);
}

type Ticket = { readonly tokens: number; readonly go: (booking: Booking) => void };

/** The queue in front of a model. Its timer is set only while the first call waits for time to pass. */
class Gate {
  readonly #window: RateWindow;
  readonly #runtime: DecoratorRuntime;
  readonly #concurrency: number;
  readonly #waiting = new Set<Ticket>();
  #running = 0;
  #cancelTimer = (): void => undefined;

  constructor({
    requestsPerMinute = Infinity,
    tokensPerMinute = Infinity,
    concurrency = Infinity,
    runtime = platformRuntime,
  }: RateLimitOptions) {
    this.#window = new RateWindow({ requestsPerMinute, tokensPerMinute });
    this.#concurrency = concurrency;
    this.#runtime = runtime;
  }

  /** Resolves when the call may begin; `leave` must follow. */
  enter(tokens: number, signal: AbortSignal): Promise<Booking> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiting.delete(ticket);
        this.#next();
        reject(new ModelError("aborted", "the request was aborted while it waited for its turn"));
      };
      const go = (booking: Booking): void => {
        signal.removeEventListener("abort", onAbort);
        resolve(booking);
      };
      const ticket: Ticket = { tokens, go };
      if (signal.aborted) onAbort();
      else {
        signal.addEventListener("abort", onAbort, { once: true });
        this.#waiting.add(ticket);
        this.#next();
      }
    });
  }

  /** `tokens` where they are known. */
  leave(booking: Booking, tokens: number | undefined): void {
    this.#running -= 1;
    if (tokens !== undefined) this.#window.settle(booking, tokens, this.#runtime.elapsed());
    this.#next();
  }

  /** Lets in whoever fits, in order: nobody overtakes the first. */
  readonly #next = (): void => {
    this.#cancelTimer();
    this.#cancelTimer = () => undefined;
    for (const ticket of this.#waiting) {
      if (this.#running >= this.#concurrency) return;
      const now = this.#runtime.elapsed();
      const wait = this.#window.waitFor(ticket.tokens, now);
      if (wait > 0) {
        this.#cancelTimer = this.#runtime.after(wait, this.#next, HOLD);
        return;
      }
      this.#waiting.delete(ticket);
      this.#running += 1;
      ticket.go(this.#window.book(ticket.tokens, now));
    }
  };
}
