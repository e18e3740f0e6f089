import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { Defect, ModelError } from "../../src/domain/errors.js";
import type { StreamChunk } from "../../src/domain/stream-chunk.js";
import type { ChatRequest } from "../../src/ports/model.js";
import { stopResponse, textStream, toolCallStream, toolDef } from "../../src/testkit/builders.js";
import { modelStep } from "../../src/testkit/fakes/model-step.js";
import { ScriptExhausted } from "../../src/testkit/fakes/script-exhausted.js";
import { ScriptedModel } from "../../src/testkit/fakes/scripted-model.js";
import { testRuntime } from "../../src/testkit/runtime.js";

function request(overrides: Partial<ChatRequest> = {}): ChatRequest {
  return {
    messages: [{ id: "m.0", at: 1, role: "user", content: [{ type: "text", text: "hi" }] }],
    tools: [toolDef("weather")],
    options: { temperature: 0 },
    signal: new AbortController().signal,
    sessionId: "s",
    turnId: "t",
    round: 1,
    ...overrides,
  };
}

async function streamed(model: ScriptedModel, asked = request()): Promise<readonly StreamChunk[]> {
  const chunks: StreamChunk[] = [];
  await model.chatStreaming(asked, (chunk) => void chunks.push(chunk)).catch(() => undefined);
  return chunks;
}

test("steps are played in order, one a call, streaming or not", async () => {
  const model = new ScriptedModel([stopResponse("one"), modelStep.stream(textStream("two", 2))]);
  model.push(modelStep.fail(new ModelError("overloaded", "busy")));
  expect(await model.chat(request())).toEqual(stopResponse("one"));
  expect(await model.chat(request())).toMatchObject({ parts: [{ type: "text", text: "two" }], finishReason: "stop" });
  await expect(model.chat(request())).rejects.toThrow("ModelError(overloaded): busy");
  model.assertDone();
  expect(model.callCount).toBe(3);
  expect(model.calls.map((call) => call.outcome)).toEqual(["responded", "responded", "failed"]);
});

test("exactly the scripted chunks are handed over, by reference and at once, and none is made up", async () => {
  const chunks = textStream("hello", 3);
  const model = new ScriptedModel([
    stopResponse("no chunks"),
    modelStep.stream(chunks, stopResponse("something else")),
  ]);
  expect(await streamed(model)).toEqual([]);
  const seen: StreamChunk[] = [];
  const response = model.chatStreaming(request(), (chunk) => void seen.push(chunk));
  expect(seen).toHaveLength(4);
  expect(seen.every((chunk, index) => chunk === chunks[index])).toBe(true);
  expect(await response).toEqual(stopResponse("something else"));
  expect(model.calls[1]?.chunks[0]).toBe(chunks[0]);
});

test("a stream without a response resolves with what its chunks add up to", async () => {
  const model = new ScriptedModel([modelStep.stream(toolCallStream("weather", "c1", { city: "Bern" }))]);
  const response = await model.chatStreaming(request(), () => undefined);
  expect(response.parts).toEqual([{ type: "toolCall", id: "c1", name: "weather", arguments: { city: "Bern" } }]);
});

test("a failure or a hang may come after chunks, which stay on the record", async () => {
  const model = new ScriptedModel([modelStep.fail(new ModelError("transport", "cut"), textStream("half", 2))]);
  expect(await streamed(model)).toHaveLength(3);
  expect(model.calls[0]).toMatchObject({ streaming: true, outcome: "failed" });
});

test("a hanging call settles when its signal fires, is recorded as aborted, and leaves no listener", async () => {
  const controller = new AbortController();
  const model = new ScriptedModel([
    modelStep.hang(textStream("x")),
    modelStep.respond(Promise.withResolvers<never>().promise),
  ]);
  for (const number of [0, 1]) {
    const asked = request({ signal: number === 0 ? controller.signal : AbortSignal.abort() });
    const running = model.chat(asked);
    if (number === 0) {
      expect(() => model.assertDone()).toThrow("scripted_model_unfinished: 1 of 2 steps were used");
      controller.abort();
    }
    await expect(running).rejects.toThrow("ModelError(aborted)");
    expect(getEventListeners(asked.signal, "abort")).toEqual([]);
  }
  expect(model.aborts).toEqual([0, 1]);
  model.assertDone();
});

