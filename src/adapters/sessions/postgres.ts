import { SessionError, type SessionErrorKind } from "../../domain/errors.js";
import { safeLabel } from "../../domain/safe-label.js";
import type { LoadedSession, Revision, SaveOptions, Session } from "../../domain/session.js";
import type { SessionDelta, SessionPage, SessionQuery } from "../../domain/session.js";
import { sessionLabel } from "../../domain/session-rules.js";
import type { SessionStore } from "../../ports/session-store.js";
import { codeOf, describeFailure, PostgresDatabase, type Sql } from "../databases/postgres-database.js";
import { type PostgresOptions, postgresPlace } from "../databases/postgres-options.js";
import { type Described, StoreCalls } from "../databases/store-calls.js";
import { migrate, type Tables, tablesIn } from "./postgres-schema.js";
import { appendSession, deleteSession, listSessions, loadSession, saveSession } from "./postgres-session.js";
import { encodeDelta, encodeSession } from "./session-text.js";

/** Where the database is. */
export type PostgresSessionStoreOptions = PostgresOptions;

export type { PostgresClient, PostgresPool, PostgresQuery } from "../databases/postgres-database.js";

/**
 * Sessions in a PostgreSQL database, which any number of processes may use at once. The tables are made or brought up to date by the first
 * call, once. An acknowledged write is committed; one that failed with the connection may have been, and an append repeated under its
 * operation id then tells. Whoever made the store closes it.
 */
export class PostgresSessionStore implements SessionStore {
  readonly name: string;
  readonly #tables: Tables;
  readonly #database: PostgresDatabase;
  readonly #calls: StoreCalls<SessionErrorKind>;
  #migrated: Promise<void> | undefined;

  /** Throws `CompositionError("invalid-config")` for options that name no database, no schema or no duration. */
  constructor(options: PostgresSessionStoreOptions) {
    const { source, schema, timeoutMs } = postgresPlace("a Postgres session store", options);
    this.name = `postgres "${safeLabel(schema)}"`;
    this.#tables = tablesIn(schema);
    this.#database = new PostgresDatabase(source, timeoutMs);
    this.#calls = new StoreCalls(SessionError, this.name, (error, kind) => this.#describe(error, kind));
  }

  load(id: string, known?: Revision): Promise<LoadedSession> {
    return this.#read(sessionLabel(id), (sql) => loadSession(sql, this.#tables, id, known));
  }

  save(id: string, session: Session, options: SaveOptions = {}): Promise<Revision> {
    return this.#write(id, () => {
      const encoded = encodeSession(session);
      return (sql) => saveSession(sql, this.#tables, id, session, options, encoded);
    });
  }

  append(id: string, delta: SessionDelta): Promise<Revision> {
    return this.#write(id, () => {
      const encoded = encodeDelta(delta);
      return (sql) => appendSession(sql, this.#tables, id, delta, encoded);
    });
  }

  list(query: SessionQuery = {}): Promise<SessionPage> {
    return this.#read("the list of sessions", (sql) => listSessions(sql, this.#tables, query));
  }

  delete(id: string): Promise<void> {
    return this.#write(id, () => (sql) => deleteSession(sql, this.#tables, id));
  }

  /** Idempotent; waits for calls under way. Closes the connections the store made, never a pool it was given. Calls made afterwards reject. */
  close(): Promise<void> {
    return this.#calls.close(() => this.#database.close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #read<T>(what: string, run: (sql: Sql) => Promise<T>): Promise<T> {
    return this.#calls.run("load", what, async () => {
      await this.#ready();
      return this.#database.read(run);
    });
  }

  /** What `prepare` copies is copied before anything is awaited. */
  #write<T>(id: string, prepare: () => (sql: Sql) => Promise<T>): Promise<T> {
    return this.#calls.run("save", sessionLabel(id), async () => {
      const run = prepare();
      await this.#ready();
      return this.#database.write(run);
    });
  }

  /** A migration that failed is tried again by the next call, and so is one whose tables are gone. */
  async #ready(): Promise<void> {
    this.#migrated ??= this.#database.write((sql) => migrate(sql, this.#tables));
    const migrated = this.#migrated;
    try {
      await migrated;
    } catch (error) {
      if (this.#migrated === migrated) this.#migrated = undefined;
      throw error;
    }
  }

  #describe(error: unknown, kind: SessionErrorKind): Described<SessionErrorKind> {
    const code = codeOf(error);
    if (code === UNDEFINED_TABLE || code === UNDEFINED_SCHEMA) this.#migrated = undefined;
    // A key that is there although the session's own row says otherwise is damage too.
    if (code !== undefined && CORRUPT.has(code)) return { kind: "corrupt", text: `error ${code}` };
    return { kind, text: describeFailure(error) };
  }
}

const CORRUPT = new Set(["XX001", "XX002", "23505"]);
const UNDEFINED_TABLE = "42P01";
const UNDEFINED_SCHEMA = "3F000";
