import { expect, test } from "vitest";
import { defineHook } from "../../src/adapters/hooks/define-hook.js";
import { ModelError } from "../../src/domain/errors.js";
import type { TurnEvent } from "../../src/domain/event.js";
import type { StreamChunk } from "../../src/domain/stream-chunk.js";
import type { ModelPort } from "../../src/ports/model.js";
import {
  modelStep,
  RecordingHook,
  stopResponse,
  testAgent,
  textStream,
  toolCallResponse,
  toolCallStream,
  toolOutcome,
} from "../../src/testkit/index.js";

const types = (events: readonly TurnEvent[]): string[] => events.map((event) => event.type);

async function all<T>(source: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of source) items.push(item);
  return items;
}

/** A model that hands over chunks when the test says so. */
function handFed(): {
  readonly model: ModelPort;
  readonly feed: (chunk: StreamChunk) => void;
  readonly finish: () => void;
} {
  let feed: (chunk: StreamChunk) => void = () => undefined;
  const done = Promise.withResolvers<void>();
  const model: ModelPort = {
    chat: () => Promise.reject(new ModelError("request-build", "streams only")),
    async chatStreaming(_, onChunk) {
      feed = onChunk;
      await done.promise;
      return stopResponse("done");
    },
  };
  return { model, feed: (chunk) => feed(chunk), finish: () => done.resolve() };
}

test("each piece of text reaches the consumer before the next one exists (T6)", async () => {
  const { model, feed, finish } = handFed();
  await using t = await testAgent({ model });
  const turn = t.agent.startTurn("hi", "s");
  const pieces = turn.text()[Symbol.asyncIterator]();
  await t.runtime.advance(0);
  for (const text of ["one", "two", "three"]) {
    const next = pieces.next();
    feed({ type: "textDelta", text });
    expect(await next).toEqual({ done: false, value: text });
  }
  finish();
  expect(await pieces.next()).toMatchObject({ done: true });
  expect((await turn.result).text).toBe("done");
});

test("a turn starts in the next microtask, so a listener added at once misses nothing (T8)", async () => {
  await using t = await testAgent({ script: [stopResponse("done")] });
  const turn = t.agent.startTurn("hi", "s");
  expect(t.observer.events).toEqual([]);
  const heard: TurnEvent[] = [];
  turn.subscribe((event) => void heard.push(event));
  await turn.result;
  expect(types(heard)).toEqual(types(t.observer.events));
});

test("a reader or listener that comes later first gets what it missed (T8)", async () => {
  await using t = await testAgent({ script: [modelStep.stream(textStream("done", 2))] });
  const turn = t.agent.startTurn("hi", "s");
  await turn.result;
  const heard: TurnEvent[] = [];
  turn.subscribe((event) => void heard.push(event));
  expect(types(heard)).toEqual(types(t.observer.events));
  expect(types(await all(turn))).toEqual(types(t.observer.events));
  expect((await all(turn.text())).join("")).toBe("done");
});

test("text comes also from a reply that was not streamed, once (T6)", async () => {
  const script = [toolCallResponse("weather", "c1"), stopResponse("done")];
  await using t = await testAgent({ script, tools: { weather: toolOutcome.ok() } });
  expect(await all(t.agent.startTurn("hi", "s").text())).toEqual(["done"]);
});

test.each<[string, string, string, readonly string[]]>([
  ["the rest of a reply that begins like what was shown", "First, ", "First, boil", ["First, ", "boil"]],
  ["no more of a reply that begins otherwise", "First, ", "Then boil", ["First, "]],
  ["each piece at once where nothing was shown", "", "First, boil", ["Firs", "t, b", "oil"]],
])("after a reset, text gives %s, and then goes on (T6)", async (_, shown, text, told) => {
  const voided: StreamChunk[] = [
    { type: "textDelta", text: shown },
    { type: "reset", reason: "retry" },
  ];
  const calling = [...textStream(text, 3).slice(0, -1), ...toolCallStream("weather", "c1")];
  await using t = await testAgent({
    script: [modelStep.stream([...voided, ...calling]), modelStep.stream(textStream("done", 2))],
    tools: { weather: toolOutcome.ok() },
  });
  expect(await all(t.agent.startTurn("hi", "s").text())).toEqual([...told, "do", "ne"]);
});

