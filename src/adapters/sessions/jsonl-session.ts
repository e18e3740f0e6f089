import type { FileHandle } from "node:fs/promises";
import { SessionError } from "../../domain/errors.js";
import type { JsonObject } from "../../domain/json.js";
import type { AgentMessage } from "../../domain/message.js";
import type { LoadedSession, Revision, SaveOptions, SessionDelta, SessionInfo } from "../../domain/session.js";
import { applyAppend, applySave } from "../../domain/session-rules.js";
import { isUnreadable, type JsonlDirectory } from "./jsonl-directory.js";
import { appendMembers, decodeEntry, deletedMembers, type EntryPlace } from "./jsonl-entry.js";
import { messagesMembers, sessionMembers } from "./jsonl-entry.js";
import { AGAIN, type JsonlFile, type NewEntry, type OpenFile } from "./jsonl-file.js";
import { encodeLine } from "./jsonl-line.js";
import { JsonlLog } from "./jsonl-log.js";
import type { EncodedDelta, EncodedSession } from "./session-text.js";

/** A write of a session file is told the id, which the file of a new session begins with, and stamped by the directory. */
export type JsonlSession = { readonly file: JsonlFile; readonly directory: JsonlDirectory; readonly id: string };

/** Reads what follows `known` where it is among the last thousand revisions, else all of the file. */
export async function loadSession({ file }: JsonlSession, known: Revision | undefined): Promise<LoadedSession> {
  if (known === undefined) return loadWhole(file);
  const part = await file.run("read", async ({ handle, log }) => {
    const after = log.after(known);
    if (after === undefined || handle === undefined) return undefined;
    const messages: AgentMessage[] = [];
    await after.log.read(handle, log.size, { messages });
    return log.session(messages, after.count);
  });
  return part ?? loadWhole(file);
}

/** Read from its begin even where most of it is known, so that damage is noticed wherever it is. */
function loadWhole(file: JsonlFile): Promise<LoadedSession> {
  let messages: AgentMessage[] = [];
  const whole = async (handle: FileHandle, size: number): Promise<JsonlLog> => {
    messages = [];
    const log = new JsonlLog(file.name);
    await log.read(handle, size, { messages });
    return log;
  };
  return file.run("read", async ({ log }) => log.session(messages), whole);
}

/** Writes one record. */
export function appendSession(
  { file, directory, id }: JsonlSession,
  delta: SessionDelta,
  encoded: EncodedDelta,
): Promise<Revision> {
  return file.run("write", async (opened) => {
    const { log } = opened;
    const appliedAs = log.operations.get(encoded.operation);
    const decision = applyAppend(id, { revision: log.revision, retired: log.retired, appliedAs }, delta);
    if (decision.type === "refuse") throw decision.error;
    const { revision } = decision;
    if (decision.type === "applied") {
      // Whoever wrote it may have died before the device had it.
      await file.settle(opened);
      return revision;
    }
    const record = newEntry(appendMembers(placeIn(log, id, directory), revision, encoded));
    return (await file.append(opened, record)) ? revision : AGAIN;
  });
}

/** Writes the whole file anew, with the operations applied so far. A damaged one is replaced only where that is asked for. */
export function saveSession(
  { file, directory, id }: JsonlSession,
  session: LoadedSession,
  options: SaveOptions,
  encoded: EncodedSession,
): Promise<Revision> {
  return onWhole(file, "write", async (opened, damage) => {
    const { log } = opened;
    if (damage !== undefined && options.replace !== true) throw damage;
    const decision = applySave(id, { revision: log.revision, retired: log.highest }, session, options);
    if (decision.type === "refuse") throw decision.error;
    const { revision } = decision;
    const lines = sessionLines(placeInNext(log, id, directory), revision, encoded, log.operations);
    return (await file.replace(opened, lines)) ? revision : AGAIN;
  });
}

