import type { Runtime } from "../../../ports/runtime.js";

/** What the connections need of a runtime; the virtual clock of the testkit is one. */
export type McpRuntime = Pick<Runtime, "after" | "elapsed">;

/** The longest delay a timer can hold. */
export const LONGEST_MS = 2 ** 31 - 1;

/** The clock and timers of the platform. None of these timers keeps a process alive: the server's process or socket does. */
export const platformRuntime: McpRuntime = Object.freeze({
  elapsed: () => performance.now(),
  after(ms: number, fn: () => void) {
    const timer = setTimeout(fn, Math.min(ms, LONGEST_MS));
    timer.unref();
    return () => clearTimeout(timer);
  },
});
