import { adopt } from "../domain/adopt.js";
import { AgentError, SessionError } from "../domain/errors.js";
import type { JsonObject } from "../domain/json.js";
import { safeLabel } from "../domain/safe-label.js";
import { type Revision, SESSION_KEYS } from "../domain/session.js";
import type { Runtime } from "../ports/runtime.js";
import type { StepScope } from "../ports/step-scope.js";
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
};

const POLL_MS = 250;

/** How one turn gets at sessions: locks, loads, leases and writers, all given back by `release`. */
export class TurnSessions {
  readonly #options: TurnSessionsOptions;
  readonly #locks: (() => void)[] = [];
  readonly #writers: { readonly id: string; readonly writer: Writer }[] = [];
  #loads = 0;
  #writes = 0;

  constructor(options: TurnSessionsOptions) {
    this.#options = options;
  }

  get host(): SessionHost {
    return this.#options.host;
  }

  /** Takes the session's lock in turn (T1). Without it after an abort; a busy session is refused where the config says so. */
  async lock(id: string): Promise<void> {
    const { host, scope, settings } = this.#options;
    if (!host.locks.isHeld(id)) return void this.#locks.push(host.locks.take(id));
    if (settings.onBusy === "refuse") throw busy(id);
    const ticket = host.locks.acquire(id);
    const outcome = await scope.bounded(() => ticket);
    if (outcome.ok) this.#locks.push(outcome.value);
    else void ticket.then((unlock) => unlock());
  }

  /** Reads the session, and waits for or refuses one that another turn holds (S2). Settles soon after an abort. */
  async load(conversation: Conversation): Promise<void> {
    await this.#read(conversation);
    while (this.#heldElsewhere(conversation)) {
      await this.#pause();
      if (this.#options.control.signal.aborted) return;
      await this.#read(conversation);
    }
    const target = conversation.metadata[SESSION_KEYS.redirectedTo];
    if (typeof target !== "string" || this.#options.fork) return;
    throw new AgentError("session", `session ${safeLabel(conversation.id)} goes on in ${safeLabel(target)}`);
  }

  writer(conversation: Conversation): Writer {
    const { host, settings, control, turnId, scope, runtime } = this.#options;
    const { storeTimeoutMs, turnLeaseMs } = settings.limits;
    const onFailure = (error: unknown): void => control.fail(error);
    const nextWrite = (): number => this.#writes++;
    const limits = { storeTimeoutMs, turnLeaseMs };
    const options = { stores: host.stores, conversation, turnId, scope, runtime, ...limits, onFailure, nextWrite };
    const writer = settings.persistence === "round" ? new RoundWriter(options) : new KeepingWriter(options);
    this.#writers.push({ id: conversation.id, writer });
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

  /** What was read is recorded by revision and count: a replay, which does not run the step again, reads anew and keeps that much. */
  async #read(conversation: Conversation): Promise<void> {
    const { host, scope, settings } = this.#options;
    const timeoutMs = settings.limits.storeTimeoutMs;
    const name = this.#loads === 0 ? "load" : `load#${this.#loads}`;
    this.#loads += 1;
    const read = (): Promise<{ readonly revision: Revision; readonly count: number }> => {
      const known = conversation.revision === 0 ? undefined : conversation.revision;
      return host.stores.load(conversation.id, known).then((loaded) => {
        conversation.take(loaded);
        return { revision: conversation.revision, count: conversation.count };
      });
    };
    const outcome = await scope.step(name, read, { timeoutMs });
    if (!outcome.ok) throw storeError("load", conversation.id, outcome.error);
    const { revision, count } = outcome.value;
    if (conversation.revision === revision) return;
    const again = await scope.bounded(() => host.stores.load(conversation.id, undefined), timeoutMs);
    if (!again.ok) throw storeError("load", conversation.id, again.error);
    conversation.take({ ...again.value, messages: again.value.messages.slice(0, count), revision });
  }

  #heldElsewhere(conversation: Conversation): boolean {
    const { host, settings, turnId, takeOver } = this.#options;
    if (takeOver || !host.isAlive(conversation.id, conversation.metadata, turnId, settings.limits.turnLeaseMs))
      return false;
    if (settings.onBusy === "wait") return true;
    throw busy(conversation.id);
  }

  #pause(): Promise<void> {
    const { runtime, settings } = this.#options;
    const ms = Math.min(POLL_MS, Math.ceil(settings.limits.turnLeaseMs / 10));
    return new Promise((resolve) => void runtime.after(ms, resolve, { keepAlive: true }));
  }
}

/** What a turn is refused with while another has the session. */
export function busy(id: string): AgentError {
  const cause = new SessionError("conflict", `session ${safeLabel(id)} is in use by another turn`);
  return new AgentError("session", `session ${safeLabel(id)} is busy`, { cause });
}
