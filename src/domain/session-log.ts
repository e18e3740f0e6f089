import { isAdopted } from "./adopt.js";
import type { JsonObject } from "./json.js";
import type { AgentMessage } from "./message.js";
import type { Compaction, LoadedSession, Revision, SaveOptions, SessionDelta, SessionInfo } from "./session.js";
import { applyAppend, applySave, patchMetadata, storable } from "./session-rules.js";

/** When a write happens: epoch milliseconds, and its number among all writes of the store. */
export type WriteStamp = { readonly at: number; readonly number: number };

/**
 * One session in memory. Adopted messages are shared by reference, all others are copied once when they come in; what `load` gives out is
 * frozen but for its list, which is fresh. A write that throws has changed nothing.
 */
export class SessionLog {
  #messages: AgentMessage[] = [];
  #metadata: JsonObject = Object.freeze({});
  #compaction: Compaction | undefined;
  /** Root fields of a newer version. */
  #unknown: object | undefined;
  #revision: Revision = 0;
  /** How many messages there were at revision `#since`, `#since + 1`...; what an older reader knows says nothing about these. */
  #counts = [0];
  #since: Revision = 0;
  readonly #applied = new Map<string, Revision>();
  readonly #retired: Revision;
  #written: WriteStamp = { at: 0, number: 0 };

  /** `retired`: the highest revision that deleted sessions of this id had. */
  constructor(retired: Revision = 0) {
    this.#retired = retired;
  }

  /** No revision of this id was higher. */
  get highest(): Revision {
    return Math.max(this.#revision, this.#retired);
  }

  /** The number of the last write that changed something. */
  get writeNumber(): number {
    return this.#written.number;
  }

  /** Costs the messages it answers with: all, or those after `known`. */
  load(known?: Revision): LoadedSession {
    const from = known === undefined ? 0 : (this.#counts[known - this.#since] ?? 0);
    return {
      ...this.#unknown,
      messages: this.#messages.slice(from),
      metadata: this.#metadata,
      revision: this.#revision,
      ...(this.#compaction === undefined ? undefined : { compaction: this.#compaction }),
      ...(from === 0 ? undefined : { from }),
    };
  }

  /** Costs the new messages and, when metadata changes, its keys. */
  append(id: string, delta: SessionDelta, stamp: WriteStamp): Revision {
    const { operationId, messages } = delta;
    const stored = { revision: this.#revision, appliedAs: this.#applied.get(operationId), retired: this.#retired };
    const decision = applyAppend(id, stored, delta);
    if (decision.type === "refuse") throw decision.error;
    if (decision.type === "applied") return decision.revision;

    const added = messages.length === 0 ? messages : messages.map(storableMessage);
    const metadata = this.#patched(delta);
    if (delta.compaction !== undefined) this.#compaction = storable(delta.compaction, "compaction");
    this.#metadata = metadata;
    for (const message of added) this.#messages.push(message);
    this.#count(decision.revision);
    this.#applied.set(operationId, decision.revision);
    this.#written = stamp;
    return decision.revision;
  }

  /** Replaces everything but the operations applied so far. */
  save(id: string, session: LoadedSession, options: SaveOptions, stamp: WriteStamp): Revision {
    const decision = applySave(id, { revision: this.#revision, retired: this.#retired }, session, options);
    if (decision.type === "refuse") throw decision.error;

    const { messages, metadata, compaction, revision: _revision, from: _from, ...unknown } = session;
    const copies = messages.map(storableMessage);
    const kept = {
      metadata: storable(metadata, "metadata"),
      compaction: compaction && storable(compaction, "compaction"),
      unknown: Object.keys(unknown).length === 0 ? undefined : storable(unknown, "session"),
    };
    this.#messages = copies;
    this.#metadata = kept.metadata;
    this.#compaction = kept.compaction;
    this.#unknown = kept.unknown;
    this.#revision = decision.revision;
    this.#counts = [copies.length];
    this.#since = decision.revision;
    this.#written = stamp;
    return decision.revision;
  }

  info(id: string): SessionInfo {
    const { length: count } = this.#messages;
    return { id, revision: this.#revision, count, metadata: this.#metadata, updatedAt: this.#written.at };
  }

  /** A revision that does not follow the one before is the first of a session made anew. */
  #count(revision: Revision): void {
    if (revision === this.#revision) return;
    if (revision === this.#revision + 1) this.#counts.push(this.#messages.length);
    else {
      this.#counts = [this.#messages.length];
      this.#since = revision;
    }
    this.#revision = revision;
  }

  #patched({ metadata, unset }: SessionDelta): JsonObject {
    if (metadata === undefined && unset === undefined) return this.#metadata;
    const set = metadata === undefined || isFrozenWithin(metadata) ? metadata : storable(metadata, "metadata");
    return patchMetadata(this.#metadata, set, unset);
  }
}

/** Whether nothing below the first level may change any more, so that no copy is needed. */
function isFrozenWithin(fields: JsonObject): boolean {
  const values = Object.values(fields);
  return values.length > 0 && values.every((value) => typeof value === "object" && value !== null && isAdopted(value));
}

function storableMessage(message: AgentMessage): AgentMessage {
  return storable(message, "message");
}
