import { AgentError } from "../domain/errors.js";
import type { JsonObject } from "../domain/json.js";
import type { AgentMessage } from "../domain/message.js";
import { safeLabel } from "../domain/safe-label.js";
import { SESSION_KEYS } from "../domain/session.js";
import { patchMetadata } from "../domain/session-rules.js";
import type { CompressAction } from "../ports/compressor.js";
import { Conversation } from "./conversation.js";
import type { TurnRun } from "./turn-run.js";

const FRAMEWORK_KEYS = Object.values(SESSION_KEYS);

/**
 * Goes on in a new session (S5): the child is locked and written with the turn's lease in all stores, then the parent is told where
 * its conversation went, which ends the parent's lease. The turn is in the child, and says so, once both are stored: where everything is
 * stored at the end, a turn that fails has left its session nowhere. `view` is what the child starts with. Nothing where there is no store.
 */
export async function redirect(
  run: TurnRun,
  action: Extract<CompressAction, { type: "newThread" }>,
  view: readonly AgentMessage[],
): Promise<readonly AgentMessage[] | undefined> {
  if (run.sessions === undefined || action.newSessionId === run.conversation.id) return undefined;
  const parent = run.conversation;
  const child = new Conversation(action.newSessionId);
  await run.sessions.lock(child.id);
  await run.sessions.load(child);
  if (child.revision !== 0) throw new AgentError("session", `session ${safeLabel(child.id)} exists already`);
  const parentWriter = run.writer;
  const writer = run.sessions.writer(child);
  await writer.open(view, { metadata: childMetadata(parent.id, await run.sessions.metadata(parent)) });
  run.conversation = child;
  run.writer = writer;
  await writer.onceStored(async () => {
    await parentWriter.close({ metadata: { [SESSION_KEYS.redirectedTo]: child.id } });
    run.sessionId = child.id;
    run.bus.moveTo(child.id);
    const { messagesBefore, messagesAfter } = action;
    run.bus.publish("sessionRedirect", { from: parent.id, to: child.id, messagesBefore, messagesAfter });
  });
  return child.view();
}

/** The parent's user metadata, and whose child this is. */
function childMetadata(parent: string, metadata: JsonObject): JsonObject {
  return patchMetadata(metadata, { [SESSION_KEYS.parent]: parent }, FRAMEWORK_KEYS);
}