/** Leaves a file that holds the highest revision of the session, damaged or not, and nothing else of it. */
export function deleteSession({ file, directory, id }: JsonlSession): Promise<void> {
  return onWhole(file, "write", async (opened, damage) => {
    const { log } = opened;
    if (!log.exists && damage === undefined) return;
    const { text } = encodeLine(deletedMembers(placeInNext(log, id, directory), log.highest));
    return (await file.replace(opened, [`${text}\n`])) ? undefined : AGAIN;
  });
}

/** What a list says of the session, as far as it can be read; undefined where there is none. `id` is what its file's name tells. */
export async function sessionInfo(
  file: JsonlFile,
  id: string | undefined,
  changedAt: number,
): Promise<SessionInfo | undefined> {
  const infoOf = async ({ log }: OpenFile, damage?: SessionError): Promise<SessionInfo | undefined> => {
    if (!log.exists && damage === undefined) return undefined;
    const { revision, count, metadata, at } = log;
    const updatedAt = at > 0 ? Math.floor(at / 100) : changedAt;
    return { id: id ?? log.id ?? file.name, revision, count, metadata, updatedAt };
  };
  try {
    return await file.run("read", (opened) => infoOf(opened));
  } catch (error) {
    if (error instanceof SessionError) return onWhole(file, "read", infoOf);
    if (!isUnreadable(error)) throw error;
    return { id: id ?? file.name, revision: 0, count: 0, metadata: {}, updatedAt: changedAt };
  }
}

/** Like `run`, with all of the file read anew; damage is read over and handed to the call. */
function onWhole<T>(
  file: JsonlFile,
  mode: "read" | "write",
  call: (opened: OpenFile, damage: SessionError | undefined) => Promise<T | typeof AGAIN>,
): Promise<T> {
  let damage: SessionError | undefined;
  const whole = async (handle: FileHandle, size: number): Promise<JsonlLog> => {
    damage = undefined;
    try {
      const log = new JsonlLog(file.name);
      await log.read(handle, size);
      return log;
    } catch (error) {
      // Files of a newer version are shown in lists, and never written over.
      if (!(isCorrupt(error) || (error instanceof SessionError && mode === "read"))) throw error;
      damage = error;
      const salvaged = new JsonlLog(file.name);
      await salvaged.read(handle, size, { salvage: true });
      return salvaged;
    }
  };
  return file.run(mode, (opened) => call(opened, damage), whole);
}

function isCorrupt(error: unknown): error is SessionError {
  return error instanceof SessionError && error.kind === "corrupt";
}

function placeIn(log: JsonlLog, id: string, directory: JsonlDirectory): EntryPlace {
  const place = { number: log.number + 1, after: log.sum, at: directory.stamp(log.at) };
  return log.number === 0 ? { ...place, id, generation: log.generation } : place;
}

function placeInNext(log: JsonlLog, id: string, directory: JsonlDirectory): EntryPlace {
  return { number: 1, after: "", at: directory.stamp(log.at), id, generation: log.generation + 1 };
}

/** Read back from its text, so that its writer and every reader take it for the same. */
function newEntry(members: string): NewEntry {
  const entry = decodeEntry(JSON.parse(`{${members}}`) as JsonObject);
  if (entry?.type !== "entry") throw new SessionError("save", "the record would not be readable");
  return { entry, members };
}

/** About so many characters of messages make a record. */
const RECORD = 1_000_000;

function* sessionLines(
  place: EntryPlace,
  revision: Revision,
  session: EncodedSession,
  operations: ReadonlyMap<string, Revision>,
): Generator<string> {
  let { text, sum } = encodeLine(sessionMembers(place, revision, session, operations));
  yield `${text}\n`;
  let batch: string[] = [];
  let length = 0;
  let { number } = place;
  for (const [index, body] of session.bodies.entries()) {
    batch.push(body);
    length += body.length;
    if (length < RECORD && index < session.bodies.length - 1) continue;
    number += 1;
    ({ text, sum } = encodeLine(messagesMembers({ number, after: sum, at: place.at }, batch)));
    yield `${text}\n`;
    batch = [];
    length = 0;
  }
}
