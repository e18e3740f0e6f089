import { adopt, adoptOwn, isAdopted } from "./adopt.js";
import { toContent } from "./content.js";
import { thrownLabel } from "./describe-thrown.js";
import { SessionError } from "./errors.js";
import { decodeFinishReason } from "./finish-reason.js";
import { isJsonObject } from "./json.js";
import type { AgentMessage, MessageInput } from "./message.js";
import { contentFault, listFault, optionalText, replyPartFault } from "./part-shape.js";
import { decodeUsage, isUsage } from "./usage.js";

type Body = Record<string, unknown>;

/** What is refused, and what is mended: a message from a caller is held to more than one that is stored already. */
type Rules = { readonly faultOf: (message: Body) => string | undefined; readonly mend: (message: Body) => boolean };

const ROLES: ReadonlySet<unknown> = new Set(["system", "user", "assistant", "tool"]);

/**
 * The stored form of a message: content as parts, `id` and `at` set unless it has them, frozen. A message that is stored already is
 * returned as it is. Throws a TypeError naming `place` for a value that is no message; parts of a type unknown to this version are
 * kept. Custom messages keep their own shape.
 */
export function stampMessage(input: AgentMessage | MessageInput, id: string, at: number, place: string): AgentMessage {
  return stamped(input, id, at, place, GIVEN);
}

/** The same for a message as a store has it; one that somebody wrote by hand gets what it lacks. Only what nothing could be done with is `SessionError("corrupt")`, so that no session is lost for a field. */
export function stampStored(message: AgentMessage, id: string, place: string): AgentMessage {
  try {
    return isJsonObject(message) && isAdopted(message) ? message : stamped(message, id, 0, place, STORED);
  } catch (cause) {
    throw new SessionError("corrupt", thrownLabel(cause), { cause });
  }
}

function stamped(
  input: AgentMessage | MessageInput,
  id: string,
  at: number,
  place: string,
  rules: Rules,
): AgentMessage {
  if (!isJsonObject(input)) throw new TypeError(`${place} is no message`);
  const whole = "id" in input && "at" in input && input.id !== undefined && input.at !== undefined;
  if (whole && isAdopted(input)) return input;
  const message: Body = { ...input };
  if (typeof message["role"] !== "string") throw new TypeError(`${place} has no role`);
  if (typeof message["content"] === "string" && ROLES.has(message["role"]))
    message["content"] = toContent(message["content"]);
  const fault = rules.faultOf(message);
  if (fault !== undefined) throw new TypeError(`${place}${fault}`);
  const changed = rules.mend(message);
  if (!whole) {
    message["id"] = id;
    message["at"] = at;
  }
  // A body that was adopted before and needed no change is shared, not copied again.
  const shared = !changed && isAdopted(input) && message["content"] === Reflect.get(input, "content");
  return (shared ? adoptOwn(message) : adopt(message, place)) as unknown as AgentMessage;
}

function messageFault(message: Body): string | undefined {
  const { id, at } = message;
  if (id !== undefined && typeof id !== "string") return ".id is no text";
  if (at !== undefined && !Number.isFinite(at)) return ".at is no time";
  if (!ROLES.has(message["role"])) return undefined;
  const fault = bodyFault(message, contentFault, replyPartFault) ?? optionalText(message, "name");
  if (fault !== undefined) return fault;
  const { metadata } = message;
  if (metadata !== undefined && !isJsonObject(metadata)) return ".metadata is no object";
  return undefined;
}

function storedFault(message: Body): string | undefined {
  return ROLES.has(message["role"]) ? bodyFault(message, storedContentFault, replyPartFault) : undefined;
}

/** A picture or file without a source harms nobody but itself. */
function storedContentFault(part: unknown): string | undefined {
  const media = isJsonObject(part) && (part["type"] === "image" || part["type"] === "file");
  return media ? undefined : contentFault(part);
}

function bodyFault(
  message: Body,
  contentPart: (part: unknown) => string | undefined,
  replyPart: (part: unknown) => string | undefined,
): string | undefined {
  const reply = message["role"] === "assistant";
  const field = reply ? "parts" : "content";
  const fault = listFault(message[field], reply ? replyPart : contentPart);
  if (fault !== undefined) return `.${field}${fault}`;
  if (message["role"] !== "tool") return undefined;
  return typeof message["toolCallId"] === "string" && typeof message["toolName"] === "string"
    ? undefined
    : " names no call";
}

/** Takes out of a reply what is no count, and calls an unknown reason `other`; answers whether there was any. */
function mendReply(message: Body): boolean {
  if (message["role"] !== "assistant") return false;
  const { usage, finishReason } = message;
  const reason = finishReason === undefined ? undefined : decodeFinishReason(finishReason);
  const counts = usage === undefined || isUsage(usage);
  if (counts && reason === finishReason) return false;
  if (!counts) message["usage"] = decodeUsage(usage);
  message["finishReason"] = reason;
  return true;
}

const GIVEN: Rules = { faultOf: messageFault, mend: mendReply };
const STORED: Rules = { faultOf: storedFault, mend: () => false };
