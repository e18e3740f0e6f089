import { AgentError, errorCategory } from "../domain/errors.js";
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
  /** Called when everything of the turn is over. */
  readonly onEnd: () => void;
};

/** Makes one turn with its own control, scope and bus. */
export function launch(given: LaunchOptions): Launch {
  const { wiring, host, sessionId, turnId, options, input, onEnd } = given;
  const { runtime, settings } = wiring;
  const control = new TurnControl();
  const own = options.stepScope === undefined ? new InProcessScope({ signal: control.signal, runtime }) : undefined;
  if (own !== undefined) control.attach(own);
  const scope = options.stepScope ?? (own as InProcessScope);
  const { takeOver = false, fork = false } = options;
  const sessions = new TurnSessions({ host, settings, runtime, scope, control, turnId, takeOver, fork });
  const bus = busOf(wiring, sessionId, turnId);
  const caller = wiring.calls.current();
  const startedAt = options.startedAt ?? runtime.now();
  const run = new TurnRun({ wiring, turnId, sessionId, startedAt, bus, scope, control, sessions, caller });
  const start = async (): Promise<TurnResult> => {
    const unfollow = options.signal === undefined ? undefined : followSignal(control, options.signal);
    // A turn with providers of its own has a table of its own.
    const lister = options.tools === undefined ? undefined : wiring.lister;
    try {
      lister?.watch(wiring.providers);
      const messages = input();
      if (caller?.has(sessionId) === true) throw ownSession(sessionId);
      if (!run.signal.aborted) await sessions.lock(sessionId);
      return await (run.signal.aborted ? unstarted(run, messages) : runTurn(run, messages));
    } finally {
      unfollow?.();
      for (const error of lister?.close() ?? [])
        settings.onSecondaryFailure({
          stage: "tools",
          operation: "stop listening",
          errorCategory: errorCategory(error),
        });
      if (bus.closing.length > 0) await settleListeners(run);
      sessions.release(run.conversation);
      own?.close();
      onEnd();
    }
  };
  return { run, bus, control, start };
}

function ownSession(id: string): AgentError {
  return new AgentError("session", "a tool may not run a turn on its own session", { cause: busy(id).cause });
}

/** A turn that was aborted before it had its session: nothing was published, and its input is told as undelivered. */
function unstarted(run: TurnRun, messages: readonly MessageInput[]): TurnResult {
  run.undelivered = messages.map(run.stamp);
  return resultOf(run, begin(), "aborted", run.control.abortReason);
}

/** The bus of one turn. */
export function busOf(wiring: Wiring, sessionId: string, turnId: string): EventBus {
  const { runtime, settings, receivers } = wiring;
  const { onSecondaryFailure } = settings;
  return new EventBus({ turnId, sessionId, attempt: 0, now: runtime.now, receivers, onSecondaryFailure });
}

/** Waits for what listeners still do with the terminal event (T7). */
async function settleListeners(run: TurnRun): Promise<void> {
  const { limits, onSecondaryFailure } = run.wiring.settings;
  for (const closing of run.bus.closing) {
    const outcome = await run.scope.bounded(() => closing, limits.listenerTimeoutMs, { keep: true });
    if (!outcome.ok) onSecondaryFailure({ stage: "terminal event", operation: "listener", errorCategory: "timeout" });
  }
}
