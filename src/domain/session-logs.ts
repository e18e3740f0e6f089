import {
  emptySession,
  type LoadedSession,
  type Revision,
  type SaveOptions,
  type SessionDelta,
  type SessionPage,
} from "./session.js";
import type { SessionQuery } from "./session.js";
import { SessionLog, type WriteStamp } from "./session-log.js";
import { matchesMetadata, pageRequest } from "./session-rules.js";

/**
 * All sessions of a store in memory, by id: what `MemorySessionStore` and its recording fake stand on. Synchronous; throws `SessionError`;
 * `at` is the time of a write in epoch milliseconds.
 */
export class SessionLogs {
  readonly #logs = new Map<string, SessionLog>();
  /** By id of a deleted session, its last revision: nobody who knows one of them may take a new session for the old. */
  readonly #retired = new Map<string, Revision>();
  #writes = 0;

  load(id: string, known?: Revision): LoadedSession {
    return this.#logs.get(id)?.load(known) ?? emptySession();
  }

  append(id: string, delta: SessionDelta, at: number): Revision {
    return this.#write(id, (log) => log.append(id, delta, this.#stamp(at)));
  }

  save(id: string, session: LoadedSession, options: SaveOptions, at: number): Revision {
    return this.#write(id, (log) => log.save(id, session, options, this.#stamp(at)));
  }

  list(query: SessionQuery): SessionPage {
    const { limit, before } = pageRequest(query);
    const found = [...this.#logs]
      .filter(([, log]) => log.writeNumber < before)
      .sort(([, a], [, b]) => b.writeNumber - a.writeNumber)
      .map(([id, log]) => ({ info: log.info(id), number: log.writeNumber }))
      .filter(({ info }) => matchesMetadata(info.metadata, query.metadata));
    const page = found.slice(0, limit);
    const items = page.map(({ info }) => info);
    const last = page.at(-1);
    return last === undefined || found.length === page.length ? { items } : { items, cursor: String(last.number) };
  }

  delete(id: string): void {
    const log = this.#logs.get(id);
    if (log === undefined) return;
    this.#retired.set(id, log.highest);
    this.#logs.delete(id);
  }

  #write(id: string, write: (log: SessionLog) => Revision): Revision {
    const log = this.#logs.get(id);
    if (log !== undefined) return write(log);
    const fresh = new SessionLog(this.#retired.get(id));
    const revision = write(fresh);
    this.#logs.set(id, fresh);
    return revision;
  }

  #stamp(at: number): WriteStamp {
    return { at, number: ++this.#writes };
  }
}
