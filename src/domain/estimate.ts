import { isAdopted } from "./adopt.js";
import type { Content } from "./content.js";
import { fileTokens, imageTokens } from "./media-tokens.js";
import type { AgentMessage, AssistantPart, Message } from "./message.js";
import { isMessage } from "./message.js";
import { textTokens } from "./text-tokens.js";
import type { ToolDef } from "./tool.js";

const MESSAGE_TOKENS = 4;
const CALL_TOKENS = 8;
const TOOL_TOKENS = 8;

/** How text is counted; `textTokens` unless somebody knows better. */
export type CountText = (text: string) => number;

/** What is stored or listed never changes, and is asked about before every model call. */
const known = new WeakMap<AgentMessage, number>();
const knownTools = new WeakMap<ToolDef, number>();

/**
 * Tokens a message will take in a request, roughly: its text by the shape of its words, an image by its pixels, a file by its kind and
 * length, and 4 for the message itself. Custom messages count nothing. An estimate of our own; reported usage is the truth. Linear in
 * the text, and free for a stored message that was asked about before.
 */
export function estimateTokens(message: AgentMessage): number {
  const before = known.get(message);
  if (before !== undefined) return before;
  const tokens = messageTokens(message, textTokens);
  if (isAdopted(message)) known.set(message, tokens);
  return tokens;
}

/** The same with somebody else's count of text. */
export function messageTokens(message: AgentMessage, count: CountText): number {
  return isMessage(message) ? MESSAGE_TOKENS + Math.ceil(bodyTokens(message, count)) : 0;
}

function bodyTokens(message: Message, count: CountText): number {
  let tokens = 0;
  if (message.role === "assistant") {
    for (const part of message.parts) tokens += partTokens(part, count);
    return tokens;
  }
  for (const part of message.content) tokens += contentTokens(part, count);
  if (message.role === "tool" && message.content.length === 0 && message.structured !== undefined) {
    tokens += count(JSON.stringify(message.structured));
  }
  return tokens;
}

function contentTokens(part: Content, count: CountText): number {
  switch (part.type) {
    case "text":
      return count(part.text);
    case "image":
      return imageTokens(part);
    case "file":
      return fileTokens(part);
    default:
      return 0;
  }
}

function partTokens(part: AssistantPart, count: CountText): number {
  switch (part.type) {
    case "text":
    case "reasoning":
      return count(part.text);
    case "toolCall":
      return CALL_TOKENS + count(part.name) + count(part.raw ?? JSON.stringify(part.arguments));
    default:
      return 0;
  }
}

/** Tokens of the tools a request offers: their names, descriptions and input schemas. */
export function estimateTools(tools: readonly ToolDef[]): number {
  let tokens = 0;
  for (const tool of tools) tokens += toolTokens(tool);
  return tokens;
}

function toolTokens(tool: ToolDef): number {
  const before = knownTools.get(tool);
  if (before !== undefined) return before;
  const { name, description, inputSchema } = tool;
  const text = textTokens(name) + textTokens(description) + textTokens(JSON.stringify(inputSchema));
  const tokens = TOOL_TOKENS + Math.ceil(text);
  if (isAdopted(tool)) knownTools.set(tool, tokens);
  return tokens;
}

/** Length of a text in UTF-8, a lone surrogate counted as three bytes. */
export function utf8Bytes(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    if (unit < 0x800) bytes += 1;
    else if (unit >= 0xd800 && unit < 0xdc00 && isLow(text.charCodeAt(i + 1))) {
      bytes += 2;
      i += 1;
    } else bytes += 2;
  }
  return bytes;
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit < 0xe000;
}

/** The estimate of a list. */
export function estimateAll(messages: readonly AgentMessage[]): number {
  let tokens = 0;
  for (const message of messages) tokens += estimateTokens(message);
  return tokens;
}
