import type { Content } from "../../../domain/content.js";
import { unreachable } from "../../../domain/unreachable.js";
import { type Media, mediaOf } from "../openai/openai-media.js";
import type { WireObject } from "../openai/openai-parts.js";

/** What a user wrote, or a tool returned, as input content of the responses wire; parts of unknown types are left out. */
export function inputContent(content: readonly Content[]): readonly WireObject[] {
  return content.map(encodePart).filter((part) => part !== undefined);
}

function encodePart(part: Content): WireObject | undefined {
  if (part.type === "text") return { type: "input_text", text: part.text };
  return part.type === "image" || part.type === "file" ? encodeMedia(mediaOf(part)) : undefined;
}

function encodeMedia(media: Media): WireObject {
  switch (media.kind) {
    case "image":
      return { type: "input_image", image_url: media.url, detail: "auto" };
    case "file":
      return media.isInline
        ? { type: "input_file", filename: media.name, file_data: media.url }
        : { type: "input_file", file_url: media.url };
    case "sound":
    case "none":
      return { type: "input_text", text: media.note };
    default:
      return unreachable(media);
  }
}
