import type { ContentSource, FileContent, ImageContent } from "./content.js";
import { imageSize } from "./image-size.js";

/** What an image of unknown size, or a file of unknown length, is taken to cost. */
const UNKNOWN_TOKENS = 1_000;
const LEAST_TOKENS = 100;

/** Providers scale an image down to about this long an edge and this many pixels, and charge a token per so many pixels. */
const LONG_EDGE = 1_568;
const MOST_PIXELS = 1_200_000;
const PIXELS_PER_TOKEN = 750;

/** Bytes per token by kind of file: what a second or page of it takes, and what providers charge for one. */
const FILE_COSTS: readonly (readonly [kind: RegExp, bytesPerToken: number])[] = [
  [/^audio\//, 500],
  [/^video\//, 900],
  [/^text\/|\bjson\b|\bxml\b|\byaml\b/, 4],
];
const OTHER_BYTES_PER_TOKEN = 50;
const MOST_FILE_TOKENS = 100_000;

/** Tokens of an image: by its size in pixels where its head tells, 100 to 1,600; else 1,000. Never by the length of its data. */
export function imageTokens({ source }: ImageContent): number {
  const base64 = inlineData(source);
  const size = base64 === undefined ? undefined : imageSize(base64);
  if (size === undefined) return UNKNOWN_TOKENS;
  const { width, height } = size;
  const shrunk = Math.min(1, LONG_EDGE / Math.max(width, height)) ** 2 * width * height;
  return Math.max(LEAST_TOKENS, Math.ceil(Math.min(shrunk, MOST_PIXELS) / PIXELS_PER_TOKEN));
}

/** Tokens of a file by its kind and length, 100 to 100,000 unless it is text; 1,000 where its data is elsewhere. */
export function fileTokens({ source, mimeType }: FileContent): number {
  const base64 = inlineData(source);
  if (base64 === undefined) return UNKNOWN_TOKENS;
  const bytes = (base64.length * 3) / 4;
  const bytesPerToken = FILE_COSTS.find(([kind]) => kind.test(mimeType))?.[1] ?? OTHER_BYTES_PER_TOKEN;
  const tokens = Math.max(LEAST_TOKENS, Math.ceil(bytes / bytesPerToken));
  return bytesPerToken === 4 ? tokens : Math.min(tokens, MOST_FILE_TOKENS);
}

/** Base64 that stands in the source itself, or behind the comma of its `data:` address. */
function inlineData(source: ContentSource | undefined): string | undefined {
  if (source === undefined) return undefined;
  if ("base64" in source) return source.base64;
  const comma = source.url.startsWith("data:") ? source.url.indexOf(",") : -1;
  return comma < 0 ? undefined : source.url.slice(comma + 1);
}
