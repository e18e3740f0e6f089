import { adopt } from "../domain/adopt.js";
import { AgentError, SessionError } from "../domain/errors.js";
import { isJsonObject, type Json, type JsonObject } from "../domain/json.js";
import { NONE } from "../domain/none.js";
import { safeLabel } from "../domain/safe-label.js";
import { type Compaction, type LoadedSession, type Revision, SESSION_KEYS } from "../domain/session.js";
import { patchMetadata } from "../domain/session-rules.js";
import type { Runtime } from "../ports/runtime.js";
import type { StepScope } from "../ports/step-scope.js";
import { type CallPath, hasTurn, heldOn, waitsForCaller } from "./call-path.js";
import type { Conversation } from "./conversation.js";
import type { SessionHost } from "./session-host.js";
import { KeepingWriter, RoundWriter, type Writer } from "./session-writer.js";
import type { Settings } from "./settings.js";
import { storeError } from "./stores.js";
import type { TurnControl } from "./turn-control.js";

/** What the sessions of one turn need. */
export type TurnSessionsOptions = {
  readonly host: SessionHost;
  readonly settings: Settings;
  readonly runtime: Runtime;
  readonly scope: StepScope;
  readonly control: TurnControl;
  readonly turnId: string;
  readonly takeOver: boolean;
  readonly fork: boolean;
  /** The turns that wait for this one. */
  readonly caller: CallPath | undefined;
  /** A step may run again that has had its effect. */
  readonly replays: boolean;
  /** Told once of each session for whose lease, another's, the turn begins to wait. */
  readonly onWait: (sessionId: string) => void;
};

const POLL_MS = 250;

/** What a look at a session recorded. */
type Seen = {
  readonly revision: Revision;
  readonly count: number;
  /** Another turn's lease is alive. */
  readonly held: boolean;
  /** That turn waits for this one. */
  readonly waits: boolean;
  readonly redirectedTo: string | null;
  /** What the session said of itself: the turn's own writes change it. */
  readonly own: JsonObject;
  /** The record there was, which the turn's own writes may replace. */
  readonly compaction: Compaction | null;
};

/** The keys that a turn begins from. */
const OWN_KEYS = [SESSION_KEYS.deferred, SESSION_KEYS.deferredBy, SESSION_KEYS.usage];

function ownKeys(metadata: JsonObject): JsonObject {
  return Object.fromEntries(OWN_KEYS.flatMap((key) => (key in metadata ? [[key, metadata[key] as Json]] : [])));
}

/** How one turn gets at sessions: locks, loads, leases and writers, all given back by `release`. */
export class TurnSessions {
  readonly #options: TurnSessionsOptions;
  #locks: readonly (() => void)[] = NONE;
  readonly #held: string[] = [];
  #writers: readonly { readonly id: string; readonly writer: Writer }[] = NONE;
  #awaited: readonly string[] = NONE;
  #loads = 0;
  #writes = 0;

  constructor(options: TurnSessionsOptions) {
    this.#options = options;
  }

  get host(): SessionHost {
    return this.#options.host;
  }

  /** The sessions this turn holds now: a list that changes with it. */
  get held(): readonly string[] {
    return this.#held;
  }

  /** Takes the session's lock in turn (T1). Without it after an abort; a busy session is refused where the config says so. */
  async lock(id: string): Promise<void> {
    const { host, scope, settings, caller } = this.#options;
    if (!host.locks.isHeld(id)) return this.#hold(id, host.locks.take(id));
    if (settings.onBusy === "refuse") throw busy(id);
    const waiting = [...heldOn(caller, host), ...this.#held];
    const ticket = host.locks.acquire(id, waiting);
    const outcome = await scope.bounded(() => ticket);
    if (outcome.ok) return this.#hold(id, outcome.value);
    if (AgentError.is(outcome.error)) throw outcome.error;
    waiting.length = 0;
    void ticket.then((unlock) => unlock());
  }

  #hold(id: string, unlock: () => void): void {
    this.#locks = this.#locks.concat(unlock);
    this.#held.push(id);
  }

  /** Reads the session, and waits for or refuses one that another turn holds (S2); answers where it goes on, unless the turn is a fork. Settles soon after an abort. */
  async load(conversation: Conversation): Promise<string | undefined> {
    const { control, settings, fork } = this.#options;
    let seen = await this.#look(conversation, { wait: false });
    if (seen.held && settings.onBusy === "wait") this.#tellWait(conversation.id);
    while (seen.held) {
      if (settings.onBusy === "refuse") throw busy(conversation.id);
      if (seen.waits) throw waitsForCaller(conversation.id);
      seen = await this.#look(conversation, { wait: true });
      if (control.signal.aborted) return undefined;
    }
    return fork ? undefined : (seen.redirectedTo ?? undefined);
  }

  #tellWait(id: string): void {
    if (this.#awaited.includes(id)) return;
    this.#awaited = [...this.#awaited, id];
    this.#options.onWait(id);
  }

  writer(conversation: Conversation): Writer {
    const { host, settings, control, turnId, scope, runtime, replays } = this.#options;
    const { storeTimeoutMs, turnLeaseMs } = settings.limits;
    const onFailure = (error: unknown): void => control.fail(error);
    const nextWrite = (): number => this.#writes++;
    const limits = { storeTimeoutMs, turnLeaseMs };
    const options = {
      stores: host.stores,
      conversation,
      turnId,
      scope,
      runtime,
      replays,
      ...limits,
      onFailure,
      nextWrite,
    };
    const writer = settings.persistence === "round" ? new RoundWriter(options) : new KeepingWriter(options);
    this.#writers = this.#writers.concat({ id: conversation.id, writer });
    host.beat(writer);
    return writer;
  }

