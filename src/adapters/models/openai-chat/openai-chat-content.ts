import { fieldOf, textField } from "../wire/wire-json.js";

/** The text and the reasoning that one delta or message brings. */
export type ReplyText = {
  readonly text: string;
  readonly refusal: string;
  readonly reasoning: string;
  readonly reasoningField: string;
};

/** Fields in which servers send reasoning; where several carry the same text, only the first counts. */
export const REASONING_FIELDS: readonly string[] = ["reasoning_content", "reasoning", "reasoning_text"];

/** Reads `content` as text or as a list of parts, and reasoning from the field or the parts it comes in. */
export function replyText(source: unknown): ReplyText {
  const reasoningField = REASONING_FIELDS.find((key) => textField(source, key) !== undefined) ?? "";
  const content = fieldOf(source, "content");
  const refusal = textField(source, "refusal") ?? "";
  const reasoning = textField(source, reasoningField) ?? "";
  if (typeof content === "string") return { text: content, refusal, reasoning, reasoningField };
  const parts: readonly unknown[] = Array.isArray(content) ? content : [content];
  return {
    text: parts.map(textOfPart).join(""),
    refusal: refusal + parts.map((part) => textField(part, "refusal") ?? "").join(""),
    reasoning: reasoning + parts.map(thinkingOf).join(""),
    reasoningField,
  };
}

function textOfPart(part: unknown): string {
  if (typeof part === "string") return part;
  return textField(part, "type") === "thinking" ? "" : (textField(part, "text") ?? "");
}

/** Some servers send reasoning as a part of the content, its text once more in parts. */
function thinkingOf(part: unknown): string {
  const thinking = fieldOf(part, "thinking");
  if (typeof thinking === "string") return thinking;
  return Array.isArray(thinking) ? thinking.map((piece) => textField(piece, "text") ?? "").join("") : "";
}