test("an abort in the middle of a stream ends it there", async () => {
  const controller = new AbortController();
  const model = new ScriptedModel([modelStep.stream(textStream("abcd", 4))]);
  const seen: StreamChunk[] = [];
  const running = model.chatStreaming(request({ signal: controller.signal }), (chunk) => {
    seen.push(chunk);
    if (seen.length === 2) controller.abort();
  });
  await expect(running).rejects.toThrow("ModelError(aborted)");
  expect(model.calls[0]).toMatchObject({ chunks: seen, outcome: "aborted" });
  expect(seen).toHaveLength(2);
});

test("an abort before the answer wins over a response that is ready", async () => {
  const controller = new AbortController();
  const model = new ScriptedModel([stopResponse("ready"), modelStep.stream(textStream("last", 1))]);
  await expect(model.chat(request({ signal: AbortSignal.abort() }))).rejects.toThrow("ModelError(aborted)");
  const cut = model.chatStreaming(request({ signal: controller.signal }), (chunk) => {
    if (chunk.type === "finish") controller.abort();
  });
  await expect(cut).rejects.toThrow("ModelError(aborted)");
  expect(model.aborts).toEqual([0, 1]);
});

test("a respond step may wait for the test, and leaves no listener once it has answered", async () => {
  const gate = Promise.withResolvers<ReturnType<typeof stopResponse>>();
  const model = new ScriptedModel([modelStep.respond(gate.promise)]);
  const asked = request();
  const running = model.chat(asked);
  expect(model.calls[0]?.outcome).toBe("running");
  expect(() => model.assertDone()).toThrow("scripted_model_unfinished: call 1 has not settled");
  gate.resolve(stopResponse("now"));
  expect(await running).toEqual(stopResponse("now"));
  expect(getEventListeners(asked.signal, "abort")).toEqual([]);
});

test("a pace leaves virtual time before each chunk, and an abort does not wait for it", async () => {
  const runtime = testRuntime({ startAt: 0 });
  const controller = new AbortController();
  const paced = modelStep.stream(textStream("abc", 2), undefined, { runtime, everyMs: 10 });
  const model = new ScriptedModel([paced, paced]);
  const at: number[] = [];
  const running = model.chatStreaming(request(), () => void at.push(runtime.now()));
  await runtime.advance(100);
  await running;
  expect(at).toEqual([10, 20, 30]);
  const cut = model.chatStreaming(request({ signal: controller.signal }), () => undefined);
  controller.abort();
  await expect(cut).rejects.toThrow("ModelError(aborted)");
  expect(runtime.pendingTimers).toBe(0);
});

test("requests are recorded frozen, as they were at the call, without the signal", async () => {
  const messages = [...request().messages];
  const options = { temperature: 0 };
  const model = new ScriptedModel([stopResponse("")]);
  await model.chat(request({ messages, options, requestContext: { trace: "1" } }));
  messages.length = 0;
  options.temperature = 1;
  const [recorded] = model.requests;
  expect(recorded).toEqual({
    messages: request().messages,
    tools: [toolDef("weather")],
    options: { temperature: 0 },
    requestContext: { trace: "1" },
    sessionId: "s",
    turnId: "t",
    round: 1,
  });
  for (const part of [recorded, recorded?.messages, recorded?.messages[0], recorded?.tools[0]?.inputSchema]) {
    expect(Object.isFrozen(part)).toBe(true);
  }
});

test("accessors give snapshots", async () => {
  const model = new ScriptedModel([stopResponse("a"), stopResponse("b")]);
  await model.chat(request());
  const [calls, requests] = [model.calls, model.requests];
  await model.chat(request());
  expect(calls).toHaveLength(1);
  expect(requests).toHaveLength(1);
});

test("a script that runs out rejects with a defect that names call and length, and assertDone repeats it", async () => {
  const model = new ScriptedModel([stopResponse("a"), stopResponse("b")]);
  await model.chat(request());
  expect(() => model.assertDone()).toThrow(Defect);
  await model.chat(request());
  const error = await model.chat(request()).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ScriptExhausted);
  expect(error).toBeInstanceOf(Defect);
  expect(error).toMatchObject({
    name: "ScriptExhausted",
    message: "scripted_model_exhausted at call 3 (script had 2 steps)",
  });
  expect(() => model.assertDone()).toThrow("scripted_model_exhausted at call 3 (script had 2 steps)");
});

test("the model describes itself", () => {
  expect(new ScriptedModel([], { contextWindow: 100 }).describe()).toEqual({
    provider: "scripted",
    model: "scripted",
    contextWindow: 100,
  });
});
