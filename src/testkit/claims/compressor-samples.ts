import { adopt } from "../../domain/adopt.js";
import { type AgentMessage, type AssistantMessage, type Message, type MessageInput } from "../../domain/message.js";
import { assistantMessage, systemMessage, toolResultMessage, userMessage } from "../../domain/message.js";
import { pinned } from "../../domain/pins.js";
import { okResult, type ToolCall } from "../../domain/tool.js";

/** A conversation that is worth compressing, as an agent hands it over: every call answered in its place, unless `open` says so. */
export type SampleConversation = {
  readonly name: string;
  readonly messages: readonly AgentMessage[];
  /** Ends with a call that waits for a decision. */
  readonly open?: boolean | undefined;
};

const SENTENCE = "The quick brown fox jumps over the lazy dog and comes back late in the evening. ";
const call = (id: string): ToolCall => ({ id, name: "look_up", arguments: { query: id } });
const calling = (...ids: readonly string[]): MessageInput =>
  assistantMessage(ids.map((id) => ({ type: "toolCall", ...call(id) })));
const answering = (id: string, sentences = 60): MessageInput =>
  toolResultMessage(call(id), okResult(`${id}: ${SENTENCE.repeat(sentences)}`));
const asking = (text: string): MessageInput => userMessage(`${text} ${SENTENCE}`);
const replying = (text: string): MessageInput => assistantMessage(`${text} ${SENTENCE.repeat(3)}`);

/** Five conversations: many turns, one long turn, call ids that repeat, pins of every kind, and one that waits for a decision. */
export function sampleConversations(): readonly SampleConversation[] {
  const newest = asking("newest question");
  const turns = Array.from({ length: 16 }, (_, n) => turnOf(`t${n}`)).flat();
  const longTurn = Array.from({ length: 16 }, (_, n) => [calling(`c${n}`), answering(`c${n}`)]).flat();
  const repeated = Array.from({ length: 16 }, () => [asking("again"), calling("0"), answering("0"), replying("so")]);
  const waiting = [asking("old"), ...longTurn, replying("done"), newest, calling("open")];
  return [
    { name: "many turns", messages: stored([...turns, newest]) },
    { name: "one long turn", messages: stored([newest, ...longTurn]) },
    { name: "call ids that repeat", messages: stored([...repeated.flat(), newest]) },
    { name: "pinned messages", messages: stored([...withPins(turns), newest]) },
    { name: "a call that waits", messages: stored(waiting), open: true },
  ];
}

/** Conversations too small to compress: none, one message, one turn. */
export function smallConversations(): readonly SampleConversation[] {
  const hello = userMessage("hello");
  return [
    { name: "an empty conversation", messages: [] },
    { name: "one message", messages: stored([hello]) },
    { name: "one turn", messages: stored([hello, assistantMessage("hi"), userMessage("bye")]) },
  ];
}

function turnOf(name: string): readonly MessageInput[] {
  const [a, b] = [`${name}.a`, `${name}.b`];
  return [asking(name), calling(a, b), answering(a), answering(b), replying(name)];
}

/** A user message, a reply, a call and a result of early turns, and an instruction, each pinned. */
function withPins(turns: readonly MessageInput[]): readonly MessageInput[] {
  const at = new Set([0, 9, 11, 18]);
  const pins = turns.map((message, index) => (at.has(index) ? pinned(message) : message));
  return pins.toSpliced(20, 0, pinned(systemMessage("Answer in English.")));
}

function stored(messages: readonly MessageInput[]): readonly AgentMessage[] {
  return messages.map((message, index) => adopt({ ...message, id: `sample.${index}`, at: index } as Message, "sample"));
}

/** The last reply and all behind it. */
export function lastExchange(messages: readonly AgentMessage[]): readonly AgentMessage[] {
  const at = messages.findLastIndex((message): message is AssistantMessage => message.role === "assistant");
  return at < 0 ? [] : messages.slice(at);
}
