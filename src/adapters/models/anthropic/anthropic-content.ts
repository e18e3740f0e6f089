import type { Content, ContentSource, FileContent } from "../../../domain/content.js";
import { fileSource, imageType } from "../wire/file-source.js";
import { isPicture } from "../common/is-picture.js";
import { noteOn } from "../wire/media-note.js";

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
      return imageBlock(part.source, part.mimeType) ?? textBlock(noteOn(part));
    case "file":
      return mediaBlock(part) ?? textBlock(noteOn(part));
    default:
      // Written by another version.
      return undefined;
  }
}

const IMAGE_TYPES = ["image/jpeg", "image/png", "image/gif", "image/webp"];

function imageBlock(source: ContentSource, mimeType: string): WireBlock | undefined {
  const found = fileSource(source, mimeType);
  if (found === undefined) return undefined;
  if (found.url !== undefined) return { type: "image", source: { type: "url", url: found.url } };
  const type = imageType(found);
  if (!IMAGE_TYPES.includes(type)) return undefined;
  return { type: "image", source: { type: "base64", media_type: type, data: found.base64 } };
}

function mediaBlock(part: FileContent): WireBlock | undefined {
  const { source, mimeType, name } = part;
  return isPicture(part) ? imageBlock(source, mimeType) : fileBlock(source, mimeType, name);
}

function fileBlock(source: ContentSource, mimeType: string, name: string | undefined): WireBlock | undefined {
  const found = fileSource(source, mimeType);
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
