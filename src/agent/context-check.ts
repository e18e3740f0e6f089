import { estimateAll } from "../domain/estimate.js";
import { type AgentMessage, isMessage } from "../domain/message.js";
import type { Compaction } from "../domain/session.js";
import { requestView } from "../domain/transcript.js";

/** What no compressor may take away: the newest user message, and the last exchange. */
type Kept = { readonly user: number; readonly exchange: number };

function keptOf(messages: readonly AgentMessage[]): Kept {
  const user = lastIndex(messages, (message) => message.role === "user");
  const exchange = lastIndex(messages, (message) => message.role === "assistant");
  return { user, exchange: exchange < 0 ? messages.length : exchange };
}

function lastIndex(messages: readonly AgentMessage[], is: (message: AgentMessage) => boolean): number {
  for (let i = messages.length - 1; i >= 0; i--) if (is(messages[i] as AgentMessage)) return i;
  return -1;
}

/**
 * A proposal as it may be sent (C1): whole exchanges, the newest user message and the last exchange in their place, a user message
 * first. Nothing when it does not shrink the estimate, or begins with a new message that is not the user's.
 */
export function checkedView(
  current: readonly AgentMessage[],
  proposed: readonly AgentMessage[],
  estimate: number,
): AgentMessage[] | undefined {
  const { user, exchange } = keptOf(current);
  const place = new Map(current.map((message, index) => [message, index]));
  const early: AgentMessage[] = [];
  const late: AgentMessage[] = [];
  for (const message of proposed) {
    const index = place.get(message);
    if (index !== undefined && (index === user || index >= exchange)) continue;
    (late.length > 0 || (index !== undefined && index > user) ? late : early).push(message);
  }
  const tail = current.slice(exchange).filter((_, offset) => exchange + offset !== user);
  const newest = user < 0 ? [] : [current[user] as AgentMessage];
  const whole = user > exchange ? [...early, ...late, ...tail, ...newest] : [...early, ...newest, ...late, ...tail];
  const view = requestView(fromFirstUser(whole, place));
  const first = view.find((message) => message.role !== "system");
  if (first === undefined || first.role !== "user") return undefined;
  return estimateAll(view) < estimate ? view : undefined;
}

/** Without the stored replies and results before the first user message; what the compressor wrote itself stays. */
function fromFirstUser(messages: readonly AgentMessage[], place: ReadonlyMap<AgentMessage, number>): AgentMessage[] {
  const first = messages.findIndex(
    (message) => message.role === "user" || (isMessage(message) && !place.has(message) && message.role !== "system"),
  );
  return messages.filter((message, index) => index >= first || message.role === "system");
}

/**
 * A record whose messages stand for everything up to `upTo` (C1): the cut moves back to the start of the last exchange; the newest
 * user message stays, in the record where it lies before the cut. Nothing when it does not shrink the estimate.
 */
export function checkedReplacement(
  current: readonly AgentMessage[],
  proposed: readonly AgentMessage[],
  upTo: string | undefined,
  estimate: number,
): Compaction | undefined {
  const { user, exchange } = keptOf(current);
  const asked = upTo === undefined ? current.length - 1 : current.findIndex((message) => message.id === upTo);
  const cut = exchangeStart(current, Math.min(asked, exchange - 1));
  if (cut < 0) return undefined;
  const behind = new Set(current.slice(cut + 1));
  const messages = proposed.filter((message) => !behind.has(message));
  const newest = current[user];
  if (newest !== undefined && user <= cut && !messages.includes(newest)) messages.push(newest);
  const view = requestView([...messages, ...current.slice(cut + 1)]);
  const first = view.find((message) => message.role !== "system");
  if (first === undefined || first.role !== "user" || estimateAll(view) >= estimate) return undefined;
  return { upTo: (current[cut] as AgentMessage).id, messages };
}

/** The last index not behind `cut` at which an exchange ends. */
function exchangeStart(messages: readonly AgentMessage[], cut: number): number {
  let index = cut;
  while (index >= 0 && messages[index + 1]?.role === "tool") index -= 1;
  return index;
}
