import type { Content, FileContent, ImageContent } from "../../../domain/content.js";
import { isJsonObject } from "../../../domain/json.js";
import type { AssistantMessage, Message, ProviderData, ToolCallPart, ToolMessage } from "../../../domain/message.js";
import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultOutput,
  SharedV4FileData,
  SharedV4ProviderOptions,
} from "./ai-sdk-types.js";
import { fileSource, imageType } from "../wire/file-source.js";
import { isPicture } from "../common/is-picture.js";
import { legalTranscript } from "../wire/legal-transcript.js";
import { noteOn } from "../wire/media-note.js";
import { losslessJson } from "../wire/lossless-json.js";
import { WireCallIds } from "../wire/wire-call-ids.js";
import { decodeJson } from "../wire/wire-json.js";
import type { WireNames } from "../wire/wire-names.js";

/** What the form of a conversation depends on beside its messages. */
export type AiSdkPromptContext = {
  readonly names: WireNames;
  /** Replies stored under another name keep their reasoning and the provider's data to themselves. */
  readonly provider: string;
  /** False leaves out all reasoning and data of the provider, where it has refused a piece of it. */
  readonly replays: boolean;
};

/**
 * Messages as a prompt of the AI SDK (v4) that every provider takes, whatever was stored: calls answered, all results of a reply in one
 * message right behind it, each call with an id of its own, nothing empty, blank or unknown, instructions only in front (later ones become text of the user). Pure.
 */
export function toProviderTranscript(messages: readonly Message[], context: AiSdkPromptContext): LanguageModelV4Prompt {
  const prompt: LanguageModelV4Prompt = [];
  const ids = new WireCallIds(LONGEST_ID);
  /** Of the calls whose results are to come, in the order of the calls. */
  let open: string[] = [];
  let began = false;
  for (const message of legalTranscript(messages, { emptyText: "keep" })) {
    if (message.role === "system") {
      const text = message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
      if (text.trim() === "") continue;
      if (!began) prompt.push({ role: "system", content: text });
      else prompt.push({ role: "user", content: [{ type: "text", text: `<system>${text}</system>` }] });
      continue;
    }
    began = true;
    if (message.role === "user") {
      const content = userContent(message.content);
      if (content.length > 0) prompt.push({ role: "user", content });
    } else if (message.role === "assistant") open = addReply(prompt, message, ids, context);
    else addResult(prompt, message, open.shift() ?? message.toolCallId, context);
  }
  return prompt;
}

type UserContent = Extract<LanguageModelV4Message, { role: "user" }>["content"];
type ReplyContent = Extract<LanguageModelV4Message, { role: "assistant" }>["content"];

function userContent(content: readonly Content[]): UserContent {
  return content.flatMap((part): UserContent => {
    switch (part.type) {
      case "text":
        return part.text.trim() === "" ? [] : [{ type: "text", text: part.text }];
      case "image":
      case "file":
        return [fileOf(part) ?? { type: "text", text: noteOn(part) }];
      default:
        return [];
    }
  });
}

/** Undefined for bytes and addresses that no provider could read. */
function fileOf(part: ImageContent | FileContent): LanguageModelV4FilePart | undefined {
  const found = fileSource(part.source, part.mimeType);
  if (found === undefined) return undefined;
  const name = part.type === "file" ? part.name : undefined;
  const { url, base64 } = found;
  const data: SharedV4FileData =
    url === undefined ? { type: "data", data: base64 } : { type: "url", url: new URL(url) };
  return {
    type: "file",
    mediaType: isPicture(part) ? imageType(found) : found.mimeType,
    data,
    ...(name === undefined ? undefined : { filename: name }),
  };
}

/** The longest id that every provider takes. */
const LONGEST_ID = 64;

/** Gives the ids under which the calls of the reply are sent. */
function addReply(
  prompt: LanguageModelV4Prompt,
  message: AssistantMessage,
  ids: WireCallIds,
  context: AiSdkPromptContext,
): string[] {
  const calls: string[] = [];
  const own = context.replays && (message.provider === undefined || message.provider === context.provider);
  const content: ReplyContent = [];
  let speaks = false;
  for (const part of message.parts) {
    const extras = own ? optionsOf(part.providerData) : undefined;
    if (part.type === "toolCall") {
      const id = ids.next(part.id);
      calls.push(id);
      content.push({
        type: "tool-call",
        toolCallId: id,
        toolName: context.names.toWire(part.name),
        input: inputOf(part),
        ...extras,
      });
      speaks = true;
    } else if (part.type === "text") {
      if (part.text !== "" || extras !== undefined) content.push({ type: "text", text: part.text, ...extras });
      speaks ||= part.text.trim() !== "";
    } else if (part.type === "reasoning" && own && (part.text !== "" || extras !== undefined)) {
      content.push({ type: "reasoning", text: part.text, ...extras });
    }
  }
  // Reasoning alone, or blanks, are no reply.
  if (speaks) prompt.push({ role: "assistant", content });
  return calls;
}

function optionsOf(data: ProviderData | undefined): { readonly providerOptions: SharedV4ProviderOptions } | undefined {
  const options = providerOptionsOf(data);
  return options === undefined ? undefined : { providerOptions: options };
}

/** Data by the name of a provider; undefined where there is none of that form. */
export function providerOptionsOf(data: unknown): SharedV4ProviderOptions | undefined {
  if (!isJsonObject(data)) return undefined;
  const known = Object.entries(data).filter(([, value]) => isJsonObject(value));
  return known.length === 0 ? undefined : (Object.fromEntries(known) as SharedV4ProviderOptions);
}

/** Always an object, its numbers with the digits they came with: a session written by an older version may hold anything. */
function inputOf({ raw, arguments: stored }: ToolCallPart): unknown {
  const exact = typeof raw === "string" ? losslessJson(raw) : undefined;
  if (isJsonObject(exact)) return exact;
  const input: unknown = typeof stored === "string" ? decodeJson(stored) : stored;
  return isJsonObject(input) ? input : {};
}

function addResult(
  prompt: LanguageModelV4Prompt,
  message: ToolMessage,
  toolCallId: string,
  { names }: AiSdkPromptContext,
): void {
  const result = {
    type: "tool-result",
    toolCallId,
    toolName: names.toWire(message.toolName),
    output: outputOf(message),
  } as const;
  const last = prompt.at(-1);
  if (last?.role === "tool") last.content.push(result);
  else prompt.push({ role: "tool", content: [result] });
}

function outputOf({ content, structured, isError }: ToolMessage): LanguageModelV4ToolResultOutput {
  if (content.length === 0 && structured !== undefined) {
    // A copy: the SDK's type lets the provider change it.
    const value = structuredClone(structured) as Extract<LanguageModelV4ToolResultOutput, { type: "json" }>["value"];
    return { type: isError ? "error-json" : "json", value };
  }
  const texts = content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  const media = userContent(content.filter(({ type }) => type !== "text"));
  const notes = media.flatMap((part) => (part.type === "text" ? [part.text] : []));
  const text = [...texts, ...notes].join("\n");
  const files = media.filter((part) => part.type === "file");
  if (files.length === 0) return { type: isError ? "error-text" : "text", value: text };
  const told = isError ? `<tool_error>${text}</tool_error>` : text;
  return { type: "content", value: [...(told === "" ? [] : [{ type: "text" as const, text: told }]), ...files] };
}
