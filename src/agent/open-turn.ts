import { AgentError } from "../domain/errors.js";
import { isJsonObject } from "../domain/json.js";
import { type AgentMessage, type MessageInput, toolErrorMessage } from "../domain/message.js";
import { SESSION_KEYS } from "../domain/session.js";
import type { ToolListReason } from "../domain/stage.js";
import { UNKNOWN_OUTCOME } from "../domain/transcript.js";
import { type Turn, withEnding } from "../domain/turn.js";
import { decodeUsageRecord } from "../domain/usage-record.js";
import { isConflict } from "./stores.js";
import type { Ended } from "./model-request.js";
import { ListFailure, listingsOf, listTools, withDefs } from "./tool-table.js";
import type { TurnRun } from "./turn-run.js";

const OPEN_ATTEMPTS = 20;

/** Loads the session and makes it this turn's with the first write: results that were missing, the input, and the lease (S2, S4). */
export async function openTurn(run: TurnRun, turn: Turn, input: readonly MessageInput[]): Promise<Turn> {
  const messages = input.map(run.stamp);
  run.undelivered = messages;
  const { sessions } = run;
  for (let attempt = 1; ; attempt++) {
    if (sessions !== undefined) {
      run.conversation = sessions.takeOut(run.sessionId);
      await sessions.load(run.conversation);
      run.writer = sessions.writer(run.conversation);
    }
    if (run.signal.aborted) return turn;
    run.usageBefore = decodeUsageRecord(run.conversation.metadata[SESSION_KEYS.usage])?.session ?? {};
    const repaired = missingResults(run);
    const pending = SESSION_KEYS.deferred in run.conversation.metadata;
    try {
      await run.writer.open([...repaired, ...messages], pending ? { unset: [SESSION_KEYS.deferred] } : {});
      return opened(run, turn, [...repaired, ...messages]);
    } catch (error) {
      if (!isConflict(error) || attempt === OPEN_ATTEMPTS) throw error;
    }
  }
}

function opened(run: TurnRun, turn: Turn, messages: readonly AgentMessage[]): Turn {
  run.undelivered = [];
  for (const message of messages) {
    run.added.push(message);
    run.bus.publish("messageAdded", { message });
  }
  return turn;
}

/** An error result for every stored call without one; a call that waited for a decision is rejected by the new input (U5). */
function missingResults(run: TurnRun): AgentMessage[] {
  const deferred = run.conversation.metadata[SESSION_KEYS.deferred];
  const waiting = new Set(
    Array.isArray(deferred)
      ? deferred.map((record: unknown) => (isJsonObject(record) ? record["executionId"] : undefined))
      : [],
  );
  return run.conversation.openCalls().map(({ message, order, call }) => {
    if (waiting.has(`${message.id}.${order}`))
      return run.stamp(toolErrorMessage(call, "rejected (needs approval)", "not-started"));
    return run.stamp(toolErrorMessage(call, UNKNOWN_OUTCOME, "unknown"));
  });
}

/** Lists the tools, lets hooks choose, and publishes what the turn has. */
export async function resolveTools(run: TurnRun, turn: Turn, reason: ToolListReason): Promise<Turn> {
  if (turn.endings.failed !== undefined || turn.endings.hookAborted !== undefined || run.signal.aborted) return turn;
  const { lister, providers } = run.wiring;
  if (run.stages.has("beforeTools")) await run.stages.forward({ kind: "beforeTools", reason });
  run.toolsVersion = lister.version;
  const { signal, sessionId, turnId } = run;
  const outcome = await run.scope.step(`tools#${run.round}`, () =>
    listTools(providers, { signal, sessionId, turnId }, (failure) => run.secondary(failure)),
  );
  if (!outcome.ok) throw listFailure(outcome.error);
  run.table = lister.table(listingsOf(providers, outcome.value));
  const ended = run.stages.has("chooseTools") ? await chooseTools(run, reason) : undefined;
  run.shown = run.table;
  run.bus.publish("toolsResolved", { tools: [...run.table.defs] });
  if (ended === undefined) return turn;
  if (ended.kind === "stop") return withEnding(turn, { stopped: ended.reason });
  return withEnding(turn, { hookAborted: { reason: ended.reason, error: undefined } });
}

function listFailure(error: unknown): unknown {
  const text = error instanceof ListFailure ? error.message : "the tools could not be listed";
  return new AgentError("runtime", text, { cause: error });
}

async function chooseTools(
  run: TurnRun,
  reason: ToolListReason,
): Promise<Pick<Ended["ended"], "kind" | "reason"> | undefined> {
  const { stage, outcome } = await run.stages.forward({ kind: "chooseTools", reason, tools: run.table.defs });
  if (stage.tools !== run.table.defs) run.table = withDefs(run.table, stage.tools);
  if (outcome?.kind === "stop" || outcome?.kind === "abort") return { kind: outcome.kind, reason: outcome.reason };
  return undefined;
}
