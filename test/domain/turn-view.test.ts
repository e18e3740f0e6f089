import { describe, expect, it } from "vitest";
import {
  EMPTY_TURN_VIEW,
  StreamAccumulator,
  type ToolCallDelta,
  type TurnEvent,
  type TurnView,
  turnView,
} from "../../src/index.js";
import { modelStep, testAgent, toolCallResponse, toolOutcome } from "../../src/testkit/index.js";

const fold = (events: readonly TurnEvent[], from: TurnView = EMPTY_TURN_VIEW): TurnView =>
  events.reduce(turnView, from);

async function eventsOfTurn(): Promise<readonly TurnEvent[]> {
  const text = { type: "textDelta", text: "Hel" } as const;
  const more = { type: "textDelta", text: "lo" } as const;
  await using t = await testAgent({
    script: [
      toolCallResponse("look", "c1", { q: 1 }),
      modelStep.stream([text, more, { type: "finish", reason: "stop" }]),
    ],
    tools: { look: toolOutcome.progress(["half"], toolOutcome.ok("done")) },
  });
  await t.agent.runTurn("hi");
  return t.observer.events;
}

describe("turnView", () => {
  it("folds a whole turn into what happened: messages, exchanges, nothing pending, nothing partial", async () => {
    const view = fold(await eventsOfTurn());
    expect(view).toMatchObject({ status: "completed", streaming: false, round: 2, pendingCalls: [] });
    expect(view.messages.map((message) => message.role)).toEqual(["user", "assistant", "assistant"]);
    expect(view.exchanges.map((exchange) => exchange.callId)).toEqual(["c1"]);
    expect(view.partial).toBeUndefined();
  });

  it("shows the text so far while a reply streams", async () => {
    const events = await eventsOfTurn();
    const lastChunk = events.findLastIndex((event) => event.type === "streamChunk" && event.chunk.type === "textDelta");
    const view = fold(events.slice(0, lastChunk + 1));
    expect(view).toMatchObject({ streaming: true, partial: { text: "Hello" } });
  });

  it("shows a call as asked, then running with its progress, then no more", async () => {
    const events = await eventsOfTurn();
    const upTo = (type: TurnEvent["type"]) =>
      fold(events.slice(0, events.findIndex((event) => event.type === type) + 1));
    expect(upTo("toolCallPending").pendingCalls).toMatchObject([{ call: { id: "c1" }, state: "asked" }]);
    expect(upTo("toolCallProgress").pendingCalls).toMatchObject([{ state: "running", progress: "half" }]);
    expect(upTo("toolCallResult").pendingCalls).toEqual([]);
  });

  it("forgets what was streamed at a reset", () => {
    const stamp = { seq: 0, turnId: "t", sessionId: "s", at: 0, attempt: 0 };
    const view = fold([
      { type: "messageStarted", ...stamp, messageId: "m", role: "assistant" },
      { type: "streamChunk", ...stamp, messageId: "m", chunk: { type: "textDelta", text: "First, " } },
      { type: "streamChunk", ...stamp, messageId: "m", chunk: { type: "reset", reason: "retry" } },
      { type: "streamChunk", ...stamp, messageId: "m", chunk: { type: "textDelta", text: "First, boil" } },
    ]);
    expect(view.partial?.text).toBe("First, boil");
  });

  it("opens another call for a new id on a used index, as the response does", () => {
    const deltas: readonly ToolCallDelta[] = [
      { type: "toolCallDelta", index: 0, id: "a", name: "look", argumentsDelta: '{"q":' },
      { type: "toolCallDelta", index: 0, id: "made-up", argumentsDelta: "1}" },
      { type: "toolCallDelta", index: 0, id: "b", name: "look" },
      { type: "toolCallDelta", index: 0, argumentsDelta: "{}" },
      { type: "toolCallDelta", index: 0, id: "a", name: "look" },
      { type: "toolCallDelta", index: 1, name: "see" },
    ];
    const stamp = { seq: 0, turnId: "t", sessionId: "s", at: 0, attempt: 0 };
    const accumulator = new StreamAccumulator();
    const view = fold(
      deltas.map((chunk) => {
        accumulator.push(chunk);
        return { type: "streamChunk", ...stamp, messageId: "m", chunk };
      }),
    );
    expect(view.partial?.calls).toEqual([
      { index: 0, id: "a", name: "look", arguments: '{"q":1}' },
      { index: 0, id: "b", name: "look", arguments: "{}" },
      { index: 1, name: "see", arguments: "" },
    ]);
    accumulator.push({ type: "finish", reason: "tool-calls" });
    const { parts } = accumulator.toResponse({ malformed: "mark" });
    expect(parts.map((part) => part.type === "toolCall" && part.name)).toEqual(["look", "look", "see"]);
  });

  it("starts anew with a newer attempt and ignores an older one", () => {
    const stamp = { seq: 0, turnId: "t", sessionId: "s", at: 0 };
    const first = fold([{ type: "roundStarted", ...stamp, attempt: 0, round: 7 }]);
    const second = turnView(first, { type: "turnStarted", ...stamp, attempt: 1 });
    expect(second).toMatchObject({ attempt: 1, round: 0, status: "running" });
    expect(turnView(second, { type: "roundStarted", ...stamp, attempt: 0, round: 9 })).toBe(second);
  });

  it("names the category of a failure and never changes the view it was given", async () => {
    await using t = await testAgent({ script: [] });
    await expect(t.agent.runTurn("hi")).rejects.toThrow();
    const frozen = Object.freeze({ ...EMPTY_TURN_VIEW });
    expect(fold(t.observer.events, frozen)).toMatchObject({ status: "failed", lastError: expect.any(String) });
    expect(frozen).toEqual(EMPTY_TURN_VIEW);
  });
});
