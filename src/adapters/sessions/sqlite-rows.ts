import type { SQLOutputValue } from "node:sqlite";
import { setOwn } from "../../domain/adopt.js";
import type { Json, JsonObject } from "../../domain/json.js";
import type { AgentMessage } from "../../domain/message.js";
import type { LoadedSession, Session, SessionDelta } from "../../domain/session.js";
import { storable } from "../../domain/session-rules.js";
import { textKey } from "../../domain/text-key.js";
import { damaged, decodeBodies, decodeJson, encodeMessage, keyOf, soundCompaction } from "./stored-text.js";

/** A row as `node:sqlite` gives it out. */
export type Row = Readonly<Record<string, SQLOutputValue>>;

/** A field of a session besides its messages, one row each, so that a patch costs its own keys only. */
export type FieldRow = { readonly place: "root" | "metadata"; readonly name: string; readonly body: string };

/** The id or key in a column, as it was before `textKey`. */
export function keyText(row: Row, column: string): string {
  return keyOf(textOf(row, column), column);
}

/** The number in a column; anything else there is `SessionError("corrupt")`. */
export function numberOf(row: Row, column: string): number {
  const value = row[column];
  if (typeof value !== "number") throw damaged(column);
  return value;
}

/** What a session consists of, as text. */
export type EncodedSession = { readonly bodies: readonly string[]; readonly fields: readonly FieldRow[] };

/** What a delta writes, as text. */
export type EncodedDelta = EncodedSession & { readonly operation: string; readonly unset: readonly string[] };

/** Throws `SessionError("save")` for what JSON cannot hold; to be called before any lock is taken. */
export function encodeDelta(delta: SessionDelta): EncodedDelta {
  const compaction = delta.compaction === undefined ? {} : { compaction: delta.compaction };
  return {
    operation: textKey(delta.operationId),
    bodies: delta.messages.map(encodeMessage),
    fields: [...fieldRows("metadata", delta.metadata ?? {}), ...fieldRows("root", compaction)],
    unset: (delta.unset ?? []).map(textKey),
  };
}

/** Like `encodeDelta`, for a whole session; unknown root fields are kept. */
export function encodeSession(session: LoadedSession): EncodedSession {
  const { messages, metadata, revision: _revision, from: _from, ...root } = session;
  return {
    bodies: messages.map(encodeMessage),
    fields: [...fieldRows("metadata", metadata), ...fieldRows("root", root)],
  };
}

function fieldRows(place: FieldRow["place"], fields: object): FieldRow[] {
  const rows = Object.entries(storable(fields, place === "root" ? "session" : place));
  return rows.map(([name, value]) => ({ place, name: textKey(name), body: JSON.stringify(value) }));
}

/** Decodes each row as it is read. Throws `SessionError("corrupt")` unless there are `count` sound messages. */
export function decodeMessages(rows: Iterable<Row>, count: number, from: number): AgentMessage[] {
  return decodeBodies(bodiesIn(rows), count, from);
}

function* bodiesIn(rows: Iterable<Row>): Generator<unknown, void> {
  for (const row of rows) yield row["body"];
}

/** Metadata and the root fields of a session; a damaged one is `SessionError("corrupt")`. */
export function decodeFields(rows: readonly Row[]): { readonly metadata: JsonObject; readonly root: Partial<Session> } {
  const metadata: Record<string, Json> = {};
  const root: Record<string, Json> = {};
  for (const row of rows) setField(row["place"] === "metadata" ? metadata : root, row);
  const { compaction } = root;
  if (compaction !== undefined) soundCompaction(compaction);
  return { metadata, root };
}

/** Metadata for a list, which must show a damaged session too: what cannot be read is left out, `load` reports it. */
export function readableMetadata(rows: readonly Row[]): JsonObject {
  const metadata: Record<string, Json> = {};
  for (const row of rows) {
    if (row["place"] !== "metadata") continue;
    try {
      setField(metadata, row);
    } catch {}
  }
  return metadata;
}

function setField(target: Record<string, Json>, row: Row): void {
  const name = keyText(row, "name");
  setOwn(target, name, decodeJson(textOf(row, "body"), name));
}

function textOf(row: Row, column: string): string {
  const value = row[column];
  if (typeof value !== "string") throw damaged(column);
  return value;
}
