import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { checkedReplacement, checkedView } from "../../src/agent/context-check.js";
import { Conversation } from "../../src/agent/conversation.js";
import { estimateAll } from "../../src/domain/estimate.js";
import { adopt } from "../../src/domain/adopt.js";
import { type AgentMessage, toolCallsOf } from "../../src/domain/message.js";
import { isPinned, PINNED_KEY } from "../../src/domain/pins.js";
import { openCalls } from "../../src/domain/transcript.js";
import { transcriptLaw } from "../../src/domain/transcript-law.js";
import { calling, reply, result, user } from "../support/conversations.js";

const word = fc.integer({ min: 1, max: 60 }).map((length) => "x".repeat(length * 4));
const step = fc.record({
  kind: fc.constantFrom("user", "user", "reply", "calls", "tangled"),
  text: word,
  ids: fc.uniqueArray(fc.constantFrom("c1", "c2", "c3"), { minLength: 1, maxLength: 3 }),
  pin: fc.nat(8),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const withPin = (message: AgentMessage): AgentMessage =>
  adopt({ ...message, metadata: { [PINNED_KEY]: true } }, "pinned");

/** A stored history whose calls all have results, ending as a request may: with a user message or a result. */
const histories = fc.array(step, { maxLength: 12 }).map((steps) => {
  const messages: AgentMessage[] = [user("first", "first words")];
  const id = (): string => `m${messages.length}`;
  const pinLast = (pin: number): void => {
    const last = messages.at(-1);
    if (pin === 0 && last !== undefined) messages[messages.length - 1] = withPin(last);
  };
  const add = ({ kind, text, ids }: Step): void => {
    if (kind === "user") return void messages.push(user(id(), text));
    if (kind === "reply") return void messages.push(reply(id(), text));
    messages.push(calling(id(), ...ids));
    if (kind === "tangled") messages.push(user(id(), text));
    for (const callId of ids.toReversed()) messages.push(result(id(), callId, text));
  };
  for (const given of steps) {
    add(given);
    pinLast(given.pin);
  }
  if (messages.at(-1)?.role === "assistant") messages.push(user(id(), "go on"));
  return messages;
});

const fresh = [user("new user", "s"), reply("new reply", "s"), result("new result", "c1", "s")];

/** A proposal: some of what there is in some order, some of it as copies, and some messages of the compressor's own. */
const picks = fc.array(fc.record({ at: fc.nat(40), own: fc.nat(12), copy: fc.boolean() }), { maxLength: 15 });
type Pick = typeof picks extends fc.Arbitrary<(infer T)[]> ? T : never;
const propose = (current: readonly AgentMessage[], chosen: readonly Pick[]): AgentMessage[] =>
  chosen.map(({ at, own, copy }) => {
    const message = fresh[own] ?? (current[at % current.length] as AgentMessage);
    return copy ? { ...message } : message;
  });

/** What every request keeps, whatever a compressor proposes (C1). */
function expectKept(current: readonly AgentMessage[], view: readonly AgentMessage[]): void {
  expect(transcriptLaw(view)).toEqual([]);
  expect(view.find(({ role }) => role !== "system")?.role).toBe("user");
  expect(view.at(-1)?.role).not.toBe("assistant");
  expect(estimateAll(view)).toBeLessThan(estimateAll(current));
  expect(view).toContain(current.findLast(({ role }) => role === "user"));
  for (const message of current) if (isPinned(message)) expect(view).toContain(message);
  const first = view.find(({ role }) => role !== "system") as AgentMessage;
  const exchange = current.findLastIndex(({ role }) => role === "assistant");
  // With no message of the user left in front of it, an exchange of an earlier turn cannot begin a request.
  if (exchange < 0 || current.indexOf(first) >= exchange) return;
  for (const message of current.slice(exchange)) expect(view).toContain(message);
}

/** Every known result of a call that is shown is the real one. */
function expectTrueResults(current: readonly AgentMessage[], view: readonly AgentMessage[]): void {
  const known = new Set(current.map(({ id }) => id));
  view.forEach((message) => {
    if (message.role !== "tool" || known.has(message.id)) return;
    expect(message.id).toBe("new result");
  });
  expect(openCalls(view)).toEqual([]);
  for (const message of view) if (message.role === "assistant") expect(toolCallsOf(message).length).toBeLessThan(4);
}

const conversationOf = (messages: readonly AgentMessage[]): Conversation => {
  const conversation = new Conversation("s");
  conversation.push(messages);
  return conversation;
};

test("whatever a view proposes, the request is lawful, smaller, and keeps what must stay (C1)", () => {
  fc.assert(
    fc.property(histories, picks, (history, chosen) => {
      const current = conversationOf(history).view();
      const view = checkedView(current, propose(current, chosen), estimateAll(current));
      if (view === undefined) return;
      expectKept(current, view);
      expectTrueResults(current, view);
    }),
    { numRuns: 500 },
  );
});

test("whatever is replaced, again and again, requests stay lawful and show on the next load what they showed at once (C1)", () => {
  const proposals = fc.array(fc.record({ chosen: picks, upTo: fc.option(fc.nat(40), { nil: undefined }) }), {
    maxLength: 4,
  });
  fc.assert(
    fc.property(histories, proposals, (history, rounds) => {
      const conversation = conversationOf(history);
      for (const { chosen, upTo } of rounds) {
        const current = conversation.view();
        const at = upTo === undefined ? undefined : current[upTo % current.length]?.id;
        const standing = { estimate: estimateAll(current), stored: history, record: conversation.compaction };
        const done = checkedReplacement(current, propose(current, chosen), at, standing);
        if (done === undefined) continue;
        expectKept(current, done.view);
        conversation.compact(done.record);
        expect(conversation.view()).toEqual(done.view);
        const reloaded = new Conversation("s");
        reloaded.take({ messages: history, metadata: {}, revision: 1, compaction: done.record });
        expect(reloaded.view()).toEqual(done.view);
      }
      expect(conversation.stored()).toEqual(history);
    }),
    { numRuns: 500 },
  );
});

describe("a long conversation of which a proposal leaves much out", () => {
  const bare = (message: AgentMessage): AgentMessage => adopt(message, "message");
  const exchanges = Array.from({ length: 40_000 }, (_, n) => [
    n % 4 === 0 ? withPin(user(`u${n}`, "words")) : bare(user(`u${n}`, "words")),
    bare(calling(`a${n}`, `c${n}`)),
    bare(result(`r${n}`, `c${n}`, "words")),
    bare(reply(`b${n}`, "words")),
  ]).flat();
  const messages = [...exchanges, user("newest", "go on")];
  const thinned = messages.filter(({ role, id }) => role !== "tool" && !id.startsWith("b") && !id.startsWith("u"));

  test("is mended in one pass: every pin and every result is back in its place", () => {
    const kept = new Set(thinned);
    const view = checkedView(messages, thinned, estimateAll(messages)) ?? [];
    const expected = messages.filter(
      (message) => message.role === "tool" || isPinned(message) || kept.has(message) || message.id === "b39999",
    );
    expect(view.map(({ id }) => id)).toEqual(expected.map(({ id }) => id));
  });

  test("is replaced by a record whatever its length", () => {
    const context = { estimate: estimateAll(messages), stored: messages, record: undefined };
    const done = checkedReplacement(messages, [fresh[0] as AgentMessage], "b39990", context);
    expect(done?.record.upTo).toBe("b39990");
    expect(done?.record.messages).toHaveLength(1 + 9_998);
  });
});
