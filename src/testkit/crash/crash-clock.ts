import { systemRuntime } from "../../agent/system-runtime.js";
import type { Runtime } from "../../ports/runtime.js";
import { TEST_START, testRuntime } from "../runtime.js";
import type { CrashScenario } from "./crash-scenario.js";

/** How a piece of work ended; `stopped` when the world did first. */
export type Settled<T> =
  | { readonly type: "done"; readonly value: T }
  | { readonly type: "failed"; readonly error: unknown }
  | { readonly type: "stopped" | "hangs" };

/** The time of one life. */
export type CrashClock = {
  readonly runtime: Runtime;
  /** Lets time pass until the work has ended, the world has stopped, or patience has. */
  settle<T>(work: PromiseLike<T>, isStopped?: () => boolean): Promise<Settled<T>>;
};

const DAY_MS = 86_400_000;
const VIRTUAL_PATIENCE_MS = 3_600_000;
const REAL_PATIENCE_MS = 30_000;
/** How often everything that is ready gets its turn before time is moved. */
const ROUNDS = 4;
const LOOK_MS = 1;

/** Each life begins a day after the one before, so that no two make the same ids. */
export function crashClock({ clock, patienceMs }: CrashScenario, life: number): CrashClock {
  return clock === "real"
    ? realClock(patienceMs ?? REAL_PATIENCE_MS)
    : virtualClock(patienceMs ?? VIRTUAL_PATIENCE_MS, life);
}

function virtualClock(patienceMs: number, life: number): CrashClock {
  const runtime = testRuntime({ startAt: TEST_START + life * DAY_MS });
  return {
    runtime,
    async settle(work, isStopped = () => false) {
      const ended = watch(work);
      const until = runtime.elapsed() + patienceMs;
      for (let step = 1; ; step = Math.min(step * 4, 10_000)) {
        for (let round = 0; round < ROUNDS; round++) {
          await runtime.advance(0);
          if (isStopped()) return { type: "stopped" };
          if (ended.outcome !== undefined) return ended.outcome;
        }
        if (runtime.elapsed() >= until) return { type: "hangs" };
        await runtime.advance(step);
      }
    },
  };
}

function realClock(patienceMs: number): CrashClock {
  const runtime = systemRuntime();
  return {
    runtime,
    async settle(work, isStopped = () => false) {
      const ended = watch(work);
      const until = runtime.elapsed() + patienceMs;
      while (runtime.elapsed() < until) {
        await new Promise<void>((resolve) => void runtime.after(LOOK_MS, resolve, { keepAlive: true }));
        if (isStopped()) return { type: "stopped" };
        if (ended.outcome !== undefined) return ended.outcome;
      }
      return { type: "hangs" };
    },
  };
}

function watch<T>(work: PromiseLike<T>): { outcome: Settled<T> | undefined } {
  const watched: { outcome: Settled<T> | undefined } = { outcome: undefined };
  work.then(
    (value) => {
      watched.outcome = { type: "done", value };
    },
    (error: unknown) => {
      watched.outcome = { type: "failed", error };
    },
  );
  return watched;
}
