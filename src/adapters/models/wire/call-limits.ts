import { type DecoratorRuntime, platformRuntime } from "../common/decorator-runtime.js";

/** How long a model call may take, in milliseconds, and how much it may read. */
export type CallLimits = {
  /** Until the headers of the answer. */
  readonly timeoutMs: number;
  /** Between two pieces of the reply; comments and empty events are no pieces. */
  readonly idleTimeoutMs: number;
  readonly maxLineBytes: number;
  readonly maxBodyBytes: number;
  /** What measures the times; default: the platform's clock and timers. */
  readonly runtime: DecoratorRuntime;
};

/** The options of an adapter that are limits. */
export const LIMIT_NAMES = [
  "timeoutMs",
  "idleTimeoutMs",
  "maxLineBytes",
  "maxBodyBytes",
  "runtime",
] as const satisfies readonly (keyof CallLimits)[];

/** The least that each limit may be. */
export const LEAST_LIMITS = Object.freeze({ timeoutMs: 0, idleTimeoutMs: 0, maxLineBytes: 1, maxBodyBytes: 1 });

/** The limits that an adapter's options ask for: five minutes each for an answer and a silence, 16 MiB a line, 256 MiB a body. */
export function callLimits(options: { readonly [K in keyof CallLimits]?: CallLimits[K] | undefined }): CallLimits {
  return {
    timeoutMs: options.timeoutMs ?? 300_000,
    idleTimeoutMs: options.idleTimeoutMs ?? 300_000,
    maxLineBytes: options.maxLineBytes ?? 16 * 1024 * 1024,
    maxBodyBytes: options.maxBodyBytes ?? 256 * 1024 * 1024,
    runtime: options.runtime ?? platformRuntime,
  };
}
