import type { AgentMessage, AssistantPart } from "./message.js";
import { isMessage } from "./message.js";

const IMAGE_TOKENS = 1_000;
const MESSAGE_TOKENS = 4;

/**
 * Tokens a message will take in a request, roughly: a quarter of its UTF-8 bytes, a flat 1,000 for an image or file whatever its
 * size, 4 for the message itself. An estimate of our own; reported usage is the truth.
 */
export function estimateTokens(message: AgentMessage): number {
  if (!isMessage(message)) return 0;
  let bytes = 0;
  let media = 0;
  if (message.role === "assistant") for (const part of message.parts) bytes += partBytes(part);
  else {
    for (const part of message.content) {
      if (part.type === "text") bytes += utf8Bytes(part.text);
      else media += 1;
    }
    if (message.role === "tool" && message.content.length === 0 && message.structured !== undefined) {
      bytes += utf8Bytes(JSON.stringify(message.structured));
    }
  }
  return MESSAGE_TOKENS + Math.ceil(bytes / 4) + media * IMAGE_TOKENS;
}

function partBytes(part: AssistantPart): number {
  switch (part.type) {
    case "text":
    case "reasoning":
      return utf8Bytes(part.text);
    case "toolCall":
      return utf8Bytes(part.name) + utf8Bytes(part.raw ?? JSON.stringify(part.arguments));
    default:
      return 0;
  }
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
