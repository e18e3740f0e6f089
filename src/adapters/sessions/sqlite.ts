import { checkValues, wholeNumber } from "../../domain/check-values.js";
import { CompositionError, SessionError } from "../../domain/errors.js";
import { isJsonObject } from "../../domain/json.js";
import { checkFields } from "../../domain/known-fields.js";
import { safeLabel } from "../../domain/safe-label.js";
import type {
  LoadedSession,
  Revision,
  SaveOptions,
  Session,
  SessionDelta,
  SessionPage,
  SessionQuery,
} from "../../domain/session.js";
import { sessionLabel } from "../../domain/session-rules.js";
import type { SessionStore } from "../../ports/session-store.js";
import { isCorruption } from "../databases/sqlite-database.js";
import { openSessions, type SqliteFile } from "./sqlite-file.js";
import { encodeDelta, encodeSession } from "./sqlite-rows.js";
import { appendSession, deleteSession, listSessions, loadSession, saveSession } from "./sqlite-session.js";

/** `busyTimeoutMs` bounds how long a write waits for other processes; 5000 by default. */
export type SqliteSessionStoreOptions = { readonly path: string; readonly busyTimeoutMs?: number };

const WHAT = "a SQLite session store";

function checkedOptions(options: SqliteSessionStoreOptions): SqliteSessionStoreOptions {
  if (!isJsonObject(options) || typeof options.path !== "string" || options.path === "")
    throw new CompositionError("invalid-config", `${WHAT} needs { path } with the path of its file`);
  checkFields(WHAT, options, ["path", "busyTimeoutMs"]);
  checkValues(WHAT, options, { busyTimeoutMs: wholeNumber(0) });
  return options;
}

/**
 * Sessions in one SQLite file, which many processes may use at once. The file is opened by the first call and created where it is missing, for its
 * owner alone, its directory is not; Node 22 then warns once that its SQLite is experimental. An acknowledged write survives the end of the process. Calls are
 * synchronous inside, so a writer that waits for another process holds up this one too. Whoever made the store closes it.
 */
export class SqliteSessionStore implements SessionStore {
  readonly name: string;
  readonly #path: string;
  readonly #busyTimeoutMs: number;
  #file: SqliteFile | "closed" | undefined;

  /** Throws `CompositionError("invalid-config")` for options that cannot be. */
  constructor(options: SqliteSessionStoreOptions) {
    const { path, busyTimeoutMs = 5_000 } = checkedOptions(options);
    this.name = `sqlite "${safeLabel(path)}"`;
    this.#path = path;
    this.#busyTimeoutMs = busyTimeoutMs;
  }

  async load(id: string, known?: Revision): Promise<LoadedSession> {
    return this.#run("load", sessionLabel(id), (file) => file.read((sql) => loadSession(sql, id, known)));
  }

  async save(id: string, session: Session, options: SaveOptions = {}): Promise<Revision> {
    return this.#run("save", sessionLabel(id), (file) => {
      const encoded = encodeSession(session);
      return file.write((sql) => saveSession(sql, id, session, options, encoded));
    });
  }

  async append(id: string, delta: SessionDelta): Promise<Revision> {
    return this.#run("save", sessionLabel(id), (file) => {
      const encoded = encodeDelta(delta);
      return file.write((sql) => appendSession(sql, id, delta, encoded));
    });
  }

  async list(query: SessionQuery = {}): Promise<SessionPage> {
    return this.#run("load", "the list of sessions", (file) => file.read((sql) => listSessions(sql, query)));
  }

  async delete(id: string): Promise<void> {
    this.#run("save", sessionLabel(id), (file) => file.write((sql) => deleteSession(sql, id)));
  }

  /** Idempotent. Calls made afterwards reject. */
  async close(): Promise<void> {
    const file = this.#file;
    this.#file = "closed";
    if (file !== "closed") file?.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #run<T>(kind: "load" | "save", what: string, run: (file: SqliteFile) => T): T {
    try {
      if (this.#file === "closed") throw new SessionError(kind, "the store is closed");
      this.#file ??= openSessions(this.#path, this.#busyTimeoutMs);
      return run(this.#file);
    } catch (cause) {
      if (cause instanceof SessionError && cause.kind === "conflict") throw cause;
      const place = `${what} in ${this.name}`;
      if (cause instanceof SessionError) throw new SessionError(cause.kind, `${place}: ${cause.message}`, { cause });
      throw new SessionError(isCorruption(cause) ? "corrupt" : kind, `${place}: ${safeLabel(String(cause))}`, {
        cause,
      });
    }
  }
}
