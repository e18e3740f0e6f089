import { expect, test } from "vitest";
import { MemorySessionStore } from "../../src/adapters/sessions/memory.js";
import { SqliteSessionStore } from "../../src/adapters/sessions/sqlite.js";
import { CommandError, Defect, MemoryError, ModelError, SessionError, ToolError } from "../../src/domain/errors.js";
import {
  failing,
  fault,
  RecordingCommands,
  RecordingCompressor,
  RecordingHook,
  RecordingLifecycle,
  RecordingMemory,
  RecordingObserver,
  RecordingSessionStore,
  RecordingToolProvider,
  ScriptedModel,
  stopResponse,
  testAgent,
  testRuntime,
  testToolContext,
  toolCallResponse,
  toolOutcome,
} from "../../src/testkit/index.js";

const request = (signal = new AbortController().signal) => ({
  messages: [],
  tools: [],
  options: {},
  signal,
  sessionId: "s",
  turnId: "t",
  round: 1,
});

const delta = (operationId: string) => ({ operationId, baseRevision: 0, messages: [] });

/** How a call settles now, or that it has not. */
const state = async (call: Promise<unknown> | PromiseLike<unknown>): Promise<unknown> => {
  const seen: unknown[] = [];
  void call.then(
    (value) => seen.push(value),
    (error: unknown) => seen.push(error),
  );
  await new Promise((resolve) => void setImmediate(resolve));
  return seen.length === 0 ? "waiting" : seen[0];
};

test("each of the nine ports fails with its own typed error where none is given", async () => {
  const does = fault.fails();
  const model = failing(new ScriptedModel([]), [
    { on: "chat", does },
    { on: "chatStreaming", does },
  ]);
  const tools = failing(new RecordingToolProvider(), [
    { on: "listTools", does },
    { on: "execute", does },
  ]);
  const sessions = failing(new RecordingSessionStore(), [
    { on: "load", does },
    { on: "save", does },
    { on: "append", does },
    { on: "list", does },
    { on: "delete", does },
  ]);
  const memory = failing(new RecordingMemory(), [
    { on: "store", does },
    { on: "search", does },
    { on: "delete", does },
  ]);
  const commands = failing(new RecordingCommands(), [{ on: "invoke", does }]);
  const call = { id: "c1", name: "f", arguments: {} };
  const kinds = async (calls: readonly (() => PromiseLike<unknown> | unknown)[]): Promise<string[]> => {
    const found: string[] = [];
    for (const each of calls) {
      const error = await Promise.resolve(each()).catch((thrown: unknown) => thrown);
      found.push(`${(error as Error).name} ${(error as SessionError).kind}`);
    }
    return found;
  };
  expect(
    await kinds([
      () => model.chat(request()),
      () => model.chatStreaming(request(), () => undefined),
      () => tools.listTools(),
      () => tools.execute(call, testToolContext()),
      () => sessions.load("s"),
      () => sessions.save("s", { messages: [], metadata: {}, revision: 0 }),
      () => sessions.append("s", delta("1")),
      () => sessions.list(),
      () => sessions.delete("s"),
      () => memory.store({ content: "x" }),
      () => memory.search({ query: "x" }),
      () => memory.delete("x"),
      () => commands.invoke("x", {}, { signal: request().signal, agent: {} as never }),
    ]),
  ).toEqual([
    "ModelError transport",
    "ModelError transport",
    "ToolError transport",
    "ToolError invocation-failed",
    "SessionError load",
    "SessionError save",
    "SessionError save",
    "SessionError load",
    "SessionError save",
    "MemoryError store",
    "MemoryError search",
    "MemoryError delete",
    "CommandError execution-failed",
  ]);
  for (const done of [model, tools, sessions, memory, commands]) done.assertDone();
  const boom = new Error("boom");
  const own = fault.fails(boom);
  const observer = failing(new RecordingObserver(), [{ on: "onEvent", does: own }]);
  expect(() => observer.onEvent({} as never)).toThrow(boom);
  const hook = failing(new RecordingHook(), [{ on: "onStage", does: own }]);
  await expect(hook.onStage({} as never, {} as never)).rejects.toBe(boom);
  const compressor = failing(new RecordingCompressor(), [{ on: "compress", does: own }]);
  await expect(compressor.compress([], {} as never)).rejects.toBe(boom);
  const lifecycle = failing(new RecordingLifecycle("l"), [{ on: "onShutdown", does: fault.fails(undefined) }]);
  await expect(lifecycle.onShutdown()).rejects.toThrow("onShutdown: scripted failure");
  expect([CommandError, MemoryError, ModelError, SessionError, ToolError]).toHaveLength(5);
});

test("a line means the nth of the calls that its condition picks; the others pass, and what happened is recorded", async () => {
  const store = failing(new RecordingSessionStore(), [
    { on: "append", when: (id) => id === "b", nth: 2, does: fault.fails() },
  ]);
  await store.append("b", delta("1"));
  await store.append("a", delta("2"));
  await expect(store.append("b", delta("3"))).rejects.toBeInstanceOf(SessionError);
  await store.append("b", { ...delta("4"), baseRevision: 1 });
  expect(store.faults).toEqual([{ method: "append", call: 3, step: 0, fault: "fails" }]);
  expect(store.ops.map(({ id }) => id)).toEqual(["b", "a", "b"]);
});

