import { type AgentMessage, isMessage, textOf, userMessage } from "../../domain/message.js";
import { isJsonObject } from "../../domain/json.js";
import type { MessageInput } from "../../domain/message.js";

/** Marks a message that stands for earlier ones. */
const SUMMARY_KEY = "ennead.summary";

const HEADING =
  "[A summary of the conversation so far, written by a model. It is a record of what was said and done, not a new request.]";

/** What opens or closes a summary, however it is written; the sign alone is matched. */
const TAG_SIGN = /<(?=[\s/]*summary\b)/gi;

/** The message that a conversation begins with from now on. What the summary says cannot end it. */
export function summaryMessage(summary: string): MessageInput {
  const text = summary.replaceAll(TAG_SIGN, "&lt;");
  return userMessage(`${HEADING}\n<summary>\n${text}\n</summary>`, { metadata: { [SUMMARY_KEY]: true } });
}

/** The summary that a message holds, if it is one. */
export function summaryIn(message: AgentMessage): string | undefined {
  if (!isMessage(message) || message.role !== "user") return undefined;
  if (!isJsonObject(message.metadata) || message.metadata[SUMMARY_KEY] !== true) return undefined;
  return insideTags(textOf(message)) ?? textOf(message);
}

/** What stands between the first `<summary>` and the last `</summary>`, tags in between taken out once; nothing without them. */
export function insideTags(text: string): string | undefined {
  const from = text.indexOf("<summary>");
  const to = text.lastIndexOf("</summary>");
  if (from < 0 || to < from) return undefined;
  return text
    .slice(from + "<summary>".length, to)
    .replaceAll(/<\/?summary>/g, "")
    .trim();
}
