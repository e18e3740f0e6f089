import type { Runtime } from "../../../ports/runtime.js";

/** What decorators need of a runtime; `systemRuntime()` is one, and so is the virtual clock of the testkit. */
export type DecoratorRuntime = Pick<Runtime, "after" | "elapsed">;

/** Somebody waits for what follows such a timer, so the process may not end before. */
export const HOLD = { keepAlive: true } as const;

/** The longest delay a timer can hold. */
const LONGEST = 2 ** 31 - 1;

/** The clock and timers of the platform. */
export const platformRuntime: DecoratorRuntime = Object.freeze({
  elapsed: () => performance.now(),
  after(ms: number, fn: () => void) {
    if (ms === Number.POSITIVE_INFINITY) return () => undefined;
    const timer = setTimeout(fn, Math.min(ms, LONGEST));
    return () => clearTimeout(timer);
  },
});

/** Resolves with true after `ms`, with false as soon as the signal is aborted; leaves neither timer nor listener. */
export function pause(ms: number, signal: AbortSignal, runtime: DecoratorRuntime): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const onAbort = (): void => {
      cancel();
      resolve(false);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    const cancel = runtime.after(
      ms,
      () => {
        signal.removeEventListener("abort", onAbort);
        resolve(true);
      },
      HOLD,
    );
  });
}
