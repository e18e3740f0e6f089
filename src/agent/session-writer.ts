import { AgentError } from "../domain/errors.js";
import type { JsonObject } from "../domain/json.js";
import type { AgentMessage } from "../domain/message.js";
import { safeLabel } from "../domain/safe-label.js";
import { type Compaction, type Revision, SESSION_KEYS, type SessionDelta } from "../domain/session.js";
import { patchMetadata } from "../domain/session-rules.js";
import type { Runtime } from "../ports/runtime.js";
import type { StepScope } from "../ports/step-scope.js";
import type { Conversation, Standing } from "./conversation.js";
import { writeReplayed } from "./replayed-write.js";
import { storeError, type Stores } from "./stores.js";

/** What a write changes beside adding messages. */
export type WriteChange = {
  readonly metadata?: JsonObject | undefined;
  readonly unset?: readonly string[] | undefined;
  readonly compaction?: Compaction | undefined;
};

/** The writes of one turn. */
export interface Writer {
  /** The first write. Rejects with `AgentError("session")`; on a conflict nothing was written. `claim`: the change is stored now, whatever is kept for the end. */
  open(messages: readonly AgentMessage[], change?: WriteChange, options?: { readonly claim?: boolean }): Promise<void>;
  /** Resolves when the messages are stored as the persistence asks; rejects with `AgentError("session")`. */
  add(messages: readonly AgentMessage[], change?: WriteChange): Promise<void>;
  /** The last write: what is left, and the end of the lease. Does nothing before `open` or after a failure. */
  close(change?: WriteChange): Promise<void>;
  /** The same for a turn that failed; what was kept for the end is dropped (S3). */
  discard(change?: WriteChange): Promise<void>;
  /** Runs `work` once what was added is in the store: now, or after the one write at the end. */
  onceStored(work: () => Promise<void>): Promise<void>;
  /** Moves the end of the lease. */
  beat(): void;
  /** The lease may be stored still: there was a first write, and no last one. */
  readonly holdsLease: boolean;
  /** What was added is in the store only after `close` (S3). */
  readonly storesAtEnd: boolean;
}

/** What a writer needs of its turn. */
export type WriterOptions = {
  readonly stores: Stores;
  readonly conversation: Conversation;
  readonly turnId: string;
  readonly scope: StepScope;
  readonly runtime: Runtime;
  readonly storeTimeoutMs: number;
  readonly turnLeaseMs: number;
  /** A write may be asked again that took place. Otherwise one that took place before is another turn's of this id. */
  readonly replays: boolean;
  /** Told once of a write that failed; the turn then starts nothing new. */
  readonly onFailure: (error: unknown) => void;
  /** Numbers the writes of the turn, over all its writers. */
  readonly nextWrite: () => number;
};

type Batch = {
  readonly messages: AgentMessage[];
  metadata: JsonObject | undefined;
  unset: readonly string[] | undefined;
  compaction: Compaction | undefined;
};

function emptyBatch(): Batch {
  return { messages: [], metadata: undefined, unset: undefined, compaction: undefined };
}

function addTo(batch: Batch, messages: readonly AgentMessage[], change: WriteChange): void {
  for (const message of messages) batch.messages.push(message);
  if (change.metadata !== undefined) {
    batch.metadata = batch.metadata === undefined ? change.metadata : { ...batch.metadata, ...change.metadata };
    if (batch.unset !== undefined) batch.unset = withoutKeys(batch.unset, change.metadata);
  }
  if (change.unset !== undefined) {
    batch.unset = [...(batch.unset ?? []), ...change.unset];
    if (batch.metadata !== undefined) batch.metadata = patchMetadata(batch.metadata, {}, change.unset);
  }
  if (change.compaction !== undefined) batch.compaction = change.compaction;
}

function withoutKeys(keys: readonly string[], set: JsonObject): readonly string[] {
  return keys.filter((key) => !(key in set));
}

/** A store answers a write it knows with the revision that one made: then another turn had this id, and nothing of this one was stored. */
function isOld({ replays, conversation }: WriterOptions, revision: Revision): boolean {
  return !replays && revision <= conversation.revision;
}

