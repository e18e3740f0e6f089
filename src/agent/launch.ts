import { AgentError } from "../domain/errors.js";
import type { TurnResult } from "../domain/turn-result.js";
import { begin } from "../domain/turn.js";
import type { TurnOptions } from "../ports/agent-api.js";
import { heldOn } from "./call-path.js";
import { InProcessScope } from "./in-process-scope.js";
import { EventBus } from "./observers.js";
import { resultOf } from "./result-of.js";
import { type Opening, runTurn } from "./run-turn.js";
import type { SessionHost } from "./session-host.js";
import { unwatchTools, watchTools } from "./tool-watch.js";
import { budgetOf } from "./turn-budget.js";
import { limitTime } from "./turn-clock.js";
import { followSignal, TurnControl } from "./turn-control.js";
import { expiredError } from "./turn-failure.js";
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
  readonly opening: () => Opening;
  /** Called when everything of the turn is over. */
  readonly onEnd: () => void;
};

/** Makes one turn with its own control, scope and bus. */
export function launch(given: LaunchOptions): Launch {
  const { wiring, host, sessionId, turnId, options, opening, onEnd } = given;
  const { runtime, settings } = wiring;
  const control = new TurnControl();
  const scope = options.stepScope ?? new InProcessScope({ signal: control.signal, runtime });
  control.attach(scope);
  const { takeOver = false, fork = false } = options;
  const caller = wiring.calls.current();
  const replays = options.stepScope !== undefined;
  const bus = busOf(wiring, sessionId, turnId);
  const sessions = new TurnSessions({
    host,
    settings,
    runtime,
    scope,
    control,
    turnId,
    takeOver,
    fork,
    caller,
    replays,
    onWait: (id) =>
      bus.publish("custom", { source: "ennead.core", label: "waiting_for_session", data: { sessionId: id } }),
  });
  const startedAt = options.startedAt ?? runtime.now();
  const budget = budgetOf(wiring, caller, options.budget);
  const run = new TurnRun({ wiring, turnId, sessionId, startedAt, bus, scope, control, sessions, caller, budget });
  const start = async (): Promise<TurnResult> => {
    let opened: Opening | undefined;
    let [unfollow, stopTimer]: (() => void)[] = [];
    try {
      opened = opening();
      if (options.signal !== undefined) unfollow = followSignal(control, options.signal);
      stopTimer = limitTime(run);
      // A turn with providers of its own has a table of its own.
      if (options.tools !== undefined) watchTools(wiring);
      if (heldOn(caller, host).includes(sessionId)) throw ownSession(sessionId);
      if (!run.signal.aborted) await sessions.lock(sessionId);
      return await (run.signal.aborted ? unstarted(run, opened) : runTurn(run, opened));
    } catch (error) {
      throw withUndelivered(run, opened, error);
    } finally {
      stopTimer?.();
      control.inbox.close();
      if (options.tools !== undefined) unwatchTools(wiring);
      if (bus.closing.length > 0) await settleListeners(run);
      unfollow?.();
      sessions.release(run.conversation);
      onEnd();
      scope.release?.();
    }
  };
  return { run, bus, control, start };
}

function ownSession(id: string): AgentError {
  return new AgentError("session", "a tool or hook may not run a turn on its own session", { cause: busy(id).cause });
}

/** A turn that was refused before it had its session tells what it had been given: nothing that was accepted is lost (L3). */
function withUndelivered(run: TurnRun, opened: Opening | undefined, error: unknown): unknown {
  if (!(error instanceof AgentError) || error.partial !== undefined) return error;
  if (opened?.type === "input") run.undelivered = opened.messages.map(run.stamp);
  return error.withPartial(resultOf(run, begin(), "stopped", error.kind));
}

/** A turn that was over before it had its session: nothing was published, and its input is told as undelivered. */
function unstarted(run: TurnRun, opened: Opening): TurnResult {
  if (opened.type === "input") run.undelivered = opened.messages.map(run.stamp);
  const { expired, abortReason } = run.control;
  if (expired === undefined) return resultOf(run, begin(), "aborted", abortReason);
  const error = expiredError(run);
  throw error.withPartial(resultOf(run, begin(), "stopped", error.kind));
}

/** A bus for one turn, which nobody but the agent's own receivers hears yet. */
export function busOf(wiring: Wiring, sessionId: string, turnId: string): EventBus {
  const { runtime, settings, receivers } = wiring;
  const { onSecondaryFailure } = settings;
  return new EventBus({ turnId, sessionId, attempt: 0, now: runtime.now, receivers, onSecondaryFailure });
}

/** Waits for what listeners still do with the terminal event; one deadline for all of them (T7). */
async function settleListeners(run: TurnRun): Promise<void> {
  const { limits, onSecondaryFailure } = run.wiring.settings;
  const all = async (): Promise<void> => {
    for (const closing of run.bus.closing) await closing;
  };
  const outcome = await run.scope.bounded(all, limits.listenerTimeoutMs, { keep: true });
  if (!outcome.ok) onSecondaryFailure({ stage: "terminal event", operation: "listener", errorCategory: "timeout" });
}
