import { adoptOwn } from "../domain/adopt.js";
import { type Content, toContent } from "../domain/content.js";
import { type AgentMessage, type AssistantPart, type MessageInput, userMessage } from "../domain/message.js";
import { stampMessage } from "../domain/stamp-message.js";
import type { SteeringInput, TurnInput } from "../ports/agent-api.js";
import { invalidInput } from "./invalid-input.js";

const INPUT_ROLES: ReadonlySet<string> = new Set(["user", "system", "assistant"]);

/** The messages of an input, copied and frozen. Throws `AgentError("invalid-input")` for one without content, or that a model cannot be sent last (T1). */
export function turnInput(input: TurnInput): readonly MessageInput[] {
  const list: readonly MessageInput[] =
    typeof input === "string" ? [userMessage(input)] : isList(input) ? input : [input];
  try {
    return checkedInput(list, "input");
  } catch (error) {
    throw invalidInput(error);
  }
}

/** A message for a turn that runs, copied and frozen: one that a model can be sent last. Throws `AgentError("invalid-input")`. */
export function steeringInput(message: SteeringInput): readonly MessageInput[] {
  if (typeof message === "object" && isList(message)) throw invalidInput(new TypeError("one message at a time"));
  return turnInput(message);
}

/** A list of messages, whoever gave it, copied and frozen. Throws a TypeError that names the place in it. */
export function checkedInput(list: readonly MessageInput[], place: string): readonly MessageInput[] {
  const messages = list.map((message, index) => checked(message, `${place}[${index}]`));
  if (!messages.some(hasContent)) throw new TypeError(`the ${place} has no content`);
  if (messages.at(-1)?.role === "assistant") throw new TypeError(`the ${place} ends with a reply of the assistant`);
  return messages;
}

function isList(input: Exclude<TurnInput, string>): input is readonly MessageInput[] {
  return Array.isArray(input);
}

/** Shape and roles are checked by stamping a copy; the id is given when the turn adds the message. */
function checked(message: MessageInput, place: string): MessageInput {
  const { id: _id, at: _at, ...body } = stampMessage(message, "", 0, place) as AgentMessage & Record<string, unknown>;
  checkNoCalls(message, place);
  return adoptOwn(body) as MessageInput;
}

/** A message that may be added between turns. Throws `AgentError("invalid-input")`. */
export function appendable(message: MessageInput | AgentMessage, id: string, at: number): AgentMessage {
  try {
    const added = stampMessage(message, id, at, "message");
    checkNoCalls(added, "message");
    return added;
  } catch (error) {
    throw invalidInput(error);
  }
}

/** What comes from outside must leave no call open and answer none. Throws a TypeError that names `place`. */
function checkNoCalls(message: MessageInput | AgentMessage, place: string): void {
  const calls = message.role === "assistant" && message.parts.some((part) => part.type === "toolCall");
  if (!calls && message.role !== "tool") return;
  throw new TypeError(`${place} holds tool calls or a result; these are added by turns only`);
}

/** A part of another type is kept and never sent. */
const CONTENT_TYPES: ReadonlySet<string> = new Set(["text", "image", "file", "reasoning", "toolCall"]);

function isEmpty(part: Content | AssistantPart): boolean {
  return part.type === "text" && part.text === "";
}

function hasContent(message: MessageInput): boolean {
  if (!INPUT_ROLES.has(message.role)) return true;
  if (message.role === "assistant") return message.parts.some((part) => CONTENT_TYPES.has(part.type) && !isEmpty(part));
  return toContent(message.content).some((part) => CONTENT_TYPES.has(part.type) && !isEmpty(part));
}
