import { isJsonObject } from "./json.js";

/**
 * What is wrong with one piece of a message, as a place in it and a reason (`.text is no text`); nothing when it is whole. A type
 * unknown to this version is whole: a later one wrote it.
 */
export function contentFault(part: unknown): string | undefined {
  if (!isJsonObject(part)) return " is no part";
  switch (part["type"]) {
    case "text":
      return typeof part["text"] === "string" ? undefined : ".text is no text";
    case "image":
      return mediaFault(part);
    case "file":
      return mediaFault(part) ?? optionalText(part, "name");
    default:
      return typeof part["type"] === "string" ? undefined : " has no type";
  }
}

/** The same for a part of a reply. The id of a call may be missing: the agent gives it one. */
export function replyPartFault(part: unknown): string | undefined {
  if (!isJsonObject(part)) return " is no part";
  switch (part["type"]) {
    case "text":
      return typeof part["text"] === "string" ? undefined : ".text is no text";
    case "reasoning":
      return typeof part["text"] === "string" ? optionalText(part, "signature") : ".text is no text";
    case "toolCall":
      return callFault(part);
    default:
      return typeof part["type"] === "string" ? undefined : " has no type";
  }
}

/** The first fault in a list of parts, with its index. */
export function listFault(list: unknown, faultOf: (part: unknown) => string | undefined): string | undefined {
  if (!Array.isArray(list)) return " is no list of parts";
  for (let i = 0; i < list.length; i++) {
    const fault = faultOf(list[i]);
    if (fault !== undefined) return `[${i}]${fault}`;
  }
  return undefined;
}

function mediaFault(part: { readonly [key: string]: unknown }): string | undefined {
  const { source, mimeType } = part;
  if (!isJsonObject(source) || (typeof source["base64"] !== "string" && typeof source["url"] !== "string"))
    return ".source holds neither base64 nor url";
  return typeof mimeType === "string" ? undefined : ".mimeType is no text";
}

function callFault(part: { readonly [key: string]: unknown }): string | undefined {
  const { id, name, malformed } = part;
  if (id !== undefined && typeof id !== "string") return ".id is no text";
  if (typeof name !== "string") return ".name is no text";
  if (!isJsonObject(part["arguments"])) return ".arguments is no object";
  if (malformed === undefined) return optionalText(part, "raw");
  const told = isJsonObject(malformed) && typeof malformed["reason"] === "string";
  return told && typeof malformed["raw"] === "string" ? optionalText(part, "raw") : ".malformed gives no reason";
}

/** What is wrong with a field that may be missing. */
export function optionalText(owner: { readonly [key: string]: unknown }, field: string): string | undefined {
  const value = owner[field];
  return value === undefined || typeof value === "string" ? undefined : `.${field} is no text`;
}
