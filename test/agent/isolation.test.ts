import { expect, test } from "vitest";
import { AgentError, ModelError } from "../../src/domain/errors.js";
import { type AgentMessage, isMessage, type Message, textOf, userMessage } from "../../src/domain/message.js";
import type { MessageInput } from "../../src/domain/message.js";
import type { StageKind } from "../../src/domain/stage.js";
import type { Compressor } from "../../src/ports/compressor.js";
import type { PipelineHook } from "../../src/ports/hook.js";
import type { ModelPort } from "../../src/ports/model.js";
import type { Observer } from "../../src/ports/observer.js";
import type { SessionStore } from "../../src/ports/session-store.js";
import {
  okResult,
  RecordingSessionStore,
  stopResponse,
  testAgent,
  toolCallResponse,
  toolOutcome,
} from "../../src/testkit/index.js";

/** Writes to a message as careless code would. Always throws a TypeError on a frozen message. */
function deface(message: AgentMessage | MessageInput | undefined): void {
  if (message === undefined || !("content" in message) || typeof message.content === "string") {
    throw new Error("no message with content");
  }
  const [part] = message.content;
  if (part === undefined) throw new Error("no part");
  Object.assign(part, { text: "defaced" });
}

/** Empties a list if it lets itself be emptied. */
function empty(list: readonly unknown[]): void {
  try {
    (list as unknown[]).length = 0;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
}

async function rejectionOf(work: Promise<unknown>): Promise<AgentError> {
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof AgentError)) throw new Error(`expected an AgentError, got ${String(error)}`);
  return error;
}

/** Every error from the outermost to the first cause. */
function causes(error: unknown): unknown[] {
  return error instanceof Error ? [error, ...causes(error.cause)] : [];
}

const texts = (messages: readonly AgentMessage[]): string[] => messages.filter(isMessage).map(textOf);

test("a hook that writes to a message at a before stage gets a TypeError there, and the turn is aborted by the hook", async () => {
  const hook: PipelineHook = {
    name: "careless",
    stages: ["beforeContext"],
    onStage: (stage) => (stage.kind === "beforeContext" ? deface(stage.messages[0]) : undefined),
  };
  await using t = await testAgent({ hooks: [hook] });
  const error = await rejectionOf(t.agent.runTurn("hi", "s"));
  expect(error.kind).toBe("hook-aborted");
  expect(causes(error).some((cause) => cause instanceof TypeError)).toBe(true);
  expect(texts((await t.agent.session("s")).messages)).toEqual(["hi"]);
});

test("a hook that writes to a message at an after stage is a secondary failure there", async () => {
  const hook: PipelineHook = {
    name: "careless",
    stages: ["afterTurn"],
    onStage: (_, context) => deface(context.messages[0]),
  };
  await using t = await testAgent({ script: [stopResponse("done")], hooks: [hook] });
  expect((await t.agent.runTurn("hi", "s")).status).toBe("completed");
  expect(t.observer.ofType("custom")).toMatchObject([
    { label: "secondary_failure", data: { stage: "afterTurn", errorCategory: "TypeError" } },
  ]);
  expect(texts((await t.agent.session("s")).messages)).toEqual(["hi", "done"]);
});

test("a compressor that writes to a message gets a TypeError, and the turn fails", async () => {
  const compressor: Compressor = {
    compress(messages) {
      deface(messages[0]);
      return { type: "none" };
    },
  };
  await using t = await testAgent({ script: [stopResponse("never asked")], compressors: [compressor] });
  const error = await rejectionOf(t.agent.runTurn("hi", "s"));
  expect(causes(error).some((cause) => cause instanceof TypeError)).toBe(true);
  expect(t.model.callCount).toBe(0);
  expect(texts((await t.agent.session("s")).messages)).toEqual(["hi"]);
});

