import type { DatabaseSync, StatementSync } from "node:sqlite";
import { SessionError } from "../../domain/errors.js";

const VERSION = 1;

/** Tables carry our name, so that an application may keep its own beside them. Bodies, ids and keys are JSON text where they must be. */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS ennead_schema (part TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT;
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
  CREATE TABLE ennead_deleted (id TEXT PRIMARY KEY, revision INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  INSERT INTO ennead_schema VALUES ('sessions', ${VERSION});`;

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

const BUSY = 5;
const CORRUPT = 11;
const NOT_A_DATABASE = 26;

/** True for an error of `node:sqlite` that says the bytes of the file are no sound database. */
export function isCorruption(error: unknown): boolean {
  const code = resultCode(error);
  return code === CORRUPT || code === NOT_A_DATABASE;
}

function resultCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("errcode" in error) || typeof error.errcode !== "number") return undefined;
  return error.errcode & 0xff;
}

/** The statements of the store, prepared once. */
export type Statements = Readonly<Record<keyof typeof SQL, StatementSync>>;

/** An open database file with our tables. Every transaction is synchronous, so none can be held across an `await`. */
export class SqliteFile {
  readonly sql: Statements;
  readonly #database: DatabaseSync;

  /** Creates file and tables where missing; throws what `node:sqlite` throws, and `SessionError("load")` for a newer schema. */
  constructor(path: string, busyTimeoutMs: number) {
    // Not an import: loading this module must neither fail nor warn where the store is never used.
    const sqlite = process.getBuiltinModule("node:sqlite");
    this.#database = new sqlite.DatabaseSync(path, { timeout: busyTimeoutMs });
    try {
      this.#prepareSchema();
      const prepared = Object.entries(SQL).map(([name, text]) => [name, this.#database.prepare(text)] as const);
      this.sql = Object.fromEntries(prepared) as Statements;
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  /** Several reads of one moment. */
  read<T>(run: (sql: Statements) => T): T {
    return this.#transaction("BEGIN", () => run(this.sql));
  }

  /** All or nothing; the lock is taken at once, since a later upgrade could not wait for another writer. */
  write<T>(run: (sql: Statements) => T): T {
    return this.#transaction("BEGIN IMMEDIATE", () => run(this.sql));
  }

  close(): void {
    this.#database.close();
  }

  #transaction<T>(begin: string, run: () => T): T {
    this.#database.exec(begin);
    try {
      const result = run();
      this.#database.exec("COMMIT");
      return result;
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      throw error;
    }
  }

  #prepareSchema(): void {
    if (this.#version() === undefined) {
      this.#transaction("BEGIN IMMEDIATE", () => {
        if (this.#version() === undefined) this.#database.exec(SCHEMA);
      });
    }
    const version = this.#version();
    if (version !== VERSION) {
      const text = `the file has schema ${String(version)}, this version of the package reads ${VERSION}`;
      throw new SessionError("load", text);
    }
    this.#useWriteAheadLog();
  }

  /** Readers and the writer then never wait for one another. The file remembers it. */
  #useWriteAheadLog(): void {
    try {
      this.#database.exec("PRAGMA journal_mode = WAL");
    } catch (error) {
      // SQLite does not wait here: who opens the file in the same moment is refused, and the switch is left to the other or to the next.
      if (resultCode(error) !== BUSY) throw error;
    }
  }

  #version(): unknown {
    const table = this.#database.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'ennead_schema'");
    if (table.get() === undefined) return undefined;
    return this.#database.prepare("SELECT version FROM ennead_schema WHERE part = 'sessions'").get()?.["version"];
  }
}
