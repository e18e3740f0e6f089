import type { FileHandle } from "node:fs/promises";
import { adopt } from "../../domain/adopt.js";
import { SessionError } from "../../domain/errors.js";
import type { JsonObject } from "../../domain/json.js";
import type { AgentMessage } from "../../domain/message.js";
import type { Compaction, LoadedSession, Revision } from "../../domain/session.js";
import { patchMetadata } from "../../domain/session-rules.js";
import { decodeEntry, type Entry, type EntryChange, type Move } from "./jsonl-entry.js";
import { FRAME_LIMIT, type LinePiece, piecesOf, sumAt, VERSION } from "./jsonl-line.js";
import { fileNameOf } from "./jsonl-names.js";
import { bytesAt, type Line, linesOf } from "./jsonl-reading.js";

/** A place in the file from which it can be read on: after so many messages, behind the record of this number and sum. */
type Mark = { readonly count: number; readonly offset: number; readonly number: number; readonly sum: string };

/** How many revisions back a reader is answered with what is new alone. */
const MARKS = 1_000;

/** No record is shorter, in bytes; so unreadable bytes cannot have held more records than this allows. */
const SHORTEST_RECORD = 64;

/** What is particular to a reading: where messages go, which record is looked for, and whether damage is read over instead of thrown. */
export type Reading = {
  readonly messages?: AgentMessage[];
  readonly watch?: string;
  readonly salvage?: boolean;
};

/**
 * A session's file as read so far. A record counts when it follows the last one that did; one whose place was taken has lost a race and is
 * void; one that follows on something that is not there proves that a record is missing. Nothing else has to be believed of the order of
 * writes, so no lock is needed. A file that was read on is never read again for it.
 */
export class JsonlLog {
  readonly #name: string;
  /** The whole records end here; a line without an end is read again. */
  #offset = 0;
  #lines = 0;
  #lastOffset = 0;
  #damagedLine: number | undefined;
  #brokenBytes = 0;
  #isBroken = false;
  /** Messages of a saved session that have not come yet; its file was whole when it was put in place. */
  #missing = 0;
  /** How far the file was read. */
  size = 0;
  /** The end that was read is no end of a line: what is written next must begin a new one. */
  ragged = false;
  number = 0;
  sum = "";
  at = 0;
  generation = 0;
  id: string | undefined;
  /** Something is stored, be it of revision 0. */
  exists = false;
  revision: Revision = 0;
  retired: Revision = 0;
  count = 0;
  metadata: JsonObject = Object.freeze({});
  compaction: Compaction | undefined;
  later: JsonObject | undefined;
  /** What could not be read was read over, so nothing may be based on this. */
  isSalvaged = false;
  /** Where the file goes on, as a `Move` names it. */
  movedTo: string | undefined;
  readonly operations = new Map<string, Revision>();
  readonly #marks = new Map<Revision, Mark>();

  /** `name` is that of the file, without its ending. */
  constructor(name: string) {
    this.#name = name;
  }

