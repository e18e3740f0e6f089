import { CompositionError } from "../../domain/errors.js";
import { checkFields } from "../../domain/known-fields.js";
import { safeLabel } from "../../domain/safe-label.js";
import type { LoadedSession, Revision, SaveOptions, Session } from "../../domain/session.js";
import type { SessionDelta, SessionPage, SessionQuery } from "../../domain/session.js";
import { sessionLabel } from "../../domain/session-rules.js";
import type { SessionStore } from "../../ports/session-store.js";
import { codeOf, describeFailure, PostgresDatabase, type PostgresPool, type Sql } from "./postgres-database.js";
import { migrate, type Tables, tablesIn } from "./postgres-schema.js";
import { appendSession, deleteSession, listSessions, loadSession, saveSession } from "./postgres-session.js";
import { encodeDelta, encodeSession } from "./session-text.js";
import { type Described, StoreCalls } from "./store-calls.js";
import { timeoutOf } from "./within.js";

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
  readonly #calls: StoreCalls;
  #migrated: Promise<void> | undefined;

  /** Throws `CompositionError("invalid-config")` for options that name no database, no schema or no duration. */
  constructor(options: PostgresSessionStoreOptions) {
    const { source, schema, timeoutMs } = checked(options);
    this.name = `postgres "${safeLabel(schema)}"`;
    this.#tables = tablesIn(schema);
    this.#database = new PostgresDatabase(source, timeoutMs);
    this.#calls = new StoreCalls(this.name, (error, kind) => this.#describe(error, kind));
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

  #describe(error: unknown, kind: "load" | "save"): Described {
    const code = codeOf(error);
    if (code === UNDEFINED_TABLE || code === UNDEFINED_SCHEMA) this.#migrated = undefined;
    return describeFailure(error, kind);
  }
}

const WHAT = "a Postgres session store";
const UNDEFINED_TABLE = "42P01";
const UNDEFINED_SCHEMA = "3F000";

type Given = Readonly<Partial<Record<"url" | "pool" | "schema" | "timeoutMs", unknown>>>;

function checked(options: PostgresSessionStoreOptions) {
  checkFields(WHAT, options, ["url", "pool", "schema", "timeoutMs"]);
  const { schema = "ennead", timeoutMs, url, pool }: Given = options;
  if (typeof schema !== "string") throw new CompositionError("invalid-config", "schema is the name of a schema");
  const rest = { schema, timeoutMs: timeoutOf(timeoutMs) };
  if (isPool(pool)) return { source: { pool }, ...rest };
  if (isPostgresUrl(url)) return { source: { url }, ...rest };
  // The URL may hold a password, so no part of it is in the text.
  throw new CompositionError("invalid-config", `${WHAT} needs { url: postgres://... } or { pool } of the package pg`);
}

function isPool(pool: unknown): pool is PostgresPool {
  return typeof pool === "object" && pool !== null && "connect" in pool && typeof pool.connect === "function";
}

function isPostgresUrl(url: unknown): url is string {
  return typeof url === "string" && /^postgres(ql)?:\/\//.test(url) && URL.canParse(url);
}
