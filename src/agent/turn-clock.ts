import type { TurnRun } from "./turn-run.js";

/** Ends the turn when its time is up, counted from its start. Returns how to stop the clock. */
export function limitTime({ wiring, budget, control, startedAt }: TurnRun): () => void {
  const { runtime, settings } = wiring;
  const now = runtime.now();
  const untilDeadline = budget.deadline - now;
  const left = settings.limits.turnTimeoutMs - Math.max(0, now - startedAt);
  const ms = Math.min(untilDeadline, left);
  if (ms === Number.POSITIVE_INFINITY) return () => undefined;
  const expire = (): void => control.expire(untilDeadline < left ? "deadline" : "turnTimeoutMs");
  if (ms > 0) return runtime.after(ms, expire, { keepAlive: true });
  expire();
  return () => undefined;
}
