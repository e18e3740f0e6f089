import { isJsonObject } from "../../../domain/json.js";

/** True for an image, and for a file whose type is that of one. Takes anything: sessions of other versions hold other parts. */
export function isPicture(part: unknown): boolean {
  if (!isJsonObject(part)) return false;
  const { type, mimeType } = part;
  return type === "image" || (type === "file" && typeof mimeType === "string" && /^\s*image\//i.test(mimeType));
}
