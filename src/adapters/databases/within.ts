import { CompositionError } from "../../domain/errors.js";

/** A call got no answer in time. What it asked for may still happen. */
export class NoAnswer extends Error {}

/**
 * The answer of a call on the network, or a rejection with `NoAnswer` after `timeoutMs`; an answer that comes later is handed to `late`,
 * so that nothing it holds stays open, and a later failure is dropped.
 */
export function within<T>(timeoutMs: number, call: Promise<T>, late: (answer: T) => void = () => {}): Promise<T> {
  return new Promise((resolve, reject) => {
    let waiting = true;
    const timer = setTimeout(() => {
      waiting = false;
      reject(new NoAnswer(`no answer within ${timeoutMs} ms`));
    }, timeoutMs);
    call.then(
      (answer) => {
        clearTimeout(timer);
        if (waiting) resolve(answer);
        else late(answer);
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(error instanceof Error ? error : new Error(String(error)));
      },
    );
  });
}

/** A `timeoutMs` option, 10,000 by default; throws `CompositionError("invalid-config")` for what is no duration a timer can hold. */
export function timeoutOf(value: unknown): number {
  if (value === undefined) return 10_000;
  if (typeof value === "number" && value >= 1 && value <= 2 ** 31 - 1) return value;
  throw new CompositionError("invalid-config", "timeoutMs is a number of milliseconds");
}
