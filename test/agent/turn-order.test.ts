import { expect, test } from "vitest";
import { AgentError, ModelError, SessionError } from "../../src/domain/errors.js";
import { isTerminal } from "../../src/domain/event.js";
import { type Message, type MessageInput, textOf, userMessage } from "../../src/domain/message.js";
import type { ModelResponse } from "../../src/domain/model.js";
import type { ToolProvider } from "../../src/ports/tool-provider.js";
import {
  modelStep,
  RecordingHook,
  stopResponse,
  testAgent,
  type TestAgent,
  type TestAgentOptions,
  toolCallResponse,
  toolDef,
  toolOutcome,
  traceOf,
} from "../../src/testkit/index.js";

async function rejectionOf(work: Promise<unknown>): Promise<AgentError> {
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof AgentError)) throw new Error(`expected an AgentError, got ${String(error)}`);
  return error;
}

const texts = (messages: readonly Message[] = []): string[] => messages.map((message) => textOf(message));
const terminals = (t: TestAgent): string[] => t.observer.events.map(({ type }) => type).filter(isTerminal);

test("turns on one session run one after the other, in the order in which they were asked for (T1)", async () => {
  const gates = [1, 2, 3].map(() => Promise.withResolvers<ModelResponse>());
  await using t = await testAgent({ script: gates.map((gate) => modelStep.respond(gate.promise)) });
  const turns = ["a", "b", "c"].map((text) => t.agent.runTurn(text, "s"));
  for (const [index, gate] of gates.entries()) {
    await t.runtime.advance(0);
    expect(t.model.callCount).toBe(index + 1);
    gate.resolve(stopResponse(`reply ${index}`));
    await turns[index];
  }
  expect(texts(t.model.requests[2]?.messages)).toEqual(["a", "reply 0", "b", "reply 1", "c"]);
  const turnIds = t.observer.events.map((event) => event.turnId);
  expect(new Set(turnIds).size).toBe(3);
  expect(turnIds).toEqual(turnIds.toSorted((a, b) => turnIds.indexOf(a) - turnIds.indexOf(b)));
});

test("a turn that was started comes before one that was run after it (T1, T8)", async () => {
  await using t = await testAgent({ script: [stopResponse("one"), stopResponse("two")] });
  const first = t.agent.startTurn("a", "s");
  const second = t.agent.runTurn("b", "s");
  expect([(await first.result).text, (await second).text]).toEqual(["one", "two"]);
});

test("a turn that fails lets the next one on its session run (T1)", async () => {
  await using t = await testAgent({ script: [modelStep.fail(new ModelError("auth", "no key")), stopResponse("two")] });
  const [first, second] = [t.agent.runTurn("a", "s"), t.agent.runTurn("b", "s")];
  expect((await rejectionOf(first)).kind).toBe("model");
  expect((await second).text).toBe("two");
});

test("turns on two sessions run side by side (T1)", async () => {
  const gates = [1, 2].map(() => Promise.withResolvers<ModelResponse>());
  await using t = await testAgent({ script: gates.map((gate) => modelStep.respond(gate.promise)) });
  const turns = [t.agent.runTurn("a", "one"), t.agent.runTurn("b", "two")];
  await t.runtime.advance(0);
  expect(t.model.callCount).toBe(2);
  gates[1]?.resolve(stopResponse("second"));
  expect((await turns[1])?.text).toBe("second");
  gates[0]?.resolve(stopResponse("first"));
  expect((await turns[0])?.text).toBe("first");
});

test("where the config says so, a second turn on a busy session is refused as a conflict (T1)", async () => {
  const gate = Promise.withResolvers<ModelResponse>();
  await using t = await testAgent({ script: [modelStep.respond(gate.promise)], config: { onBusy: "refuse" } });
  const first = t.agent.runTurn("a", "s");
  await t.runtime.advance(0);
  const error = await rejectionOf(t.agent.runTurn("b", "s"));
  expect(error.kind).toBe("session");
  expect(error.cause).toBeInstanceOf(SessionError);
  expect(error.cause).toMatchObject({ kind: "conflict" });
  gate.resolve(stopResponse("one"));
  expect((await first).status).toBe("completed");
  expect(terminals(t)).toEqual(["turnCompleted"]);
});

test("a tool that runs a turn on its own session is refused, and its turn goes on (T1)", async () => {
  const made = Promise.withResolvers<TestAgent>();
  let refusal: unknown;
  const provider: ToolProvider = {
    listTools: () => [toolDef("again")],
    async execute(_, { sessionId }) {
      refusal = await (await made.promise).agent.runTurn("inner", sessionId).catch((error: unknown) => error);
      return "tried";
    },
  };
  await using t = await testAgent({
    script: [toolCallResponse("again", "c1"), stopResponse("done")],
    providers: [provider],
  });
  made.resolve(t);
  expect((await t.agent.runTurn("hi", "s")).text).toBe("done");
  expect(refusal).toBeInstanceOf(AgentError);
});

test.each<[string, string | MessageInput | readonly MessageInput[]]>([
  ["an empty string", ""],
  ["an empty list", []],
  ["a message without content", userMessage("")],
  ["a message of empty text", userMessage([{ type: "text", text: "" }])],
])("input of %s is refused before turnStarted (T1)", async (_, input) => {
  await using t = await testAgent();
  expect((await rejectionOf(t.agent.runTurn(input, "s"))).kind).toBe("invalid-input");
  expect(t.observer.events).toEqual([]);
  expect(t.model.callCount).toBe(0);
  expect((await t.agent.session("s")).messages).toEqual([]);
});

