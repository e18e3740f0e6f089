import { pendingRecord } from "../domain/deferred-calls.js";
import { type AgentMessage, isMessage, type ToolMessage } from "../domain/message.js";
import type { DeferredCall } from "../domain/session.js";
import { type OpenCall, openCalls } from "../domain/transcript.js";
import { Conversation } from "./conversation.js";
import { lostResult } from "./missing-results.js";
import { isConflict } from "./stores.js";
import type { TurnRun } from "./turn-run.js";

/**
 * Results of calls that had finished are appended once more, on whatever revision there is, where their call still stands without one: after a
 * conflict in mid-turn, when another turn owns the session (S2), and where a resumed turn fails that stores all at its end, since its
 * decisions are taken (U5, S3); such a turn also says which calls wait again, and which have none. Nothing else is written; a second conflict is left alone.
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
      const { messages, pending } = resumedKept ? leftOpen(run, open, ours) : { messages: [], pending: [] };
      const missing = [...known, ...messages];
      if (missing.length === 0 && pending.length === 0) return { appended: 0 };
      const record = pending.length > 0 ? pendingRecord(pending, run.deferringHooks) : undefined;
      const delta = {
        operationId: `${run.turnId}.salvage`,
        baseRevision: latest.revision,
        messages: missing,
        ...record,
      };
      await stores.add(run.sessionId, latest.after({ messages: [] }, latest.revision), delta);
      return { appended: missing.length };
    },
    { keep: true, timeoutMs: run.wiring.settings.limits.storeTimeoutMs },
  );
}

/** Calls of the resumed reply without a result: those deferred anew go on waiting, as nothing else says that they do (U5); of the others nobody knows. */
function leftOpen(
  { resumedReply, deferred, stamp }: TurnRun,
  open: readonly OpenCall[],
  ours: ReadonlyMap<string, ToolMessage>,
): { messages: AgentMessage[]; pending: DeferredCall[] } {
  const left = new Map(
    open
      .filter(({ message, call }) => message.id === resumedReply?.id && !ours.has(call.id))
      .map((one) => [`${one.message.id}.${one.order}`, one]),
  );
  const pending = deferred.filter(({ executionId }) => left.delete(executionId));
  return { messages: [...left.values()].map((one) => lostResult(one, stamp)), pending };
}