  takeOut(id: string): Conversation {
    return this.#options.host.takeOut(id);
  }

  /** Gives everything back; the conversation is kept for the next turn unless its writes failed. */
  release(conversation: Conversation | undefined): void {
    const { host, control, turnId } = this.#options;
    for (const { id, writer } of this.#writers) {
      host.release(writer);
      if (writer.holdsLease) host.abandon(id, turnId);
    }
    if (conversation !== undefined && control.failure === undefined) host.keep(conversation);
    this.#held.length = 0;
    for (const unlock of this.#locks) unlock();
  }

  /** The metadata as others may have patched it since it was read. */
  async metadata({ id, revision }: Conversation): Promise<JsonObject> {
    const { host, scope, settings } = this.#options;
    const read = async (): Promise<JsonObject> => (await host.stores.load(id, revision)).metadata;
    const outcome = await scope.step(`load#${this.#loads++}`, read, { timeoutMs: settings.limits.storeTimeoutMs });
    if (outcome.ok) return adopt(outcome.value, "stored metadata");
    throw storeError("load", id, outcome.error);
  }

  /**
   * One look at the session, after a pause where another turn has it. The step records what it saw; a replay, which does not run it
   * again, reads anew and keeps that much. The conversation changes after the step, so that one given up changes nothing later.
   */
  async #look(conversation: Conversation, { wait }: { readonly wait: boolean }): Promise<Seen> {
    const { host, scope, control, settings } = this.#options;
    const { id } = conversation;
    const read: { session?: LoadedSession } = {};
    const look = async (): Promise<Seen> => {
      if (wait) await this.#pause();
      const { revision, count } = conversation;
      if (wait && control.signal.aborted)
        return { revision, count, held: true, waits: false, redirectedTo: null, own: {}, compaction: null };
      const known = revision === 0 ? undefined : revision;
      const session = await host.stores.load(id, known);
      read.session = session;
      return this.#seen(id, session);
    };
    const timeoutMs = settings.limits.storeTimeoutMs;
    const outcome = await scope.step(this.#stepName(wait ? "lease" : "load"), look, {
      timeoutMs: wait ? timeoutMs + POLL_MS : timeoutMs,
    });
    if (!outcome.ok) throw storeError("load", id, outcome.error);
    const seen = outcome.value;
    if (read.session?.revision === seen.revision) take(conversation, read.session);
    else if (conversation.revision !== seen.revision) await this.#readAgain(conversation, seen);
    return seen;
  }

  #stepName(kind: "load" | "lease"): string {
    const number = this.#loads++;
    return number === 0 ? kind : `${kind}#${number}`;
  }

  #seen(id: string, { revision, messages, metadata, compaction, from = 0 }: LoadedSession): Seen {
    const { host, settings, turnId, takeOver, caller } = this.#options;
    const lease = metadata[SESSION_KEYS.turn];
    return {
      revision,
      count: from + messages.length,
      held: !takeOver && host.isAlive(id, metadata, turnId, settings.limits.turnLeaseMs),
      waits: isJsonObject(lease) && hasTurn(caller, lease["turnId"]),
      redirectedTo: redirectedTo(metadata) ?? null,
      own: ownKeys(metadata),
      compaction: compaction ?? null,
    };
  }

  async #readAgain(conversation: Conversation, { revision, count, own, compaction }: Seen): Promise<void> {
    const { host, scope, settings } = this.#options;
    const all = (): Promise<LoadedSession> => host.stores.load(conversation.id, undefined);
    const outcome = await scope.bounded(all, settings.limits.storeTimeoutMs);
    if (!outcome.ok) throw storeError("load", conversation.id, outcome.error);
    const { compaction: _later, ...value } = outcome.value;
    const metadata = patchMetadata(value.metadata, own, OWN_KEYS);
    const messages = value.messages.slice(0, count);
    take(conversation, {
      ...value,
      messages,
      metadata,
      revision,
      ...(compaction === null ? undefined : { compaction }),
    });
  }

  #pause(): Promise<void> {
    const { runtime, settings } = this.#options;
    const ms = Math.min(POLL_MS, Math.ceil(settings.limits.turnLeaseMs / 10));
    return new Promise((resolve) => void runtime.after(ms, resolve, { keepAlive: true }));
  }
}

function take(conversation: Conversation, session: LoadedSession): void {
  try {
    conversation.take(session);
  } catch (error) {
    throw storeError("load", conversation.id, error);
  }
}

/** What a turn is refused with while another has the session. */
export function busy(id: string): AgentError {
  const cause = new SessionError("conflict", `session ${safeLabel(id)} is in use by another turn`);
  const text = `session ${safeLabel(id)} is busy: a turn has it, or had it and ended less than turnLeaseMs ago without giving it back`;
  return new AgentError("session", text, { cause });
}

/** Where a conversation went on, if it did (S5). */
export function redirectedTo(metadata: JsonObject): string | undefined {
  const target = metadata[SESSION_KEYS.redirectedTo];
  return typeof target === "string" ? target : undefined;
}

/** What is refused on a session whose conversation went on in another. */
export function goesOnIn(id: string, target: string): AgentError {
  return new AgentError("session", `session ${safeLabel(id)} goes on in ${safeLabel(target)}`);
}
