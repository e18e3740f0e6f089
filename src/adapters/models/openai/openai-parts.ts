import type { Content } from "../../../domain/content.js";
import { isJsonObject } from "../../../domain/json.js";
import type { AssistantMessage, ToolMessage } from "../../../domain/message.js";
import { decodeJson, encodeJson } from "../wire/wire-json.js";

/** A message, an item or a part of one as JSON of a wire. */
export type WireObject = { readonly [key: string]: unknown };

/** Always the text of a JSON object, whatever is stored: providers refuse a transcript with anything else, for good. */
export function argumentsText(call: { readonly raw?: unknown; readonly arguments: unknown }): string {
  const { raw, arguments: args } = call;
  if (typeof raw === "string" && isJsonObject(decodeJson(raw))) return raw;
  const value = typeof args === "string" ? decodeJson(args) : args;
  return isJsonObject(value) ? encodeJson(value) : "{}";
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
