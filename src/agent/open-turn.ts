import { pendingRecord } from "../domain/deferred-calls.js";
import { AgentError } from "../domain/errors.js";
import type { AgentMessage, MessageInput } from "../domain/message.js";
import { SESSION_KEYS } from "../domain/session.js";
import type { Turn } from "../domain/turn.js";
import { missingResults } from "./missing-results.js";
import type { WriteChange } from "./session-writer.js";
import { isConflict } from "./stores.js";
import type { TurnRun } from "./turn-run.js";
import { goesOnIn, type TurnSessions } from "./turn-sessions.js";

/** More than any number of writers can make one lose: each loss is another's success. */
const OPEN_ATTEMPTS = 1_000;

const NOTHING_PENDING = pendingRecord([], new Map());

/** What the first write of a turn holds. */
export type FirstWrite = {
  readonly messages: readonly AgentMessage[];
  readonly change?: WriteChange;
  /** Whether the change takes something that nobody else may take. */
  readonly claim?: boolean;
};

/** Loads the session and makes it this turn's with the first write: results that were missing, the input, and the lease (S2, S4). */
export async function openTurn(run: TurnRun, turn: Turn, input: readonly MessageInput[]): Promise<Turn> {
  const messages = input.map(run.stamp);
  run.undelivered = messages;
  const limit = run.output?.refusal(...messages);
  if (limit !== undefined) throw new AgentError("output-limit", "the input alone is beyond an output limit", { limit });
  await takeSession(run, loadGiven, () => {
    const { metadata } = run.conversation;
    const missing = missingResults({ metadata, openCalls: run.conversation.openCalls() }, run.stamp);
    const change = SESSION_KEYS.deferred in metadata ? NOTHING_PENDING : {};
    return { messages: [...missing, ...messages], change };
  });
  return turn;
}

/**
 * Loads with `load`, and writes what `plan` makes of what is there; again as often as somebody else wrote meanwhile. False after an abort,
 * when nothing was written.
 */
export async function takeSession(
  run: TurnRun,
  load: (run: TurnRun, sessions: TurnSessions) => Promise<void>,
  plan: () => FirstWrite,
): Promise<boolean> {
  const { sessions } = run;
  for (let attempt = 1; ; attempt++) {
    if (sessions !== undefined) {
      await load(run, sessions);
      run.writer = sessions.writer(run.conversation);
    }
    if (run.signal.aborted) return false;
    run.continueFrom(run.conversation.metadata);
    const { messages, change, claim = false } = plan();
    try {
      await run.writer.open(messages, change, { claim });
      accept(run, messages);
      return true;
    } catch (error) {
      if (!isConflict(error) || attempt === OPEN_ATTEMPTS) throw error;
      sessions?.host.keep(run.conversation);
    }
  }
}

/** What was accepted for the turn is in the session now. */
export function accept(run: TurnRun, messages: readonly AgentMessage[]): void {
  run.accepted = run.accepted.concat(run.undelivered);
  run.undelivered = [];
  run.add(messages);
  for (const message of messages) run.bus.publish("messageAdded", { message });
}

/** A session that was redirected is refused: its conversation goes on elsewhere (S5). */
async function loadGiven(run: TurnRun, sessions: TurnSessions): Promise<void> {
  run.conversation = sessions.takeOut(run.sessionId);
  const target = await sessions.load(run.conversation);
  if (target === undefined) return;
  throw goesOnIn(run.sessionId, target);
}
