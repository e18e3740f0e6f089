import { setOwn } from "../../domain/adopt.js";
import { SessionError } from "../../domain/errors.js";
import { isJsonObject, type Json, type JsonObject } from "../../domain/json.js";
import type { AgentMessage } from "../../domain/message.js";
import { safeLabel } from "../../domain/safe-label.js";
import type { Compaction } from "../../domain/session.js";
import { storable } from "../../domain/session-rules.js";
import { textOfKey } from "../../domain/text-key.js";

/** The id or key that `textKey` made a key of; anything else is `SessionError("corrupt")`, which says `what` it is. */
export function keyOf(key: string, what: string): string {
  const text = textOfKey(key);
  if (text === undefined) throw damaged(what);
  return text;
}

/** JSON text holds NUL and lone surrogates as escapes, so it is well-formed whatever is in the message. Throws `SessionError("save")` for what JSON cannot hold. */
export function encodeMessage(message: AgentMessage): string {
  return JSON.stringify(storable(message, "message"));
}

/** Throws `SessionError("corrupt")` unless there are `count` sound messages; the first one is number `from` in errors. */
export function decodeBodies(bodies: Iterable<unknown>, count: number, from = 0): AgentMessage[] {
  const messages: AgentMessage[] = [];
  for (const body of bodies) {
    const message = decodeObject(body, `message ${from + messages.length}`);
    // Stores keep messages of every version: what is an object is one.
    messages.push(message as unknown as AgentMessage);
  }
  if (messages.length !== count) {
    throw new SessionError("corrupt", `${messages.length} of ${count} messages are there`);
  }
  return messages;
}

/** A stored JSON object; anything else is `SessionError("corrupt")`. */
export function decodeObject(text: unknown, what: string): JsonObject {
  const value = typeof text === "string" ? decodeJson(text, what) : undefined;
  if (!isJsonObject(value)) throw damaged(what);
  return value;
}

/** A stored compaction; anything else is `SessionError("corrupt")`. */
export function decodeCompaction(text: unknown): Compaction {
  return soundCompaction(decodeObject(text, "compaction"));
}

/** Throws `SessionError("corrupt")` for a compaction without its messages. */
export function soundCompaction(value: Json): Compaction {
  if (isJsonObject(value) && Array.isArray(value["messages"])) return value as unknown as Compaction;
  throw damaged("compaction");
}

/** Metadata from keys and JSON texts in the order given; a damaged one is `SessionError("corrupt")`. */
export function decodeFields(fields: Iterable<readonly [name: string, body: string]>): JsonObject {
  const metadata: Record<string, Json> = {};
  for (const [name, body] of fields) {
    const key = keyOf(name, "a metadata key");
    setOwn(metadata, key, decodeJson(body, key));
  }
  return metadata;
}

/** Throws `SessionError("corrupt")` for a text that is no JSON. */
export function decodeJson(text: string, what: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    // The parser's own error quotes what it read, which is the user's.
    throw damaged(what);
  }
}

/** What is stored at a place cannot be read. */
export function damaged(what: string): SessionError {
  return new SessionError("corrupt", `${safeLabel(what)} is damaged`);
}
