import type {
  LoadedSession,
  Revision,
  SaveOptions,
  Session,
  SessionDelta,
  SessionPage,
  SessionQuery,
} from "../domain/session.js";

/**
 * Where sessions are kept. All methods may be called concurrently, also for one id, and reject with `SessionError` only. Stores take
 * and return plain objects and keep every body exactly: unknown fields, `__proto__` keys, NUL, lone surrogates. What is returned
 * belongs to the caller. An id is any string; a store refuses with a typed error what it cannot keep, and no id reaches outside the store.
 */
export interface SessionStore {
  /** Names the store in errors. */
  readonly name?: string;
  /**
   * The session as of now; an unknown id is an empty session with revision 0. With `known`, a revision seen before, the answer may hold
   * only the messages that follow it, and then says from which index. Damaged data is `SessionError("corrupt")`, never an empty session.
   */
  load(id: string, known?: Revision): Promise<LoadedSession>;
  /** Replaces the whole session. Compared with `session.revision` (`conflict` when it is not the stored one) unless `replace`. Returns the new revision. */
  save(id: string, session: Session, options?: SaveOptions): Promise<Revision>;
  /**
   * Adds at the end, all or nothing, at a cost of the new messages only. A stale `baseRevision` is `conflict` and has no effect; an
   * operation id already applied has no effect and returns the revision it made. Absent: the agent uses `load` and `save`.
   */
  append?(id: string, delta: SessionDelta): Promise<Revision>;
  /** Sessions, newest first, a page at a time. */
  list?(query: SessionQuery): Promise<SessionPage>;
  /** Forgets the session; an unknown id is no error. A revision is never used twice for an id, also after a delete: whoever knows one of the old session must not take the new one for it. */
  delete?(id: string): Promise<void>;
}
