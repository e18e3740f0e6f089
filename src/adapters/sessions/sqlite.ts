import { SessionError } from "../../domain/errors.js";
import { safeLabel } from "../../domain/safe-label.js";
import {
  emptySession,
  type LoadedSession,
  type Revision,
  type Session,
  type SessionDelta,
} from "../../domain/session.js";
import type { SessionInfo, SessionPage, SessionQuery } from "../../domain/session.js";
import { applyAppend, applySave, matchesMetadata, pageRequest, sessionLabel } from "../../domain/session-rules.js";
import type { SaveOptions, SessionStore } from "../../ports/session-store.js";
import { SqliteFile, type Statements } from "./sqlite-file.js";
import {
  decodeFields,
  decodeMessages,
  encodeDelta,
  encodeSession,
  keyText,
  numberOf,
  readableMetadata,
  type Row,
  textKey,
} from "./sqlite-rows.js";

/** `busyTimeoutMs` bounds how long a write waits for other processes; 5000 by default. */
export type SqliteSessionStoreOptions = { readonly path: string; readonly busyTimeoutMs?: number };

/** Result codes of SQLite for a file whose bytes are not a sound database. */
const CORRUPT: ReadonlySet<number> = new Set([11, 26]);

/**
 * Sessions in one SQLite file, which many processes may use at once. The file is opened by the first call and created where it is missing, its
 * directory is not. An acknowledged write survives the end of the process. Whoever made the store closes it.
 */
export class SqliteSessionStore implements SessionStore {
  readonly name: string;
  readonly #path: string;
  readonly #busyTimeoutMs: number;
  #file: SqliteFile | "closed" | undefined;

  constructor({ path, busyTimeoutMs = 5_000 }: SqliteSessionStoreOptions) {
    this.name = `sqlite "${safeLabel(path)}"`;
    this.#path = path;
    this.#busyTimeoutMs = busyTimeoutMs;
  }

  async load(id: string, known?: Revision): Promise<LoadedSession> {
    return this.#run("load", sessionLabel(id), (file) => file.read((sql) => load(sql, id, known)));
  }

  async save(id: string, session: Session, options: SaveOptions = {}): Promise<Revision> {
    return this.#run("save", sessionLabel(id), (file) => {
      const { bodies, fields } = encodeSession(session);
      return file.write((sql) => {
        const stored = sql.session.get(textKey(id));
        const decision = applySave(
          id,
          { revision: stored === undefined ? 0 : numberOf(stored, "revision") },
          session,
          options,
        );
        if (decision.type === "refuse") throw decision.error;
        const key = stored === undefined ? create(sql, id) : numberOf(stored, "key");
        const { revision } = decision;
        sql.clearMessages.run(key);
        sql.clearFields.run(key);
        bodies.forEach((body, position) => sql.addMessage.run(key, position, revision, body));
        for (const { place, name, body } of fields) sql.setField.run(key, place, name, body);
        sql.update.run(revision, bodies.length, revision, Date.now(), key);
        return revision;
      });
    });
  }

  async append(id: string, delta: SessionDelta): Promise<Revision> {
    return this.#run("save", sessionLabel(id), (file) => {
      const encoded = encodeDelta(delta);
      return file.write((sql) => append(sql, id, delta, encoded));
    });
  }

  async list(query: SessionQuery = {}): Promise<SessionPage> {
    return this.#run("load", "the list of sessions", (file) => file.read((sql) => list(sql, query)));
  }

  async delete(id: string): Promise<void> {
    this.#run("save", sessionLabel(id), (file) =>
      file.write((sql) => {
        const stored = sql.session.get(textKey(id));
        if (stored === undefined) return;
        const key = numberOf(stored, "key");
        for (const clear of [sql.clearMessages, sql.clearFields, sql.clearOperations, sql.clearSession]) clear.run(key);
      }),
    );
  }

  /** Idempotent. Calls made afterwards reject. */
  async close(): Promise<void> {
    const file = this.#file;
    this.#file = "closed";
    if (file instanceof SqliteFile) file.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #run<T>(kind: "load" | "save", what: string, run: (file: SqliteFile) => T): T {
    try {
      if (this.#file === "closed") throw new SessionError(kind, "the store is closed");
      this.#file ??= new SqliteFile(this.#path, this.#busyTimeoutMs);
      return run(this.#file);
    } catch (cause) {
      if (cause instanceof SessionError && cause.kind === "conflict") throw cause;
      throw this.#failure(kind, what, cause);
    }
  }

  #failure(kind: "load" | "save", what: string, cause: unknown): SessionError {
    const code = cause instanceof Error && "errcode" in cause && typeof cause.errcode === "number" ? cause.errcode : 0;
    const known = cause instanceof SessionError ? cause.kind : kind;
    const reason = cause instanceof SessionError ? cause.message : safeLabel(String(cause));
    return new SessionError(CORRUPT.has(code & 0xff) ? "corrupt" : known, `${what} in ${this.name}: ${reason}`, {
      cause,
    });
  }
}

function load(sql: Statements, id: string, known: Revision | undefined): LoadedSession {
  const stored = sql.session.get(textKey(id));
  if (stored === undefined) return emptySession();
  const key = numberOf(stored, "key");
  const revision = numberOf(stored, "revision");
  const from =
    known !== undefined && known >= numberOf(stored, "since") && known <= revision ? after(sql, key, known) : 0;
  const messages = decodeMessages(sql.messages.all(key, from), numberOf(stored, "count") - from);
  const { root, metadata } = decodeFields(sql.fields.all(key));
  return { ...root, messages, metadata, revision, ...(from === 0 ? undefined : { from }) };
}

function after(sql: Statements, key: number, known: Revision): number {
  const last = sql.known.get(key, Math.floor(known));
  return last === undefined ? 0 : numberOf(last, "position") + 1;
}

function append(sql: Statements, id: string, delta: SessionDelta, encoded: ReturnType<typeof encodeDelta>): Revision {
  const stored = sql.session.get(textKey(id));
  const applied = stored && sql.operation.get(numberOf(stored, "key"), encoded.operation);
  const decision = applyAppend(
    id,
    { revision: stored ? numberOf(stored, "revision") : 0, appliedAs: applied && numberOf(applied, "revision") },
    delta,
  );
  if (decision.type === "refuse") throw decision.error;
  const { revision } = decision;
  if (decision.type === "applied") return revision;

  const key = stored ? numberOf(stored, "key") : create(sql, id);
  const count = stored ? numberOf(stored, "count") : 0;
  encoded.bodies.forEach((body, index) => sql.addMessage.run(key, count + index, revision, body));
  for (const name of encoded.unset) sql.unsetField.run(key, name);
  for (const { place, name, body } of encoded.fields) sql.setField.run(key, place, name, body);
  sql.addOperation.run(key, encoded.operation, revision);
  sql.update.run(revision, count + encoded.bodies.length, stored ? numberOf(stored, "since") : 0, Date.now(), key);
  return revision;
}

function create(sql: Statements, id: string): number {
  return Number(sql.create.run(textKey(id)).lastInsertRowid);
}

function list(sql: Statements, query: SessionQuery): SessionPage {
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
