import type { JsonObject } from "../../domain/json.js";
import type { LoadedSession, SessionDelta } from "../../domain/session.js";
import { storable } from "../../domain/session-rules.js";
import { textKey } from "../../domain/text-key.js";
import { encodeMessage } from "./stored-text.js";

/** What a whole session consists of, ready to be stored; `later` holds the root fields of a newer version. */
export type EncodedSession = {
  readonly bodies: readonly string[];
  readonly metadata: JsonObject;
  readonly compaction: string | undefined;
  readonly later: string | undefined;
};

/** What a delta adds and changes, ready to be stored. */
export type EncodedDelta = {
  readonly operation: string;
  readonly bodies: readonly string[];
  readonly metadata: JsonObject | undefined;
  readonly unset: readonly string[];
  readonly compaction: string | undefined;
};

/** Throws `SessionError("save")` for what JSON cannot hold; to be called before anything is locked or sent. */
export function encodeSession(session: LoadedSession): EncodedSession {
  const { messages, metadata, compaction, revision: _revision, from: _from, ...later } = session;
  return {
    bodies: messages.map(encodeMessage),
    metadata: storable(metadata, "metadata"),
    compaction: textOf(compaction, "compaction"),
    later: Object.keys(later).length === 0 ? undefined : textOf(later, "session"),
  };
}

/** Like `encodeSession`, for an append. */
export function encodeDelta(delta: SessionDelta): EncodedDelta {
  return {
    operation: textKey(delta.operationId),
    bodies: delta.messages.map(encodeMessage),
    metadata: delta.metadata && storable(delta.metadata, "metadata"),
    unset: delta.unset ?? [],
    compaction: textOf(delta.compaction, "compaction"),
  };
}

function textOf(value: object | undefined, place: string): string | undefined {
  return value && JSON.stringify(storable(value, place));
}
