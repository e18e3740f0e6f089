import { Defect, SessionError } from "../../domain/errors.js";
import type { JsonObject } from "../../domain/json.js";
import type { LoadedSession, Revision, SaveOptions, Session, SessionDelta } from "../../domain/session.js";
import type { SessionPage, SessionQuery } from "../../domain/session.js";
import { SessionLogs } from "../../domain/session-logs.js";
import { safeLabel } from "../../domain/safe-label.js";
import { storable } from "../../domain/session-rules.js";
import type { SessionStore } from "../../ports/session-store.js";

/** What an operation answered: the session's state after it, or the error it rejected with. */
export type SessionOutcome =
  | { readonly ok: true; readonly revision: Revision; readonly count: number; readonly metadata: JsonObject }
  | { readonly ok: false; readonly error: unknown };

/** One call of the store. What was no JSON, and so was refused, is recorded as undefined. */
export type SessionOperation = { readonly id: string; readonly outcome: SessionOutcome } & (
  | { readonly type: "load"; readonly known: Revision | undefined }
  | { readonly type: "append"; readonly delta: SessionDelta | undefined }
  | { readonly type: "save"; readonly session: Session | undefined; readonly replace: boolean }
  | { readonly type: "delete" }
);

type Asked<T = SessionOperation> = T extends SessionOperation ? Omit<T, "outcome"> : never;

/** A write that is to fail: every one from now on, or only the `nth`. */
type Failure = { readonly nth: number | undefined; readonly error: SessionError; seen: number; fired: boolean };

/**
 * A session store in memory that keeps the rules of the real ones, records every operation with its outcome, and fails where a test says so.
 * Lists are answered and not recorded. Records are frozen and in the order the operations were asked.
 */
export class RecordingSessionStore implements SessionStore {
  readonly name = "recording";
  readonly #sessions = new SessionLogs();
  readonly #operations: SessionOperation[] = [];
  readonly #snapshots: { readonly id: string; readonly session: Session }[] = [];
  readonly #failedLoads = new Map<string, { readonly error: unknown; fired: boolean }>();
  readonly #failedWrites: { readonly id: string; readonly failure: Failure }[] = [];
  readonly #conflicts: string[] = [];
  readonly #now: () => number;
  #foreignWrites = 0;

  /** `now` stamps `updatedAt`; without it time stands at 0. */
  constructor(options: { readonly now?: () => number } = {}) {
    this.#now = options.now ?? (() => 0);
  }

  /** Stores a session unrecorded, whatever is there; answers its revision. */
  seed(id: string, session: Partial<Session>): Revision {
    const whole = { messages: [], metadata: {}, revision: 0, ...session };
    return this.#sessions.save(id, whole, { replace: true }, this.#now());
  }

  /** Every later load of this session rejects with `error`. */
  failLoad(id: string, error: SessionError = new SessionError("load", "scripted failure")): void {
    this.#failedLoads.set(id, { error, fired: false });
  }

  /** Every later append and save of this session rejects without effect; with `nth` only that one, counted from 1 and from now. */
  failSave(id: string, options: { readonly nth?: number; readonly error?: SessionError } = {}): void {
    const error = options.error ?? new SessionError("save", "scripted failure");
    this.#failedWrites.push({ id, failure: { nth: options.nth, error, seen: 0, fired: false } });
  }

  /** Somebody else's empty write gets in right before the next compared write of this session, which is a conflict then. */
  conflictOnce(id: string): void {
    this.#conflicts.push(id);
  }

  get ops(): readonly SessionOperation[] {
    return Object.freeze([...this.#operations]);
  }

  /** The whole session after each append and save that took place, in order. */
  saveSnapshots(): readonly { readonly id: string; readonly session: Session }[] {
    return Object.freeze([...this.#snapshots]);
  }

  /** Throws a `Defect` when a scripted failure or conflict was never met. */
  assertDone(): void {
    const loads = [...this.#failedLoads].filter(([, { fired }]) => !fired).map(([id]) => ["failLoad", id]);
    const writes = this.#failedWrites.filter(({ failure }) => !failure.fired).map(({ id }) => ["failSave", id]);
    const conflicts = this.#conflicts.map((id) => ["conflictOnce", id]);
    const [left] = [...loads, ...writes, ...conflicts];
    if (left === undefined) return;
    throw new Defect(`recording_session_store_unfinished: ${left[0]} of ${safeLabel(left[1] ?? "")} was never met`);
  }

  async load(id: string, known?: Revision): Promise<LoadedSession> {
    return this.#record({ type: "load", id, known }, () => {
      const failure = this.#failedLoads.get(id);
      if (failure === undefined) return this.#sessions.load(id, known);
      failure.fired = true;
      throw failure.error;
    });
  }

  async append(id: string, delta: SessionDelta): Promise<Revision> {
    return this.#record({ type: "append", id, delta: jsonOf(delta) }, () => {
      this.#beforeWrite(id, delta.baseRevision !== undefined);
      return this.#wrote(id, this.#sessions.append(id, delta, this.#now()));
    });
  }

  async save(id: string, session: Session, options: SaveOptions = {}): Promise<Revision> {
    const replace = options.replace === true;
    return this.#record({ type: "save", id, session: jsonOf(session), replace }, () => {
      this.#beforeWrite(id, !replace);
      return this.#wrote(id, this.#sessions.save(id, session, options, this.#now()));
    });
  }

  async list(query: SessionQuery = {}): Promise<SessionPage> {
    return this.#sessions.list(query);
  }

  async delete(id: string): Promise<void> {
    this.#record({ type: "delete", id }, () => this.#sessions.delete(id));
  }

  #beforeWrite(id: string, compared: boolean): void {
    let error: SessionError | undefined;
    for (const { id: failing, failure } of this.#failedWrites) {
      if (failing !== id) continue;
      failure.seen += 1;
      if (failure.nth !== undefined && failure.nth !== failure.seen) continue;
      failure.fired = true;
      error ??= failure.error;
    }
    if (error !== undefined) throw error;
    const conflict = compared ? this.#conflicts.indexOf(id) : -1;
    if (conflict === -1) return;
    this.#conflicts.splice(conflict, 1);
    const { revision } = this.#sessions.load(id);
    const operationId = `somebody else ${++this.#foreignWrites}`;
    this.#sessions.append(id, { operationId, baseRevision: revision, messages: [] }, this.#now());
  }

  #wrote(id: string, revision: Revision): Revision {
    this.#snapshots.push(Object.freeze({ id, session: Object.freeze(this.#sessions.load(id)) }));
    return revision;
  }

  #record<T>(asked: Asked, run: () => T): T {
    const { id } = asked;
    try {
      const result = run();
      const { revision, messages, metadata } = this.#sessions.load(id);
      this.#add(asked, { ok: true, revision, count: messages.length, metadata });
      return result;
    } catch (error) {
      this.#add(asked, { ok: false, error });
      throw error;
    }
  }

  #add(asked: Asked, outcome: SessionOutcome): void {
    this.#operations.push(Object.freeze({ ...asked, outcome: Object.freeze(outcome) }));
  }
}

/** A frozen copy for the record; adopted messages keep their identity. */
function jsonOf<T extends SessionDelta | Session>(value: T): T | undefined {
  try {
    const messages = Object.freeze(value.messages.map((message) => storable(message, "message")));
    return Object.freeze({ ...storable({ ...value, messages: [] }, "write"), messages });
  } catch {
    return undefined;
  }
}
