import { ModelError } from "../../../domain/errors.js";
import type { Usage } from "../../../domain/usage.js";
import type { ModelPort } from "../../../ports/model.js";
import { checkOptions } from "../common/check-options.js";
import { decoratedModel } from "./decorated-model.js";
import { type DecoratorRuntime, pause, platformRuntime } from "../common/decorator-runtime.js";
import { ModelAttempts } from "./model-attempts.js";
import { retryDelay } from "./retry-delay.js";

/** When a failed model call is made again. */
export type RetryOptions = {
  /** Attempts in all, the first included. Default 4. */
  readonly attempts?: number | undefined;
  /** Ceiling of the first wait, in milliseconds; it doubles with every attempt. Default 500. */
  readonly baseDelayMs?: number | undefined;
  /** No ceiling is higher. Default 30,000. */
  readonly maxDelayMs?: number | undefined;
  /** What a provider may ask to wait; where it asks for more the call fails at once, with `retryAfterMs` in the error. Default 60,000. */
  readonly maxRetryAfterMs?: number | undefined;
  /**
   * After output began: fail (default), for consumers that cannot take back what they have shown, or `"reset"` and start over. Text never
   * comes twice either way.
   */
  readonly afterOutput?: AfterOutput | undefined;
  /** Default: the platform's timers. */
  readonly runtime?: DecoratorRuntime | undefined;
  /** From 0 to 1, for the share of the ceiling that is waited. Default `Math.random`. */
  readonly random?: (() => number) | undefined;
};

/** What is done about a failure after output began. */
export type AfterOutput = "give-up" | "reset";

const OPTION_NAMES = [
  "attempts",
  "baseDelayMs",
  "maxDelayMs",
  "maxRetryAfterMs",
  "afterOutput",
  "runtime",
  "random",
] as const satisfies readonly (keyof RetryOptions)[];

/**
 * Makes a call again when it failed with an error that says `retryable`, after an exponential backoff with full jitter or after what the
 * provider asked for. The usage of failed attempts is part of the response's, or of the error's. An abort ends a wait at once. Throws
 * `CompositionError("invalid-config")` for options that make no sense.
 */
export function retrying(model: ModelPort, options: RetryOptions = {}): ModelPort {
  checkOptions("retrying", options, OPTION_NAMES, {
    attempts: 1,
    baseDelayMs: 0,
    maxDelayMs: 0,
    maxRetryAfterMs: 0,
  });
  const { attempts: most = 4, afterOutput = "give-up", runtime = platformRuntime } = options;
  const { baseDelayMs = 500, maxDelayMs = 30_000, maxRetryAfterMs = 60_000, random = Math.random } = options;
  const delays = { baseDelayMs, maxDelayMs, maxRetryAfterMs };

  return decoratedModel("retrying", [model], async (request, onChunk) => {
    const attempts = new ModelAttempts(onChunk);
    for (let attempt = 1; ; attempt++) {
      try {
        return await attempts.run(model, request, "retry");
      } catch (error) {
        if (!(error instanceof ModelError)) throw error;
        const final = attempt >= most || !error.retryable || (attempts.outputBegan && afterOutput === "give-up");
        const delay = final ? undefined : retryDelay(error, attempt, delays, random);
        if (delay === undefined) throw attempts.failure(error);
        if (!(await pause(delay, request.signal, runtime))) throw abortedAfter(error, attempts.spent);
      }
    }
  });
}

/** The failure of a call that was aborted between two attempts. What the last one streamed still stands at the consumer. */
function abortedAfter(cause: ModelError, usage: Usage | undefined): ModelError {
  const { provider, partial, requestId } = cause;
  return new ModelError("aborted", "the request was aborted", { provider, partial, requestId, usage, cause });
}
