import type { Content, FileContent, ImageContent } from "../../../domain/content.js";
import { isJsonObject, type Json } from "../../../domain/json.js";
import type { ToolMessage } from "../../../domain/message.js";
import { bareType, fileSource, imageType } from "../wire/file-source.js";
import { isPicture } from "../common/is-picture.js";
import { noteOn } from "../wire/media-note.js";
import { encodeJson } from "../wire/wire-json.js";

/** A part of a turn as JSON of this wire. */
export type GeminiPart = { readonly [key: string]: unknown };

/** Content without what is empty or unknown; bytes travel inline, addresses as they are, and notes stand for what the provider cannot read. */
export function encodeContent(content: readonly Content[]): readonly GeminiPart[] {
  return content.flatMap((part): readonly GeminiPart[] => {
    switch (part.type) {
      case "text":
        return isBlank(part.text) ? [] : [{ text: part.text }];
      case "image":
      case "file":
        return [encodeMedia(part) ?? { text: noteOn(part) }];
      default:
        return [];
    }
  });
}

/** True for text that the provider counts as none. */
export function isBlank(text: string): boolean {
  return text.trim() === "";
}

function encodeMedia(part: ImageContent | FileContent): GeminiPart | undefined {
  const { source } = part;
  const isStored = "url" in source && source.url.startsWith("gs://");
  const found = isStored ? { url: source.url, mimeType: bareType(part.mimeType) } : fileSource(source, part.mimeType);
  if (found === undefined) return undefined;
  const type = isPicture(part) ? imageType(found) : found.mimeType;
  const mimeType = type === "image/jpg" ? "image/jpeg" : type;
  if (!READ.test(mimeType)) return undefined;
  const { url, base64 } = found;
  return url === undefined ? { inlineData: { mimeType, data: base64 } } : { fileData: { mimeType, fileUri: url } };
}

/** What the provider reads; it refuses a request with anything else in it. */
const READ =
  /^(?:image\/(?:png|jpeg|webp|heic|heif)|audio\/.+|video\/.+|text\/.+|application\/(?:pdf|json|rtf|x-javascript|x-typescript|x-python-code))$/;

/**
 * The response to one call, and what must stand behind the responses because older models read no files inside of one. A failure is
 * told under `error`, anything else under `output`.
 */
export function encodeResult(
  message: ToolMessage,
  call: { readonly id?: string; readonly name: string },
  { signed }: { readonly signed: boolean },
): { readonly response: GeminiPart; readonly attachments: readonly GeminiPart[] } {
  const encoded = encodeContent(message.content.filter(({ type }) => type !== "text"));
  const media = encoded.filter((part) => part["text"] === undefined);
  const notes = encoded.flatMap(({ text }) => (typeof text === "string" ? [text] : []));
  const inside = signed ? media.filter((part) => part["inlineData"] !== undefined) : [];
  const outside = media.filter((part) => !inside.includes(part));
  const response = {
    ...call,
    response: { [message.isError ? "error" : "output"]: outputOf(message, notes, media.length > 0) },
    ...(inside.length === 0 ? undefined : { parts: inside }),
  };
  const label = { text: `Attachment of the result of ${message.toolName}:` };
  return { response: { functionResponse: response }, attachments: outside.length === 0 ? [] : [label, ...outside] };
}

function outputOf(message: ToolMessage, notes: readonly string[], hasMedia: boolean): unknown {
  const { content, structured } = message;
  if (content.length === 0 && structured !== undefined) {
    // A key `$ref` in a response is the provider's own: it points to a file of the response.
    return refers(structured) ? encodeJson(structured) : structured;
  }
  const texts = content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  const text = [...texts, ...notes].join("\n");
  return text === "" && hasMedia ? "The result follows as an attachment." : text;
}

function refers(value: Json): boolean {
  if (Array.isArray(value)) return value.some(refers);
  return isJsonObject(value) && Object.entries(value).some(([key, inner]) => key === "$ref" || refers(inner));
}
