import { adopt, setOwn } from "./adopt.js";
import { SessionError } from "./errors.js";
import { type Json, type JsonObject, sameJson } from "./json.js";
import { safeLabel } from "./safe-label.js";
import type { LoadedSession, Revision, SaveOptions, SessionDelta, SessionQuery } from "./session.js";

/** What a store has to know of a session to decide about a write; both facts must be read in the transaction that writes. */
export type StoredState = {
  /** 0 when nothing is stored. */
  readonly revision: Revision;
  /** The revision that the delta's operation id made, when it was applied before. */
  readonly appliedAs?: Revision | undefined;
  /** The highest revision that deleted sessions of this id had: no later one is as low. */
  readonly retired?: Revision | undefined;
};

/** What a store is to do with a write: carry it out and store `revision`, answer `revision` and change nothing, or reject. */
export type WriteDecision =
  | { readonly type: "write"; readonly revision: Revision }
  | { readonly type: "applied"; readonly revision: Revision }
  | { readonly type: "refuse"; readonly error: SessionError };

/** Decides about an append at the cost of a comparison: which messages and keys to add is in the delta. */
export function applyAppend(id: string, stored: StoredState, delta: SessionDelta): WriteDecision {
  if (stored.appliedAs !== undefined) return { type: "applied", revision: stored.appliedAs };
  if (delta.baseRevision === undefined) {
    if (delta.messages.length === 0 && delta.compaction === undefined) {
      return { type: "write", revision: stored.revision };
    }
    const text = `${sessionLabel(id)}: without a base revision a write may carry metadata only`;
    return { type: "refuse", error: new SessionError("save", text) };
  }
  if (delta.baseRevision !== stored.revision) return conflict(id, stored.revision, delta.baseRevision);
  return { type: "write", revision: revisionAfter(stored) };
}

function revisionAfter({ revision, retired = 0 }: StoredState): Revision {
  return Math.max(revision, retired) + 1;
}

/** Decides about a save. A part of a session, as `load` answers for a known revision, is refused: it would wipe the rest. */
export function applySave(
  id: string,
  stored: Omit<StoredState, "appliedAs">,
  session: LoadedSession,
  options: SaveOptions = {},
): WriteDecision {
  if (session.from !== undefined && session.from !== 0) {
    const text = `${sessionLabel(id)}: only the messages from ${session.from} on are here, which cannot replace the whole`;
    return { type: "refuse", error: new SessionError("save", text) };
  }
  if (options.replace !== true && session.revision !== stored.revision) {
    return conflict(id, stored.revision, session.revision);
  }
  return { type: "write", revision: revisionAfter(stored) };
}

function conflict(id: string, stored: Revision, base: Revision): WriteDecision {
  const text = `${sessionLabel(id)} is at revision ${stored}, the write is based on ${base}`;
  return { type: "refuse", error: new SessionError("conflict", text) };
}

/** How errors name a session: one line, whatever the id holds. */
export function sessionLabel(id: string): string {
  return `session "${safeLabel(id)}"`;
}

/** An adopted copy of something to store; what JSON cannot hold is `SessionError("save")` naming the place in it. */
export function storable<T extends object>(value: T, place: string): T {
  try {
    return adopt(value, place);
  } catch (cause) {
    throw new SessionError("save", cause instanceof TypeError ? cause.message : `${place} cannot be copied`, { cause });
  }
}

/** A new frozen object: `current` without the keys of `unset`, then with those of `set`. Keys not named keep value and place. */
export function patchMetadata(current: JsonObject, set: JsonObject = {}, unset: readonly string[] = []): JsonObject {
  const patched: Record<string, Json> = {};
  for (const key of Object.keys(current)) {
    if (!unset.includes(key)) setOwn(patched, key, current[key] as Json);
  }
  for (const key of Object.keys(set)) setOwn(patched, key, set[key] as Json);
  return Object.freeze(patched);
}

/** True when every key of `filter` is in `metadata` with an equal value. */
export function matchesMetadata(metadata: JsonObject, filter: JsonObject = {}): boolean {
  return Object.entries(filter).every(([key, wanted]) => {
    const value = Object.hasOwn(metadata, key) ? metadata[key] : undefined;
    return value !== undefined && sameJson(value, wanted);
  });
}

const DEFAULT_PAGE = 100;

/**
 * A list query with its limit (100 by default) and the place where it goes on: stores number their writes, a session carries the number of
 * its last one, and the cursor of a page is the lowest number on it. Throws `SessionError("load")` for a limit or cursor that is none.
 */
export function pageRequest(query: SessionQuery): { readonly limit: number; readonly before: number } {
  const limit = query.limit ?? DEFAULT_PAGE;
  if (!Number.isSafeInteger(limit) || limit < 1) throw new SessionError("load", "the limit of a list is at least 1");
  if (query.cursor === undefined) return { limit, before: Number.MAX_SAFE_INTEGER };
  if (!/^\d{1,15}$/.test(query.cursor)) throw new SessionError("load", `no such cursor: ${safeLabel(query.cursor)}`);
  return { limit, before: Number(query.cursor) };
}
