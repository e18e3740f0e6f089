import {
  emptySession,
  type LoadedSession,
  type Revision,
  type SaveOptions,
  type SessionDelta,
} from "../../domain/session.js";
import type { SessionInfo, SessionPage, SessionQuery } from "../../domain/session.js";
import { applyAppend, applySave, matchesMetadata, pageRequest, type StoredState } from "../../domain/session-rules.js";
import { textKey } from "../../domain/text-key.js";
import type { Statements } from "./sqlite-file.js";
import {
  decodeFields,
  decodeMessages,
  type EncodedDelta,
  type EncodedSession,
  keyText,
  numberOf,
  readableMetadata,
  type Row,
} from "./sqlite-rows.js";

/** Reads what follows `known`, or all; to be run in one read transaction. */
export function loadSession(sql: Statements, id: string, known: Revision | undefined): LoadedSession {
  const stored = sql.session.get(textKey(id));
  if (stored === undefined) return emptySession();
  const key = numberOf(stored, "key");
  const revision = numberOf(stored, "revision");
  const from = known !== undefined && known <= revision ? after(sql, key, known) : 0;
  const messages = decodeMessages(sql.messages.iterate(key, from), numberOf(stored, "count") - from, from);
  const { root, metadata } = decodeFields(sql.fields.all(key));
  return { ...root, messages, metadata, revision, ...(from === 0 ? undefined : { from }) };
}

function after(sql: Statements, key: number, known: Revision): number {
  const last = sql.known.get(key, Math.floor(known));
  return last === undefined ? 0 : numberOf(last, "position") + 1;
}

/** Writes the new rows and the session's own; to be run in one write transaction. */
export function appendSession(sql: Statements, id: string, delta: SessionDelta, encoded: EncodedDelta): Revision {
  const stored = sql.session.get(textKey(id));
  const applied = stored && sql.operation.get(numberOf(stored, "key"), encoded.operation);
  const state = { ...stateOf(sql, id, stored), appliedAs: applied && numberOf(applied, "revision") };
  const decision = applyAppend(id, state, delta);
  if (decision.type === "refuse") throw decision.error;
  const { revision } = decision;
  if (decision.type === "applied") return revision;

  const key = stored ? numberOf(stored, "key") : create(sql, id);
  const count = stored ? numberOf(stored, "count") : 0;
  encoded.bodies.forEach((body, index) => sql.addMessage.run(key, count + index, revision, body));
  for (const name of encoded.unset) sql.unsetField.run(key, name);
  for (const { place, name, body } of encoded.fields) sql.setField.run(key, place, name, body);
  sql.addOperation.run(key, encoded.operation, revision);
  sql.update.run(revision, count + encoded.bodies.length, Date.now(), key);
  return revision;
}

/** Rewrites all rows of the session but its operations; to be run in one write transaction. */
export function saveSession(
  sql: Statements,
  id: string,
  session: LoadedSession,
  options: SaveOptions,
  encoded: EncodedSession,
): Revision {
  const stored = sql.session.get(textKey(id));
  const decision = applySave(id, stateOf(sql, id, stored), session, options);
  if (decision.type === "refuse") throw decision.error;
  const { revision } = decision;
  const key = stored ? numberOf(stored, "key") : create(sql, id);
  sql.clearMessages.run(key);
  sql.clearFields.run(key);
  encoded.bodies.forEach((body, position) => sql.addMessage.run(key, position, revision, body));
  for (const { place, name, body } of encoded.fields) sql.setField.run(key, place, name, body);
  sql.update.run(revision, encoded.bodies.length, Date.now(), key);
  return revision;
}

/** Removes every row of the session and keeps its last revision; to be run in one write transaction. */
export function deleteSession(sql: Statements, id: string): void {
  const stored = sql.session.get(textKey(id));
  if (stored === undefined) return;
  const key = numberOf(stored, "key");
  sql.retire.run(textKey(id), numberOf(stored, "revision"));
  for (const clear of [sql.clearMessages, sql.clearFields, sql.clearOperations, sql.clearSession]) clear.run(key);
}

/** A session with a revision of its own is past those of deleted ones. */
function stateOf(sql: Statements, id: string, stored: Row | undefined): Omit<StoredState, "appliedAs"> {
  const revision = stored ? numberOf(stored, "revision") : 0;
  const retired = revision > 0 ? undefined : sql.retired.get(textKey(id));
  return { revision, retired: retired && numberOf(retired, "revision") };
}

function create(sql: Statements, id: string): number {
  return Number(sql.create.run(textKey(id)).lastInsertRowid);
}

/** Reads until the page is full; a filter is applied to rows as they are read. */
export function listSessions(sql: Statements, query: SessionQuery): SessionPage {
  const { limit, before } = pageRequest(query);
  const items: SessionInfo[] = [];
  let last = 0;
  for (const row of sql.newest.iterate(before)) {
    const info = infoOf(sql, row);
    if (!matchesMetadata(info.metadata, query.metadata)) continue;
    if (items.length === limit) return { items, cursor: String(last) };
    items.push(info);
    last = numberOf(row, "write_number");
  }
  return { items };
}

function infoOf(sql: Statements, row: Row): SessionInfo {
  return {
    id: keyText(row, "id"),
    revision: numberOf(row, "revision"),
    count: numberOf(row, "count"),
    metadata: readableMetadata(sql.fields.all(numberOf(row, "key"))),
    updatedAt: numberOf(row, "updated_at"),
  };
}
