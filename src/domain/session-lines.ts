import { SessionError } from "./errors.js";
import { isJsonObject, type Json, type JsonObject } from "./json.js";
import type { AgentMessage } from "./message.js";
import { safeLabel } from "./safe-label.js";
import type { Compaction, Session } from "./session.js";
import { linesOf, LONGEST_LINE, type TextLine, type TextSource } from "./text-lines.js";

/** What an export says it is in its first line. */
const FORMAT = "ennead.session";
/** Raised when an older reader would misread what a newer one writes; fields that are only added leave it. */
const VERSION = 1;

/** A session with the id it was exported under; none where a session of no format of ours was read. */
export type ExportedSession = { readonly id: string | undefined; readonly session: Session };

/**
 * A session as text, one line at a time, each with its end: what it is and everything but its messages, then a line a message. What is
 * read back is the same, unknown fields, `__proto__`, NUL and lone surrogates included.
 */
export function* sessionLines(id: string, session: Session): Generator<string, void> {
  const { messages, revision, ...rest } = session;
  const head = { format: FORMAT, version: VERSION, id, revision, count: messages.length, session: rest };
  yield `${JSON.stringify(head)}\n`;
  for (const [index, message] of messages.entries()) yield `${JSON.stringify({ index, message })}\n`;
}

/**
 * Reads what `sessionLines` wrote. `check` may replace each message, also those of a compaction, and is told its place. Throws
 * `SessionError`, each time naming the line: `corrupt` for what is no export, or not a whole one, `load` for a newer version.
 */
export async function readSession(source: TextSource, check: MessageCheck = asItIs): Promise<ExportedSession> {
  const lines = linesOf(source);
  try {
    const first = await nextLine(lines, undefined);
    if (first === undefined) throw new SessionError("corrupt", "line 1: there is nothing");
    const head = headOf(first) ?? (await onePieceOf(first, lines));
    return head["format"] === FORMAT ? await versioned(head, first, lines, check) : plainSession(head, check);
  } finally {
    await lines.return();
  }
}

/** Makes of what was read at a place a message, or throws what is wrong with it. */
export type MessageCheck = (message: AgentMessage, place: string) => AgentMessage;

function asItIs(message: AgentMessage, place: string): AgentMessage {
  if (isJsonObject(message)) return message;
  throw new SessionError("corrupt", `${place}: is no message`);
}

type Lines = AsyncGenerator<TextLine, void>;

async function versioned(head: JsonObject, at: TextLine, lines: Lines, check: MessageCheck): Promise<ExportedSession> {
  const { version, id, count, revision, session } = head;
  checkVersion(version, at);
  const whole = typeof id === "string" && isCount(count) && isCount(revision) && isJsonObject(session);
  if (!whole || !isJsonObject(session["metadata"])) throw damaged(at, "does not say what the session is");
  const messages: AgentMessage[] = [];
  let last = at;
  for (let line = await nextLine(lines, last); line !== undefined; line = await nextLine(lines, last)) {
    if (messages.length === count) throw damaged(line, `follows the last of ${count} messages`);
    messages.push(check(messageOf(line, messages.length), `line ${line.number}`));
    last = line;
  }
  if (messages.length < count) {
    throw new SessionError(
      "corrupt",
      `line ${last.number}: the last one, and only ${messages.length} of ${count} messages are there`,
    );
  }
  return { id, session: sessionOf({ ...session, revision }, messages, `line ${at.number}`, check) };
}

function checkVersion(version: unknown, at: TextLine): void {
  if (!isCount(version) || version === 0) throw damaged(at, "has no version");
  if (version <= VERSION) return;
  const text = `line ${at.number}: the export has version ${version}, this version of the package reads ${VERSION}`;
  throw new SessionError("load", text);
}

function messageOf(line: TextLine, index: number): AgentMessage {
  const record = jsonIn(line);
  if (!isJsonObject(record) || !isJsonObject(record["message"])) throw damaged(line, "holds no message");
  if (record["index"] !== index) throw damaged(line, `holds another message than number ${index}`);
  return record["message"] as unknown as AgentMessage;
}

/** Before there was a format, a session was written as it is, in one JSON value. */
function plainSession(value: JsonObject, check: MessageCheck): ExportedSession {
  const { messages, revision = 0 } = value;
  if (!Array.isArray(messages) || !isJsonObject(value["metadata"]) || !isCount(revision)) throw foreign();
  const checked = messages.map((message, index) => check(message as AgentMessage, `messages[${index}]`));
  return { id: undefined, session: sessionOf({ ...value, revision }, checked, "the session", check) };
}

function sessionOf(fields: JsonObject, messages: AgentMessage[], place: string, check: MessageCheck): Session {
  const { compaction } = fields;
  const rest = { ...fields, messages } as unknown as Session;
  if (compaction === undefined) return rest;
  const sound =
    isJsonObject(compaction) && typeof compaction["upTo"] === "string" && Array.isArray(compaction["messages"]);
  if (!sound) throw new SessionError("corrupt", `${place}: holds a damaged compaction`);
  const record = compaction as unknown as Compaction;
  const own = record.messages.map((message, index) => check(message, `${place}: compaction.messages[${index}]`));
  return { ...rest, compaction: { ...record, messages: own } };
}

/** The first line of an export, undefined for anything else. */
function headOf(line: TextLine): JsonObject | undefined {
  const value = parsed(line.text);
  if (!isJsonObject(value)) return undefined;
  return value["format"] === FORMAT || "messages" in value ? value : undefined;
}

/** A JSON value over several lines; what begins like none is not read to its end. */
async function onePieceOf(first: TextLine, lines: Lines): Promise<JsonObject> {
  if (first.text.trim() !== "{") throw foreign();
  const texts = [first.text];
  let length = 0;
  for await (const { text } of lines) {
    length += text.length;
    if (length > LONGEST_LINE) throw foreign();
    texts.push(text);
  }
  const value = parsed(texts.join("\n"));
  if (!isJsonObject(value)) throw foreign();
  return value;
}

/** The next line that is not blank. */
async function nextLine(lines: Lines, last: TextLine | undefined): Promise<TextLine | undefined> {
  for (let next = await lines.next(); next.done !== true; next = await lines.next()) {
    const { text, number } = next.value;
    const own = last === undefined && number === 1 && text.startsWith("\ufeff") ? text.slice(1) : text;
    if (own.trim() !== "") return { text: own, number };
  }
  return undefined;
}

function jsonIn(line: TextLine): Json {
  const value = parsed(line.text);
  if (value === undefined) throw damaged(line, "is no JSON");
  return value;
}

/** The parser's own error quotes what it read, which is the user's. */
function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function damaged(line: TextLine, what: string): SessionError {
  return new SessionError("corrupt", `line ${line.number}: ${safeLabel(what)}`);
}

function foreign(): SessionError {
  return new SessionError("corrupt", "line 1: is no export of a session");
}
