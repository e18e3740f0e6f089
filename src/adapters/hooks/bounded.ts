import type { Awaitable } from "../../ports/awaitable.js";

/**
 * The answer of `run`, or a rejection when `timeoutMs` have passed or the turn is aborted; the signal that `run` gets is aborted then. Nothing is left
 * listening.
 */
export async function bounded<T>(
  timeoutMs: number,
  turn: AbortSignal,
  run: (signal: AbortSignal) => Awaitable<T>,
): Promise<T> {
  turn.throwIfAborted();
  const own = new AbortController();
  const timer = setTimeout(() => own.abort(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
  const abort = (): void => own.abort(turn.reason);
  turn.addEventListener("abort", abort, { once: true });
  try {
    return await new Promise<T>((resolve, reject) => {
      own.signal.addEventListener("abort", () => reject(own.signal.reason as Error), { once: true });
      Promise.resolve(run(own.signal)).then(resolve, reject);
    });
  } finally {
    clearTimeout(timer);
    turn.removeEventListener("abort", abort);
  }
}
