import { SessionError } from "../../domain/errors.js";
import { SqliteDatabase, type SqliteStatements } from "../databases/sqlite-database.js";

/** Tables carry our name, so that an application may keep its own beside them. Bodies, ids and keys are JSON text where they must be. */
const SCHEMA = `
  CREATE TABLE ennead_sessions (
    key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, revision INTEGER NOT NULL, count INTEGER NOT NULL,
    write_number INTEGER NOT NULL, updated_at INTEGER NOT NULL) STRICT;
  CREATE INDEX ennead_sessions_newest ON ennead_sessions (write_number);
  CREATE TABLE ennead_messages (
    session INTEGER NOT NULL, position INTEGER NOT NULL, revision INTEGER NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (session, position)) STRICT;
  CREATE TABLE ennead_fields (
    session INTEGER NOT NULL, place TEXT NOT NULL, name TEXT NOT NULL, body TEXT NOT NULL,
    UNIQUE (session, place, name)) STRICT;
  CREATE TABLE ennead_operations (
    session INTEGER NOT NULL, operation TEXT NOT NULL, revision INTEGER NOT NULL,
    PRIMARY KEY (session, operation)) STRICT, WITHOUT ROWID;
  CREATE TABLE ennead_deleted (id TEXT PRIMARY KEY, revision INTEGER NOT NULL) STRICT, WITHOUT ROWID;`;

const NEXT = "(SELECT coalesce(max(write_number), 0) + 1 FROM ennead_sessions)";

const SQL = {
  session: "SELECT * FROM ennead_sessions WHERE id = ?",
  newest: "SELECT * FROM ennead_sessions WHERE write_number < ? ORDER BY write_number DESC",
  create: `INSERT INTO ennead_sessions (id, revision, count, write_number, updated_at) VALUES (?, 0, 0, ${NEXT}, 0)`,
  update: `UPDATE ennead_sessions SET revision = ?, count = ?, updated_at = ?, write_number = ${NEXT} WHERE key = ?`,
  messages: "SELECT body FROM ennead_messages WHERE session = ? AND position >= ? ORDER BY position",
  // Walks back from the end over what is new, whatever the length of the session; a save makes every message new.
  known: "SELECT position FROM ennead_messages WHERE session = ? AND revision <= ? ORDER BY position DESC LIMIT 1",
  addMessage: "INSERT INTO ennead_messages (session, position, revision, body) VALUES (?, ?, ?, ?)",
  fields: "SELECT place, name, body FROM ennead_fields WHERE session = ? ORDER BY rowid",
  setField: `INSERT INTO ennead_fields (session, place, name, body) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET body = excluded.body`,
  unsetField: "DELETE FROM ennead_fields WHERE session = ? AND place = 'metadata' AND name = ?",
  operation: "SELECT revision FROM ennead_operations WHERE session = ? AND operation = ?",
  addOperation: "INSERT INTO ennead_operations (session, operation, revision) VALUES (?, ?, ?)",
  clearMessages: "DELETE FROM ennead_messages WHERE session = ?",
  clearFields: "DELETE FROM ennead_fields WHERE session = ?",
  clearOperations: "DELETE FROM ennead_operations WHERE session = ?",
  clearSession: "DELETE FROM ennead_sessions WHERE key = ?",
  // The last revision of a deleted session stays, so that no later session of the id has one as low.
  retired: "SELECT revision FROM ennead_deleted WHERE id = ?",
  retire: `INSERT INTO ennead_deleted (id, revision) VALUES (?, ?)
    ON CONFLICT DO UPDATE SET revision = max(revision, excluded.revision)`,
} as const;

type Name = keyof typeof SQL;

/** The statements of the store, prepared once. */
export type Statements = SqliteStatements<Name>;

/** An open file with the tables of sessions. */
export type SqliteFile = SqliteDatabase<Name>;

const MIGRATIONS: readonly string[] = [SCHEMA];

/** Creates file and tables where missing and migrates older ones; throws what `node:sqlite` throws, and `SessionError("load")` for a newer schema. */
export function openSessions(path: string, busyTimeoutMs: number, migrations = MIGRATIONS): SqliteFile {
  const newer = (text: string): Error => new SessionError("load", text);
  return new SqliteDatabase(path, { busyTimeoutMs }, { part: "sessions", migrations, sql: SQL, newer });
}
