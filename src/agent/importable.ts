import type { AgentMessage } from "../domain/message.js";
import type { Session } from "../domain/session.js";
import { type ExportedSession, readSession } from "../domain/session-lines.js";
import { stampMessage, stampStored } from "../domain/stamp-message.js";
import type { TextSource } from "../domain/text-lines.js";
import type { Runtime } from "../ports/runtime.js";
import { invalidInput } from "./invalid-input.js";
import { withoutLease } from "./session-transfer.js";

/**
 * A session from outside, without a lease: each message is one, and has an id and a time. What was exported was stored, and is held to no more than what
 * is stored. Rejects with `AgentError("invalid-input")` naming the message or the line.
 */
export async function importable(source: Session | TextSource, runtime: Runtime): Promise<ExportedSession> {
  try {
    const { id, session } = isText(source)
      ? await readSession(source, stampExported(runtime))
      : { id: undefined, session: stampAll(source, runtime) };
    return { id, session: withoutLease(session) };
  } catch (error) {
    throw invalidInput(error);
  }
}

function isText(source: Session | TextSource): source is TextSource {
  if (typeof source === "string") return true;
  return Symbol.asyncIterator in source || Symbol.iterator in source;
}

function stampExported(runtime: Runtime): (message: AgentMessage, place: string) => AgentMessage {
  const own = runtime.newId();
  let count = 0;
  return (message, place) => stampStored(message, `${own}.${count++}`, place);
}

function stampAll(session: Session, runtime: Runtime): Session {
  const own = runtime.newId();
  const at = runtime.now();
  const stamp = (list: readonly AgentMessage[], place: string, prefix: string): readonly AgentMessage[] =>
    list.map((message, index) => stampMessage(message, `${prefix}.${index}`, at, `${place}[${index}]`));
  const messages = stamp(session.messages, "messages", own);
  const { compaction } = session;
  if (compaction === undefined) return { ...session, messages };
  if (typeof compaction.upTo !== "string") throw new TypeError("compaction.upTo is no text");
  const record = { ...compaction, messages: stamp(compaction.messages, "compaction.messages", `${own}.record`) };
  return { ...session, messages, compaction: record };
}
