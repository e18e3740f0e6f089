import { toContent } from "../../domain/content.js";
import type { AssistantPart, Message, MessageInput } from "../../domain/message.js";
import type { ModelResponse } from "../../domain/model.js";
import type { ToolResult } from "../../domain/tool.js";

/** The message with this text in place of its own; pictures and files stay. */
export function withText<M extends Message | MessageInput>(message: M, text: string): M {
  if (message.role === "assistant") return { ...message, parts: [{ type: "text", text }] };
  const others = toContent(message.content).filter((part) => part.type !== "text");
  return { ...message, content: [{ type: "text", text }, ...others] };
}

/** The texts of a reply, one line after the other. */
export function responseText({ parts }: ModelResponse): string {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

/** The reply with this text in place of its own. Its reasoning may say the same, so it goes; calls stay. */
export function withResponseText(response: ModelResponse, text: string): ModelResponse {
  const calls = response.parts.filter((part) => part.type === "toolCall");
  return { ...response, parts: [{ type: "text", text }, ...calls] };
}

/** The reply of which nothing is left but why. */
export function blockedResponse(response: ModelResponse, reason: string): ModelResponse {
  const parts: readonly AssistantPart[] = [{ type: "text", text: `[blocked: ${reason}]` }];
  return { ...response, parts, finishReason: "content-filter" };
}

/** What the model would read of a result. */
export function resultText({ content, structured }: ToolResult): string {
  const text = content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
  return content.length === 0 && structured !== undefined ? JSON.stringify(structured) : text;
}
