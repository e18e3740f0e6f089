import { AgentError, Defect, SessionError } from "../domain/errors.js";
import type { JsonObject } from "../domain/json.js";
import { safeLabel } from "../domain/safe-label.js";
import { SESSION_KEYS } from "../domain/session.js";
import { isReply } from "../domain/transcript.js";
import { addUsage, type Usage } from "../domain/usage.js";
import { decodeUsageRecord } from "../domain/usage-record.js";
import type { CompactOptions, CompactResult } from "../ports/agent-api.js";
import { asAgentError } from "./as-agent-error.js";
import { compressContext } from "./compression.js";
import { InProcessScope } from "./in-process-scope.js";
import { busOf } from "./launch.js";
import { pendingCalls } from "../domain/deferred-calls.js";
import type { SessionHost } from "./session-host.js";
import type { WriteChange } from "./session-writer.js";
import { budgetOf } from "./turn-budget.js";
import { limitTime } from "./turn-clock.js";
import { followSignal, TurnControl } from "./turn-control.js";
import { expiredError } from "./turn-failure.js";
import { TurnRun } from "./turn-run.js";
import { goesOnIn, TurnSessions } from "./turn-sessions.js";
import type { Wiring } from "./wiring.js";

/**
 * Asks the compressors with reason `"requested"`, between turns (C1). Nothing is written unless one of them made the conversation smaller, and
 * then with one compared write: no lease is needed, and none is left. It is no turn, and publishes nothing.
 */
export async function compactSession(
  wiring: Wiring,
  host: SessionHost,
  sessionId: string,
  { signal }: CompactOptions,
): Promise<CompactResult> {
  const { run, sessions } = compaction(wiring, host, sessionId);
  const unfollow = signal === undefined ? undefined : followSignal(run.control, signal);
  const stopTimer = limitTime(run);
  let unlock: (() => void) | undefined;
  try {
    checkTime(run);
    unlock = await locked(run, host);
    const conversation = sessions.takeOut(sessionId);
    const target = await sessions.load(conversation);
    if (target !== undefined) throw goesOnIn(sessionId, target);
    run.conversation = conversation;
    return await compact(run, sessions);
  } catch (error) {
    if (Defect.is(error)) throw error;
    checkTime(run, error);
    throw asAgentError(error);
  } finally {
    stopTimer();
    unfollow?.();
    sessions.release(undefined);
    run.scope.release?.();
    unlock?.();
  }
}

/** The session's lock, waited for no longer than the compaction may take. */
async function locked(run: TurnRun, host: SessionHost): Promise<() => void> {
  const ticket = host.lock(run.sessionId);
  const outcome = await run.scope.bounded(() => ticket);
  if (outcome.ok) return outcome.value;
  if (!AgentError.is(outcome.error)) void ticket.then((unlock) => unlock());
  throw outcome.error;
}

/** Throws for a compaction that was aborted, or whose time is up. */
function checkTime(run: TurnRun, cause?: unknown): void {
  const { expired, abortReason } = run.control;
  if (expired !== undefined) throw expiredError(run, cause);
  if (abortReason !== undefined) throw new AgentError("runtime", "the compaction was aborted", { cause });
}

async function compact(run: TurnRun, sessions: TurnSessions): Promise<CompactResult> {
  const { conversation, sessionId } = run;
  const { metadata, compaction: record } = conversation;
  if (pendingCalls({ metadata, openCalls: conversation.openCalls() }).length > 0) {
    const text = `calls of session ${safeLabel(sessionId)} wait for a decision`;
    throw new AgentError("session", text, { cause: new SessionError("conflict", text) });
  }
  run.continueFrom(metadata);
  run.assistantMessage = conversation.lastWhere(isReply);
  run.writer = sessions.writer(conversation);
  const before = conversation.view().length;
  await run.writer.open([]);
  const view = await compressContext(run, undefined, "requested");
  checkTime(run);
  const changed = conversation.compaction !== record || run.conversation !== conversation;
  if (changed) await run.writer.close(usedBy(run, metadata));
  return { sessionId: run.sessionId, changed, before, after: changed ? view.length : before };
}

/** What the models of compressors used, as the session's; its last turn stays what it was. */
function usedBy(run: TurnRun, metadata: JsonObject): WriteChange {
  if (run.uncounted.length === 0) return {};
  const before = decodeUsageRecord(metadata[SESSION_KEYS.usage]);
  const turn = before?.turn ?? { turnId: run.turnId, usage: {}, modelCalls: 0, toolCalls: 0 };
  const session = run.uncounted.reduce<Usage>(addUsage, before?.session ?? {});
  return { metadata: { [SESSION_KEYS.usage]: { ...before, session, turn } } };
}

/** What compression needs of a turn: one write at its end, and a busy session refused. */
function compaction(wiring: Wiring, host: SessionHost, sessionId: string): { run: TurnRun; sessions: TurnSessions } {
  const { runtime } = wiring;
  const settings = { ...wiring.settings, persistence: "turn" as const, onBusy: "refuse" as const };
  const own = { ...wiring, settings };
  const turnId = runtime.newId();
  const control = new TurnControl();
  const scope = new InProcessScope({ signal: control.signal, runtime });
  control.attach(scope);
  const caller = wiring.calls.current();
  const flags = { takeOver: false, fork: false, replays: false, onWait: () => undefined };
  const sessions = new TurnSessions({ host, settings, runtime, scope, control, turnId, caller, ...flags });
  const bus = busOf(own, sessionId, turnId);
  bus.endUnstarted();
  const budget = budgetOf(own, caller);
  const startedAt = runtime.now();
  const run = new TurnRun({ wiring: own, turnId, sessionId, startedAt, bus, scope, control, sessions, caller, budget });
  return { run, sessions };
}
