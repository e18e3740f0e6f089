import type { Content } from "./content.js";
import { utf8Bytes } from "./estimate.js";

/** Bytes kept free for the note about what was cut. */
const NOTE_ROOM = 64;

/**
 * Text of at most `maxBytes` bytes in UTF-8. What is longer is cut at a code point border and ends in a note that says how much is
 * left out (in UTF-16 units); the note counts within the limit and is missing only where the limit has no room for it.
 */
export function truncateUtf8(text: string, maxBytes: number): string {
  if (fitsUtf8(text, maxBytes)) return text;
  const kept = beginningInUtf8(text, roomFor(maxBytes));
  return kept + cutNote(text.length - kept.length, maxBytes);
}

/** The longest beginning of a text that takes at most `maxBytes` bytes in UTF-8 and splits no code point; says nothing about the rest. */
export function beginningInUtf8(text: string, maxBytes: number): string {
  return text.slice(0, prefixLength(text, maxBytes));
}

/** `truncateUtf8` for all text of a content together: parts keep their order, parts other than text are kept and cost nothing. */
export function truncateContent(content: readonly Content[], maxBytes: number): readonly Content[] {
  if (contentFits(content, maxBytes)) return content;
  let room = roomFor(maxBytes);
  let leftOut = 0;
  const kept: Content[] = [];
  for (const part of content) {
    if (part.type !== "text") kept.push(part);
    else if (leftOut > 0) leftOut += part.text.length;
    else {
      const text = part.text.slice(0, prefixLength(part.text, room));
      leftOut = part.text.length - text.length;
      room -= utf8Bytes(text);
      kept.push(leftOut === 0 ? part : { ...part, text });
    }
  }
  return withNote(kept, cutNote(leftOut, maxBytes));
}

/** True when text takes at most `maxBytes` bytes in UTF-8; costs O(maxBytes) at most. */
export function fitsUtf8(text: string, maxBytes: number): boolean {
  if (text.length * 3 <= maxBytes) return true;
  return text.length <= maxBytes && prefixLength(text, maxBytes) === text.length;
}

function contentFits(content: readonly Content[], maxBytes: number): boolean {
  let room = maxBytes;
  for (const part of content) {
    if (part.type !== "text") continue;
    if (!fitsUtf8(part.text, room)) return false;
    room -= utf8Bytes(part.text);
  }
  return true;
}

/** The length, in UTF-16 units, of the longest beginning that takes at most `maxBytes` bytes and splits no code point. */
function prefixLength(text: string, maxBytes: number): number {
  let bytes = 0;
  let end = 0;
  while (end < text.length) {
    const point = text.codePointAt(end) ?? 0;
    // A lone surrogate is written as U+FFFD: 3 bytes.
    bytes += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    if (bytes > maxBytes) break;
    end += point < 0x10000 ? 1 : 2;
  }
  return end;
}

function roomFor(maxBytes: number): number {
  return maxBytes < NOTE_ROOM ? maxBytes : maxBytes - NOTE_ROOM;
}

function cutNote(leftOut: number, maxBytes: number): string {
  return maxBytes < NOTE_ROOM ? "" : `\n[truncated: ${leftOut} more characters left out]`;
}

function withNote(content: readonly Content[], note: string): readonly Content[] {
  const at = content.findLastIndex((part) => part.type === "text");
  return content.map((part, index) =>
    index === at && part.type === "text" ? { ...part, text: part.text + note } : part,
  );
}
