import { isMessage, type ToolMessage } from "../domain/message.js";
import { openCalls } from "../domain/transcript.js";
import { Conversation } from "./conversation.js";
import { isConflict } from "./stores.js";
import type { TurnRun } from "./turn-run.js";

/**
 * After a conflict in mid-turn another turn owns the session: results of calls that had finished are appended once more on the newer
 * revision where their call still stands without one (S2). Nothing else is written; a second conflict is left alone.
 */
export async function salvage(run: TurnRun): Promise<void> {
  const { sessions, control } = run;
  const { stores } = sessions?.host ?? {};
  if (sessions === undefined || stores === undefined || !isConflict(control.failure?.error)) return;
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
      const missing = openCalls(latest.stored())
        .filter(({ message }) => run.added.some((added) => added.id === message.id))
        .flatMap(({ call }) => ours.get(call.id) ?? []);
      if (missing.length === 0) return { appended: 0 };
      const delta = { operationId: `${run.turnId}.salvage`, baseRevision: latest.revision, messages: missing };
      await stores.add(run.sessionId, latest.after({ messages: [] }, latest.revision), delta);
      return { appended: missing.length };
    },
    { keep: true },
  );
}
