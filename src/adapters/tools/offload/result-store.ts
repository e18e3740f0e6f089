import type { Awaitable } from "../../../ports/awaitable.js";

/** Whose a result is, and which. Both are any text: a store uses neither as a path or a query. */
export type ResultKey = { readonly sessionId: string; readonly id: string };

/** A part of a stored text. Positions and lengths are code points, so that no page begins or ends inside a character. */
export type ResultPage = { readonly text: string; readonly total: number };

/** Keeps texts that are too large for a conversation. May be used concurrently; rejects with anything. */
export interface ResultStore {
  /** Keeps a text; the same key again replaces it. */
  write(key: ResultKey, text: string): Awaitable<void>;
  /** At most `limit` code points from `offset` on; nothing for a key under which nothing is kept (any more). */
  read(key: ResultKey, range: { readonly offset: number; readonly limit: number }): Awaitable<ResultPage | undefined>;
}
