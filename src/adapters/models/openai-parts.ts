import type { Content } from "../../domain/content.js";
import { isJsonObject } from "../../domain/json.js";
import type { AssistantMessage, ToolCallPart, ToolMessage } from "../../domain/message.js";
import { decodeJson, encodeJson } from "./wire-json.js";

/** A message, an item or a part of one as JSON of a wire. */
export type WireObject = { readonly [key: string]: unknown };

/** Always the text of a JSON object: providers refuse a transcript with anything else, for good. */
export function argumentsText(call: ToolCallPart): string {
  if (call.raw !== undefined && isJsonObject(decodeJson(call.raw))) return call.raw;
  const args: unknown = typeof call.arguments === "string" ? decodeJson(call.arguments) : call.arguments;
  return isJsonObject(args) ? encodeJson(args) : "{}";
}

/** What a result says in words: its texts, or its structure where it has no content. */
export function resultText(message: ToolMessage): string {
  if (message.content.length === 0 && message.structured !== undefined) return encodeJson(message.structured);
  return message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

/** What a result holds beside words. */
export function resultMedia(message: ToolMessage): readonly Content[] {
  return message.content.filter((part) => part.type !== "text");
}

/** On a wire without an error flag the text itself says that it is an error. */
export function flagged(text: string, message: ToolMessage): string {
  return message.isError ? `<tool_error>${text}</tool_error>` : text;
}

/** True where data that only the reply's own provider understands may go back with it. */
export function isOwn(message: AssistantMessage, provider: string): boolean {
  return message.provider === undefined || message.provider === provider;
}