test("beforeTurn runs before anything is published or written (T2)", async () => {
  let before: unknown;
  await using t = await testAgent({
    script: [stopResponse("done")],
    hooks: [
      {
        name: "first",
        stages: ["beforeTurn"],
        onStage: () => void (before = [t.observer.events.length, t.sessions.saveSnapshots().length]),
      },
    ],
  });
  await t.agent.runTurn("hi", "s");
  expect(before).toEqual([0, 0]);
  expect(traceOf(t.observer)[0]).toBe("turnStarted");
});

test("an abort in beforeTurn asks the turnError hooks, rejects hook-aborted and publishes nothing (T2)", async () => {
  const hook = new RecordingHook({ name: "guard" }).abortWhen("beforeTurn", "not today");
  await using t = await testAgent({ hooks: [hook] });
  expect((await rejectionOf(t.agent.runTurn("hi", "s"))).kind).toBe("hook-aborted");
  expect(hook.kinds).toEqual(["beforeTurn", "turnError"]);
  expect(t.observer.events).toEqual([]);
  expect((await t.agent.session("s")).messages).toEqual([]);
});

test("a throw in beforeTurn is an abort (T2)", async () => {
  const hook = new RecordingHook({ name: "guard" }).throwWhen("beforeTurn", new Error("broken"));
  await using t = await testAgent({ hooks: [hook] });
  expect((await rejectionOf(t.agent.runTurn("hi", "s"))).kind).toBe("hook-aborted");
  expect(hook.kinds).toEqual(["beforeTurn", "turnError"]);
  expect(t.observer.events).toEqual([]);
});

test("a stop in beforeTurn resolves as stopped and publishes nothing (T2)", async () => {
  const hook = new RecordingHook({ name: "guard" }).stopWhen("beforeTurn", "closed");
  await using t = await testAgent({ hooks: [hook] });
  expect(await t.agent.runTurn("hi", "s")).toMatchObject({ status: "stopped", stopReason: "closed", messages: [] });
  expect(hook.kinds).toEqual(["beforeTurn", "afterTurn"]);
  expect(t.observer.events).toEqual([]);
  expect(t.model.callCount).toBe(0);
});

const call = toolCallResponse("weather", "c1");
const tools = { weather: toolOutcome.ok("sunny") };
const hook = (make: (spy: RecordingHook) => RecordingHook) => [make(new RecordingHook({ name: "spy" }))];

/** Ways a turn can end, and the one event that says so. */
const endings: readonly (readonly [string, string, () => TestAgentOptions])[] = [
  ["is complete", "turnCompleted", () => ({ script: [call, stopResponse("done")], tools })],
  [
    "is deferred",
    "turnCompleted",
    () => ({ script: [call], tools, hooks: hook((spy) => spy.deferWhen("beforeTool")) }),
  ],
  ["is stopped before the model", "turnStopped", () => ({ hooks: hook((spy) => spy.stopWhen("beforeModel")) })],
  [
    "is stopped before a tool",
    "turnStopped",
    () => ({ script: [call], tools, hooks: hook((spy) => spy.stopWhen("beforeTool")) }),
  ],
  [
    "is stopped after the model",
    "turnStopped",
    () => ({ script: [stopResponse("done")], hooks: hook((spy) => spy.stopWhen("afterModel")) }),
  ],
  [
    "is cancelled",
    "turnAborted",
    () => ({
      script: [call],
      tools,
      hooks: hook((spy) => spy.replyWhen("beforeContinue", (_, context) => context.cancel("enough"))),
    }),
  ],
  ["is aborted by a hook", "turnFailed", () => ({ hooks: hook((spy) => spy.abortWhen("beforeContext")) })],
  [
    "is aborted before a tool",
    "turnFailed",
    () => ({ script: [call], tools, hooks: hook((spy) => spy.abortWhen("beforeTool")) }),
  ],
  ["fails in the model", "turnFailed", () => ({ script: [modelStep.fail(new ModelError("auth", "no key"))] })],
  [
    "fails to admit a tool",
    "turnFailed",
    () => ({ script: [call], tools, hooks: hook((spy) => spy.throwWhen("admitTool")) }),
  ],
  [
    "fails to settle a tool",
    "turnFailed",
    () => ({ script: [call], tools, hooks: hook((spy) => spy.throwWhen("settleTool")) }),
  ],
  ["exceeds its rounds", "turnFailed", () => ({ script: [call], tools, config: { maxToolRounds: 0 } })],
];

test.each(endings)("a turn that %s publishes %s, last and once (T3)", async (_, type, options) => {
  const spy = new RecordingHook({ name: "watch", stages: ["afterTurn", "turnError"] });
  const made = options();
  await using t = await testAgent({ ...made, hooks: [spy, ...(made.hooks ?? [])] });
  await t.agent.runTurn("hi", "s").catch((error: unknown) => {
    if (!(error instanceof AgentError)) throw error;
  });
  expect(terminals(t)).toEqual([type]);
  expect(t.observer.events.at(-1)?.type).toBe(type);
  expect(spy.kinds).toEqual([type === "turnFailed" ? "turnError" : "afterTurn"]);
  t.model.assertDone();
});

test("a turn that its signal ends publishes turnAborted, last and once (T3, L5)", async () => {
  const controller = new AbortController();
  await using t = await testAgent({ script: [modelStep.hang()] });
  const running = t.agent.runTurn("hi", "s", { signal: controller.signal });
  await t.runtime.advance(0);
  controller.abort();
  expect((await running).status).toBe("aborted");
  expect(terminals(t)).toEqual(["turnAborted"]);
  expect(t.observer.events.at(-1)?.type).toBe("turnAborted");
});
