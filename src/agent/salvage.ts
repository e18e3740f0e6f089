import { pendingCalls } from "../domain/deferred-calls.js";
import { type AgentMessage, isMessage, type ToolMessage } from "../domain/message.js";
import { type OpenCall, openCalls } from "../domain/transcript.js";
import { Conversation } from "./conversation.js";
import { lostResult } from "./missing-results.js";
import { isConflict } from "./stores.js";
import type { TurnRun } from "./turn-run.js";

/**
 * Results of calls that had finished are appended once more, on whatever revision there is, where their call still stands without one: after a
 * conflict in mid-turn, when another turn owns the session (S2), and where a resumed turn fails that stores all at its end, since its
 * decisions are taken (U5, S3); such a turn also tells of the calls it left without one. Nothing else is written; a second conflict is left alone.
 */
export async function salvage(run: TurnRun): Promise<void> {
  const { stores } = run.sessions?.host ?? {};
  const resumedKept = run.writer?.storesAtEnd === true && run.resumedReply !== undefined;
  if (stores === undefined || !(resumedKept || isConflict(run.control.failure?.error))) return;
  await run.scope.step(
    "salvage",
    async () => {
      const latest = new Conversation(run.sessionId);
      latest.take(await stores.load(run.sessionId, undefined));
      const finished = run.added.filter(
        (message): message is ToolMessage => isMessage(message) && message.role === "tool",
      );
      const stored = new Set(latest.stored().map((message) => message.id));
      const ours = new Map(
        finished.filter((message) => !stored.has(message.id)).map((message) => [message.toolCallId, message]),
      );
      const open = openCalls(latest.stored()).filter(
        ({ message: { id } }) => id === run.resumedReply?.id || run.added.some((added) => added.id === id),
      );
      const known = open.flatMap(({ call }) => ours.get(call.id) ?? []);
      const missing = resumedKept ? [...known, ...forgotten(run, latest, open, ours)] : known;
      if (missing.length === 0) return { appended: 0 };
      const delta = { operationId: `${run.turnId}.salvage`, baseRevision: latest.revision, messages: missing };
      await stores.add(run.sessionId, latest.after({ messages: [] }, latest.revision), delta);
      return { appended: missing.length };
    },
    { keep: true, timeoutMs: run.wiring.settings.limits.storeTimeoutMs },
  );
}

/** Results of calls that were decided and then deferred anew by the turn that failed: no record says any more that they wait (U5). */
function forgotten(
  { resumedReply, stamp }: TurnRun,
  { metadata }: Conversation,
  open: readonly OpenCall[],
  ours: ReadonlyMap<string, ToolMessage>,
): AgentMessage[] {
  const waiting = new Set(pendingCalls({ metadata, openCalls: open }).map(({ executionId }) => executionId));
  return open
    .filter(({ message, order }) => message.id === resumedReply?.id && !waiting.has(`${message.id}.${order}`))
    .filter(({ call }) => !ours.has(call.id))
    .map((call) => lostResult(call, stamp));
}
