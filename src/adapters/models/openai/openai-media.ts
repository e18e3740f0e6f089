import type { FileContent, ImageContent } from "../../../domain/content.js";
import { type FileSource, fileSource, imageType } from "../wire/file-source.js";
import { isPicture } from "../common/is-picture.js";
import { noteOn } from "../wire/media-note.js";

/** A picture or a file as the wires of OpenAI can carry it; `none` is one they cannot, with words to stand in its place. */
export type Media =
  | { readonly kind: "image"; readonly url: string }
  | { readonly kind: "sound"; readonly base64: string; readonly format: "wav" | "mp3"; readonly note: string }
  | {
      readonly kind: "file";
      readonly url: string;
      readonly isInline: boolean;
      readonly name: string;
      readonly note: string;
    }
  | { readonly kind: "none"; readonly note: string };

const IMAGE_TYPES = ["image/jpeg", "image/png", "image/gif", "image/webp"];
const SOUND_TYPES: Readonly<Record<string, "wav" | "mp3">> = {
  "audio/wav": "wav",
  "audio/x-wav": "wav",
  "audio/mp3": "mp3",
  "audio/x-mp3": "mp3",
  "audio/mpeg": "mp3",
};

/** One broken picture would make the provider refuse the conversation for good, so that it goes out as a note. */
export function mediaOf(part: ImageContent | FileContent): Media {
  const source = fileSource(part.source, part.mimeType);
  const note = noteOn(part);
  if (source === undefined) return { kind: "none", note };
  if (isPicture(part)) {
    const type = imageType(source);
    const isKnown = source.url !== undefined || IMAGE_TYPES.includes(type);
    return isKnown ? { kind: "image", url: urlOf(source, type) } : { kind: "none", note };
  }
  const { base64, mimeType } = source;
  const format = Object.hasOwn(SOUND_TYPES, mimeType) ? SOUND_TYPES[mimeType] : undefined;
  if (format !== undefined && base64 !== undefined) return { kind: "sound", base64, format, note };
  return {
    kind: "file",
    url: urlOf(source, mimeType),
    isInline: base64 !== undefined,
    name: nameOf(part),
    note,
  };
}

function nameOf(part: ImageContent | FileContent): string {
  return (part.type === "file" ? part.name : undefined) ?? "file";
}

function urlOf(source: FileSource, mimeType: string): string {
  return source.url ?? `data:${mimeType};base64,${source.base64}`;
}
