import type { Content, ContentSource } from "../../domain/content.js";
import { encodeJson } from "./wire-json.js";

/** A block of content as JSON of the messages wire. */
export type WireBlock = { readonly type: string; readonly [key: string]: unknown };

/** A block of text, or nothing for text the provider refuses: what holds no letter or sign. */
export function textBlock(text: string): WireBlock | undefined {
  return text.trim() === "" ? undefined : { type: "text", text };
}

/**
 * Content of users and tools as blocks the provider takes. What it cannot read (other media types, addresses that are none, broken
 * base64) becomes a short note, so that the model knows of it; blank texts and unknown parts are left out.
 */
export function contentBlocks(content: readonly Content[]): readonly WireBlock[] {
  return content.map(encodePart).filter((block) => block !== undefined);
}

function encodePart(part: Content): WireBlock | undefined {
  switch (part.type) {
    case "text":
      return textBlock(part.text);
    case "image":
      return imageBlock(part.source, part.mimeType) ?? note("An image", part.mimeType);
    case "file":
      return fileBlock(part.source, part.mimeType, part.name) ?? note("A file", part.mimeType, part.name);
    default:
      // Written by another version.
      return undefined;
  }
}

function note(what: string, mimeType: string, name = ""): WireBlock {
  const about = [name, mimeType].filter((word) => word !== "").map((word) => encodeJson(word.slice(0, 200)));
  return { type: "text", text: `[${what} stands here that you cannot see: ${about.join(", ")}]` };
}

const IMAGE_TYPES = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/** What base64 of each image type begins with: a type that does not fit its image makes the provider refuse the request. */
const MAGIC: Readonly<Record<string, string>> = {
  "/9j/": "image/jpeg",
  iVBORw0KGgo: "image/png",
  R0lGOD: "image/gif",
  UklGR: "image/webp",
};

function imageBlock(source: ContentSource, mimeType: string): WireBlock | undefined {
  const found = locate(source, mimeType);
  if (found === undefined) return undefined;
  if (found.url !== undefined) return { type: "image", source: { type: "url", url: found.url } };
  const { base64 } = found;
  const magic = Object.keys(MAGIC).find((head) => base64.startsWith(head));
  const type = magic === undefined ? found.mimeType : MAGIC[magic];
  if (type === undefined || !IMAGE_TYPES.includes(type)) return undefined;
  return { type: "image", source: { type: "base64", media_type: type, data: base64 } };
}

function fileBlock(source: ContentSource, mimeType: string, name: string | undefined): WireBlock | undefined {
  if (mimeType.startsWith("image/")) return imageBlock(source, mimeType);
  const found = locate(source, mimeType);
  if (found === undefined) return undefined;
  const title = name === undefined || name.trim() === "" ? undefined : { title: name.slice(0, 200) };
  if (found.mimeType === "application/pdf") {
    const pdf =
      found.url === undefined
        ? { type: "base64", media_type: "application/pdf", data: found.base64 }
        : { type: "url", url: found.url };
    return { type: "document", source: pdf, ...title };
  }
  if (found.url !== undefined || !isTextual(found.mimeType)) return undefined;
  const data = decodeText(found.base64);
  if (data === undefined || data.trim() === "") return undefined;
  return { type: "document", source: { type: "text", media_type: "text/plain", data }, ...title };
}

function isTextual(mimeType: string): boolean {
  return /^text\/|^application\/(?:[\w.-]+\+)?(?:json|xml|yaml|x-yaml|javascript|typescript|toml|sql)$/.test(mimeType);
}

function decodeText(base64: string): string | undefined {
  try {
    const bytes = Uint8Array.from(atob(base64), (unit) => unit.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

type Located =
  | { readonly url: string; readonly mimeType: string; readonly base64?: undefined }
  | { readonly base64: string; readonly mimeType: string; readonly url?: undefined };

/** Where the bytes are; a data URL counts as the bytes it holds. Undefined where there are none the provider could get. */
function locate(source: ContentSource, declared: string): Located | undefined {
  const mimeType = declared.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if ("base64" in source) return withBytes(source.base64, mimeType);
  const data = /^data:([^,;]*)(?:;[^,;]*)*;base64,/i.exec(source.url.slice(0, 1000));
  if (data !== null) return withBytes(source.url.slice(data[0].length), mimeType === "" ? (data[1] ?? "") : mimeType);
  return /^https?:\/\/\S+$/i.test(source.url) && URL.canParse(source.url) ? { url: source.url, mimeType } : undefined;
}

function withBytes(text: unknown, mimeType: string): Located | undefined {
  if (typeof text !== "string") return undefined;
  const bare = text.replace(/\s+/g, "").replaceAll("-", "+").replaceAll("_", "/").replace(/=+$/, "");
  if (bare.length % 4 === 1 || !/^[A-Za-z0-9+/]+$/.test(bare)) return undefined;
  return { base64: bare + "=".repeat((4 - (bare.length % 4)) % 4), mimeType };
}
