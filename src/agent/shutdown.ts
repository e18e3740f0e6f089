import { AgentError, Defect } from "../domain/errors.js";
import { safeLabel } from "../domain/safe-label.js";
import type { Lifecycle } from "../ports/lifecycle.js";
import type { Runtime } from "../ports/runtime.js";
import type { TurnControl } from "./turn-control.js";

/** Starts in order; a throw shuts down what had started, in reverse order, and is rethrown with what failed on the way down. */
export async function startAll(lifecycles: readonly Lifecycle[]): Promise<void> {
  const started: Lifecycle[] = [];
  for (const lifecycle of lifecycles) {
    try {
      await lifecycle.onStart?.();
      started.push(lifecycle);
    } catch (error) {
      const failures = await stopAll(started);
      if (failures.length === 0 || Defect.is(error)) throw error;
      throw new AggregateError(
        [error, ...failures],
        `${labelOf(lifecycle)} did not start, and the roll-back failed too`,
      );
    }
  }
}

/** Shuts down in reverse order, all of them whatever fails; returns what was thrown. */
export async function stopAll(lifecycles: readonly Lifecycle[]): Promise<unknown[]> {
  const failures: unknown[] = [];
  for (const lifecycle of [...lifecycles].reverse()) {
    try {
      await lifecycle.onShutdown();
    } catch (error) {
      failures.push(error);
    }
  }
  return failures;
}

function labelOf(lifecycle: Lifecycle): string {
  return lifecycle.name === undefined ? "a lifecycle" : safeLabel(lifecycle.name);
}

const NOTHING: Promise<unknown> = Promise.resolve();

/** What is kept of a turn while it lives. */
export type LiveTurn = { readonly control: TurnControl; readonly run: { readonly sessionId: string } };

/** The turns of an agent, and the end of it (A2). */
export class LiveTurns {
  readonly #live = new Map<LiveTurn, Promise<unknown>>();
  #closed = false;

  /** Throws `AgentError("shut-down")` once the agent is closing. */
  checkOpen(): void {
    if (this.#closed) throw new AgentError("shut-down", "the agent was shut down");
  }

  /** Knows a turn that has not started yet. */
  add(turn: LiveTurn): void {
    this.#live.set(turn, NOTHING);
  }

  /** Starts a turn and counts it until `delete`, which the turn itself calls at its end. */
  run<T>(turn: LiveTurn, start: () => Promise<T>): Promise<T> {
    const done = start();
    if (this.#live.has(turn)) this.#live.set(turn, done);
    return done;
  }

  delete(turn: LiveTurn): void {
    this.#live.delete(turn);
  }

  /** The turn that has a session: of those that wait for it, the first. */
  on(sessionId: string): LiveTurn | undefined {
    for (const turn of this.#live.keys())
      if (turn.run.sessionId === sessionId && !turn.control.inbox.closed) return turn;
    return undefined;
  }

  /** No new turns; the running ones get `drainMs`, then an abort. */
  async drain(runtime: Runtime, drainMs: number): Promise<void> {
    this.#closed = true;
    if (this.#live.size === 0) return;
    const cancel = runtime.after(
      drainMs,
      () => {
        for (const { control } of this.#live.keys()) control.abort("the agent is shutting down");
      },
      { keepAlive: true },
    );
    for (const done of [...this.#live.values()]) await done.catch(() => undefined);
    cancel();
  }
}
