import { adopt } from "../../../domain/adopt.js";
import type { Content } from "../../../domain/content.js";
import { thrownLabel } from "../../../domain/describe-thrown.js";
import { isJsonObject, type Json, type JsonObject } from "../../../domain/json.js";
import { safeLabel } from "../../../domain/safe-label.js";
import type { ToolResult } from "../../../domain/tool.js";
import { addressOf, wordsOf } from "./server-words.js";

/** The answer to a call is none. */
export class NoResult extends Error {}

/**
 * The result of a call as a model can take it: pictures, sounds and files as parts, resources as text or files, links as text, and a note for
 * what is none of these. `structuredContent` stays beside it. Throws `NoResult` for an answer of another shape.
 */
export function decodeResult(raw: unknown): ToolResult {
  if (!isJsonObject(raw)) throw new NoResult("the answer is no object");
  const { structuredContent, isError, _meta: meta } = raw;
  // So servers in some languages write an empty list.
  const content = raw["content"] === null ? [] : raw["content"];
  if (content !== undefined && !Array.isArray(content)) throw new NoResult("the content of the answer is no list");
  if (content === undefined && structuredContent === undefined)
    throw new NoResult("the answer has neither content nor structured content");
  const parts = ((content ?? []) as readonly Json[]).map(decodeBlock);
  return adopted({
    content: parts,
    isError: isError === true,
    ...(structuredContent === undefined ? undefined : { structured: structuredContent }),
    ...(meta === undefined ? undefined : { details: { _meta: meta } }),
  });
}

/** The answer to `resources/read`, as a tool would give it. Throws `NoResult` for an answer of another shape. */
export function decodeRead(raw: unknown): ToolResult {
  const contents = isJsonObject(raw) ? raw["contents"] : undefined;
  if (!Array.isArray(contents)) throw new NoResult("the answer holds no contents");
  const parts = (contents as readonly Json[]).map(resource);
  return adopted({ content: parts.length === 0 ? [note("a resource without contents")] : parts, isError: false });
}

function adopted(result: ToolResult): ToolResult {
  try {
    return adopt(result, "result");
  } catch (cause) {
    throw new NoResult(thrownLabel(cause), { cause });
  }
}

function decodeBlock(block: Json): Content {
  if (!isJsonObject(block)) return note("content that is no object");
  switch (block["type"]) {
    case "text":
      return typeof block["text"] === "string" ? { type: "text", text: block["text"] } : note("text that is none");
    case "image":
    case "audio":
      return bytes(block["data"], block["mimeType"], undefined) ?? note(`${block["type"]} that cannot be read`);
    case "resource":
      return resource(block["resource"]);
    case "resource_link":
      return link(block);
    default:
      return note(`content of the type ${safeLabel(String(block["type"]))}, which is not supported`);
  }
}

function resource(raw: Json | undefined): Content {
  if (!isJsonObject(raw)) return note("a resource that cannot be read");
  const { uri, text, blob, mimeType } = raw;
  const address = addressOf(uri);
  if (typeof text === "string") return { type: "text", text: address === undefined ? text : `[${address}]\n${text}` };
  const type = typeof mimeType === "string" ? mimeType : "application/octet-stream";
  const name = address === undefined ? undefined : lastPart(address);
  return bytes(blob, type, name) ?? note(`the resource ${address ?? "without an address"}, which cannot be read`);
}

/** For showing only: what a path would make of it does not count. */
function lastPart(uri: string): string | undefined {
  const last = safeLabel(uri.split(/[/\\]/).at(-1) ?? "");
  return last === "" || /^\.+$/.test(last) ? undefined : last;
}

function link(block: JsonObject): Content {
  const { uri, name, title, description, mimeType } = block;
  const words = [wordsOf(title) ?? wordsOf(name), addressOf(uri), wordsOf(mimeType), wordsOf(description)];
  return { type: "text", text: `[resource link] ${words.filter((word) => word !== undefined).join(" | ")}`.trimEnd() };
}

const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/;
const MIME = /^[\w.+-]{1,100}\/[\w.+-]{1,100}(?![\w.+-])/;

/** Nothing for what is no base64 or has no type. */
function bytes(data: Json | undefined, mimeType: Json | undefined, name: string | undefined): Content | undefined {
  if (typeof data !== "string" || typeof mimeType !== "string") return undefined;
  const base64 = standard(data);
  const type = MIME.exec(mimeType)?.[0].toLowerCase();
  if (base64 === undefined || type === undefined) return undefined;
  if (type.startsWith("image/")) return { type: "image", source: { base64 }, mimeType: type };
  return { type: "file", source: { base64 }, mimeType: type, ...(name === undefined ? undefined : { name }) };
}

/** Some servers write the URL alphabet, or lines. */
function standard(data: string): string | undefined {
  const joined = data.replace(/\s+/g, "");
  if (joined === "" || !BASE64.test(joined)) return undefined;
  const bare = joined.replaceAll("-", "+").replaceAll("_", "/").replace(/=+$/, "");
  return bare.length % 4 === 1 ? undefined : bare.padEnd(Math.ceil(bare.length / 4) * 4, "=");
}

function note(what: string): Content {
  return { type: "text", text: `[the tool returned ${what}]` };
}
