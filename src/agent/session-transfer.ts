import { SessionError } from "../domain/errors.js";
import { type Json, sameJson } from "../domain/json.js";
import { type LoadedSession, type Revision, type Session, SESSION_KEYS } from "../domain/session.js";
import { readSession, sessionLines } from "../domain/session-lines.js";
import { patchMetadata, sessionLabel } from "../domain/session-rules.js";
import type { TextSource } from "../domain/text-lines.js";
import type { ImportOptions } from "../ports/agent-api.js";
import type { SessionStore } from "../ports/session-store.js";
import { loadedSession, writtenRevision } from "./store-answers.js";

/** Where a session is copied from and to; `replace` lets it take the place of another that has its id. */
export type CopyOptions = {
  readonly from: SessionStore;
  readonly to: SessionStore;
  readonly replace?: boolean | undefined;
};

/** What became of a session that was to be copied: `unchanged` where the very same was there already. */
export type Copied = "copied" | "unchanged";

/**
 * A session of any store, a mirror too, as lines of the export format: what it was at one revision, the one it had when the first line was
 * asked for, whatever is written meanwhile. The lease of a turn stays behind. Rejects with `SessionError`: `load` for an id nobody has written.
 */
export async function* exportSession(store: SessionStore, id: string): AsyncGenerator<string, void> {
  yield* sessionLines(id, await stored(store, id));
}

/**
 * Stores what `exportSession` wrote, in pieces of any size. Everything is read before the one write: what is cut, damaged or foreign is a
 * `SessionError` that names the line, and stores nothing. Where a session has the id already it is a `conflict`, unless `replace`.
 */
export async function importSession(
  store: SessionStore,
  source: TextSource,
  options: ImportOptions = {},
): Promise<{ readonly id: string; readonly revision: Revision }> {
  const { id, session } = await readSession(source);
  const target = options.id ?? id;
  if (target === undefined)
    throw new SessionError("save", "the export names no session: say under which id to store it");
  return { id: target, revision: await put(store, target, withoutLease(session), options) };
}

/**
 * Copies one session as it is at one revision: messages, metadata, compaction and unknown fields, but no lease, no operation ids, and
 * with a revision of the target's own. Rejects with `SessionError`: `load` where nobody has written it, `conflict` where the target
 * has another session of its id, unless `replace`.
 */
export async function copySession(id: string, { from, to, replace }: CopyOptions): Promise<Copied> {
  const session = await stored(from, id);
  const there = loadedSession(await to.load(id), undefined);
  if (isSame(session, there)) return "unchanged";
  await put(to, id, session, { replace });
  return "copied";
}

/** A session as it is stored now, without a lease. */
async function stored(store: SessionStore, id: string): Promise<Session> {
  const { from: _from, ...session } = loadedSession(await store.load(id), undefined);
  if (isUnwritten(session)) throw new SessionError("load", `${sessionLabel(id)} does not exist`);
  return withoutLease(session);
}

/** One write: all of it, or nothing. */
async function put(
  store: SessionStore,
  id: string,
  session: Session,
  { replace = false }: ImportOptions,
): Promise<Revision> {
  if (replace) return writtenRevision(await store.save(id, session, { replace: true }));
  if (!isUnwritten(loadedSession(await store.load(id), undefined))) {
    throw new SessionError(
      "conflict",
      `${sessionLabel(id)} exists: nothing takes its place unless \`replace\` says so`,
    );
  }
  return writtenRevision(await store.save(id, { ...session, revision: 0 }));
}

/** Nobody has written it, not even its metadata. */
export function isUnwritten({ revision, messages, metadata }: Session): boolean {
  return revision === 0 && messages.length === 0 && Object.keys(metadata).length === 0;
}

/** The lease is a turn's where it was set, and nobody's elsewhere (S2). */
export function withoutLease(session: Session): Session {
  if (!Object.hasOwn(session.metadata, SESSION_KEYS.turn)) return session;
  return { ...session, metadata: patchMetadata(session.metadata, {}, [SESSION_KEYS.turn]) };
}

function isSame(session: Session, { from: _from, ...other }: LoadedSession): boolean {
  if (session.messages.length !== other.messages.length) return false;
  const [one, two] = [session, withoutLease(other)].map((each) => ({ ...each, revision: 0 }) as unknown as Json);
  return sameJson(one as Json, two as Json);
}
