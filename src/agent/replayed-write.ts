import { isJsonObject } from "../domain/json.js";
import { type Revision, SESSION_KEYS } from "../domain/session.js";
import type { Conversation } from "./conversation.js";
import { type CompareDelta, isStoreConflict, type Stores } from "./stores.js";

/**
 * A write of a turn whose steps are replayed. Heartbeats are in no record, so the store may have moved on since the last write that is: where the turn
 * still has its lease and no message was added, nobody else did that, and the write goes on top.
 */
export async function writeReplayed(
  stores: Stores,
  conversation: Conversation,
  turnId: string,
  delta: CompareDelta,
): Promise<Revision> {
  try {
    return await stores.write(conversation, delta);
  } catch (error) {
    if (!isStoreConflict(error)) throw error;
    const { revision, messages, metadata } = await stores.load(conversation.id, undefined);
    const lease = metadata[SESSION_KEYS.turn];
    const own = isJsonObject(lease) && lease["turnId"] === turnId && messages.length === conversation.count;
    if (!own || revision === delta.baseRevision) throw error;
    return stores.write(conversation, { ...delta, baseRevision: revision });
  }
}
