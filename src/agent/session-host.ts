import type { Json } from "../domain/json.js";
import { isJsonObject } from "../domain/json.js";
import { SESSION_KEYS } from "../domain/session.js";
import type { Runtime } from "../ports/runtime.js";
import { Conversation } from "./conversation.js";
import { SessionLocks } from "./session-locks.js";
import type { Writer } from "./session-writer.js";
import type { Stores } from "./stores.js";

/** A lease as a reader first saw it, by the reader's own clock. */
type Sighting = { readonly lease: string; readonly since: number };

/** What an agent keeps of its sessions between turns: locks, the conversations used last, the leases it saw, and one heartbeat. */
export class SessionHost {
  readonly stores: Stores;
  readonly locks = new SessionLocks();
  readonly #runtime: Runtime;
  readonly #capacity: number;
  readonly #beatMs: number;
  readonly #cache = new Map<string, Conversation>();
  readonly #sightings = new Map<string, Sighting>();
  readonly #beating = new Set<Writer>();
  #heart: (() => void) | undefined;

  constructor(stores: Stores, runtime: Runtime, options: { readonly capacity: number; readonly turnLeaseMs: number }) {
    this.stores = stores;
    this.#runtime = runtime;
    this.#capacity = options.capacity;
    this.#beatMs = options.turnLeaseMs / 3;
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
    for (const id of this.#cache.keys()) {
      if (this.#cache.size <= this.#capacity) break;
      this.#cache.delete(id);
    }
  }

  forget(id: string): void {
    this.#cache.delete(id);
  }

  /** Whether another turn's lease is alive: it is dead when it has not changed for `turnLeaseMs` since it was first seen here (S2). */
  isAlive(id: string, metadata: { readonly [key: string]: Json }, turnId: string, turnLeaseMs: number): boolean {
    const lease = metadata[SESSION_KEYS.turn];
    if (lease === undefined || (isJsonObject(lease) && lease["turnId"] === turnId)) {
      this.#sightings.delete(id);
      return false;
    }
    const text = JSON.stringify(lease);
    const now = this.#runtime.now();
    const seen = this.#sightings.get(id);
    if (seen?.lease === text) return now - seen.since < turnLeaseMs;
    this.#sightings.set(id, { lease: text, since: now });
    return true;
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
    this.#heart?.();
    this.#heart = undefined;
  }

  #pulse(): void {
    this.#heart = undefined;
    for (const writer of this.#beating) writer.beat();
    if (this.#beating.size > 0) this.#heart = this.#runtime.after(this.#beatMs, () => this.#pulse());
  }
}
