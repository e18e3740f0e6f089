import { AgentError, Defect, SessionError } from "../domain/errors.js";
import { type AgentMessage, isMessage, type MessageInput } from "../domain/message.js";
import { safeLabel } from "../domain/safe-label.js";
import { type Session, SESSION_KEYS, type SessionPage, type SessionQuery } from "../domain/session.js";
import { patchMetadata } from "../domain/session-rules.js";
import { stampMessage } from "../domain/stamp-message.js";
import { NOT_EXECUTED, openCalls } from "../domain/transcript.js";
import type { SessionAccess } from "../ports/agent-api.js";
import type { Runtime } from "../ports/runtime.js";
import { invalidInput } from "./invalid-input.js";
import { missingResults } from "./missing-results.js";
import { pendingCalls, pendingRecord } from "../domain/deferred-calls.js";
import type { SessionHost } from "./session-host.js";
import { appendable } from "./turn-input.js";
import { busy } from "./turn-sessions.js";

/** Sessions beside the running conversation, under each session's lock. */
export class StoredSessions implements SessionAccess {
  readonly #host: SessionHost;
  readonly #runtime: Runtime;

  constructor(host: SessionHost, runtime: Runtime) {
    this.#host = host;
    this.#runtime = runtime;
  }

  async list(query: SessionQuery = {}): Promise<SessionPage> {
    const { authority } = this.#host.stores;
    if (authority.list === undefined) throw new SessionError("load", "the session store cannot list");
    const outcome = await this.#host.bounded(async () => authority.list?.(query));
    if (outcome.ok && outcome.value !== undefined) return outcome.value;
    const cause = outcome.ok ? new SessionError("load", "the store answered with no list") : outcome.error;
    if (Defect.is(cause)) throw cause;
    throw new AgentError("session", "could not list the sessions", { cause });
  }

  /** A session as it is stored, the lease of a running turn included. */
  async read(id: string): Promise<Session> {
    const { messages, metadata, revision, compaction } = await this.#host.ask("load", id, (stores) =>
      stores.load(id, undefined),
    );
    return { messages, metadata, revision, ...(compaction === undefined ? undefined : { compaction }) };
  }

  /** The lease stays behind: it is a turn's here, and nobody's elsewhere (S2). */
  async export(id: string): Promise<Session> {
    return withoutLease(await this.read(id));
  }

  /**
   * Where calls have no result, a message that a model sees comes behind results for them: nothing ever stands between a call and its
   * result (S4).
   */
  async append(id: string, message: MessageInput | AgentMessage, turnLeaseMs: number): Promise<AgentMessage> {
    const operationId = this.#runtime.newId();
    const stamp = this.#stamper(operationId);
    const added = appendable(message, `${operationId}.added`, this.#runtime.now());
    return this.#locked(id, async () => {
      this.#host.forget(id);
      const stored = await this.read(id);
      if (this.#host.isAlive(id, stored.metadata, "", turnLeaseMs)) throw busy(id);
      const { metadata, revision: baseRevision } = stored;
      const missing = isMessage(added)
        ? missingResults({ metadata, openCalls: openCalls(stored.messages) }, stamp)
        : [];
      const settles = isMessage(added) && SESSION_KEYS.deferred in metadata;
      const settled = settles ? pendingRecord([], new Map()) : undefined;
      const delta = { operationId, baseRevision, messages: [...missing, added], ...settled };
      await this.#host.ask("append to", id, (stores) => stores.add(id, stored, delta));
      return added;
    });
  }

  #stamper(prefix: string): (message: MessageInput) => AgentMessage {
    let count = 0;
    const at = this.#runtime.now();
    return (message) => stampMessage(message, `${prefix}.${count++}`, at, "message");
  }

  /** A call that waits for a decision in the session waits for none in the copy: it would be decided twice. */
  async fork(id: string, atMessage?: string): Promise<string> {
    return this.#locked(id, async () => {
      const session = await this.read(id);
      const end =
        atMessage === undefined
          ? session.messages.length - 1
          : session.messages.findIndex((message) => message.id === atMessage);
      if (end < 0 && atMessage !== undefined) {
        throw new SessionError("load", `session ${safeLabel(id)} has no message ${safeLabel(atMessage)}`);
      }
      const messages = session.messages.slice(0, end + 1);
      const { compaction } = session;
      const keeps = compaction !== undefined && messages.some((message) => message.id === compaction.upTo);
      const metadata = patchMetadata(session.metadata, { [SESSION_KEYS.parent]: id }, Object.values(SESSION_KEYS));
      const fork = this.#runtime.newId();
      const state = { metadata: session.metadata, openCalls: openCalls(messages) };
      const results = pendingCalls(state).length > 0 ? missingResults(state, this.#stamper(fork), NOT_EXECUTED) : [];
      const copy = {
        messages: [...messages, ...results],
        metadata,
        revision: 0,
        ...(keeps ? { compaction } : undefined),
      };
      await this.#host.ask("save", fork, (stores) => stores.save(fork, copy, { replace: false }));
      return fork;
    });
  }

  async import(id: string, session: Session): Promise<void> {
    const whole = importable(session, this.#runtime);
    await this.#locked(id, () => this.#host.ask("save", id, (stores) => stores.save(id, whole, { replace: true })));
  }

  async delete(id: string): Promise<void> {
    if (!this.#host.stores.canDelete) throw new SessionError("save", "a session store cannot delete");
    await this.#locked(id, () => this.#host.ask("delete", id, (stores) => stores.delete(id)));
  }

  async #locked<T>(id: string, work: () => Promise<T>): Promise<T> {
    const unlock = await this.#host.lock(id);
    try {
      return await work();
    } finally {
      this.#host.forget(id);
      unlock();
    }
  }
}

function withoutLease(session: Session): Session {
  if (!(SESSION_KEYS.turn in session.metadata)) return session;
  return { ...session, metadata: patchMetadata(session.metadata, {}, [SESSION_KEYS.turn]) };
}

/** A session from outside: each message is one, and has an id and a time. Throws `AgentError("invalid-input")`. */
function importable(session: Session, runtime: Runtime): Session {
  const own = runtime.newId();
  const at = runtime.now();
  try {
    const stampAll = (list: readonly AgentMessage[], place: string, prefix: string): readonly AgentMessage[] =>
      list.map((message, index) => stampMessage(message, `${prefix}.${index}`, at, `${place}[${index}]`));
    const messages = stampAll(session.messages, "messages", own);
    const { compaction } = session;
    if (compaction === undefined) return withoutLease({ ...session, messages });
    if (typeof compaction.upTo !== "string") throw new TypeError("compaction.upTo is no text");
    const record = { ...compaction, messages: stampAll(compaction.messages, "compaction.messages", `${own}.record`) };
    return withoutLease({ ...session, messages, compaction: record });
  } catch (error) {
    throw invalidInput(error);
  }
}
