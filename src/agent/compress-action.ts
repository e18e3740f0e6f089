import { isJsonObject, type JsonObject } from "../domain/json.js";
import type { AgentMessage, MessageInput } from "../domain/message.js";
import type { CompressAction } from "../ports/compressor.js";

type Decoded<A> = A extends { readonly type: "none" }
  ? A
  : Omit<A, "messages"> & { readonly messages: readonly AgentMessage[] };

/** An action whose messages are in their stored form. */
export type DecodedAction = Decoded<CompressAction>;

/** What a compressor answered, so far as types bind nobody's compressor. Throws a TypeError for what is no action. */
export function decodeAction(
  answer: unknown,
  stamp: (message: AgentMessage | MessageInput) => AgentMessage,
): DecodedAction {
  if (!isJsonObject(answer)) throw new TypeError("an action is an object");
  const { type } = answer;
  if (type === "none") return { type };
  const messages = messagesOf(answer, stamp);
  switch (type) {
    case "view":
      return { type, messages };
    case "replace":
      return { type, messages, upTo: optionalId(answer["upTo"]) };
    case "newThread": {
      const { newSessionId, messagesBefore, messagesAfter } = answer;
      if (typeof newSessionId !== "string" || newSessionId === "") throw new TypeError("a new thread has an id");
      return {
        type,
        messages,
        newSessionId,
        messagesBefore: count(messagesBefore),
        messagesAfter: count(messagesAfter),
      };
    }
    default:
      throw new TypeError("an action of an unknown type");
  }
}

function messagesOf(
  action: JsonObject,
  stamp: (message: AgentMessage | MessageInput) => AgentMessage,
): readonly AgentMessage[] {
  const { messages } = action;
  if (!Array.isArray(messages)) throw new TypeError("an action has a list of messages");
  return messages.map((message: MessageInput) => stamp(message));
}

function optionalId(id: unknown): string | undefined {
  if (id === undefined || typeof id === "string") return id;
  throw new TypeError("upTo is the id of a message");
}

function count(value: unknown): number {
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw new TypeError("a new thread tells how many messages there were and are");
}
