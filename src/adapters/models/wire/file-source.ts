import type { ContentSource } from "../../../domain/content.js";

/** Where the bytes of a file are: at an address, or here as padded standard base64. */
export type FileSource =
  | { readonly url: string; readonly mimeType: string; readonly base64?: undefined }
  | { readonly base64: string; readonly mimeType: string; readonly url?: undefined };

/**
 * A stored source in a form that providers take; a data URL counts as the bytes it holds, and a type without parameters. Undefined where
 * there are no bytes a provider could get: an empty or broken base64, an address that is not of http.
 */
export function fileSource(source: ContentSource, declared: string): FileSource | undefined {
  const mimeType = bareType(declared);
  if ("base64" in source) return withBytes(source.base64, mimeType);
  const data = /^data:([^,;]*)(?:;[^,;]*)*;base64,/i.exec(source.url.slice(0, 1000));
  if (data !== null) return withBytes(source.url.slice(data[0].length), mimeType === "" ? (data[1] ?? "") : mimeType);
  return /^https?:\/\/\S+$/i.test(source.url) && URL.canParse(source.url) ? { url: source.url, mimeType } : undefined;
}

/** A media type without parameters, in small letters. */
export function bareType(declared: string): string {
  return declared.split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

function withBytes(text: string, mimeType: string): FileSource | undefined {
  const base64 = isStandard(text) ? text : standardForm(text);
  return base64 === undefined ? undefined : { base64, mimeType };
}

/** Most are as they should be, and some are long: those are looked through once and not copied. */
function isStandard(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text);
}

function standardForm(text: string): string | undefined {
  const bare = text.replace(/\s+/g, "").replaceAll("-", "+").replaceAll("_", "/").replace(/=+$/, "");
  if (bare.length % 4 === 1 || !/^[A-Za-z0-9+/]+$/.test(bare)) return undefined;
  return bare + "=".repeat((4 - (bare.length % 4)) % 4);
}

/** What base64 of each image type begins with. */
const MAGIC: readonly (readonly [head: RegExp, type: string])[] = [
  [/^\/9j\//, "image/jpeg"],
  [/^iVBORw0KGgo/, "image/png"],
  [/^R0lGOD/, "image/gif"],
  // The container is that of sounds and films too: its ninth to twelfth byte tell what it holds.
  [/^UklGR.{6}XRUJQ/, "image/webp"],
];

/** The type of what is an image, as its bytes tell it, else as declared: providers refuse a request in which the two differ. */
export function imageType({ base64 = "", mimeType }: FileSource): string {
  const start = base64.slice(0, 16);
  return MAGIC.find(([head]) => head.test(start))?.[1] ?? mimeType;
}
