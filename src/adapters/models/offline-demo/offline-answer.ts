import { contentText } from "../../../domain/content.js";
import { isMessage, type Message, textOf, toolCallsOf, type ToolMessage } from "../../../domain/message.js";
import type { ToolCall, ToolDef } from "../../../domain/tool.js";

/** Said in every answer, so that nobody takes the rules for a language model. */
export const OFFLINE_NOTICE = "[offline demo: rules, not a language model]";

const SHOWN_LINES = 12;
const SHOWN_COLUMNS = 160;

/** The answer made of the results that came since the last user message. */
export function answerFromResults(messages: readonly Message[]): string {
  const calls = new Map<string, ToolCall>();
  const parts: string[] = [];
  for (const message of messages) {
    for (const call of toolCallsOf(message)) calls.set(call.id, call);
    if (message.role === "tool") parts.push(resultText(message, calls.get(message.toolCallId)));
  }
  return `${OFFLINE_NOTICE}\n${parts.join("\n")}`;
}

function resultText(message: ToolMessage, call: ToolCall | undefined): string {
  const values = Object.values(call?.arguments ?? {}).map(String);
  const head = `${message.toolName}(${values.join(", ")})`;
  const plain = contentText(message.content);
  const text = plain === "" && message.structured !== undefined ? JSON.stringify(message.structured) : plain;
  if (message.isError) return `${head} did not work: ${text}`;
  const lines = text.split("\n");
  if (lines.length === 1) return `${head} gives ${clip(text)}`;
  const shown = lines.slice(0, SHOWN_LINES).map((line) => `  ${clip(line)}`);
  const rest = lines.length - shown.length;
  return [`${head} gives`, ...shown, ...(rest > 0 ? [`  ... and ${rest} more lines`] : [])].join("\n");
}

function clip(line: string): string {
  return line.length <= SHOWN_COLUMNS ? line : `${line.slice(0, SHOWN_COLUMNS).toWellFormed()}...`;
}

const RECALL = /\bwhat\s+(?:did|have)\s+I\b|\bmy\s+(?:first|last|previous)\s+(?:question|message)\b/i;

/** The answer to a message no tool is wanted for: what was said before, or what the rules can do. */
export function answerWithoutTools(message: string, earlier: readonly Message[], tools: readonly ToolDef[]): string {
  if (RECALL.test(message)) {
    const said = earlier.filter((other) => isMessage(other) && other.role === "user");
    const wanted = /\bfirst\b/i.test(message) ? said[0] : said.at(-1);
    const text = wanted === undefined ? "Nothing yet in this session." : `You said: ${clip(textOf(wanted))}`;
    return `${OFFLINE_NOTICE}\n${text}`;
  }
  const names = tools.map((tool) => tool.name);
  const have = names.length === 0 ? "I was given no tools." : `The tools I was given: ${names.join(", ")}.`;
  return (
    `${OFFLINE_NOTICE}\nI found nothing in this message that my rules or tools can do. ${have} ` +
    `Try: list the files in src; read README.md and search "agent"; what is 2 + 3 * 4?`
  );
}