function usedBefore({ turnId, conversation }: WriterOptions): AgentError {
  return new AgentError("session", `session ${safeLabel(conversation.id)} had a turn ${safeLabel(turnId)} before`);
}

/**
 * Stores everything when it exists. Every compared write of a turn goes through it, one at a time; what is added while a write is in
 * flight goes into the next one together. Holds the lease from its first write to its last (S2).
 */
export class RoundWriter implements Writer {
  readonly storesAtEnd = false;
  readonly #options: WriterOptions;
  #next = emptyBatch();
  #flushing: Promise<void> | undefined;
  #queued: Promise<void> | undefined;
  #state: "new" | "open" | "closed" | "failed" = "new";
  /** What every write after a failed one is refused with: the first cause. */
  #failure: unknown;

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  async open(messages: readonly AgentMessage[], change: WriteChange = {}): Promise<void> {
    const batch = emptyBatch();
    addTo(batch, messages, change);
    await this.#write(batch, { lease: true });
    this.#state = "open";
  }

  get holdsLease(): boolean {
    return this.#state === "open" || this.#state === "failed";
  }

  add(messages: readonly AgentMessage[], change: WriteChange = {}): Promise<void> {
    addTo(this.#next, messages, change);
    if (this.#queued !== undefined) return this.#queued;
    return this.#flushing === undefined ? this.#flush() : this.#queueBehind(this.#flushing);
  }

  #queueBehind(flushing: Promise<void>): Promise<void> {
    const flush = (): Promise<void> => this.#flush();
    this.#queued = flushing.then(flush, flush);
    return this.#queued;
  }

  close(change: WriteChange = {}): Promise<void> {
    if (this.#state !== "open") return Promise.resolve();
    this.#state = "closed";
    return this.add([], { ...change, unset: [SESSION_KEYS.turn, ...(change.unset ?? [])] });
  }

  discard(change?: WriteChange): Promise<void> {
    return this.close(change);
  }

  onceStored(work: () => Promise<void>): Promise<void> {
    return work();
  }

  /** How often it beats is chance, which no record of a turn may hold: where steps are replayed it is none, and later writes go by the lease. */
  beat(): void {
    if (this.#state !== "open") return;
    if (!this.#options.replays) this.add([], { metadata: this.#leased() }).catch(() => undefined);
    else if (this.#flushing === undefined) {
      this.#flushing = this.#beatUnrecorded();
      this.#flushing.catch(() => undefined);
    }
  }

  async #beatUnrecorded(): Promise<void> {
    const { scope, stores, conversation, storeTimeoutMs, turnId, runtime } = this.#options;
    const metadata = this.#leased();
    const delta = { messages: [], metadata, operationId: `${turnId}.${runtime.newId()}` };
    const write = (): Promise<Revision> =>
      writeReplayed(stores, conversation, turnId, { ...delta, baseRevision: conversation.revision });
    try {
      const outcome = await scope.bounded(write, storeTimeoutMs, { keep: true });
      if (!outcome.ok) throw storeError("append to", conversation.id, outcome.error);
      conversation.commit({ metadata }, outcome.value);
    } catch (error) {
      this.#options.onFailure(error);
      this.#fail(error);
      throw error;
    } finally {
      this.#flushing = undefined;
    }
  }

  #flush(): Promise<void> {
    this.#queued = undefined;
    const batch = this.#next;
    this.#next = emptyBatch();
    this.#flushing = this.#write(batch, { lease: false });
    return this.#flushing;
  }

  async #write(batch: Batch, { lease }: { readonly lease: boolean }): Promise<void> {
    const { scope, conversation, storeTimeoutMs, nextWrite, onFailure } = this.#options;
    try {
      if (this.#state === "failed") throw this.#failure;
      const number = nextWrite();
      const write = (): Promise<Revision> => this.#store(batch, number, lease);
      const outcome = await scope.step(`append#${number}`, write, { keep: true, timeoutMs: storeTimeoutMs });
      if (!outcome.ok) throw storeError("append to", conversation.id, outcome.error);
      if (lease && isOld(this.#options, outcome.value)) throw usedBefore(this.#options);
      conversation.push(batch.messages);
      conversation.commit(batch, outcome.value);
    } catch (error) {
      if (!lease && this.#state !== "failed") onFailure(error);
      this.#fail(error);
      throw error;
    } finally {
      this.#flushing = undefined;
    }
  }

  /** The lease counts from the moment of its write, and is part of what was written. */
  #store(batch: Batch, number: number, lease: boolean): Promise<Revision> {
    const { conversation, stores, turnId, replays } = this.#options;
    if (lease) batch.metadata = { ...batch.metadata, ...this.#leased() };
    const delta = { ...batch, operationId: `${turnId}.${number}`, baseRevision: conversation.revision };
    return replays && !lease ? writeReplayed(stores, conversation, turnId, delta) : stores.write(conversation, delta);
  }

  #fail(error: unknown): void {
    this.#state = "failed";
    this.#failure = error;
  }

  #leased(): JsonObject {
    const { turnId, runtime, turnLeaseMs } = this.#options;
    return { [SESSION_KEYS.turn]: { turnId, until: runtime.now() + turnLeaseMs } };
  }
}

/** Keeps everything for one write at the end: nothing on failure, no lease (`persistence: "turn"`). */
export class KeepingWriter implements Writer {
  readonly storesAtEnd = true;
  readonly #options: WriterOptions;
  readonly #kept = emptyBatch();
  readonly #afterwards: (() => Promise<void>)[] = [];
  #before: Standing | undefined;

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  async open(
    messages: readonly AgentMessage[],
    change: WriteChange = {},
    { claim = false }: { readonly claim?: boolean } = {},
  ): Promise<void> {
    if (claim) await this.#claim(change);
    this.#before = this.#options.conversation.standing();
    await this.add(messages, claim ? {} : change);
  }

  /** Stores a change at once and compared, so that nobody else can claim the same. */
  async #claim(change: WriteChange): Promise<void> {
    const { conversation } = this.#options;
    const revision = await this.#store({ ...change, messages: [] });
    conversation.commit(change, revision);
  }

  async #store(delta: Omit<SessionDelta, "operationId" | "baseRevision">, before?: Standing): Promise<Revision> {
    const { stores, conversation, scope, storeTimeoutMs, turnId, nextWrite } = this.#options;
    const number = nextWrite();
    const whole = { ...delta, operationId: `${turnId}.${number}`, baseRevision: conversation.revision };
    const write = (): Promise<Revision> => stores.write(conversation, whole, before);
    const outcome = await scope.step(`append#${number}`, write, { keep: true, timeoutMs: storeTimeoutMs });
    if (!outcome.ok) throw storeError("append to", conversation.id, outcome.error);
    if (isOld(this.#options, outcome.value)) throw usedBefore(this.#options);
    return outcome.value;
  }

  add(messages: readonly AgentMessage[], change: WriteChange = {}): Promise<void> {
    addTo(this.#kept, messages, change);
    this.#options.conversation.push(messages);
    if (change.compaction !== undefined) this.#options.conversation.compact(change.compaction);
    return Promise.resolve();
  }

  async close(change: WriteChange = {}): Promise<void> {
    const { conversation, onFailure } = this.#options;
    const before = this.#before;
    if (before === undefined) return;
    this.#before = undefined;
    addTo(this.#kept, [], change);
    try {
      conversation.commit(this.#kept, await this.#store(this.#kept, before));
    } catch (error) {
      onFailure(error);
      throw error;
    }
    for (const work of this.#afterwards) await work();
  }

  onceStored(work: () => Promise<void>): Promise<void> {
    this.#afterwards.push(work);
    return Promise.resolve();
  }

  discard(): Promise<void> {
    this.#before = undefined;
    return Promise.resolve();
  }

  beat(): void {}

  get holdsLease(): boolean {
    return false;
  }
}
