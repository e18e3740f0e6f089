import {
  applySave,
  emptySession,
  type SaveOptions,
  type Session,
  SessionError,
  sessionLabel,
  type SessionStore,
  storable,
} from "ennead";

// #region database
/** What the store needs of a database: texts under keys, written only where nobody else wrote meanwhile. */
export interface KeyValue {
  get(key: string): Promise<string | undefined>;
  /** Writes `value` where the text is still `expected` (undefined: none); answers whether it did. */
  swap(key: string, expected: string | undefined, value: string): Promise<boolean>;
}
// #endregion database

// #region store
/** Sessions in any database that can swap one text for another: the revision, a space, the session as JSON. */
export class KeyValueSessionStore implements SessionStore {
  readonly name = "key-value";
  readonly #database: KeyValue;

  constructor(database: KeyValue) {
    this.#database = database;
  }

  async load(id: string): Promise<Session> {
    const text = await this.#ask("load", () => this.#database.get(JSON.stringify(id)));
    if (text === undefined) return emptySession();
    try {
      return { ...(JSON.parse(text.slice(text.indexOf(" "))) as Session), revision: Number.parseInt(text, 10) };
    } catch {
      throw new SessionError("corrupt", `${sessionLabel(id)} is damaged`);
    }
  }

  async save(id: string, session: Session, options: SaveOptions = {}): Promise<number> {
    const json = JSON.stringify(storable(session, "session")); // A copy, before anything is awaited.
    for (;;) {
      const before = await this.#ask("save", () => this.#database.get(JSON.stringify(id)));
      const decision = applySave(id, { revision: Number.parseInt(before ?? "0", 10) }, session, options);
      if (decision.type === "refuse") throw decision.error;
      const text = `${decision.revision} ${json}`;
      // Where somebody else was faster, another look finds the conflict, or goes on where nothing is compared.
      if (await this.#ask("save", () => this.#database.swap(JSON.stringify(id), before, text)))
        return decision.revision;
    }
  }

  async #ask<T>(kind: "load" | "save", call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch {
      throw new SessionError(kind, "the database failed"); // Its own error may hold what was to be stored.
    }
  }
}
// #endregion store