test("text never takes back what a hook rewrites, and adds only what extends it (T6)", async () => {
  const rewriting = (text: string) =>
    defineHook("rewrite", {
      afterModel: (stage, context) =>
        context.next({ response: { ...stage.response, parts: [{ type: "text", text }] } }),
    });
  for (const [text, told] of [
    ["the key is [gone]", ["the key is 42"]],
    ["the key is 42.", ["the key is 42", "."]],
  ] as const) {
    await using t = await testAgent({
      script: [modelStep.stream(textStream("the key is 42", 1))],
      hooks: [rewriting(text)],
    });
    expect(await all(t.agent.startTurn("hi", "s").text())).toEqual(told);
  }
});

test("leaving a reader ends the reading, not the turn (T8)", async () => {
  const gate = Promise.withResolvers<ReturnType<typeof stopResponse>>();
  await using t = await testAgent({ script: [modelStep.respond(gate.promise)] });
  const turn = t.agent.startTurn("hi", "s");
  for await (const event of turn) if (event.type === "roundStarted") break;
  gate.resolve(stopResponse("done"));
  expect((await turn.result).status).toBe("completed");
});

test("a reader that does not read costs merged chunks, not lost text (T8)", async () => {
  const count = 5_000;
  const text = "x".repeat(count);
  await using t = await testAgent({ script: [modelStep.stream(textStream(text, count))] });
  const turn = t.agent.startTurn("hi", "s");
  const reader = turn[Symbol.asyncIterator]();
  await turn.result;
  const events: TurnEvent[] = [];
  for (let next = await reader.next(); next.done !== true; next = await reader.next()) events.push(next.value);
  const chunks = events.flatMap((event) => (event.type === "streamChunk" ? [event.chunk] : []));
  expect(chunks.length).toBeLessThan(1_100);
  expect(chunks.map((chunk) => (chunk.type === "textDelta" ? chunk.text : "")).join("")).toBe(text);
  expect(events.at(-1)?.type).toBe("turnCompleted");
  expect(t.observer.ofType("streamChunk")).toHaveLength(count + 1);
});

test("the result and the session wait for what listeners do with the terminal event (T7)", async () => {
  const saved = Promise.withResolvers<void>();
  const log: string[] = [];
  await using t = await testAgent({ script: [stopResponse("one"), stopResponse("two")] });
  const turn = t.agent.startTurn("hi", "s");
  turn.subscribe((event) => (event.type === "turnCompleted" ? saved.promise : undefined));
  void turn.result.then(() => log.push("first"));
  const second = t.agent.startTurn("again", "s").result.then(() => log.push("second"));
  await t.runtime.advance(0);
  expect(types(t.observer.events).at(-1)).toBe("turnCompleted");
  expect([log, t.model.callCount]).toEqual([[], 1]);
  saved.resolve();
  await second;
  expect(log).toEqual(["first", "second"]);
});

test("a listener that does not settle is given up after listenerTimeoutMs and reported (T7)", async () => {
  await using t = await testAgent({ script: [stopResponse("one")], config: { listenerTimeoutMs: 100 } });
  const turn = t.agent.startTurn("hi", "s");
  turn.subscribe((event) => (event.type === "turnCompleted" ? Promise.withResolvers<void>().promise : undefined));
  await t.runtime.advance(99);
  expect(t.secondaryFailures).toEqual([]);
  await t.runtime.advance(1);
  expect((await turn.result).status).toBe("completed");
  expect(t.secondaryFailures).toMatchObject([{ operation: "listener" }]);
});

test("a turn that fails without a reader of its result is no unhandled rejection", async () => {
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);
  process.on("unhandledRejection", note);
  await using t = await testAgent({ script: [modelStep.fail(new ModelError("auth", "no key"))] });
  const turn = t.agent.startTurn("hi", "s");
  expect(types(await all(turn)).at(-1)).toBe("turnFailed");
  await t.runtime.advance(0);
  process.off("unhandledRejection", note);
  expect(unhandled).toEqual([]);
});

test("abort ends the turn as aborted with its reason, and later calls do nothing (L5)", async () => {
  const spy = new RecordingHook({ name: "spy", stages: ["afterTurn"] });
  await using t = await testAgent({ script: [modelStep.hang(textStream("ha", 2).slice(0, 2))], hooks: [spy] });
  const turn = t.agent.startTurn("hi", "s");
  await t.runtime.advance(0);
  turn.abort("changed my mind");
  turn.abort("again");
  expect(await turn.result).toMatchObject({ status: "aborted", stopReason: "changed my mind", text: "ha" });
  turn.abort("too late");
  expect(t.observer.events.at(-1)).toMatchObject({ type: "turnAborted", reason: "changed my mind" });
  expect((await t.agent.session("s")).messages.at(-1)).toMatchObject({ role: "assistant", stopped: "aborted" });
  expect(spy.kinds).toEqual(["afterTurn"]);
});
