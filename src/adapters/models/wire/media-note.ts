import type { FileContent, ImageContent } from "../../../domain/content.js";
import { encodeJson } from "./wire-json.js";

/** Words to stand in the place of a picture or a file. */
export function noteOn(part: ImageContent | FileContent): string {
  const name = part.type === "file" ? (part.name ?? "") : "";
  const about = [name, part.mimeType].filter((word) => word !== "").map((word) => encodeJson(word.slice(0, 200)));
  return `[${part.type === "image" ? "An image" : "A file"} that cannot be shown: ${about.join(", ")}]`;
}
