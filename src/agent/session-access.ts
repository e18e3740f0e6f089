import { AgentError, Defect, SessionError } from "../domain/errors.js";
import { type AgentMessage, isMessage, type MessageInput } from "../domain/message.js";
import { safeLabel } from "../domain/safe-label.js";
import {
  type DeferredCall,
  type Session,
  SESSION_KEYS,
  type SessionPage,
  type SessionQuery,
} from "../domain/session.js";
import { sessionLines } from "../domain/session-lines.js";
import { patchMetadata, sessionLabel } from "../domain/session-rules.js";
import { stampMessage } from "../domain/stamp-message.js";
import type { TextSource } from "../domain/text-lines.js";
import { NOT_EXECUTED, openCalls } from "../domain/transcript.js";
import type { ImportOptions, SessionAccess } from "../ports/agent-api.js";
import type { Runtime } from "../ports/runtime.js";
import { importable } from "./importable.js";
import { missingResults } from "./missing-results.js";
import { pendingCalls, pendingRecord } from "../domain/deferred-calls.js";
import type { SessionHost } from "./session-host.js";
import { isUnwritten, withoutLease } from "./session-transfer.js";
import { storeError } from "./stores.js";
import { appendable } from "./turn-input.js";
import { busy, goesOnIn, redirectedTo } from "./turn-sessions.js";

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

  /** A session as it is stored, the lease of a running turn and fields of later versions included. */
  async read(id: string): Promise<Session> {
    const { from: _from, ...session } = await this.#host.ask("load", id, (stores) => stores.load(id, undefined));
    return session;
  }

  /** What waits for a decision where the conversation is now, which is where `resumeTurn` goes (S5). */
  async pending(id: string): Promise<readonly DeferredCall[]> {
    const visited = new Set<string>();
    for (let at: string | undefined = id; at !== undefined && !visited.has(at); ) {
      visited.add(at);
      const { metadata, messages } = await this.read(at);
      at = redirectedTo(metadata);
      if (at === undefined) return pendingCalls({ metadata, openCalls: openCalls(messages) });
    }
    return [];
  }

  /** One load is of one moment, so it takes no lock: also a turn that runs for days is exported as far as it is stored. */
  async *export(id: string): AsyncGenerator<string, void> {
    yield* sessionLines(id, withoutLease(await this.#existing("export", id)));
  }

  async #existing(operation: string, id: string): Promise<Session> {
    const session = await this.read(id);
    if (!isUnwritten(session)) return session;
    throw storeError(operation, id, new SessionError("load", `${sessionLabel(id)} does not exist`));
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
      const target = redirectedTo(metadata);
      if (target !== undefined) throw goesOnIn(id, target);
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
      const { compaction, ...session } = await this.#existing("fork", id);
      const end =
        atMessage === undefined
          ? session.messages.length - 1
          : session.messages.findIndex((message) => message.id === atMessage);
      if (end < 0 && atMessage !== undefined) {
        throw new SessionError("load", `session ${safeLabel(id)} has no message ${safeLabel(atMessage)}`);
      }
      const messages = session.messages.slice(0, end + 1);
      const keeps = compaction !== undefined && messages.some((message) => message.id === compaction.upTo);
      const metadata = patchMetadata(session.metadata, { [SESSION_KEYS.parent]: id }, Object.values(SESSION_KEYS));
      const fork = this.#runtime.newId();
      const state = { metadata: session.metadata, openCalls: openCalls(messages) };
      const results = pendingCalls(state).length > 0 ? missingResults(state, this.#stamper(fork), NOT_EXECUTED) : [];
      const copy = {
        ...session,
        messages: [...messages, ...results],
        metadata,
        revision: 0,
        ...(keeps ? { compaction } : undefined),
      };
      await this.#host.ask("save", fork, (stores) => stores.save(fork, copy, { replace: false }));
      return fork;
    });
  }

  async import(source: Session | TextSource, options: ImportOptions = {}): Promise<string> {
    const { id: own, session } = await importable(source, this.#runtime);
    const id = options.id ?? own ?? this.#runtime.newId();
    const replace = options.replace === true;
    await this.#locked(id, async () => {
      if (!replace && !isUnwritten(await this.read(id))) throw exists(id);
      const whole = replace ? session : { ...session, revision: 0 };
      await this.#host.ask("save", id, (stores) => stores.save(id, whole, { replace }));
    });
    return id;
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

function exists(id: string): AgentError {
  const text = `${sessionLabel(id)} exists: nothing takes its place unless \`replace\` says so`;
  return new AgentError("session", text, { cause: new SessionError("conflict", text) });
}
