import { expect, test } from "vitest";
import { CommandError, MemoryError } from "../../src/domain/errors.js";
import type { AgentApi } from "../../src/ports/agent-api.js";
import type { CommandContext } from "../../src/ports/command.js";
import type { CompressContext } from "../../src/ports/compressor.js";
import { stopResponse, testAgent } from "../../src/testkit/index.js";
import { commandDef, RecordingCommands } from "../../src/testkit/fakes/recording-commands.js";
import { RecordingCompressor } from "../../src/testkit/fakes/recording-compressor.js";
import { ScriptExhausted } from "../../src/testkit/fakes/script-exhausted.js";
import { RecordingLifecycle } from "../../src/testkit/fakes/recording-lifecycle.js";
import { RecordingMemory } from "../../src/testkit/fakes/recording-memory.js";

const { signal } = new AbortController();

test("a compressor proposes its steps one a request, records what it was given, and says aloud that it was asked once more", () => {
  const context: CompressContext = { sessionId: "s", estimatedTokens: 9, reason: "before-model", signal };
  const view = { type: "view", messages: [] } as const;
  const compressor = new RecordingCompressor([view, (messages) => ({ ...view, messages })], "mine");
  const messages = [{ id: "m.0", at: 1, role: "user" as const, content: [{ type: "text" as const, text: "hi" }] }];
  expect(() => compressor.assertDone()).toThrow("0 of 2 steps were used");
  expect(compressor.compress(messages, context)).toEqual(view);
  expect(compressor.compress(messages, context)).toEqual({ type: "view", messages });
  compressor.assertDone();
  const exhausted = "recording_compressor_exhausted at call 3 (script had 2 steps)";
  expect(() => compressor.compress(messages, context)).toThrow(new ScriptExhausted("recording_compressor", 3, 2));
  expect(() => compressor.assertDone()).toThrow(exhausted);
  messages.length = 0;
  expect(compressor.records).toHaveLength(2);
  expect(compressor.records[0]).toMatchObject({
    estimatedTokens: 9,
    reason: "before-model",
    messages: [{ id: "m.0" }],
  });
  expect(compressor.records.map(({ answer }) => answer.type)).toEqual(["view", "view"]);
  expect(compressor.name).toBe("mine");
});

test("a compressor of one step proposes it each time, and one without a script nothing", () => {
  const context: CompressContext = { sessionId: "s", estimatedTokens: 9, reason: "before-model", signal };
  const view = { type: "view", messages: [] } as const;
  const [one, idle, empty] = [new RecordingCompressor(view), new RecordingCompressor(), new RecordingCompressor([])];
  for (let request = 0; request < 3; request++) {
    expect([one, idle, empty].map((compressor) => compressor.compress([], context).type)).toEqual([
      "view",
      "none",
      "none",
    ]);
  }
  for (const compressor of [one, idle, empty]) compressor.assertDone();
});

test("a compressor whose script ran out fails the turn, and is no proposal", async () => {
  const compressors = [new RecordingCompressor([{ type: "none" }])];
  await using t = await testAgent({ script: [stopResponse("one"), stopResponse("two")], compressors });
  await t.agent.runTurn("one?", "s");
  await expect(t.agent.runTurn("two?", "s")).rejects.toThrow("recording_compressor_exhausted at call 2");
});

test("a compressor that is told to throw records what it threw", () => {
  const compressor = new RecordingCompressor([
    () => {
      throw new Error("no room");
    },
  ]);
  const context: CompressContext = { sessionId: "s", estimatedTokens: 9, reason: "requested", signal };
  expect(() => compressor.compress([], context)).toThrow("no room");
  expect(compressor.records[0]?.answer).toEqual({ type: "throw", error: new Error("no room") });
});

test("a memory finds stored text, keeps the rules for topK, threshold and filter, and records every request", async () => {
  const memory = new RecordingMemory({ name: "m" }).seed({ id: "a", content: "tea at four", metadata: { who: "ann" } });
  const id = await memory.store({ content: "tea at five" });
  expect((await memory.search({ query: "tea" })).map((entry) => [entry.id, entry.score])).toEqual([
    ["a", 1],
    [id, 1],
  ]);
  expect(await memory.search({ query: "tea", topK: 0 })).toEqual([]);
  expect(await memory.search({ query: "tea", threshold: 1.1 })).toEqual([]);
  expect(await memory.search({ query: "tea", filter: { who: "ann" } })).toHaveLength(1);
  await expect(memory.search({ query: "tea", topK: -1 })).rejects.toThrow(MemoryError);
  await memory.delete("a");
  expect(memory.entries.map((entry) => entry.id)).toEqual([id]);
  expect(memory.ops.map((op) => op.kind)).toEqual([
    "store",
    "search",
    "search",
    "search",
    "search",
    "search",
    "delete",
  ]);
  expect(memory.ops.map((op) => (op.outcome.ok ? op.outcome.ids : op.outcome.error))).toEqual([
    [id],
    ["a", id],
    [],
    [],
    ["a"],
    new MemoryError("search", "topK is not a whole number of at least 0"),
    ["a"],
  ]);
  expect(Object.isFrozen(memory.ops[0])).toBe(true);
});

