import { applySave, emptySession, type SaveOptions, type Session, type SessionStore, storable } from "ennead";

/** The least a session store needs: `load`, and a `save` that refuses what was changed meanwhile. */
export class MapSessionStore implements SessionStore {
  readonly #sessions = new Map<string, Session>();

  async load(id: string): Promise<Session> {
    return structuredClone(this.#sessions.get(id) ?? emptySession());
  }

  async save(id: string, session: Session, options?: SaveOptions): Promise<number> {
    const decision = applySave(id, this.#sessions.get(id) ?? emptySession(), session, options);
    if (decision.type === "refuse") throw decision.error;
    this.#sessions.set(id, storable({ ...session, revision: decision.revision }, "session"));
    return decision.revision;
  }
}
