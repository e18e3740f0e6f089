import type { Content } from "../../../domain/content.js";
import { isJsonObject, type Json, type JsonObject } from "../../../domain/json.js";
import type { AssistantPart, Message } from "../../../domain/message.js";
import { metadataOf, partData } from "./ai-sdk-metadata.js";
import type { LanguageModelV4Message, LanguageModelV4ToolResultOutput, SharedV4FileData } from "./ai-sdk-types.js";
import { decodeJson, encodeJson } from "../wire/wire-json.js";

/** Plain JSON without fields that are undefined. */
export function copy(value: unknown): Json {
  return (decodeJson(encodeJson(value)) ?? null) as Json;
}

/** The same of a value that is an object. */
export function objectOf(value: unknown): JsonObject | undefined {
  return isJsonObject(value) ? (copy(value) as JsonObject) : undefined;
}

/** Is told what has no place in a request of ours. */
export type Complain = (feature: string) => void;

/** A message of the SDK as the messages it stands for: each tool result is one of its own. */
export function messagesOf(message: LanguageModelV4Message, id: string, unsupported: Complain): readonly Message[] {
  switch (message.role) {
    case "system":
      return [{ role: "system", id, at: 0, content: [{ type: "text", text: message.content }] }];
    case "user":
      return [{ role: "user", id, at: 0, content: message.content.flatMap((part) => contentOf(part, unsupported)) }];
    case "assistant":
      return [replyOf(message, id, unsupported)];
    case "tool":
      return message.content.flatMap((part, at): readonly Message[] => {
        if (part.type !== "tool-result") return [];
        const base = {
          role: "tool",
          id: `${id}.${at}`,
          at: 0,
          toolCallId: part.toolCallId,
          toolName: part.toolName,
        } as const;
        return [{ ...base, ...resultOf(part.output, unsupported) }];
      });
    default:
      return [];
  }
}

type Incoming = { readonly type: "text"; readonly text: string } | FileLike;
type FileLike = {
  readonly type: "file";
  readonly data: SharedV4FileData;
  readonly mediaType: string;
  readonly filename?: string;
};

function contentOf(part: Incoming, unsupported: Complain): readonly Content[] {
  if (part.type === "text") return [{ type: "text", text: part.text }];
  const { data, mediaType, filename } = part;
  if (data.type === "reference") {
    unsupported("file references");
    return [];
  }
  const source = data.type === "url" ? { url: data.originalUrl ?? data.url.href } : { base64: base64Of(data) };
  // A type may be left half open, as in `image/*`.
  const mimeType = data.type === "text" && !mediaType.includes("/") ? "text/plain" : mediaType;
  if (mimeType.split("/")[0] === "image") return [{ type: "image", source, mimeType }];
  return [{ type: "file", source, mimeType, ...(filename === undefined ? undefined : { name: filename }) }];
}

function base64Of(data: Extract<SharedV4FileData, { type: "data" | "text" }>): string {
  if (data.type === "data" && typeof data.data === "string") return data.data;
  const bytes = data.type === "data" ? (data.data as Uint8Array) : new TextEncoder().encode(data.text);
  let text = "";
  // In pieces, since arguments of a function are limited.
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}

function replyOf(
  message: Extract<LanguageModelV4Message, { role: "assistant" }>,
  id: string,
  unsupported: Complain,
): Message {
  const parts: AssistantPart[] = [];
  let provider: string | undefined;
  for (const part of message.content) {
    const known = metadataOf(part.providerOptions);
    provider ??= known.provider;
    if (part.type === "text") parts.push({ type: "text", text: part.text, ...partData(known) });
    else if (part.type === "reasoning")
      parts.push({ ...known.reasoning, type: "reasoning", text: part.text, ...partData(known) });
    else if (part.type === "tool-call" && part.providerExecuted !== true) {
      const input = objectOf(typeof part.input === "string" ? decodeJson(part.input) : part.input) ?? {};
      parts.push({
        type: "toolCall",
        id: part.toolCallId,
        name: part.toolName,
        arguments: input,
        ...known.call,
        ...partData(known),
      });
    } else unsupported(`${part.type} in replies`);
  }
  // Without a name nobody knows whose signatures these are, and they carry none.
  return { role: "assistant", id, at: 0, parts, provider: provider ?? "ai-sdk" };
}

type ResultFields = Pick<Extract<Message, { role: "tool" }>, "content" | "structured" | "isError" | "outcome">;

function resultOf(output: LanguageModelV4ToolResultOutput, unsupported: Complain): ResultFields {
  const failed = output.type === "error-text" || output.type === "error-json" || output.type === "execution-denied";
  const base = { isError: failed, outcome: failed ? ("failed" as const) : ("completed" as const) };
  const told = (text: string): ResultFields => ({ ...base, content: [{ type: "text", text }] });
  switch (output.type) {
    case "text":
    case "error-text":
      return told(output.value);
    case "json":
    case "error-json":
      return { ...base, content: [], structured: copy(output.value) };
    case "execution-denied":
      return told(output.reason ?? "The tool call was denied.");
    case "content":
      return {
        ...base,
        content: output.value.flatMap((part) => (part.type === "custom" ? [] : contentOf(part, unsupported))),
      };
    default:
      return told("");
  }
}
