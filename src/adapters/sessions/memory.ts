import type { LoadedSession, Revision, SaveOptions, Session, SessionDelta } from "../../domain/session.js";
import type { SessionPage, SessionQuery } from "../../domain/session.js";
import { SessionLogs } from "../../domain/session-logs.js";
import type { SessionStore } from "../../ports/session-store.js";

/**
 * Sessions in the memory of this process, gone when it ends. Frozen messages made by the agent are shared, everything else is copied when
 * it comes in, so no caller can change what is stored.
 */
export class MemorySessionStore implements SessionStore {
  readonly name = "memory";
  readonly #sessions = new SessionLogs();
  readonly #now: () => number;

  /** `now` answers epoch milliseconds and stamps `updatedAt` in lists. */
  constructor(options: { readonly now?: () => number } = {}) {
    this.#now = options.now ?? Date.now;
  }

  async load(id: string, known?: Revision): Promise<LoadedSession> {
    return this.#sessions.load(id, known);
  }

  async save(id: string, session: Session, options: SaveOptions = {}): Promise<Revision> {
    return this.#sessions.save(id, session, options, this.#now());
  }

  async append(id: string, delta: SessionDelta): Promise<Revision> {
    return this.#sessions.append(id, delta, this.#now());
  }

  async list(query: SessionQuery = {}): Promise<SessionPage> {
    return this.#sessions.list(query);
  }

  async delete(id: string): Promise<void> {
    this.#sessions.delete(id);
  }
}
