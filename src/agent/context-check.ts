import { estimateAll } from "../domain/estimate.js";
import { type AgentMessage, isMessage } from "../domain/message.js";
import { isPinned, pinnedMessages } from "../domain/pins.js";
import type { Compaction } from "../domain/session.js";
import { openCalls, requestView } from "../domain/transcript.js";

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
 * A proposal as it may be sent (C1): whole exchanges, the newest user message, the last exchange and what is pinned in their place, a
 * user message first. Nothing when it does not shrink the estimate, or begins with a new message that is not the user's.
 */
export function checkedView(
  current: readonly AgentMessage[],
  proposed: readonly AgentMessage[],
  estimate: number,
): AgentMessage[] | undefined {
  const { user, exchange } = keptOf(current);
  const place = placesOf(current);
  const early: AgentMessage[] = [];
  const late: AgentMessage[] = [];
  for (const message of withPins(proposed, current, place)) {
    const index = place.get(message.id);
    if (index !== undefined && (index === user || index >= exchange)) continue;
    (late.length > 0 || (index !== undefined && index > user) ? late : early).push(message);
  }
  const tail = current.slice(exchange).filter((_, offset) => exchange + offset !== user);
  const newest = user < 0 ? [] : [current[user] as AgentMessage];
  const whole = user > exchange ? [...early, ...late, ...tail, ...newest] : [...early, ...newest, ...late, ...tail];
  const view = requestView(withResults(fromFirstUser(whole, place), current));
  const first = view.find((message) => message.role !== "system");
  if (first === undefined || first.role !== "user") return undefined;
  return estimateAll(view) < estimate ? view : undefined;
}

/** Without the stored replies and results before the first user message; what the compressor wrote itself stays. */
function fromFirstUser(messages: readonly AgentMessage[], place: ReadonlyMap<string, number>): AgentMessage[] {
  const first = messages.findIndex(
    (message) => message.role === "user" || (isMessage(message) && !place.has(message.id) && message.role !== "system"),
  );
  return messages.filter((message, index) => index >= first || message.role === "system");
}

type Places = ReadonlyMap<string, number>;

/** With what is pinned in its place, side by side as it was: a compressor may have left it out, moved it or made a copy of it. */
function withPins(proposed: readonly AgentMessage[], current: readonly AgentMessage[], place: Places): AgentMessage[] {
  const pins = pinnedMessages(current);
  if (pins.length === 0) return [...proposed];
  const copies = new Map(proposed.map((message) => [message.id, message]));
  const ids = new Set(pins.map(({ id }) => id));
  const whole = proposed.filter(({ id }) => !ids.has(id));
  return inserted(
    whole,
    pins.map((pin) => (isPinned(pin) ? pin : (copies.get(pin.id) ?? pin))),
    place,
  );
}

/** Each of `added`, which are in order, before the first message that was behind it, else at the end. */
function inserted(messages: readonly AgentMessage[], added: readonly AgentMessage[], place: Places): AgentMessage[] {
  const merged: AgentMessage[] = [];
  let next = 0;
  for (const message of messages) {
    const behind = place.get(message.id) ?? -1;
    for (let own = added[next]; own !== undefined && (place.get(own.id) ?? 0) < behind; own = added[next]) {
      merged.push(own);
      next += 1;
    }
    merged.push(message);
  }
  return merged.concat(added.slice(next));
}

function placesOf(messages: readonly AgentMessage[]): Map<string, number> {
  return new Map(messages.map((message, index) => [message.id, index]));
}

/** A call whose result was left out gets it back: a result that is known must not become an unknown one. */
function withResults(messages: readonly AgentMessage[], current: readonly AgentMessage[]): AgentMessage[] {
  const place = placesOf(current);
  const known = new Map<AgentMessage, AgentMessage[]>();
  for (const { message, call } of openCalls(messages)) {
    const result = resultBehind(current, place.get(message.id) ?? current.length, call.id);
    if (result === undefined) continue;
    const results = known.get(message);
    if (results === undefined) known.set(message, [result]);
    else results.push(result);
  }
  return messages.flatMap((message) => [message, ...(known.get(message) ?? [])]);
}

/** The result of a call among those right behind its reply. */
function resultBehind(messages: readonly AgentMessage[], reply: number, callId: string): AgentMessage | undefined {
  for (let at = reply + 1; messages[at]?.role === "tool"; at++) {
    const message = messages[at] as AgentMessage;
    if (isMessage(message) && message.role === "tool" && message.toolCallId === callId) return message;
  }
  return undefined;
}

/** What a record is checked against: the estimate of what is shown, what is stored, and the record there is. */
export type CheckContext = {
  readonly estimate: number;
  readonly stored: readonly AgentMessage[];
  readonly record: Compaction | undefined;
};

/** A record, and the request that begins with it. */
export type Replacement = { readonly record: Compaction; readonly view: readonly AgentMessage[] };

/**
 * A record whose messages stand for everything up to `upTo` (C1): the cut moves back to the start of the last exchange; the newest
 * user message and what is pinned stay, in the record where they lie before the cut. What is stored before the end of the record but shown behind the
 * cut, and what an earlier record shows there, goes into the record. Nothing when it does not shrink the estimate.
 */
export function checkedReplacement(
  current: readonly AgentMessage[],
  proposed: readonly AgentMessage[],
  upTo: string | undefined,
  { estimate, stored, record }: CheckContext,
): Replacement | undefined {
  const { user, exchange } = keptOf(current);
  const asked = upTo === undefined ? current.length - 1 : current.findIndex((message) => message.id === upTo);
  const cut = exchangeStart(current, Math.min(asked, exchange - 1));
  if (cut < 0) return undefined;
  const place = placesOf(stored);
  const replaced = current.slice(0, cut + 1);
  const end = replaced.reduce(
    (last, { id }) => Math.max(last, place.get(id) ?? -1),
    place.get(record?.upTo ?? "") ?? -1,
  );
  if (end < 0) return undefined;
  const recorded = new Set(record?.messages.map(({ id }) => id));
  const early = (message: AgentMessage): boolean =>
    (place.get(message.id) ?? Number.POSITIVE_INFINITY) <= end || recorded.has(message.id);
  const behind = current.slice(cut + 1);
  const kept = new Set([...behind, current[user]].map((message) => message?.id));
  const shown = placesOf(current);
  const unkept = proposed.filter((message) => !kept.has(message.id));
  const messages = withPins(unkept, replaced, shown).filter(({ id }) => !kept.has(id));
  const newest = user < 0 || user > cut ? [] : [current[user] as AgentMessage];
  const whole = withResults(inserted(messages, newest, shown).concat(behind.filter(early)), current);
  const view = requestView([...whole, ...behind.filter((message) => !early(message))]);
  const first = view.find((message) => message.role !== "system");
  if (first === undefined || first.role !== "user" || estimateAll(view) >= estimate) return undefined;
  return { record: { upTo: (stored[end] as AgentMessage).id, messages: whole }, view };
}

/** The last index not behind `cut` at which an exchange ends. */
function exchangeStart(messages: readonly AgentMessage[], cut: number): number {
  let index = cut;
  while (index >= 0 && messages[index + 1]?.role === "tool") index -= 1;
  return index;
}