  /** True when the file is the one that was read, whatever was written to it since. */
  async isOf(handle: FileHandle, size: number): Promise<boolean> {
    if (this.number === 0 || size < this.#offset) return false;
    return sumAt(await bytesAt(handle, this.#lastOffset, FRAME_LIMIT)) === this.sum;
  }

  /**
   * Reads on to `size`. Resolves to true when the record with the sum `watch` was among what counts. Throws `SessionError("corrupt")`, which
   * names the line, for damage; unless it is to be read over.
   */
  async read(handle: FileHandle, size: number, reading: Reading = {}): Promise<boolean> {
    let seen = false;
    this.isSalvaged ||= reading.salvage === true;
    for await (const lines of linesOf(handle, this.#offset, size)) {
      for (const line of lines) {
        if (this.movedTo === undefined) seen = this.#take(line, reading) || seen;
      }
    }
    this.size = size;
    if (reading.salvage === true) return seen;
    if (this.#damagedLine !== undefined) throw this.#damage(this.#damagedLine);
    if (this.#missing > 0) throw this.#damage(this.#lines + 1);
    return seen;
  }

  /** Counts a record that was written at the end of what was read, and ends now where the file does. */
  wrote(entry: Entry, sum: string, start: number, size: number): void {
    this.#offset = size;
    this.size = size;
    this.#lines += this.ragged ? 2 : 1;
    this.ragged = false;
    this.#apply(entry, sum, start);
  }

  /** What follows `known`, as a place to read on from; undefined where the whole is due. */
  after(known: Revision): { readonly log: JsonlLog; readonly count: number } | undefined {
    const mark = this.#marks.get(known);
    if (mark === undefined || mark.count === 0) return undefined;
    const log = new JsonlLog(this.#name);
    log.#offset = mark.offset;
    log.number = mark.number;
    log.sum = mark.sum;
    return { log, count: mark.count };
  }

  /** The session with these messages of it. */
  session(messages: readonly AgentMessage[], from = 0): LoadedSession {
    return {
      ...this.later,
      messages,
      metadata: this.metadata,
      revision: this.revision,
      ...(this.compaction && { compaction: this.compaction }),
      ...(from > 0 && { from }),
    };
  }

  /** No revision of this id was higher, what could not be read included. */
  get highest(): Revision {
    const known = Math.max(this.revision, this.retired);
    // A first record may have said any revision. Nobody writes more often than once a millisecond for so long.
    if (known === 0 && this.#isBroken) return Date.now();
    return known + Math.ceil(this.#brokenBytes / SHORTEST_RECORD);
  }

  #take({ offset, bytes, terminated }: Line, reading: Reading): boolean {
    let end = terminated ? offset + bytes.length + 1 : offset;
    let seen = false;
    for (const piece of piecesOf(bytes)) {
      const record = this.#recordIn(piece, reading);
      if (record === undefined) continue;
      if (!terminated) end = offset + bytes.length;
      if (record.entry.type === "move") {
        if (record.entry.from === offset + record.start) this.movedTo = record.entry.to;
      } else if (this.#counts(record.entry, reading)) {
        this.#apply(record.entry, record.sum, offset + record.start, end, reading.messages);
        seen ||= record.sum === reading.watch;
      }
    }
    this.#offset = end;
    if (terminated) this.#lines += 1;
    this.ragged = !terminated;
    return seen;
  }

  /** Undefined where there is none; throws for one of a newer version, unless it is to be read over. */
  #recordIn(
    piece: LinePiece,
    { salvage = false }: Reading,
  ): { entry: Entry | Move; sum: string; start: number } | undefined {
    if (piece.type === "torn") return undefined;
    const entry = piece.type === "whole" ? decodeEntry(piece.fields) : undefined;
    if (piece.type === "whole" && entry !== undefined) return { entry, sum: piece.sum, start: piece.start };
    if (piece.type === "newer" && !salvage) {
      const text = `${this.#label()} has format ${piece.version}, this version of the package reads ${VERSION}`;
      throw new SessionError("load", text);
    }
    this.#damagedLine ??= this.#lines + 1;
    this.#isBroken = true;
    this.#brokenBytes += piece.type === "damaged" ? piece.length : SHORTEST_RECORD;
    return undefined;
  }

  #counts({ place }: Entry, { salvage = false }: Reading): boolean {
    if (place.number <= this.number) return false;
    if (!salvage && (place.number !== this.number + 1 || place.after !== this.sum)) {
      throw this.#damage(this.#damagedLine ?? this.#lines + 1);
    }
    const foreign = !salvage && place.id !== undefined && fileNameOf(place.id) !== this.#name;
    if (foreign) throw new SessionError("corrupt", `${this.#label()} holds another session`);
    return true;
  }

  #apply({ place, change }: Entry, sum: string, start: number, end = this.#offset, messages?: AgentMessage[]): void {
    this.number = place.number;
    this.sum = sum;
    this.at = place.at;
    this.id ??= place.id;
    this.generation = place.generation ?? this.generation;
    this.#lastOffset = start;
    // The chain goes on over what could not be read, so it was no record that counts.
    this.#damagedLine = undefined;
    this.#brokenBytes = 0;
    const raised = this.#change(change, messages);
    if (!raised) return;
    this.#marks.set(this.revision, { count: this.count, offset: end, number: place.number, sum });
    const [oldest] = this.#marks.keys();
    if (this.#marks.size > MARKS && oldest !== undefined) this.#marks.delete(oldest);
  }

  /** Answers whether the messages up to here are those of the revision. */
  #change(change: EntryChange, messages: AgentMessage[] | undefined): boolean {
    const before = this.revision;
    if (change.type === "deleted") {
      this.retired = change.revision;
      return false;
    }
    this.exists = true;
    if (change.type === "messages" || change.type === "append") {
      this.count += change.messages.length;
      for (const message of change.messages) messages?.push(message);
      if (change.type === "messages") this.#missing -= change.messages.length;
      if (change.type === "messages") return true;
      this.#patch(change);
      this.operations.set(change.operation, change.revision);
      this.revision = change.revision;
      return change.revision !== before;
    }
    this.revision = change.revision;
    this.#missing = change.count;
    this.metadata = adopt(change.metadata, "metadata");
    this.compaction = change.compaction && adopt(change.compaction, "compaction");
    this.later = change.later && adopt(change.later, "session");
    for (const [operation, revision] of change.operations) this.operations.set(operation, revision);
    return true;
  }

  #patch({ metadata, unset, compaction }: EntryChange & { readonly type: "append" }): void {
    if (metadata !== undefined || unset !== undefined) {
      this.metadata = patchMetadata(this.metadata, metadata && adopt(metadata, "metadata"), unset);
    }
    if (compaction !== undefined) this.compaction = adopt(compaction, "compaction");
  }

  #damage(line: number): SessionError {
    return new SessionError("corrupt", `${this.#label()}, line ${line} is damaged`);
  }

  #label(): string {
    return `file ${this.#name.slice(0, 60)}.jsonl`;
  }
}
