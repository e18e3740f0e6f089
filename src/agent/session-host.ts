import type { Json } from "../domain/json.js";
import { isJsonObject } from "../domain/json.js";
import type { Limits } from "../domain/limits.js";
import { SESSION_KEYS } from "../domain/session.js";
import type { Runtime } from "../ports/runtime.js";
import type { Outcome } from "../ports/step-scope.js";
import { heldOn } from "./call-path.js";
import { Conversation } from "./conversation.js";
import { InProcessScope } from "./in-process-scope.js";
import { SessionLocks } from "./session-locks.js";
import type { Writer } from "./session-writer.js";
import { storeError, type Stores } from "./stores.js";
import type { CallContext } from "./system-runtime.js";

/** Sessions of which something is remembered about a lease; a note that made room costs whoever waits one `turnLeaseMs`. */
const NOTES = 1_000;

/** A lease as a reader first saw it, by the reader's own clock. */
type Sighting = { readonly lease: string; readonly since: number };

/** The limits a host needs. */
export type SessionLimits = Pick<Limits, "sessionCache" | "turnLeaseMs" | "storeTimeoutMs">;

/** What an agent keeps of its sessions between turns: locks, the conversations used last, the leases it saw, and one heartbeat. */
export class SessionHost {
  readonly stores: Stores;
  readonly locks = new SessionLocks();
  readonly #runtime: Runtime;
  readonly #capacity: number;
  readonly #beatMs: number;
  readonly #timeoutMs: number;
  readonly #scope: InProcessScope;
  readonly #cache = new Map<string, Conversation>();
  readonly #sightings = new Map<string, Sighting>();
  /** By session, the turn of this agent that ended without a last write: nobody moves its lease. */
  readonly #abandoned = new Map<string, string>();
  readonly #beating = new Set<Writer>();
  #heart: (() => void) | undefined;
  #asking = 0;

  readonly #calls: CallContext;

  constructor(stores: Stores, runtime: Runtime, limits: SessionLimits, calls: CallContext) {
    this.#calls = calls;
    this.stores = stores;
    this.#runtime = runtime;
    this.#capacity = limits.sessionCache;
    this.#beatMs = limits.turnLeaseMs / 3;
    this.#timeoutMs = limits.storeTimeoutMs;
    this.#scope = new InProcessScope({ signal: new AbortController().signal, runtime });
  }

  /** A session's lock for something outside a turn. Rejects with `AgentError("session")` where a turn holds it that waits for the caller. */
  async lock(id: string): Promise<() => void> {
    return this.locks.acquire(id, heldOn(this.#calls.current(), this));
  }

  /** Something outside a turn, within `storeTimeoutMs`. Leaves no timer behind. */
  async bounded<T>(run: () => PromiseLike<T>): Promise<Outcome<T>> {
    this.#asking += 1;
    try {
      return await this.#scope.bounded(run, this.#timeoutMs);
    } finally {
      this.#asking -= 1;
      if (this.#asking === 0) this.#scope.release();
    }
  }

  /** One call of the stores outside a turn, within `storeTimeoutMs`. Rejects with `AgentError("session")`. */
  async ask<T>(operation: string, id: string, run: (stores: Stores) => Promise<T>): Promise<T> {
    const outcome = await this.bounded(() => run(this.stores));
    if (outcome.ok) return outcome.value;
    throw storeError(operation, id, outcome.error);
  }

  /** The conversation as known so far; a turn takes it out and gives it back with `keep`. */
  takeOut(id: string): Conversation {
    const cached = this.#cache.get(id);
    this.#cache.delete(id);
    return cached ?? new Conversation(id);
  }

  /** Keeps a conversation that agrees with its store; the one used longest ago makes room. */
  keep(conversation: Conversation): void {
    this.#cache.set(conversation.id, conversation);
    if (this.#cache.size <= this.#capacity) return;
    for (const oldest of this.#cache.keys()) {
      this.#cache.delete(oldest);
      if (this.#cache.size <= this.#capacity) return;
    }
  }

  forget(id: string): void {
    this.#cache.delete(id);
  }

  /** Whether another turn's lease is alive: it is dead when it has not changed for `turnLeaseMs` since it was first seen here (S2). */
  isAlive(id: string, metadata: { readonly [key: string]: Json }, turnId: string, turnLeaseMs: number): boolean {
    const lease = metadata[SESSION_KEYS.turn];
    const owner = isJsonObject(lease) ? lease["turnId"] : undefined;
    if (lease === undefined) this.#abandoned.delete(id);
    if (lease === undefined || owner === turnId || (owner !== undefined && owner === this.#abandoned.get(id))) {
      this.#sightings.delete(id);
      return false;
    }
    const text = JSON.stringify(lease);
    const now = this.#runtime.elapsed();
    const seen = this.#sightings.get(id);
    if (seen?.lease === text) return now - seen.since < turnLeaseMs;
    note(this.#sightings, id, { lease: text, since: now });
    return true;
  }

  /** Notes that this turn is over, and that its lease may be stored still. */
  abandon(id: string, turnId: string): void {
    note(this.#abandoned, id, turnId);
  }

  /** Moves this writer's lease regularly until it is released. One timer serves all turns. */
  beat(writer: Writer): void {
    this.#beating.add(writer);
    this.#heart ??= this.#runtime.after(this.#beatMs, () => this.#pulse());
  }

  release(writer: Writer): void {
    this.#beating.delete(writer);
  }

  /** Stops the heartbeat. */
  close(): void {
    this.#scope.release();
    this.#heart?.();
    this.#heart = undefined;
  }

  #pulse(): void {
    this.#heart = undefined;
    for (const writer of this.#beating) writer.beat();
    if (this.#beating.size > 0) this.#heart = this.#runtime.after(this.#beatMs, () => this.#pulse());
  }
}

/** Sets a note, the oldest makes room. */
function note<T>(notes: Map<string, T>, id: string, value: T): void {
  notes.delete(id);
  notes.set(id, value);
  if (notes.size <= NOTES) return;
  for (const oldest of notes.keys()) {
    notes.delete(oldest);
    return;
  }
}
