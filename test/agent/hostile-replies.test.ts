import { expect, test } from "vitest";
import { ModelError } from "../../src/domain/errors.js";
import type { ModelResponse } from "../../src/domain/model.js";
import type { ModelPort } from "../../src/ports/model.js";

import { stopResponse, testAgent, toolOutcome } from "../../src/testkit/index.js";
import { sqliteFixture } from "../adapters/sessions/sqlite-fixture.js";
import { hookAt, never, rejectionOf } from "../support/turns.js";

const answering = (...answers: readonly unknown[]): ModelPort => {
  const left = [...answers];
  return { chat: () => Promise.resolve((left.length > 0 ? left.shift() : stopResponse("fine")) as ModelResponse) };
};
const call = (fields: object) => ({ type: "toolCall", id: "c", name: "f", arguments: {}, ...fields });

const brokenParts: readonly (readonly [string, unknown, string])[] = [
  ["a text without text", { type: "text" }, ".text is no text"],
  ["a text that is a number", { type: "text", text: 5 }, ".text is no text"],
  ["a part without type", {}, " has no type"],
  ["reasoning without text", { type: "reasoning" }, ".text is no text"],
  ["a call without arguments", call({ arguments: undefined }), ".arguments is no object"],
  ["a call whose arguments are a list", call({ arguments: [1] }), ".arguments is no object"],
  ["a call without name", call({ name: undefined }), ".name is no text"],
  ["a call named by a number", call({ name: 7 }), ".name is no text"],
  ["a call whose id is a number", call({ id: 7 }), ".id is no text"],
  ["a call malformed for no reason", call({ malformed: {} }), ".malformed gives no reason"],
];

test.each(brokenParts)(
  "a reply with %s is response-parse, is not stored, and harms no later turn",
  async (_, part, told) => {
    await using fixture = sqliteFixture();
    const sessions = [fixture.store];
    await using t = await testAgent({ model: answering({ parts: [part], finishReason: "stop" }), sessions });
    const error = await rejectionOf(t.agent.runTurn("hi", "s"));
    expect(error).toMatchObject({ kind: "model", cause: { kind: "response-parse" } });
    expect((error.cause as ModelError).message).toContain(`parts[0]${told}`);
    await using other = await testAgent({ model: answering(), sessions });
    expect((await other.agent.runTurn("again", "s", { turnId: "second" })).text).toBe("fine");
    expect((await other.agent.session("s")).messages.map(({ role }) => role)).toEqual(["user", "user", "assistant"]);
  },
);

const brokenCounts: readonly (readonly [string, unknown, object | undefined])[] = [
  ["null", null, undefined],
  ["text", "12", undefined],
  ["counts that are text", { inputTokens: "12", outputTokens: 3 }, { outputTokens: 3 }],
  ["counts below zero, without end or in pieces", { inputTokens: -5, outputTokens: 1.7e308, totalTokens: 0.5 }, {}],
  ["numbers that JSON cannot hold", { inputTokens: Number.NaN, outputTokens: 3, totalTokens: 3n }, { outputTokens: 3 }],
  ["a list", [1], undefined],
];

test.each(brokenCounts)("usage that is %s counts only what is a count", async (_, usage, known) => {
  await using t = await testAgent({ model: answering({ ...stopResponse("x"), usage }) });
  const result = await t.agent.runTurn("hi", "s");
  expect(result.usage).toEqual(known ?? {});
  expect(result.message?.usage).toEqual(known);
});

test("an unknown finish reason is `other`, and labels that are no text are left out", async () => {
  const odd = { parts: [{ type: "text", text: "x" }], finishReason: 5, model: 7, provider: {} };
  await using t = await testAgent({ model: answering(odd) });
  const { message } = await t.agent.runTurn("hi", "s");
  expect(message).toMatchObject({ finishReason: "other" });
  expect(message).not.toHaveProperty("model");
  expect(message).not.toHaveProperty("provider");
});

test("a part of a type unknown to this version is kept, and a call without id gets one", async () => {
  const parts = [{ type: "hologram", beam: 1 }, call({ id: undefined })];
  await using t = await testAgent({
    model: answering({ parts, finishReason: "tool-calls" }),
    tools: { f: toolOutcome.ok("r") },
  });
  const { messages } = await t.agent.runTurn("hi", "s");
  const [, reply, result] = messages;
  expect(reply).toMatchObject({
    parts: [
      { type: "hologram", beam: 1 },
      { name: "f", id: expect.any(String) as string },
    ],
  });
  expect(result).toMatchObject({ role: "tool", isError: false });
});

test.each([{ parts: [null] }, { parts: [{ type: "text" }], finishReason: "stop" }, "hi", null])(
  "a response that a hook makes of %j is that hook's failure, and the reply stands",
  async (response) => {
    const hook = hookAt("afterModel", (_, context) => context.next({ response: response as never }), "broken");
    await using t = await testAgent({ script: [stopResponse("whole")], hooks: [hook] });
    expect((await t.agent.runTurn("hi", "s")).text).toBe("whole");
    expect(t.observer.events.filter(({ type }) => type === "custom")).toMatchObject([
      { data: { stage: "afterModel", operation: "hook broken" } },
    ]);
  },
);

test("of what a failed call says came, only whole parts and counts are taken", async () => {
  const partial = [null, { type: "text" }, { type: "text", text: "so far" }] as never;
  const usage = { inputTokens: "9", outputTokens: 2 } as never;
  const model = { chat: () => Promise.reject(new ModelError("server", "down", { partial, usage })) };
  await using t = await testAgent({ model });
  const { partial: result } = await rejectionOf(t.agent.runTurn("hi", "s"));
  expect(result?.message?.parts).toEqual([{ type: "text", text: "so far" }]);
  expect(result?.usage).toEqual({ outputTokens: 2 });
});

test("a chunk that is none is not published, and leaves nothing behind when the turn is aborted", async () => {
  const model = {
    chat: never,
    chatStreaming: (_: unknown, onChunk: (chunk: never) => void) => {
      for (const chunk of [null, "x", { type: "textDelta" }, { type: "usage", usage: null }]) onChunk(chunk as never);
      onChunk({ type: "textDelta", text: "seen" } as never);
      return never();
    },
  } as ModelPort;
  await using t = await testAgent({ model });
  const turn = t.agent.startTurn("hi", "s");
  turn.subscribe((event) => {
    if (event.type === "streamChunk") turn.abort();
  });
  const advanced = t.runtime.advance(10_000);
  const { text } = await turn.result;
  await advanced;
  expect(text).toBe("seen");
  expect(t.observer.events.filter(({ type }) => type === "streamChunk")).toHaveLength(1);
});