test("an answer that is lost leaves its effect", async () => {
  const inner = new RecordingSessionStore();
  const store = failing(inner, [{ on: "append", nth: 1, does: fault.losesAnswer() }]);
  await expect(store.append("s", delta("1"))).rejects.toThrow("scripted failure");
  expect((await inner.load("s")).revision).toBe(1);
  expect(await store.append("s", delta("1"))).toBe(1);
});

test("a turn whose store wrote and lost the answer fails, and its session goes on (S1, S6)", async () => {
  const store = failing(new RecordingSessionStore(), [{ on: "append", nth: 2, does: fault.losesAnswer() }]);
  await using t = await testAgent({ script: [stopResponse("one"), stopResponse("two")], sessions: [store] });
  await expect(t.agent.runTurn("hi", "s")).rejects.toThrow("AgentError(session)");
  expect((await t.agent.runTurn("again", "s", { takeOver: true })).text).toBe("two");
  store.assertDone();
});

test("what hangs is let go by the abort with the error of its port, and for ever without a signal", async () => {
  const controller = new AbortController();
  const model = failing(new ScriptedModel([]), [{ on: "chat", does: fault.hangs() }]);
  const chat = model.chat(request(controller.signal));
  expect(await state(chat)).toBe("waiting");
  controller.abort();
  expect(await state(chat)).toMatchObject({ name: "ModelError", kind: "aborted" });
  expect(model.callCount).toBe(0);
  const store = failing(new RecordingSessionStore(), [{ on: "load", does: fault.hangs() }]);
  expect(await state(store.load("s"))).toBe("waiting");
});

test("a late answer comes in the runtime's time, an error included", async () => {
  const runtime = testRuntime();
  const tools = new RecordingToolProvider().add("f", toolOutcome.ok("fine")).add("g", toolOutcome.throws("broken"));
  const slow = failing(tools, [{ on: "execute", does: fault.late(runtime, 500) }]);
  const run = (name: string) =>
    Promise.resolve(slow.execute({ id: name, name, arguments: {} }, testToolContext({ callId: name })));
  const [fine, broken] = [run("f"), run("g")];
  await runtime.advance(499);
  expect([await state(fine), await state(broken)]).toEqual(["waiting", "waiting"]);
  await runtime.advance(1);
  expect([await state(fine), await state(broken)]).toEqual(["fine", "broken"]);
});

test("a tool that is late beyond its timeout leaves an unknown outcome, in virtual time (U7)", async () => {
  const tools = new RecordingToolProvider({ name: "tools" }).add("f", toolOutcome.ok("fine"));
  const runtime = testRuntime();
  const slow = failing(tools, [{ on: "execute", does: fault.late(runtime, 60_000) }]);
  const config = { toolTimeoutMs: 1_000 };
  const script = [toolCallResponse("f", "c1"), stopResponse("done")];
  await using t = await testAgent({ script, tools: new RecordingToolProvider(), providers: [slow], config, runtime });
  const turn = t.agent.startTurn("hi", "s");
  await runtime.advance(1_000);
  expect(await turn.result).toMatchObject({ text: "done", toolResults: [{ isError: true }] });
  await runtime.advance(60_000);
  expect((await t.agent.session("s")).messages).toHaveLength(4);
});

test("members that the plan leaves alone are the port's own, private fields, getters and optional members included", async () => {
  await using sqlite = new SqliteSessionStore({ path: ":memory:" });
  const store = failing(sqlite, [{ on: "load", nth: 9, does: fault.fails() }]);
  const { load } = store;
  expect((await load("s")).revision).toBe(0);
  expect(store).toBeInstanceOf(SqliteSessionStore);
  expect("append" in store).toBe(true);
  const calls: unknown[] = [];
  const bare = Object.freeze({
    trustAnnotations: true,
    listTools: () => [],
    execute: () => "x",
    onToolsChanged: (listener: () => void) => (calls.push(listener), () => undefined),
  });
  const provider = failing(bare, [{ on: "execute", nth: 2, does: fault.fails() }]);
  const listener = (): void => undefined;
  provider.onToolsChanged(listener);
  expect([provider.trustAnnotations, "validate" in provider, calls]).toEqual([true, false, [listener]]);
  expect(Object.keys({ ...provider })).toEqual(Object.keys(bare));
  const model = failing(new ScriptedModel([stopResponse("hi")]), [{ on: "chat", nth: 2, does: fault.fails() }]);
  expect([model.callCount, model.describe().model]).toEqual([0, "scripted"]);
});

test("a line that never came true is told, and so is one that cannot", () => {
  const idle = failing(new MemorySessionStore(), [{ on: "save", does: fault.fails() }]);
  expect(() => idle.assertDone()).toThrow(Defect);
  expect(() => idle.assertDone()).toThrow("line 0 of the plan (save) never came true");
  const model = new ScriptedModel([stopResponse("left")]);
  expect(() => failing(model, []).assertDone()).toThrow("scripted_model_unfinished");
  expect(() => failing(model, [{ on: "describe", does: fault.hangs() }])).toThrow("describe is synchronous");
  expect(() => failing(model, [{ on: "chat", nth: 0, does: fault.hangs() }])).toThrow("nth counts from 1");
  const bare = { chat: async () => stopResponse("x") } as { chat: () => never; describe?: () => never };
  expect(() => failing(bare, [{ on: "describe", does: fault.fails() }])).toThrow("the port has no method describe");
});
