import { isJsonObject, type JsonObject } from "../../../domain/json.js";
import type { AssistantMessage, AssistantPart, Message, TextPart, ToolMessage } from "../../../domain/message.js";
import { legalTranscript } from "../wire/legal-transcript.js";
import { argumentsText, flagged, isOwn, resultText, type WireObject } from "../openai/openai-parts.js";
import { inputContent } from "./openai-responses-content.js";
import { WireCallIds } from "../wire/wire-call-ids.js";
import { listField, textField } from "../wire/wire-json.js";
import type { WireNames } from "../wire/wire-names.js";

/** What the encoding of messages depends on beside the messages. */
export type ResponsesTranscriptContext = {
  readonly names: WireNames;
  /** Replies of other providers keep what only they understand. */
  readonly provider: string;
  /** Whether reasoning goes back at all. */
  readonly replaysReasoning: boolean;
};

/** The longest `call_id` the provider takes. */
const LONGEST_ID = 64;

/**
 * Any messages as input items of the responses wire, always legal: what `legalTranscript` leaves, each call with a `call_id` that no
 * other has and the text of a JSON object as its arguments. Reasoning of this provider goes back as it came, in its place, where the
 * provider can read it and something of its reply follows it; ids of messages and calls do not, since nothing is stored under them. Pure.
 */
export function toProviderTranscript(
  messages: readonly Message[],
  context: ResponsesTranscriptContext,
): readonly WireObject[] {
  const ids = new WireCallIds(LONGEST_ID);
  let open: string[] = [];
  return legalTranscript(messages).flatMap((message) => {
    switch (message.role) {
      case "tool":
        return [encodeResult(message, open.shift() ?? message.toolCallId)];
      case "assistant": {
        const items = encodeReply(message, ids, context);
        open = items.flatMap((item) => (item["type"] === "function_call" ? [String(item["call_id"])] : []));
        return items;
      }
      default: {
        const content = inputContent(message.content);
        return content.length === 0 ? [] : [{ type: "message", role: message.role, content }];
      }
    }
  });
}

function encodeReply(
  message: AssistantMessage,
  ids: WireCallIds,
  context: ResponsesTranscriptContext,
): readonly WireObject[] {
  const own = isOwn(message, context.provider);
  const items: WireObject[] = [];
  // Reasoning that nothing follows is refused, and refused again in every later request.
  let waiting: WireObject[] = [];
  const push = (item: WireObject): void => {
    items.push(...waiting, item);
    waiting = [];
  };
  for (const group of grouped(message.parts)) {
    const [part] = group;
    if (part.type === "text") {
      const said = encodeText(group as readonly TextPart[], own);
      if (said !== undefined) push(said);
    } else if (part.type === "toolCall") {
      const name = context.names.toWire(part.name);
      push({ type: "function_call", call_id: ids.next(part.id), name, arguments: argumentsText(part) });
    } else if (own && context.replaysReasoning) {
      const item = storedItem(part.providerData);
      if (item?.["type"] === "compaction") push(item);
      else if (item !== undefined) waiting.push(item);
    }
  }
  return items;
}

type Group = readonly [AssistantPart, ...AssistantPart[]];

/** Neighbouring texts of one phase are one message of the wire; every other part stands alone. */
function grouped(parts: readonly AssistantPart[]): readonly Group[] {
  const groups: [AssistantPart, ...AssistantPart[]][] = [];
  for (const part of parts) {
    const last = groups.at(-1);
    const joins = last?.[0].type === "text" && part.type === "text" && phaseOf(last[0]) === phaseOf(part);
    if (joins) last.push(part);
    else groups.push([part]);
  }
  return groups;
}

function phaseOf(part: AssistantPart): string | undefined {
  return textField(part.providerData, "phase");
}

function encodeText(parts: readonly TextPart[], own: boolean): WireObject | undefined {
  const content = parts.map(({ text }) => text).join("");
  if (content.trim() === "") return undefined;
  const phase = own && parts[0] !== undefined ? phaseOf(parts[0]) : undefined;
  const isKnown = phase === "commentary" || phase === "final_answer";
  return { type: "message", role: "assistant", content, ...(isKnown ? { phase } : undefined) };
}

/** A stored item that the provider can read without having stored it; undefined for any other data. */
function storedItem(data: unknown): JsonObject | undefined {
  if (!isJsonObject(data)) return undefined;
  const hasCipher = textField(data, "encrypted_content") !== undefined;
  const { status: _status, content, ...item } = data;
  if (item["type"] === "compaction") return hasCipher ? item : undefined;
  if (item["type"] !== "reasoning") return undefined;
  const summary = listField(item, "summary").filter(isJsonObject);
  // Servers that encrypt refuse the plain text; those that do not need it.
  if (hasCipher) return { ...item, summary };
  return Array.isArray(content) && content.length > 0
    ? { ...item, summary, content: content as JsonObject[] }
    : undefined;
}

function encodeResult(message: ToolMessage, id: string): WireObject {
  const text = flagged(resultText(message), message);
  const hasMore = message.content.some(({ type }) => type === "image" || type === "file");
  const output = hasMore ? inputContent(withFlag(message)) : text;
  return { type: "function_call_output", call_id: id, output };
}

/** An error that holds more than text says in front that it is one. */
function withFlag(message: ToolMessage): ToolMessage["content"] {
  if (!message.isError) return message.content;
  const rest = message.content.filter(({ type }) => type !== "text");
  return [{ type: "text", text: flagged(resultText(message), message) }, ...rest];
}