test("a memory told to fail does so once, and misses it aloud", async () => {
  const memory = new RecordingMemory().failNext("search");
  expect(() => memory.assertDone()).toThrow("no search came");
  await expect(memory.search({ query: "x" })).rejects.toThrow("MemoryError(search): told to fail");
  expect(await memory.search({ query: "x" })).toEqual([]);
  memory.assertDone();
});

test("a memory told to fail twice does so twice, in order, and at that kind only", async () => {
  const first = new MemoryError("search", "first");
  const memory = new RecordingMemory().failNext("search", first).failNext("delete").failNext("search");
  await expect(memory.search({ query: "x" })).rejects.toBe(first);
  await memory.store({ content: "x" });
  await expect(memory.search({ query: "x" })).rejects.toThrow("told to fail");
  expect(await memory.search({ query: "x" })).toHaveLength(1);
  expect(() => memory.assertDone()).toThrow("no delete came");
});

test("a memory gives an entry without an id one that nobody has", async () => {
  const memory = new RecordingMemory().seed({ id: "memory-2", content: "seeded", metadata: {} });
  await memory.store({ id: "memory-1", content: "given" });
  const ids = [await memory.store({ content: "own" }), await memory.store({ content: "own" })];
  expect(memory.entries.map(({ id }) => id)).toEqual(["memory-2", "memory-1", ...ids]);
});

test("a memory records a store that it refuses", async () => {
  const memory = new RecordingMemory();
  await expect(memory.store({ content: "x", metadata: { n: Number.NaN } })).rejects.toThrow(MemoryError);
  expect(memory.ops).toMatchObject([{ kind: "store", entry: { content: "x" }, outcome: { ok: false } }]);
});

test("lifecycles that share a log show their order, and one told to fail does", async () => {
  const log: string[] = [];
  const [a, b] = [new RecordingLifecycle("a", log), new RecordingLifecycle("b", log).failOn("shutdown")];
  await a.onStart();
  await b.onStart();
  expect(() => a.assertDone()).toThrow("a: it was started and not shut down");
  await expect(b.onShutdown()).rejects.toThrow("b told to fail");
  await a.onShutdown();
  a.assertDone();
  expect(log).toEqual(["a start", "b start", "b shutdown", "a shutdown"]);
  expect(a.calls).toEqual(["start", "shutdown"]);
});

test("a lifecycle is done when what it started was shut down, and what it was told to fail failed", async () => {
  const lifecycle = new RecordingLifecycle("db").failOn("start");
  expect(() => lifecycle.assertDone()).toThrow("recording_lifecycle_unfinished: db: no start came");
  // Nobody shuts down what did not start.
  await expect(lifecycle.onStart()).rejects.toThrow("db told to fail");
  lifecycle.assertDone();
  // Its owner may fail before, and may ask twice.
  const closed = new RecordingLifecycle();
  await closed.onShutdown();
  await closed.onShutdown();
  closed.assertDone();
  await closed.onStart();
  expect(() => closed.assertDone()).toThrow("it was started and not shut down");
});

test("commands answer with their outcome, reject with their error, and record who asked", async () => {
  const none: object = {};
  const context: CommandContext = { sessionId: "s", signal, agent: none as AgentApi };
  const commands = new RecordingCommands()
    .add("hello", { type: "success", feedback: "hi" })
    .add(commandDef("bad", { aliases: ["b"] }), new CommandError("execution-failed", "no"));
  expect(commands.commands().map((def) => def.id)).toEqual(["hello", "bad"]);
  expect(await commands.invoke("hello", { name: "x" }, context)).toEqual({ type: "success", feedback: "hi" });
  expect(() => commands.assertDone()).toThrow("bad was never invoked");
  await expect(commands.invoke("bad", {}, context)).rejects.toThrow("CommandError(execution-failed)");
  await expect(commands.invoke("nope", {}, context)).rejects.toThrow("CommandError(not-found)");
  commands.assertDone();
  const outcome = { type: "success", feedback: "hi" };
  expect(commands.records[0]).toEqual({ id: "hello", args: { name: "x" }, sessionId: "s", outcome });
  expect(commands.records.slice(1).map((record) => record.outcome)).toMatchObject([
    { type: "throw", error: { kind: "execution-failed" } },
    { type: "throw", error: { kind: "not-found" } },
  ]);
});
