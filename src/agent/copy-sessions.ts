import { thrownLabel } from "../domain/describe-thrown.js";
import { Defect, SessionError } from "../domain/errors.js";
import type { SessionStore } from "../ports/session-store.js";
import { type Copied, copySession, type CopyOptions } from "./session-transfer.js";

/** One session that was to be copied. The target has what it had before where there is an `error`. */
export type CopiedSession = { readonly id: string; readonly outcome: Copied } | CopyFailure;

/** A session that could not be copied: `refused` where the target has another one of its id, `failed` for anything else. */
export type CopyFailure = { readonly id: string; readonly outcome: "refused" | "failed"; readonly error: SessionError };

/** Which sessions are copied, all that `from` lists by default; how far the work is, after each; and what ends it between two of them. */
export type CopySessionsOptions = CopyOptions & {
  readonly ids?: Iterable<string> | AsyncIterable<string> | undefined;
  readonly onSession?: ((session: CopiedSession) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
};

/** How many sessions were copied or were there already, and those that were not, by id and reason. */
export type CopyReport = {
  readonly copied: number;
  readonly unchanged: number;
  readonly failures: readonly CopyFailure[];
};

/**
 * Copies sessions between any two stores, one after the other, each whole or not at all. The one that was written longest ago comes first, so that the
 * target lists them in the same order; for that it keeps the ids, and nothing else. One that cannot be copied keeps no other from being copied, and is
 * in the report. Interrupted or repeated, it goes on: what is there already is left as it is. Rejects with `SessionError("load")` where `from` cannot list,
 * and with the reason of the signal.
 */
export async function copySessions(options: CopySessionsOptions): Promise<CopyReport> {
  const { from, to, onSession, signal } = options;
  if (from === to) throw new SessionError("save", "the sessions of a store cannot be copied to itself");
  const ids = options.ids ?? (await idsOf(from, signal)).reverse();
  let [copied, unchanged] = [0, 0];
  const failures: CopyFailure[] = [];
  for await (const id of ids) {
    signal?.throwIfAborted();
    const session = await copyOne(id, options);
    if ("error" in session) failures.push(session);
    else if (session.outcome === "copied") copied += 1;
    else unchanged += 1;
    onSession?.(session);
  }
  return { copied, unchanged, failures };
}

async function copyOne(id: string, options: CopyOptions): Promise<CopiedSession> {
  try {
    return { id, outcome: await copySession(id, options) };
  } catch (cause) {
    if (Defect.is(cause)) throw cause;
    const error = cause instanceof SessionError ? cause : new SessionError("save", thrownLabel(cause), { cause });
    return { id, outcome: error.kind === "conflict" ? "refused" : "failed", error };
  }
}

/**
 * Each once, newest first. One that is written meanwhile moves to a page that was read, so the pages are read until there is nothing new on
 * them; what began in the meantime is newer than all before.
 */
async function idsOf(store: SessionStore, signal: AbortSignal | undefined): Promise<string[]> {
  let ids: string[] = [];
  const seen = new Set<string>();
  for (let fresh = await unseenIn(store, seen, signal); fresh.length > 0; fresh = await unseenIn(store, seen, signal)) {
    ids = fresh.concat(ids);
  }
  return ids;
}

async function unseenIn(store: SessionStore, seen: Set<string>, signal: AbortSignal | undefined): Promise<string[]> {
  if (store.list === undefined) throw new SessionError("load", "the session store cannot list");
  const before = seen.size;
  for (let cursor: string | undefined; ; ) {
    signal?.throwIfAborted();
    const page = await store.list({ cursor, limit: PAGE });
    for (const { id } of page.items) seen.add(id);
    if (page.cursor === undefined) return [...seen].slice(before);
    cursor = page.cursor;
  }
}

const PAGE = 500;
