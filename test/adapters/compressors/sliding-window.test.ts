import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NoopCompressor } from "../../../src/adapters/compressors/noop.js";
import { SlidingWindowCompressor } from "../../../src/adapters/compressors/sliding-window.js";
import { CompositionError } from "../../../src/domain/errors.js";
import type { AgentMessage, Message } from "../../../src/domain/message.js";

/** `u` user, `s` system, `a` reply, `c12` reply with calls 1 and 2, `r1` the result of call 1; upper case names nothing else. */
function conversation(script: string): readonly Message[] {
  return script.split(" ").map((word, index) => message(word, `${index}:${word}`, index));
}

function message(word: string, id: string, at: number): Message {
  const stamp = { id, at };
  const content = [{ type: "text", text: word }] as const;
  switch (word[0]) {
    case "u":
      return { ...stamp, role: "user", content };
    case "s":
      return { ...stamp, role: "system", content };
    case "r":
      return {
        ...stamp,
        role: "tool",
        toolCallId: word.slice(1),
        toolName: "t",
        content,
        isError: false,
        outcome: "completed",
      };
    default: {
      const calls = [...word.slice(1)].map(
        (call) => ({ type: "toolCall", id: call, name: "t", arguments: {} }) as const,
      );
      return { ...stamp, role: "assistant", parts: calls };
    }
  }
}

function kept(script: string, maxMessages: number): string {
  const action = new SlidingWindowCompressor({ maxMessages }).compress(conversation(script));
  if (action.type !== "view") return action.type;
  return action.messages.map((one) => ("id" in one ? String(one.id).split(":")[1] : "?")).join(" ");
}

describe("SlidingWindowCompressor", () => {
  it.each([
    ["does nothing within the limit", "u a u a", 4, "none"],
    ["keeps the newest exchanges that fit", "u1 a u2 a u3 a", 4, "u2 a u3 a"],
    ["begins with a user message even if more would fit", "u1 a u2 a u3 a", 3, "u3 a"],
    ["keeps a call with all its results", "u1 c1 r1 a u2 c12 r1 r2 a", 6, "u2 c12 r1 r2 a"],
    ["keeps system messages, and counts them", "s u1 a u2 s a u3 a", 5, "s s u3 a"],
    [
      "keeps the newest user message and the newest exchange of a long turn",
      "u1 a u2 c1 r1 c2 r2 c3 r3",
      3,
      "u2 c3 r3",
    ],
    ["keeps as many exchanges of a long turn as fit", "u1 a u2 c1 r1 c2 r2 c3 r3", 5, "u2 c2 r2 c3 r3"],
    ["never splits the last exchange, whatever the limit", "u1 a u2 c12 r1 r2", 2, "u2 c12 r1 r2"],
    ["keeps a call that waits for its result", "u1 a u2 c1", 1, "u2 c1"],
    ["keeps a user message that stands between call and result", "u1 a c1 u2 r1 a", 4, "u1 c1 u2 r1 a"],
    ["keeps the newest user message at a limit of 0", "u1 a u2 a u3", 0, "u3"],
    ["counts no system message as room below 0", "s s s u1 a u2", 1, "s s s u2"],
    ["does nothing without a user message", "a c1 r1 a", 1, "none"],
    ["does nothing when nothing can go", "s u1 c1 r1", 1, "none"],
    ["answers ids that come again in their own exchange", "u1 c1 r1 u2 c1 r1 u3 a", 5, "u2 c1 r1 u3 a"],
  ])("%s", (_title, script, maxMessages, expected) => {
    expect(kept(script, maxMessages)).toBe(expected);
  });

  it("keeps calls with their results, the newest user message, and the order, for every conversation and limit", () => {
    const exchange = fc.constantFrom("u", "a", "s", "c1 r1", "c12 r2 r1", "c12 r1 r2", "c1");
    const script = fc.array(exchange, { minLength: 1, maxLength: 25 }).map((list) => list.join(" "));
    fc.assert(
      fc.property(script, fc.nat(30), (words, maxMessages) => {
        const all = conversation(words);
        const action = new SlidingWindowCompressor({ maxMessages }).compress(all);
        if (action.type !== "view") return;
        const view = action.messages as readonly Message[];
        expect(all.filter((one) => view.includes(one))).toEqual(view);
        expect(view.length).toBeLessThan(all.length);
        expect(view.find((one) => one.role !== "system")?.role).toBe("user");
        expect(view).toContain(all.findLast((one) => one.role === "user"));
        expect(view).toContain(all.findLast((one) => one.role !== "system"));
        for (const group of pairsOf(all))
          expect([0, group.length]).toContain(group.filter((one) => view.includes(one)).length);
      }),
      { numRuns: 500 },
    );
  });

  it("leaves messages of the application's own where they stand", () => {
    const note = (id: string): AgentMessage => ({ id, at: 0, role: "note" }) as unknown as AgentMessage;
    const [early, late] = [note("early"), note("late")];
    const [u1, a1, u2, a2] = conversation("u1 a u2 a") as [Message, Message, Message, Message];
    const action = new SlidingWindowCompressor({ maxMessages: 3 }).compress([u1, a1, early, u2, late, a2]);
    expect(action).toEqual({ type: "view", messages: [u2, late, a2] });
  });

  it.each([-1, 1.5, Number.NaN])("refuses a limit of %d", (maxMessages) => {
    expect(() => new SlidingWindowCompressor({ maxMessages })).toThrow(CompositionError);
  });

  it.each([{ maxMesages: 4 }, null, 40])("refuses options that are none: %j", (options) => {
    expect(() => new SlidingWindowCompressor(options as never)).toThrow(CompositionError);
  });
});

/** Each reply with calls together with its results. */
function pairsOf(messages: readonly Message[]): readonly (readonly Message[])[] {
  return messages.flatMap((one, index) => {
    if (one.role !== "assistant") return [];
    const rest = messages.slice(index + 1);
    const next = rest.findIndex((later) => later.role === "assistant");
    return [[one, ...rest.slice(0, next < 0 ? undefined : next).filter((later) => later.role === "tool")]];
  });
}

describe("NoopCompressor", () => {
  it("asks for nothing", () => {
    expect(new NoopCompressor().compress()).toEqual({ type: "none" });
  });
});

it("keeps half of what a provider refused as too large, whatever its limit", () => {
  const messages = conversation("u1 a u2 a u3 a u4 a");
  const action = new SlidingWindowCompressor({ maxMessages: 100 }).compress(messages, { reason: "overflow" });
  expect(action).toEqual({ type: "view", messages: messages.slice(4) });
});