test("an observer that writes to a message gets a TypeError, which changes nothing for anyone", async () => {
  const observer: Observer = {
    onEvent(event) {
      if (event.type === "messageAdded") deface(event.message);
    },
  };
  await using t = await testAgent({ script: [stopResponse("done")], observers: [observer] });
  await t.agent.runTurn("hi", "s");
  expect(t.secondaryFailures).toEqual([{ stage: "messageAdded", operation: "observer", errorCategory: "TypeError" }]);
  expect(texts((await t.agent.session("s")).messages)).toEqual(["hi", "done"]);
});

test("a model that writes to a message gets a TypeError, and the turn fails with it as the cause", async () => {
  const model: ModelPort = {
    async chat(request) {
      deface(request.messages[0]);
      return stopResponse("never");
    },
  };
  await using t = await testAgent({ model });
  const error = await rejectionOf(t.agent.runTurn("hi", "s"));
  expect(causes(error).some((cause) => cause instanceof TypeError)).toBe(true);
  expect(texts((await t.agent.session("s")).messages)).toEqual(["hi"]);
});

test("a store that writes to a message gets a TypeError, and the turn fails as a session failure", async () => {
  const inner = new RecordingSessionStore();
  const store: SessionStore = {
    load: (id, known) => inner.load(id, known),
    save: (id, session, options) => inner.save(id, session, options),
    async append(id, delta) {
      deface(delta.messages[0]);
      return await inner.append(id, delta);
    },
  };
  await using t = await testAgent({ sessions: [store] });
  const error = await rejectionOf(t.agent.runTurn("hi", "s"));
  expect(error.kind).toBe("session");
  expect(causes(error).some((cause) => cause instanceof TypeError)).toBe(true);
  expect(t.model.callCount).toBe(0);
});

test("a hook that empties every list it is given changes nothing", async () => {
  const seen = new Set<StageKind>();
  const hook: PipelineHook = {
    name: "careless",
    onStage(stage, context) {
      seen.add(stage.kind);
      for (const field of Object.values(stage)) if (Array.isArray(field)) empty(field);
      for (const list of [context.messages, context.newMessages, context.tools]) empty(list);
    },
  };
  await using t = await testAgent({
    script: [toolCallResponse("weather", "c1"), stopResponse("done")],
    tools: { weather: toolOutcome.ok("sunny") },
    hooks: [hook],
  });
  const result = await t.agent.runTurn("hi", "s");
  expect(seen.size).toBeGreaterThan(10);
  expect(result.messages).toHaveLength(4);
  expect(result.exchanges).toHaveLength(1);
  expect(t.model.requests.map((request) => [request.messages.length, request.tools.length])).toEqual([
    [1, 1],
    [3, 1],
  ]);
  expect((await t.agent.session("s")).messages).toHaveLength(4);
});

test("a hook that empties the lists of a result at afterTurn changes nothing for the caller and the hooks after it", async () => {
  const seen: number[] = [];
  const emptyingResult = (name: string): PipelineHook => ({
    name,
    stages: ["afterTurn"],
    onStage(stage) {
      if (stage.kind !== "afterTurn") return;
      const { messages, toolResults, exchanges } = stage.result;
      seen.push(messages.length, toolResults.length, exchanges.length);
      for (const list of [messages, toolResults, exchanges]) empty(list);
    },
  });
  await using t = await testAgent({
    script: twoRounds,
    tools,
    hooks: [emptyingResult("outer"), emptyingResult("inner")],
  });
  const { messages, toolResults, exchanges } = await t.agent.runTurn("hi", "s");
  expect(seen).toEqual([4, 1, 1, 4, 1, 1]);
  expect([messages.length, toolResults.length, exchanges.length]).toEqual([4, 1, 1]);
});

const twoRounds = [toolCallResponse("weather", "c1"), stopResponse("done")];
const tools = { weather: toolOutcome.ok("sunny") };

