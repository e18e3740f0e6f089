import type { Content, ContentSource } from "./content.js";
import { describeThrown } from "./describe-thrown.js";
import { isJsonObject, type Json, type JsonObject } from "./json.js";
import { isError, plainJson } from "./plain-json.js";
import { errorResult, okResult, type ToolResult } from "./tool.js";
import { fitsUtf8, truncateContent, truncateUtf8 } from "./truncate-utf8.js";

/**
 * A result of whatever a tool returned (U3); never throws. A result passes, decoded part by part; text becomes one text part; nothing
 * becomes no content; JSON becomes `structured`; anything JSON cannot hold becomes text, an error or what cannot be read an error result.
 * Cut like `limitToolResult`. Does not keep or change `value`; a normal result comes out equal.
 */
export function normaliseToolReturn(value: unknown, maxBytes = Number.POSITIVE_INFINITY): ToolResult {
  try {
    return limitToolResult(decode(value), maxBytes);
  } catch (error) {
    return errorResult(truncateUtf8(`The tool's result cannot be read: ${describeThrown(error)}`, maxBytes));
  }
}

function decode(value: unknown): ToolResult {
  if (value === undefined || value === "") return okResult([]);
  if (typeof value === "string") return okResult(value);
  if (typeof value === "object" && value !== null && isError(value)) return errorResult(describeThrown(value));
  const { json, exact } = plainJson(value);
  if (isToolResult(json)) return decodeResult(json);
  return exact ? okResult([], { structured: json }) : okResult(textOf(json));
}

/**
 * Whether what a tool returned is a whole result. One says `isError`, or holds nothing but a result's fields with parts as content. Other objects with a `content` are data. What
 * says `isError: true` is an error result whatever else it holds.
 */
export function isToolResult(json: Json): json is JsonObject {
  if (!isJsonObject(json)) return false;
  const { content, isError: failed } = json;
  if (failed === true) return true;
  if (failed === false) return typeof content === "string" || Array.isArray(content);
  if (!Array.isArray(content) || content.length === 0) return false;
  return content.every(isPart) && Object.keys(json).every((key) => RESULT_KEYS.has(key));
}

const RESULT_KEYS: ReadonlySet<string> = new Set(["content", "structured", "details", "isError", "terminate"]);

function decodeResult(json: JsonObject): ToolResult {
  const { structured, details, isError: failed, terminate } = json;
  const parts = decodeContent(json);
  const extras = { structured, details, ...(terminate === true ? { terminate } : undefined) };
  return failed === true ? errorResult(parts, extras) : okResult(parts, extras);
}

/** Without a content that can be read, the model is told the fields a result has no place for. */
function decodeContent(json: JsonObject): readonly Content[] {
  const { content } = json;
  if (typeof content === "string") return textParts(content);
  if (Array.isArray(content)) return content.flatMap(decodePart);
  const rest = Object.entries(json).filter(([key]) => (key === "content" ? content !== null : !RESULT_KEYS.has(key)));
  return rest.length === 0 ? [] : textParts(textOf(Object.fromEntries(rest)));
}

function textParts(text: string): readonly Content[] {
  return text === "" ? [] : [{ type: "text", text }];
}

/** A part of a shape we do not know is told to the model as text. */
function decodePart(part: Json): readonly Content[] {
  return isPart(part) ? [part] : textParts(textOf(part));
}

function isPart(part: unknown): part is JsonObject & Content {
  if (!isJsonObject(part)) return false;
  const { type, text, source, mimeType, name } = part;
  if (type === "text") return typeof text === "string";
  const named = type === "image" || (type === "file" && (name === undefined || typeof name === "string"));
  return named && typeof mimeType === "string" && isSource(source);
}

function isSource(source: unknown): source is ContentSource & JsonObject {
  return isJsonObject(source) && (typeof source["base64"] === "string" || typeof source["url"] === "string");
}

function textOf(json: Json): string {
  return typeof json === "string" ? json : JSON.stringify(json);
}

/**
 * The same result with all its text, `structured` included, in at most `maxBytes` bytes of UTF-8: more is cut with a note, and
 * structured data too large becomes cut text. `details`, images and files do not count. What fits is returned as it is.
 */
export function limitToolResult(result: ToolResult, maxBytes: number): ToolResult {
  const { structured, ...rest } = result;
  if (structured === undefined) {
    const content = truncateContent(result.content, maxBytes);
    return content === result.content ? result : { ...rest, content };
  }
  const text = JSON.stringify(structured);
  if (rest.content.length === 0) {
    return fitsUtf8(text, maxBytes) ? result : { ...rest, content: textParts(truncateUtf8(text, maxBytes)) };
  }
  const spoken = rest.content.map((part) => (part.type === "text" ? part.text : "")).join("");
  if (fitsUtf8(spoken + text, maxBytes)) return result;
  const note: Content = { type: "text", text: `\n[structured data left out: ${text.length} characters]` };
  return { ...rest, content: truncateContent([...rest.content, note], maxBytes) };
}
