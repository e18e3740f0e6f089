import { SessionError } from "../domain/errors.js";
import { isJsonObject } from "../domain/json.js";
import type { LoadedSession, Revision } from "../domain/session.js";

/** What a store answered to `load`, so far as types bind nobody's store. Throws `SessionError("corrupt")` naming what is wrong with it; the messages' own shape is not looked at. */
export function loadedSession(answer: unknown, known: Revision | undefined): LoadedSession {
  const fault = faultOf(answer, known);
  if (fault === undefined) return answer as LoadedSession;
  throw new SessionError("corrupt", `what the store answered is no session: ${fault}`);
}

function faultOf(answer: unknown, known: Revision | undefined): string | undefined {
  if (!isJsonObject(answer)) return "no object";
  const { messages, metadata, revision, compaction, from } = answer;
  if (!Array.isArray(messages) || !messages.every(isJsonObject)) return "no list of messages";
  if (!isJsonObject(metadata)) return "no metadata";
  if (!isCount(revision)) return "no revision";
  if (from !== undefined && !isCount(from)) return "no index of its first message";
  if (known === undefined && from !== undefined && from !== 0) return "not the whole";
  if (compaction === undefined) return undefined;
  const whole = isJsonObject(compaction) && typeof compaction["upTo"] === "string";
  return whole && Array.isArray(compaction["messages"]) ? undefined : "no compaction record";
}

/** The revision a store answered to a write. Throws `SessionError("save")` for anything else. */
export function writtenRevision(answer: unknown): Revision {
  if (isCount(answer)) return answer;
  throw new SessionError("save", "the store answered a write with no revision");
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
