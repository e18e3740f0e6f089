import { type Content, toContent } from "../../domain/content.js";
import type { AssistantPart, Message, MessageInput, ToolCallPart } from "../../domain/message.js";
import type { MalformedArguments, ToolCall, ToolDef, ToolResult } from "../../domain/tool.js";
import type { Redaction } from "./redaction.js";

/** The message without what is redacted; itself where there is nothing. */
export function redactedMessage<M extends Message | MessageInput>(redaction: Redaction, message: M): M {
  if (message.role === "assistant") {
    const parts = redactedParts(redaction, message.parts);
    return parts === message.parts ? message : { ...message, parts };
  }
  const given = toContent(message.content);
  const content = redactedContent(redaction, given);
  const own = content === given ? message : { ...message, content };
  if (own.role !== "tool") return own;
  const { structured, details } = { ...redactedExtras(redaction, own) };
  return structured === own.structured && details === own.details
    ? own
    : { ...own, ...(structured !== undefined && { structured }), ...(details !== undefined && { details }) };
}

/** The result without what is redacted. */
export function redactedResult(redaction: Redaction, result: ToolResult): ToolResult {
  return { ...result, content: redactedContent(redaction, result.content), ...redactedExtras(redaction, result) };
}

function redactedExtras(redaction: Redaction, { structured, details }: Pick<ToolResult, "structured" | "details">) {
  return {
    ...(structured !== undefined && { structured: redaction.json(structured) }),
    ...(details !== undefined && { details: redaction.json(details) }),
  };
}

/** The tool as a model is told of it, without what is redacted. */
export function redactedTool(redaction: Redaction, tool: ToolDef): ToolDef {
  const { description, inputSchema, outputSchema } = tool;
  return {
    ...tool,
    description: redaction.text(description),
    inputSchema: redaction.schema(inputSchema),
    ...(outputSchema && { outputSchema: redaction.schema(outputSchema) }),
  };
}

/** The call without what is redacted. The text its arguments came as is left out where they changed. */
export function redactedCall<C extends ToolCall>(redaction: Redaction, call: C): C {
  const args = redaction.json(call.arguments);
  const raw = call.raw === undefined ? undefined : redaction.text(call.raw);
  const malformed = call.malformed && redactedMalformed(redaction, call.malformed);
  if (args === call.arguments && raw === call.raw && malformed === call.malformed) return call;
  const { raw: _raw, malformed: _malformed, ...rest } = call;
  return { ...rest, arguments: args, ...(malformed && { malformed }) } as C;
}

/** The reason may quote what came. */
function redactedMalformed(redaction: Redaction, given: MalformedArguments): MalformedArguments {
  const [raw, reason] = [redaction.text(given.raw), redaction.text(given.reason)];
  return raw === given.raw && reason === given.reason ? given : { raw, reason };
}

/** The parts of a reply, texts of one kind being one text. A part that changed loses what its provider signed. */
export function redactedParts(redaction: Redaction, parts: readonly AssistantPart[]): readonly AssistantPart[] {
  const texts = redaction.texts(parts.map((part) => (part.type === "text" ? part.text : "")));
  const thoughts = redaction.texts(parts.map((part) => (part.type === "reasoning" ? part.text : "")));
  const made = parts.map((part, index): AssistantPart => {
    if (part.type === "toolCall") return redactedCallPart(redaction, part);
    const text = (part.type === "text" ? texts : thoughts)[index] ?? "";
    if (text === part.text || (part.type === "reasoning" && part.redacted === true)) return part;
    return { type: part.type, text };
  });
  return made.every((part, index) => part === parts[index]) ? parts : made;
}

function redactedCallPart(redaction: Redaction, part: ToolCallPart): ToolCallPart {
  const call = redactedCall(redaction, part);
  if (call === part) return part;
  const { providerData: _signed, ...rest } = call;
  return rest;
}

function redactedContent(redaction: Redaction, content: readonly Content[]): readonly Content[] {
  const texts = redaction.texts(content.map((part) => (part.type === "text" ? part.text : "")));
  const made = content.map((part, index) => {
    const text = texts[index] ?? "";
    return part.type === "text" && text !== part.text ? { ...part, text } : part;
  });
  return made.every((part, index) => part === content[index]) ? content : made;
}
