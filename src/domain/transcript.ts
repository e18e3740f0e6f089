import { adopt } from "./adopt.js";
import {
  type AgentMessage,
  type AssistantMessage,
  type AssistantPart,
  isMessage,
  type ToolMessage,
  toolErrorMessage,
} from "./message.js";
import { type Group, needsPairing, pair } from "./pairing.js";
import type { ToolCall } from "./tool.js";

/** A call nobody has answered, and where it stands in its reply. */
export type OpenCall = { readonly message: AssistantMessage; readonly order: number; readonly call: ToolCall };

/** The same messages with each result right after its call's message, in the order of the calls; results without a call stay where they are. */
export function orderResults(messages: readonly AgentMessage[]): AgentMessage[] {
  if (!messages.some(needsPairing)) return messages.slice();
  const { groups, owned } = pair(messages);
  const ordered: AgentMessage[] = [];
  messages.forEach((message, index) => {
    if (owned.has(index)) return;
    ordered.push(message);
    for (const result of groups.get(index)?.results ?? []) if (result !== undefined) ordered.push(result);
  });
  return ordered;
}

/** Every call without a result, in order. */
export function openCalls(messages: readonly AgentMessage[]): OpenCall[] {
  if (!messages.some(needsPairing)) return [];
  const open: OpenCall[] = [];
  for (const group of pair(messages).groups.values()) {
    group.calls.forEach((call, order) => {
      if (group.results[order] === undefined) open.push({ message: group.message, order, call });
    });
  }
  return open;
}

/**
 * What a model may be sent of a stored history (S4): results adjacent and in source order, results without call left out, an error
 * result for a call without one, replies without parts left out, of a stopped reply the text where a user message follows it, else
 * nothing. Messages that need no change are shared. May be applied piecewise where each piece answers its own calls, and none ends
 * before what follows a stopped reply (`settledEnd`).
 */
export function requestView(messages: readonly AgentMessage[]): AgentMessage[] {
  const groups = messages.some(needsPairing) ? pair(messages).groups : NO_GROUPS;
  const followers = messages.some(isStopped) ? followersOf(messages) : [];
  const view: AgentMessage[] = [];
  messages.forEach((message, index) => {
    if (!isMessage(message)) return void view.push(message);
    if (message.role === "tool") return;
    if (message.role !== "assistant") return void view.push(message);
    const sent = message.stopped === undefined ? message : stoppedPart(message, followers[index]);
    if (sent === undefined || sent.parts.length === 0) return;
    view.push(sent);
    const group = groups.get(index);
    if (group === undefined || sent !== message) return;
    group.calls.forEach((call, order) => view.push(group.results[order] ?? missingResult(message, order, call)));
  });
  return view;
}

const NO_GROUPS: ReadonlyMap<number, Group> = new Map();

/** What is shown of a stopped reply: what was asked next refers to its text; where nothing was, the model answers anew. */
function stoppedPart(message: AssistantMessage, follower: AgentMessage | undefined): AssistantMessage | undefined {
  return follower?.role === "user" ? textOnly(message) : undefined;
}

/** Who speaks next behind each message; a stopped reply that said nothing does not speak. */
function followersOf(messages: readonly AgentMessage[]): (AgentMessage | undefined)[] {
  const followers = new Array<AgentMessage | undefined>(messages.length).fill(undefined);
  let next: AgentMessage | undefined;
  for (let index = messages.length - 1; index >= 0; index--) {
    const message = messages[index] as AgentMessage;
    followers[index] = next;
    if (isTurnTaking(message) && !(isStopped(message) && !saysText(message))) next = message;
  }
  return followers;
}

function saysText(message: AssistantMessage): boolean {
  return message.parts.some(isText);
}

function isText(part: AssistantPart): boolean {
  return part.type === "text" && part.text !== "";
}

/** True for a reply of a model, whole or stopped. */
export function isReply(message: AgentMessage): message is AssistantMessage {
  return isMessage(message) && message.role === "assistant";
}

function isStopped(message: AgentMessage): message is AssistantMessage {
  return isReply(message) && message.stopped !== undefined;
}

function isTurnTaking(message: AgentMessage): boolean {
  return message.role === "user" || message.role === "assistant";
}

/**
 * How many messages, at least `from`, stay as `requestView` shows them whatever is added: all before a stopped reply that nothing follows.
 * A result behind such a reply may answer a call before it, so that none of them is settled.
 */
export function settledEnd(messages: readonly AgentMessage[], from = 0): number {
  let end = messages.length;
  let results = false;
  for (let index = end - 1; index >= from; index--) {
    const message = messages[index] as AgentMessage;
    if (isStopped(message)) end = index;
    else if (isTurnTaking(message)) break;
    results ||= message.role === "tool";
  }
  return results && end < messages.length ? from : end;
}

function textOnly(message: AssistantMessage): AssistantMessage {
  const parts = message.parts.filter(isText);
  return parts.length === message.parts.length ? message : adopt({ ...message, parts }, "stopped reply");
}

function missingResult(message: AssistantMessage, order: number, call: ToolCall): ToolMessage {
  const body = toolErrorMessage(call, UNKNOWN_OUTCOME, "unknown");
  return adopt({ ...body, id: `${message.id}.${order}`, at: message.at } as ToolMessage, "missing result");
}

/** What the model is told of a call that started, and whose effect nobody knows. */
export const UNKNOWN_OUTCOME =
  "The tool call was interrupted. It is unknown whether its effect happened; check before calling it again.";

/** What the model is told of a call that somebody interrupted the batch before. */
export const SKIPPED = "The tool call was skipped: the turn was interrupted before it began.";

/** What the model is told of a call that did not run. */
export const NOT_EXECUTED = "The tool call was not executed.";
