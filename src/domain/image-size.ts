/** Width and height in pixels. */
export type ImageSize = { readonly width: number; readonly height: number };

/** How far into a JPEG its size is looked for, in base64 characters: behind metadata and a preview. */
const JPEG_REACH = 256 * 1024;

/** The size that the head of a PNG, GIF, WebP or JPEG in base64 tells; nothing for anything else. Reads the head only, whatever the length. */
export function imageSize(base64: string): ImageSize | undefined {
  const head = bytesOf(base64, 0, 40);
  if (head.startsWith("\x89PNG\r\n\x1a\n")) return sizeOf(big(head, 16, 4), big(head, 20, 4));
  if (head.startsWith("GIF8")) return sizeOf(little(head, 6, 2), little(head, 8, 2));
  if (head.startsWith("RIFF") && head.startsWith("WEBP", 8)) return webpSize(head);
  return head.startsWith("\xff\xd8") ? jpegSize(base64) : undefined;
}

function webpSize(head: string): ImageSize | undefined {
  const kind = head.slice(12, 16);
  if (kind === "VP8X") return sizeOf(little(head, 24, 3) + 1, little(head, 27, 3) + 1);
  if (kind === "VP8 ") return sizeOf(little(head, 26, 2) & 0x3fff, little(head, 28, 2) & 0x3fff);
  if (kind !== "VP8L") return undefined;
  const bits = little(head, 21, 4);
  return sizeOf((bits & 0x3fff) + 1, (Math.floor(bits / 0x4000) & 0x3fff) + 1);
}

/** Walks the segments; each says how long it is. */
function jpegSize(base64: string): ImageSize | undefined {
  for (let at = 2; at * 4 < Math.min(base64.length, JPEG_REACH) * 3; ) {
    const segment = bytesOf(base64, at, 9);
    if (segment.charCodeAt(0) !== 0xff) return undefined;
    const marker = segment.charCodeAt(1);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
    if (isFrame) return sizeOf(big(segment, 7, 2), big(segment, 5, 2));
    at += marker === 0xff ? 1 : 2 + Math.max(2, big(segment, 2, 2));
  }
  return undefined;
}

/** A piece of what the base64 stands for, one character a byte; empty where it is none. */
function bytesOf(base64: string, at: number, length: number): string {
  const group = Math.floor(at / 3);
  try {
    return atob(base64.slice(group * 4, (Math.ceil((at + length) / 3) + 1) * 4)).slice(
      at - group * 3,
      at - group * 3 + length,
    );
  } catch {
    return "";
  }
}

function big(bytes: string, at: number, length: number): number {
  let value = 0;
  for (let i = at; i < at + length; i++) value = value * 256 + (bytes.charCodeAt(i) || 0);
  return value;
}

function little(bytes: string, at: number, length: number): number {
  let value = 0;
  for (let i = at + length - 1; i >= at; i--) value = value * 256 + (bytes.charCodeAt(i) || 0);
  return value;
}

function sizeOf(width: number, height: number): ImageSize | undefined {
  return width > 0 && height > 0 ? { width, height } : undefined;
}
