import { CompositionError, SessionError } from "../../domain/errors.js";
import { safeLabel } from "../../domain/safe-label.js";
import type { LoadedSession, Revision, SaveOptions, Session } from "../../domain/session.js";
import type { SessionDelta, SessionPage, SessionQuery } from "../../domain/session.js";
import { sessionLabel } from "../../domain/session-rules.js";
import type { SessionStore } from "../../ports/session-store.js";
import { codeOf, describeFailure, PostgresDatabase, type PostgresPool, type Sql } from "./postgres-database.js";
import { migrate, type Tables, tablesIn } from "./postgres-schema.js";
import { appendSession, deleteSession, listSessions, loadSession, saveSession } from "./postgres-session.js";
import { encodeDelta, encodeSession } from "./session-text.js";
import { sessionFailure, timeoutOf } from "./within.js";

/**
 * Either the `url` of a database, or a `pool` of `pg`, which stays the caller's. `schema` holds our tables, `ennead` by default, and is made
 * where it is missing. `timeoutMs` bounds each call on the network, 10,000 by default.
 */
export type PostgresSessionStoreOptions = ({ readonly url: string } | { readonly pool: PostgresPool }) & {
  readonly schema?: string | undefined;
  readonly timeoutMs?: number | undefined;
};

export type { PostgresClient, PostgresPool, PostgresQuery } from "./postgres-database.js";

/**
 * Sessions in a PostgreSQL database, which any number of processes may use at once. The tables are made or brought up to date by the first
 * call, once. An acknowledged write is committed; one that failed with the connection may have been, and an append repeated under its
 * operation id then tells. Whoever made the store closes it.
 */
export class PostgresSessionStore implements SessionStore {
  readonly name: string;
  readonly #tables: Tables;
  readonly #database: PostgresDatabase;
  #migrated: Promise<void> | undefined;
  #closed: Promise<void> | undefined;

  /** Throws `CompositionError("invalid-config")` for options that name no database, or no schema. */
  constructor(options: PostgresSessionStoreOptions) {
    const { source, schema, timeoutMs } = checked(options);
    this.name = `postgres "${safeLabel(schema)}"`;
    this.#tables = tablesIn(schema);
    this.#database = new PostgresDatabase(source, timeoutMs);
  }

  load(id: string, known?: Revision): Promise<LoadedSession> {
    return this.#run("load", sessionLabel(id), () =>
      this.#database.read((sql) => loadSession(sql, this.#tables, id, known)),
    );
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
    return this.#run("load", "the list of sessions", () =>
      this.#database.read((sql) => listSessions(sql, this.#tables, query)),
    );
  }

  delete(id: string): Promise<void> {
    return this.#write(id, () => (sql) => deleteSession(sql, this.#tables, id));
  }

  /** Idempotent; waits for calls under way. Closes the connections the store made, never a pool it was given. Calls made afterwards reject. */
  close(): Promise<void> {
    this.#closed ??= this.#database.close();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** What is to be stored is copied at once: the caller may change it as soon as the method has returned. */
  #write<T>(id: string, prepare: () => (sql: Sql) => Promise<T>): Promise<T> {
    let run: (sql: Sql) => Promise<T>;
    try {
      run = prepare();
    } catch (error) {
      return Promise.reject(this.#failure("save", sessionLabel(id), error));
    }
    return this.#run("save", sessionLabel(id), () => this.#database.write(run));
  }

  async #run<T>(kind: "load" | "save", what: string, call: () => Promise<T>): Promise<T> {
    try {
      if (this.#closed !== undefined) throw new SessionError(kind, "the store is closed");
      await this.#ready();
      return await call();
    } catch (error) {
      throw this.#failure(kind, what, error);
    }
  }

  #failure(kind: "load" | "save", what: string, error: unknown): SessionError {
    const code = codeOf(error);
    if (code === UNDEFINED_TABLE || code === UNDEFINED_SCHEMA) this.#migrated = undefined;
    return sessionFailure(`${what} in ${this.name}`, error, (thrown) => describeFailure(thrown, kind));
  }

  /** A migration that failed is tried again by the next call. */
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
}

const UNDEFINED_TABLE = "42P01";
const UNDEFINED_SCHEMA = "3F000";

function checked({ schema = "ennead", timeoutMs, ...source }: PostgresSessionStoreOptions) {
  const timeout = timeoutOf(timeoutMs);
  if (timeout === undefined) throw new CompositionError("invalid-config", "timeoutMs is a number of milliseconds");
  if ("pool" in source || isPostgresUrl(source.url)) return { source, schema, timeoutMs: timeout };
  // The URL may hold a password, so no part of it is in the text.
  const text = "a Postgres session store needs { url: postgres://... } or { pool } of the package pg";
  throw new CompositionError("invalid-config", text);
}

function isPostgresUrl(url: unknown): url is string {
  return typeof url === "string" && /^postgres(ql)?:\/\//.test(url) && URL.canParse(url);
}
