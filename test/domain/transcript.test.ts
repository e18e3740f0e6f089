import fc from "fast-check";
import { expect, test } from "vitest";
import { Conversation } from "../../src/agent/conversation.js";
import { type AgentMessage, isMessage, textOf, toolCallsOf } from "../../src/domain/message.js";
import { openCalls, orderResults, requestView, settledEnd } from "../../src/domain/transcript.js";
import { transcriptLaw } from "../../src/domain/transcript-law.js";
import { calling, reply, result, user } from "../support/conversations.js";

/** A few call ids, so that they meet again and again, in one reply and across replies. */
const callId = fc.constantFrom("c1", "c2", "c3");
const callIds = fc.uniqueArray(callId, { minLength: 1, maxLength: 3 });
const stopped = fc.constantFrom("aborted", "interrupted", "error");

type Step = {
  readonly kind: string;
  readonly ids: readonly string[];
  readonly stopped: "aborted" | "interrupted" | "error";
};
const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom("user", "reply", "calls", "calls", "result", "result", "empty", "stopped", "custom", "mixed"),
  ids: callIds,
  stopped: stopped as fc.Arbitrary<Step["stopped"]>,
});

function messageOf({ kind, ids, stopped: by }: Step, index: number): AgentMessage {
  const id = `m${index}`;
  const withCalls = calling(id, ...ids);
  switch (kind) {
    case "user":
      return user(id);
    case "calls":
      return withCalls;
    case "mixed":
      return { ...withCalls, parts: [{ type: "text", text: id }, ...withCalls.parts] };
    case "result":
      return result(id, ids[0] ?? "c1", id);
    case "empty":
      return reply(id, "");
    case "stopped":
      return { ...withCalls, stopped: by, parts: [{ type: "text", text: id }, ...withCalls.parts] };
    case "custom":
      return { role: "note", id, at: 1 } as unknown as AgentMessage;
    default:
      return reply(id);
  }
}

/** Any history: orphans, missing results, users inside pairs, ids used twice, replies that stopped. */
const histories = fc.array(step, { maxLength: 25 }).map((steps) => steps.map(messageOf));

/** Histories in pieces, each of which answers its own calls: what a conversation is shown of. */
const pieces = fc.array(fc.array(step, { maxLength: 6 }), { maxLength: 6 }).map((lists) => {
  let count = 0;
  return lists.map((steps) => {
    const messages = steps.map((given) => messageOf(given, count++)).filter(({ role }) => role !== "tool");
    for (const { call } of openCalls(messages)) messages.push(result(`m${count++}`, call.id));
    return messages;
  });
});

const isSent = (message: AgentMessage): boolean =>
  !isMessage(message) || (message.role !== "tool" && textOf(message) !== "");

test("any history is shown to a model as a lawful one (S4)", () => {
  fc.assert(
    fc.property(histories, (history) => {
      expect(transcriptLaw(requestView(history))).toEqual([]);
    }),
    { numRuns: 500 },
  );
});

/** A stopped reply that another reply, or nothing, follows: the model answered anew, or will (S6). */
const isAnsweredAnew = (message: AgentMessage, history: readonly AgentMessage[]): boolean => {
  if (message.role !== "assistant" || message.stopped === undefined) return false;
  const speaks = ({ role }: AgentMessage): boolean => role === "user" || role === "assistant";
  const says = (other: AgentMessage): boolean =>
    other.role !== "assistant" || other.stopped === undefined || textOf(other) !== "";
  const behind = history.slice(history.indexOf(message) + 1).filter((other) => speaks(other) && says(other));
  return behind[0]?.role !== "user";
};

test("of any history every message of the user and every reply that says something is shown, in order (S4)", () => {
  fc.assert(
    fc.property(histories, (history) => {
      const ids = (messages: readonly AgentMessage[]): string[] => messages.filter(isSent).map(({ id }) => id);
      const kept = history.filter((message) => !isAnsweredAnew(message, history));
      expect(ids(requestView(history))).toEqual(ids(kept));
      const whole = history.filter((message) => message.role === "assistant" && message.stopped === undefined);
      const calls = (messages: readonly AgentMessage[]): unknown[] =>
        messages.flatMap((message) => (message.role === "assistant" ? toolCallsOf(message) : []));
      expect(calls(requestView(history))).toEqual(calls(whole));
    }),
  );
});

test("a result that answers a call is shown once; only missing ones are made up (S4)", () => {
  fc.assert(
    fc.property(histories, (history) => {
      const view = requestView(history);
      const results = view.filter(({ role }) => role === "tool");
      const real = results.filter((message) => history.includes(message));
      expect(new Set(real).size).toBe(real.length);
      const open = openCalls(history).filter(({ message }) => message.stopped === undefined);
      expect(results.length - real.length).toBe(open.length);
    }),
  );
});

test("a second look changes nothing, and nothing that needs no change is copied (S4)", () => {
  fc.assert(
    fc.property(histories, (history) => {
      const view = requestView(history);
      const again = requestView(view);
      expect(again).toHaveLength(view.length);
      again.forEach((message, index) => expect(message).toBe(view[index]));
    }),
  );
});

test("with the missing results at its end, any history is lawful in the order of its calls (S4)", () => {
  fc.assert(
    fc.property(histories, (history) => {
      const repaired = [...history];
      // The last open call first: a result belongs to the nearest unanswered call of its id.
      for (const { call } of openCalls(history).reverse()) repaired.push(result(`r${repaired.length}`, call.id));
      expect(openCalls(repaired)).toEqual([]);
      const kinds = transcriptLaw(orderResults(repaired)).map(({ kind }) => kind);
      expect(kinds.filter((kind) => kind !== "orphan-result")).toEqual([]);
    }),
  );
});

const A_USER: Step = { kind: "user", ids: [], stopped: "error" };

test("shown piece by piece, where each piece answers its calls, a history looks as it does whole (S4)", () => {
  fc.assert(
    fc.property(pieces, (lists) => {
      const settled = lists.map((piece, index) => [...piece, messageOf({ ...A_USER }, 1_000 + index)]);
      for (const piece of settled) expect(settledEnd(piece)).toBe(piece.length);
      expect(settled.flatMap((piece) => requestView(piece))).toEqual(requestView(settled.flat()));
    }),
  );
});

test("a conversation that is looked at after every piece shows what one that is looked at once does", () => {
  fc.assert(
    fc.property(pieces, fc.integer({ min: 0, max: 6 }), (lists, cached) => {
      const [stepwise, whole] = [new Conversation("s"), new Conversation("s")];
      let revision = 0;
      for (const [index, piece] of lists.entries()) {
        stepwise.push(piece);
        stepwise.estimate();
        if (index !== cached) continue;
        revision += 1;
        const from = stepwise.count;
        stepwise.take({ messages: [], metadata: {}, revision, ...(from === 0 ? undefined : { from }) });
      }
      whole.push(lists.flat());
      expect(stepwise.view()).toEqual(whole.view());
      expect(stepwise.estimate()).toBe(whole.estimate());
    }),
  );
});
