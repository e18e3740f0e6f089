import { SessionError } from "../../domain/errors.js";
import { safeLabel } from "../../domain/safe-label.js";
import type { SessionInfo, SessionPage, SessionQuery } from "../../domain/session.js";
import { matchesMetadata, pageRequest } from "../../domain/session-rules.js";
import { isUnreadable, type JsonlDirectory } from "./jsonl-directory.js";
import { decodeEntry } from "./jsonl-entry.js";
import type { JsonlFile } from "./jsonl-file.js";
import { piecesOf } from "./jsonl-line.js";
import { idOfFileName, isFileName } from "./jsonl-names.js";
import { bytesAt } from "./jsonl-reading.js";
import { sessionInfo } from "./jsonl-session.js";

/** Where a session stands in the list: by the stamp of its last record, and by name where processes wrote in the same moment. */
type Place = { readonly name: string; readonly at: number };

/** How much of the end of a file is searched for its last record before all of it is read. */
const TAIL = 64 * 1024;

/** Files open at once. */
const AT_ONCE = 16;

/** Looks at the end of every file, and reads those on the page, or until it is full where there is a filter. */
export async function listSessions(
  directory: JsonlDirectory,
  query: SessionQuery,
  fileOf: (name: string) => JsonlFile,
): Promise<SessionPage> {
  const { limit } = pageRequest({ limit: query.limit });
  const before = placeOf(query.cursor);
  const items: SessionInfo[] = [];
  let last: Place | undefined;
  for (const place of await placesIn(directory, fileOf)) {
    if (before !== undefined && newestFirst(place, before) <= 0) continue;
    const info = await sessionInfo(fileOf(place.name), idOfFileName(place.name), place.at / 100);
    if (info === undefined || !matchesMetadata(info.metadata, query.metadata)) continue;
    if (last !== undefined && items.length === limit) return { items, cursor: `${last.at} ${last.name}` };
    items.push(info);
    last = place;
  }
  return { items };
}

function placeOf(cursor: string | undefined): Place | undefined {
  if (cursor === undefined) return undefined;
  const [, at, name = ""] = /^(\d{1,15}) (\S+)$/.exec(cursor) ?? [];
  if (!isFileName(name)) throw new SessionError("load", `no such cursor: ${safeLabel(cursor)}`);
  return { at: Number(at), name };
}

function newestFirst(a: Place, b: Place): number {
  return b.at - a.at || (a.name < b.name ? -1 : Number(a.name > b.name));
}

async function placesIn(directory: JsonlDirectory, fileOf: (name: string) => JsonlFile): Promise<readonly Place[]> {
  const files = (await directory.files()).filter((file) => file.endsWith(".jsonl"));
  const names = files.map((file) => file.slice(0, -".jsonl".length)).filter(isFileName);
  const places: Place[] = [];
  for (let start = 0; start < names.length; start += AT_ONCE) {
    const some = names.slice(start, start + AT_ONCE);
    const found = await Promise.all(some.map((name) => lastWrite(directory, fileOf(name))));
    for (const [index, at] of found.entries()) if (at !== undefined) places.push({ name: some[index] ?? "", at });
  }
  return places.sort(newestFirst);
}

/** The stamp of the last record that can be read, else the time of the file; undefined for a file that went away. */
async function lastWrite(directory: JsonlDirectory, { name }: JsonlFile): Promise<number | undefined> {
  const file = `${name}.jsonl`;
  const stamp = await lastStamp(directory, file).catch((error: unknown) => {
    if (!isUnreadable(error)) throw error;
  });
  if (stamp !== undefined) return stamp;
  const changedAt = await directory.changedAt(file);
  return changedAt && Math.floor(changedAt * 100);
}

async function lastStamp(directory: JsonlDirectory, file: string): Promise<number | undefined> {
  const handle = await directory.open(file, "read");
  if (handle === undefined) return undefined;
  try {
    const { size } = await handle.stat();
    return stampIn(await bytesAt(handle, Math.max(0, size - TAIL), Math.min(size, TAIL)));
  } finally {
    await handle.close();
  }
}

function stampIn(tail: Buffer): number | undefined {
  for (let end = tail.length; end > 0; ) {
    const start = tail.lastIndexOf(0x0a, end - 1) + 1;
    for (const piece of piecesOf(tail.subarray(start, end)).toReversed()) {
      const record = piece.type === "whole" ? decodeEntry(piece.fields) : undefined;
      if (record?.type === "entry") return record.place.at;
    }
    end = start - 1;
  }
  return undefined;
}
