import type { Runtime } from "../ports/runtime.js";

/** A runtime whose time stands still until the test moves it. */
export type TestRuntime = Runtime & {
  /**
   * Moves the clock by `ms` and runs every timer that falls due, in order of time, then of creation. Pending promise reactions run
   * before each timer and at the end, so that a timer set by what a timer woke is run too. What a timer throws, `advance` rejects with.
   */
  advance(ms: number): Promise<void>;
  /** Timers that are set and have neither run nor been cancelled. */
  readonly pendingTimers: number;
};

/** Where the clock stands at first, in epoch milliseconds (2025-01-01T00:00:00Z). */
export const TEST_START = 1_735_689_600_000;

type Timer = { readonly at: number; readonly fn: () => void };

// Taken at import, so that a test runner's fake timers do not stop it.
const nextMacrotask = setImmediate;

const reactions = (): Promise<void> =>
  new Promise((resolve) => {
    nextMacrotask(resolve);
  });

/** Virtual clock, timers and counting ids. Two runtimes give the same ids in the same order; ids have the form of a UUIDv7 and sort as they were made. */
export function testRuntime(options: { readonly startAt?: number | undefined } = {}): TestRuntime {
  const start = options.startAt ?? TEST_START;
  let now = start;
  let count = 0;
  // Insertion order breaks ties between timers of one moment.
  const timers = new Set<Timer>();

  const nextDue = (until: number): Timer | undefined => {
    let due: Timer | undefined;
    for (const timer of timers) if (timer.at <= until && (due === undefined || timer.at < due.at)) due = timer;
    return due;
  };

  return {
    now: () => now,
    elapsed: () => now - start,
    newId: () => testId(now, count++),
    after(ms, fn) {
      const timer: Timer = { at: now + Math.max(0, ms), fn };
      timers.add(timer);
      return () => {
        timers.delete(timer);
      };
    },
    async advance(ms) {
      if (!(ms >= 0)) throw new RangeError("the virtual clock only moves forward");
      const until = now + ms;
      await reactions();
      for (let due = nextDue(until); due !== undefined; due = nextDue(until)) {
        timers.delete(due);
        now = Math.max(now, due.at);
        due.fn();
        await reactions();
      }
      now = Math.max(now, until);
    },
    get pendingTimers() {
      return timers.size;
    },
  };
}

function testId(at: number, count: number): string {
  const time = hex(at, 12);
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${hex(count, 12)}`;
}

function hex(value: number, width: number): string {
  return Math.trunc(value).toString(16).padStart(width, "0");
}
