import { isJsonObject } from "../../../domain/json.js";

/** Asks for one page of a list. */
export type FetchPage = (cursor: string | undefined) => Promise<unknown>;

/**
 * Hands over what is listed, page by page. It stops at a cursor that was there before, at the last page that may be read, and behind a page on
 * which `take` said that it needs no more. Rejects with what `fetchPage` rejects with, and with a TypeError for a page that holds no list.
 */
export async function readPages(
  fetchPage: FetchPage,
  { key, maxPages }: { readonly key: string; readonly maxPages: number },
  take: (listed: unknown) => boolean,
): Promise<void> {
  const cursors = new Set<string>();
  let cursor: string | undefined;
  for (let page = 1; ; page++) {
    const { listed, next } = pageOf(await fetchPage(cursor), key);
    let more = true;
    for (const one of listed) more = take(one);
    if (!more || next === undefined || cursors.has(next) || page >= maxPages) return;
    cursors.add(next);
    cursor = next;
  }
}

function pageOf(raw: unknown, key: string): { readonly listed: readonly unknown[]; readonly next: string | undefined } {
  const list = isJsonObject(raw) ? raw[key] : undefined;
  // So servers in some languages write an empty list.
  const listed = list === null ? [] : list;
  if (!isJsonObject(raw) || !Array.isArray(listed))
    throw new TypeError(`the answer to a listing holds no list of ${key}`);
  const { nextCursor } = raw;
  return { listed, next: typeof nextCursor === "string" && nextCursor !== "" ? nextCursor : undefined };
}
