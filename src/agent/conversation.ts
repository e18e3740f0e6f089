import { adopt, isAdopted } from "../domain/adopt.js";
import { estimateAll, estimateTokens } from "../domain/estimate.js";
import type { JsonObject } from "../domain/json.js";
import { type AgentMessage, isMessage } from "../domain/message.js";
import type { Compaction, LoadedSession, Revision, Session, SessionDelta } from "../domain/session.js";
import { patchMetadata } from "../domain/session-rules.js";
import { stampStored } from "../domain/stamp-message.js";
import { type OpenCall, openCalls, orderResults, requestView, settledEnd } from "../domain/transcript.js";

const NO_MIRRORS: ReadonlyMap<object, Revision> = new Map();

/** Where a session stands: how many messages, and the id of the last. */
export type Standing = { readonly count: number; readonly last: string | undefined };

/**
 * One session in memory: the stored messages in one growing array, and beside it what a request shows of them, brought up to date
 * piece by piece. Used by one turn at a time, kept between turns by the cache.
 */
export class Conversation {
  readonly id: string;
  metadata: JsonObject = {};
  revision: Revision = 0;
  compaction: Compaction | undefined;
  /** What each mirror answered last (S1). */
  mirrors: ReadonlyMap<object, Revision> = NO_MIRRORS;
  readonly #stored: AgentMessage[] = [];
  /** Fields of later versions beside these. */
  #later: object = {};
  #view: AgentMessage[] = [];
  #custom = false;
  #viewed = 0;
  #estimate = 0;
  #estimated = 0;

  constructor(id: string) {
    this.id = id;
  }

  get count(): number {
    return this.#stored.length;
  }

  /** All stored messages, a fresh list. */
  stored(): AgentMessage[] {
    return this.#stored.slice();
  }

  last(): AgentMessage | undefined {
    return this.#stored.at(-1);
  }

  /** The last message of a kind. */
  lastWhere<M extends AgentMessage>(is: (message: AgentMessage) => message is M): M | undefined {
    return this.#stored.findLast(is);
  }

  /** Takes what a store answered: all, or what follows the part already here. A `SessionError("corrupt")` or TypeError for what is no session changes nothing. */
  take(loaded: LoadedSession): void {
    const { from = 0, revision, messages: given, metadata: _metadata, compaction: _compaction, ...later } = loaded;
    if (from > this.#stored.length) throw new TypeError(`the messages before ${from} are missing`);
    const messages = given.map((message, index) =>
      stampStored(message, `${this.id}.${from + index}`, "stored message"),
    );
    const metadata = adopt(loaded.metadata, "stored metadata");
    const compaction = loaded.compaction && storedRecord(loaded.compaction, this.id);
    if (from < this.#stored.length || compactionChanged(this.compaction, compaction)) this.#forgetView();
    this.#stored.length = from;
    this.push(messages);
    this.metadata = metadata;
    this.revision = revision;
    this.compaction = compaction;
    this.#later = later;
  }

  /** Adds what was stored. */
  push(messages: readonly AgentMessage[]): void {
    for (const message of messages) this.#stored.push(message);
  }

  /** Takes what a write that was stored changed beside the messages. */
  commit(delta: Pick<SessionDelta, "metadata" | "unset" | "compaction">, revision: Revision): void {
    if (delta.metadata !== undefined || delta.unset !== undefined) {
      this.metadata = patchMetadata(this.metadata, delta.metadata, delta.unset);
    }
    this.revision = revision;
    if (delta.compaction !== undefined && delta.compaction !== this.compaction) this.compact(delta.compaction);
  }

  /** The whole session as it stands after a write. */
  after(delta: Omit<SessionDelta, "operationId">, revision: Revision): Session {
    const compaction = delta.compaction ?? this.compaction;
    return {
      ...this.#later,
      messages: this.#stored.concat(delta.messages),
      metadata: patchMetadata(this.metadata, delta.metadata, delta.unset),
      revision,
      ...(compaction === undefined ? undefined : { compaction }),
    };
  }

  standing(): Standing {
    return { count: this.#stored.length, last: this.last()?.id };
  }

  compact(compaction: Compaction): void {
    this.compaction = compaction;
    this.#forgetView();
  }

  /** What a request shows (S4), a fresh list. Called between rounds, when every call has its result. */
  view(): AgentMessage[] {
    if (this.#viewed === 0 && this.compaction !== undefined) this.#startAtCompaction(this.compaction);
    const end = settledEnd(this.#stored, this.#viewed);
    if (this.#viewed < end) {
      this.#show(requestView(this.#stored.slice(this.#viewed, end)));
      this.#viewed = end;
    }
    return end === this.#stored.length ? this.#view.slice() : this.#view.concat(this.#tail());
  }

  /** What is shown behind the view as long as nothing follows it. */
  #tail(): AgentMessage[] {
    const tail = requestView(this.#stored.slice(this.#viewed));
    this.#custom ||= tail.some((message) => !isMessage(message));
    return tail;
  }

  /** Whether the view holds messages of the application's own kinds. */
  get hasCustom(): boolean {
    return this.#custom;
  }

  /** Stored calls without a result; only what no request has shown yet can hold one. */
  openCalls(): OpenCall[] {
    return openCalls(this.#viewed === 0 ? this.#stored : this.#stored.slice(this.#viewed));
  }

  /** What `view` shows, in the middle of a batch too: without results that are missing still. */
  snapshot(): AgentMessage[] {
    return this.#view.concat(orderResults(this.#stored.slice(this.#viewed)));
  }

  /** Tokens of `view()`, each message estimated once. */
  estimate(): number {
    this.view();
    for (; this.#estimated < this.#view.length; this.#estimated++) {
      this.#estimate += estimateTokens(this.#view[this.#estimated] as AgentMessage);
    }
    return this.#viewed === this.#stored.length ? this.#estimate : this.#estimate + estimateAll(this.#tail());
  }

  #startAtCompaction(compaction: Compaction): void {
    const index = this.#stored.findIndex((message) => message.id === compaction.upTo);
    if (index < 0) return;
    this.#show(requestView(compaction.messages));
    this.#viewed = index + 1;
  }

  #show(messages: readonly AgentMessage[]): void {
    for (const message of messages) {
      this.#view.push(message);
      this.#custom ||= !isMessage(message);
    }
  }

  #forgetView(): void {
    this.#view = [];
    this.#custom = false;
    this.#viewed = 0;
    this.#estimate = 0;
    this.#estimated = 0;
  }
}

function storedRecord(record: Compaction, id: string): Compaction {
  if (isAdopted(record)) return record;
  const messages = record.messages.map((message, index) =>
    stampStored(message, `${id}.record.${index}`, "message of a stored compaction"),
  );
  return adopt({ ...record, messages }, "stored compaction");
}

/** By ids: a message of a record never changes under its id. */
function compactionChanged(a: Compaction | undefined, b: Compaction | undefined): boolean {
  if (a?.upTo !== b?.upTo || a?.messages.length !== b?.messages.length) return true;
  return a?.messages.some((message, index) => message.id !== b?.messages[index]?.id) === true;
}