test.each<readonly PipelineHook[]>([[], [{ name: "watching", stages: ["beforeContext"], onStage: () => undefined }]])(
  "a compressor that empties its list changes nothing elsewhere",
  async (...hooks) => {
    const compressor: Compressor = {
      compress(messages) {
        empty(messages);
        return { type: "none" };
      },
    };
    await using t = await testAgent({ script: twoRounds, tools, compressors: [compressor], hooks });
    await t.agent.runTurn("hi", "s");
    expect(t.model.requests.map((request) => request.messages.length)).toEqual([1, 3]);
    expect((await t.agent.session("s")).messages).toHaveLength(4);
  },
);

test("a model that empties its messages changes nothing elsewhere", async () => {
  const lengths: number[] = [];
  await using t = await testAgent({ model: emptying("messages", lengths), tools });
  await t.agent.runTurn("hi", "s");
  expect(lengths).toEqual([1, 3]);
  expect((await t.agent.session("s")).messages).toHaveLength(4);
});

test("a model that empties its tools changes nothing elsewhere", async () => {
  const lengths: number[] = [];
  await using t = await testAgent({ model: emptying("tools", lengths), tools });
  await t.agent.runTurn("hi", "s");
  expect(lengths).toEqual([1, 1]);
  expect(t.tools.execRecords).toHaveLength(1);
});

function emptying(field: "messages" | "tools", lengths: number[]): ModelPort {
  const replies = [...twoRounds];
  return {
    async chat(request) {
      lengths.push(request[field].length);
      empty(request[field]);
      return replies.shift() ?? stopResponse("over");
    },
  };
}

test("a store that empties the list it was given to append changes nothing elsewhere", async () => {
  const inner = new RecordingSessionStore();
  const store: SessionStore = {
    load: (id, known) => inner.load(id, known),
    save: (id, session, options) => inner.save(id, session, options),
    async append(id, delta) {
      const revision = await inner.append(id, delta);
      empty(delta.messages);
      return revision;
    },
  };
  await using t = await testAgent({ script: twoRounds, tools, sessions: [store] });
  const result = await t.agent.runTurn("hi", "s");
  expect(t.model.requests.map((request) => request.messages.length)).toEqual([1, 3]);
  expect(result.messages).toHaveLength(4);
  expect((await inner.load("s")).messages).toHaveLength(4);
});

test("an observer that empties the list of an event changes nothing elsewhere", async () => {
  const observer: Observer = {
    onEvent(event) {
      if (event.type === "toolsResolved") empty(event.tools);
    },
  };
  await using t = await testAgent({ script: twoRounds, tools, observers: [observer] });
  await t.agent.runTurn("hi", "s");
  expect(t.model.requests.map((request) => request.tools.length)).toEqual([1, 1]);
  expect(t.tools.execRecords).toHaveLength(1);
});

test("a caller that empties the lists of a result and of a session it read changes nothing elsewhere", async () => {
  await using t = await testAgent({ script: [...twoRounds, stopResponse("two")], tools });
  const first = await t.agent.runTurn("hi", "s");
  const session = await t.agent.session("s");
  for (const list of [first.messages, first.toolResults, first.exchanges, session.messages]) empty(list);
  await t.agent.runTurn("again", "s");
  expect(texts(t.model.requests[2]?.messages ?? [])).toEqual(["hi", "", "sunny", "done", "again"]);
});

