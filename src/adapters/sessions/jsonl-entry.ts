import { isJsonObject, type Json, type JsonObject } from "../../domain/json.js";
import type { AgentMessage } from "../../domain/message.js";
import type { Compaction, Revision } from "../../domain/session.js";
import type { EncodedDelta, EncodedSession } from "./session-text.js";

/**
 * The place of a record in its file: its number from 1, and the sum of the record before it. Of two writers that saw the same end the
 * first one's record has it, and the other's is void. The first record says whose file it is, and how often it was written anew.
 */
export type EntryPlace = {
  readonly number: number;
  readonly after: string;
  /** Grows from write to write of a store: epoch milliseconds times a hundred, and more where several fall into one. */
  readonly at: number;
  readonly id?: string;
  readonly generation?: number;
};

/** What a record does to the session. */
export type EntryChange =
  | {
      readonly type: "append";
      readonly operation: string;
      readonly revision: Revision;
      readonly messages: readonly AgentMessage[];
      readonly metadata?: JsonObject;
      readonly unset?: readonly string[];
      readonly compaction?: Compaction;
    }
  | {
      readonly type: "session";
      readonly revision: Revision;
      /** How many messages the records that follow hold of it. */
      readonly count: number;
      readonly metadata: JsonObject;
      readonly compaction?: Compaction;
      readonly later?: JsonObject;
      readonly operations: readonly (readonly [operation: string, revision: Revision])[];
    }
  | { readonly type: "messages"; readonly messages: readonly AgentMessage[] }
  | { readonly type: "deleted"; readonly revision: Revision };

/** A record that counts among those of its file. */
export type Entry = { readonly type: "entry"; readonly place: EntryPlace; readonly change: EntryChange };

/** The last word of a file: it goes on in another. It counts only where it stands at the byte it names, that is when nothing came between. */
export type Move = { readonly type: "move"; readonly from: number; readonly to: string };

/** The members of a record that appends. */
export function appendMembers(place: EntryPlace, revision: Revision, delta: EncodedDelta): string {
  const fields = [`"operation":${JSON.stringify(delta.operation)},"revision":${revision}`];
  fields.push(`"messages":[${delta.bodies.join(",")}]`);
  if (delta.metadata !== undefined) fields.push(`"metadata":${JSON.stringify(delta.metadata)}`);
  if (delta.unset.length > 0) fields.push(`"unset":${JSON.stringify(delta.unset)}`);
  if (delta.compaction !== undefined) fields.push(`"compaction":${delta.compaction}`);
  return `${placeMembers(place)},"append":{${fields.join(",")}}`;
}

/** The members of the record that begins a file with a whole session. */
export function sessionMembers(
  place: EntryPlace,
  revision: Revision,
  session: EncodedSession,
  operations: ReadonlyMap<string, Revision>,
): string {
  const fields = [`"revision":${revision},"count":${session.bodies.length}`];
  fields.push(`"metadata":${JSON.stringify(session.metadata)}`);
  if (session.compaction !== undefined) fields.push(`"compaction":${session.compaction}`);
  if (session.later !== undefined) fields.push(`"later":${session.later}`);
  fields.push(`"operations":${JSON.stringify([...operations])}`);
  return `${placeMembers(place)},"session":{${fields.join(",")}}`;
}

/** The members of a record with more messages of the session that began the file. */
export function messagesMembers(place: EntryPlace, bodies: readonly string[]): string {
  return `${placeMembers(place)},"messages":[${bodies.join(",")}]`;
}

/** The members of the record that is left of a deleted session. */
export function deletedMembers(place: EntryPlace, revision: Revision): string {
  return `${placeMembers(place)},"deleted":{"revision":${revision}}`;
}

/** The members of a record that ends a file. */
export function moveMembers({ from, to }: Omit<Move, "type">): string {
  return `"moved":${JSON.stringify({ from, to })}`;
}

function placeMembers({ number, after, at, id, generation }: EntryPlace): string {
  const first = id === undefined ? "" : `,"id":${JSON.stringify(id)},"generation":${generation ?? 0}`;
  return `"number":${number},"after":"${after}","at":${at}${first}`;
}

/** What the fields of a whole line say; undefined where they are no record of this version. */
export function decodeEntry(fields: JsonObject): Entry | Move | undefined {
  const moved = fields["moved"];
  if (isJsonObject(moved)) return decodeMove(moved);
  const change = decodeChange(fields);
  const { number, after, at, id, generation } = fields;
  if (change === undefined || !isCount(number) || typeof after !== "string" || !isCount(at)) return undefined;
  if (number !== 1) {
    const isFirst = change.type === "session" || change.type === "deleted";
    return isFirst ? undefined : { type: "entry", place: { number, after, at }, change };
  }
  if (typeof id !== "string" || !isCount(generation)) return undefined;
  return { type: "entry", place: { number, after, at, id, generation }, change };
}

function decodeMove({ from, to }: JsonObject): Move | undefined {
  // It becomes part of a path.
  const named = typeof to === "string" && /^\d{1,15}-[0-9a-f]{16}$/.test(to);
  return isCount(from) && named ? { type: "move", from, to } : undefined;
}

function decodeChange(fields: JsonObject): EntryChange | undefined {
  const { append, session, messages, deleted } = fields;
  if (isJsonObject(append)) return decodeAppend(append);
  if (isJsonObject(session)) return decodeSession(session);
  if (areMessages(messages)) return { type: "messages", messages };
  if (isJsonObject(deleted) && isCount(deleted["revision"])) {
    return { type: "deleted", revision: deleted["revision"] };
  }
  return undefined;
}

function decodeAppend({
  operation,
  revision,
  messages,
  metadata,
  unset,
  compaction,
}: JsonObject): EntryChange | undefined {
  if (typeof operation !== "string" || !isCount(revision) || !areMessages(messages)) return undefined;
  if (metadata !== undefined && !isJsonObject(metadata)) return undefined;
  if (unset !== undefined && !areTexts(unset)) return undefined;
  if (compaction !== undefined && !isCompaction(compaction)) return undefined;
  return {
    ...{ type: "append", operation, revision, messages },
    ...(metadata && { metadata }),
    ...(unset && { unset }),
    ...(compaction && { compaction }),
  };
}

function decodeSession({
  revision,
  count,
  metadata,
  compaction,
  later,
  operations,
}: JsonObject): EntryChange | undefined {
  if (!isCount(revision) || !isCount(count) || !isJsonObject(metadata) || !areOperations(operations)) return undefined;
  if (compaction !== undefined && !isCompaction(compaction)) return undefined;
  if (later !== undefined && !isJsonObject(later)) return undefined;
  return {
    type: "session",
    revision,
    count,
    metadata,
    operations,
    ...(compaction && { compaction }),
    ...(later && { later }),
  };
}

function isCount(value: Json | undefined): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function areTexts(value: Json): value is readonly string[] {
  return Array.isArray(value) && value.every((text) => typeof text === "string");
}

/** Stores keep messages of every version: what is an object is one. */
function areMessages(value: unknown): value is readonly AgentMessage[] {
  return Array.isArray(value) && value.every((message) => isJsonObject(message));
}

function isCompaction(value: unknown): value is Compaction {
  return isJsonObject(value) && Array.isArray(value["messages"]);
}

function areOperations(value: unknown): value is readonly (readonly [string, Revision])[] {
  return (
    Array.isArray(value) &&
    value.every((pair) => Array.isArray(pair) && typeof pair[0] === "string" && isCount(pair[1] as Json))
  );
}
