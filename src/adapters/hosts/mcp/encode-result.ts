import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/server";
import type { Content } from "../../../domain/content.js";
import { isJsonObject } from "../../../domain/json.js";
import type { ToolResult } from "../../../domain/tool.js";

/**
 * A result as a client takes it. What has no text has its structured value as text too; `details` are the application's own. `promises`: the tool has
 * an output schema. Clients refuse a result without its structure, which one that was cut has lost, unless it is an error.
 */
export function encodeResult(
  { content, structured, isError }: ToolResult,
  { promises }: { readonly promises: boolean },
): CallToolResult {
  const blocks = content.map(encodePart);
  if (blocks.length === 0 && structured !== undefined) blocks.push({ type: "text", text: JSON.stringify(structured) });
  return {
    content: blocks,
    ...(isJsonObject(structured) ? { structuredContent: { ...structured } } : undefined),
    ...(isError || (promises && !isJsonObject(structured)) ? { isError: true } : undefined),
  };
}

function encodePart(part: Content): ContentBlock {
  if (part.type === "text") return { type: "text", text: part.text.toWellFormed() };
  const { source, mimeType } = part;
  const name = (part.type === "file" ? part.name : undefined) ?? part.type;
  if ("url" in source) return { type: "resource_link", uri: source.url, name, mimeType };
  if (part.type === "image") return { type: "image", data: source.base64, mimeType };
  if (mimeType.startsWith("audio/")) return { type: "audio", data: source.base64, mimeType };
  return { type: "resource", resource: { uri: `file:///${encodeURIComponent(name)}`, blob: source.base64, mimeType } };
}