test("a tool owns its arguments: what it makes of them is seen nowhere else", async () => {
  const seen: unknown[] = [];
  const provider = {
    listTools: () => [{ name: "weather", description: "Tells it.", inputSchema: { type: "object" } }],
    execute(call: { readonly arguments: object }) {
      Object.assign(call.arguments, { city: "changed", extra: true });
      seen.push(call.arguments);
      return "sunny";
    },
  };
  await using t = await testAgent({
    script: [toolCallResponse("weather", "c1", { city: "Bern", deep: { a: [1] } }), stopResponse("done")],
    providers: [provider],
  });
  const result = await t.agent.runTurn("hi", "s");
  const args = { city: "Bern", deep: { a: [1] } };
  expect(seen).toEqual([{ ...args, city: "changed", extra: true }]);
  expect(result.exchanges[0]).toMatchObject({ originalInput: args, executedInput: args });
  expect(result.exchanges[0]?.executedInput).not.toHaveProperty("extra");
  expect(t.observer.ofType("toolCallStarted")[0]?.invocation.executedInput).toEqual(args);
  expect((await t.agent.session("s")).messages[1]).toMatchObject({ parts: [{ arguments: args }] });
});

test("a tool that changes its result after it returned changes nothing", async () => {
  const kept = okResult("sunny");
  const late: PipelineHook = {
    name: "late",
    stages: ["settleTool"],
    onStage: () => void Object.assign(kept.content[0] ?? {}, { text: "changed" }),
  };
  await using t = await testAgent({ script: twoRounds, tools: { weather: toolOutcome.ok(kept) }, hooks: [late] });
  const result = await t.agent.runTurn("hi", "s");
  const content = [{ type: "text", text: "sunny" }];
  expect(kept.content).toEqual([{ type: "text", text: "changed" }]);
  expect(result.exchanges[0]?.result.content).toEqual(content);
  expect(t.observer.ofType("toolCallResult")[0]?.exchange.result.content).toEqual(content);
  expect(texts(t.model.requests[1]?.messages ?? [])).toEqual(["hi", "", "sunny"]);
});

test("a caller may change its input as soon as the turn is asked for, and finds it neither frozen nor changed", async () => {
  const part = { type: "text" as const, text: "hi" };
  const list = [userMessage([part])];
  const before = structuredClone(list);
  await using t = await testAgent({ script: [stopResponse("done")] });
  const running = t.agent.runTurn(list, "s");
  expect(list).toEqual(before);
  part.text = "changed";
  list.push(userMessage("one more"));
  await running;
  expect(Object.isFrozen(part) || Object.isFrozen(list) || Object.isFrozen(list[0])).toBe(false);
  expect(texts(t.model.requests[0]?.messages ?? [])).toEqual(["hi"]);
  expect(texts((await t.agent.session("s")).messages)).toEqual(["hi", "done"]);
});

test("a model that changes its response after it answered changes nothing", async () => {
  const part = { type: "text" as const, text: "done" };
  await using t = await testAgent({
    script: [{ parts: [part], finishReason: "stop" }, stopResponse("again")],
    hooks: [{ name: "late", stages: ["beforeContinue"], onStage: () => void (part.text = "changed") }],
  });
  expect((await t.agent.runTurn("hi", "s")).text).toBe("done");
  await t.agent.runTurn("more", "s");
  expect(texts(t.model.requests[1]?.messages ?? [])).toEqual(["hi", "done", "more"]);
});

test("messages are shared by reference between requests, not copied for each", async () => {
  await using t = await testAgent({ script: [stopResponse("one"), stopResponse("two")] });
  await t.agent.runTurn("hi", "s");
  await t.agent.runTurn("more", "s");
  const [first, second] = t.model.requests.map((request): Message | undefined => request.messages[0]);
  expect(first).toBe(second);
  expect(Object.isFrozen(first)).toBe(true);
});

test("a model that empties its messages and fails is sent all of them again", async () => {
  const counts: number[] = [];
  const model: ModelPort = {
    chat: async (request) => {
      counts.push(request.messages.length);
      (request.messages as Message[]).length = 0;
      if (counts.length === 1) throw new ModelError("server", "down");
      return stopResponse("up");
    },
  };
  const hook: PipelineHook = { name: "again", stages: ["modelError"], onStage: (_stage, context) => context.retry() };
  await using t = await testAgent({ model, hooks: [hook] });
  await t.agent.runTurn("hi");
  expect(counts).toEqual([1, 1]);
});
