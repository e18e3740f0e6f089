import { AgentError } from "../domain/errors.js";
import type { MessageInput } from "../domain/message.js";
import type { TurnResult } from "../domain/turn-result.js";
import { begin } from "../domain/turn.js";
import type { TurnOptions } from "../ports/agent-api.js";
import { resultOf } from "./end-turn.js";
import { InProcessScope } from "./in-process-scope.js";
import { EventBus } from "./observers.js";
import { runTurn } from "./run-turn.js";
import type { SessionHost } from "./session-host.js";
import { followSignal, TurnControl } from "./turn-control.js";
import { TurnRun } from "./turn-run.js";
import { busy, TurnSessions } from "./turn-sessions.js";
import type { Wiring } from "./wiring.js";

/** A turn that is made and not started. */
export type Launch = {
  readonly run: TurnRun;
  readonly bus: EventBus;
  readonly control: TurnControl;
  readonly start: () => Promise<TurnResult>;
};

/** What a turn is launched with. */
export type LaunchOptions = {
  readonly wiring: Wiring;
  readonly host: SessionHost;
  readonly sessionId: string;
  readonly turnId: string;
  readonly options: TurnOptions;
  /** Read when the turn starts; throws what refuses it. */
  readonly input: () => readonly MessageInput[];
};

/** Makes one turn with its own control, scope and bus. */
export function launch(given: LaunchOptions): Launch {
  const { wiring, host, sessionId, turnId, options, input } = given;
  const { runtime, settings } = wiring;
  const control = new TurnControl();
  const own = options.stepScope === undefined ? new InProcessScope({ signal: control.signal, runtime }) : undefined;
  if (own !== undefined) control.attach(own);
  const scope = options.stepScope ?? (own as InProcessScope);
  const { takeOver = false, fork = false } = options;
  const sessions = new TurnSessions({ host, settings, runtime, scope, control, turnId, takeOver, fork });
  const bus = busOf(wiring, sessionId, turnId);
  const caller = wiring.calls.current();
  const path = caller === undefined ? new Set([sessionId]) : new Set([...caller, sessionId]);
  const startedAt = options.startedAt ?? runtime.now();
  const run = new TurnRun({ wiring, turnId, sessionId, startedAt, bus, scope, control, sessions, path });
  const start = async (): Promise<TurnResult> => {
    const unfollow = followSignal(control, options.signal);
    try {
      return await startTurn(run, sessions, input(), { ownSession: caller?.has(sessionId) === true });
    } finally {
      unfollow();
      await settleListeners(run);
      sessions.release(run.conversation);
      own?.close();
    }
  };
  return { run, bus, control, start };
}

/** The bus of one turn. */
export function busOf(wiring: Wiring, sessionId: string, turnId: string): EventBus {
  const { runtime, settings, receivers } = wiring;
  const { onSecondaryFailure } = settings;
  return new EventBus({ turnId, sessionId, attempt: 0, now: runtime.now, receivers, onSecondaryFailure });
}

async function startTurn(
  run: TurnRun,
  sessions: TurnSessions,
  input: readonly MessageInput[],
  { ownSession }: { readonly ownSession: boolean },
): Promise<TurnResult> {
  if (ownSession)
    throw new AgentError("session", "a tool may not run a turn on its own session", {
      cause: busy(run.sessionId).cause,
    });
  if (!run.signal.aborted) await sessions.lock(run.sessionId);
  if (!run.signal.aborted) return runTurn(run, input);
  run.undelivered = input.map(run.stamp);
  return resultOf(run, begin(), "aborted", run.control.abortReason);
}

/** Waits for what listeners still do with the terminal event (T7). */
async function settleListeners(run: TurnRun): Promise<void> {
  const { limits, onSecondaryFailure } = run.wiring.settings;
  for (const closing of run.bus.closing) {
    const outcome = await run.scope.bounded(() => closing, limits.listenerTimeoutMs, { keep: true });
    if (!outcome.ok) onSecondaryFailure({ stage: "terminal event", operation: "listener", errorCategory: "timeout" });
  }
}
