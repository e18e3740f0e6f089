import { expect, test } from "vitest";
import { AgentError, Defect, ModelError } from "../../src/domain/errors.js";
import type { TurnEvent } from "../../src/domain/event.js";
import type { Compressor } from "../../src/ports/compressor.js";
import type { PipelineHook } from "../../src/ports/hook.js";
import type { Observer } from "../../src/ports/observer.js";
import type { SessionStore } from "../../src/ports/session-store.js";
import type { ToolProvider } from "../../src/ports/tool-provider.js";
import {
  assertEventsContain,
  modelStep,
  RecordingHook,
  RecordingObserver,
  RecordingSessionStore,
  ScriptExhausted,
  stopResponse,
  testAgent,
  type TestAgentOptions,
  textStream,
  toolCallResponse,
  toolDef,
  toolOutcome,
} from "../../src/testkit/index.js";

const call = toolCallResponse("weather", "c1");
const tools = { weather: toolOutcome.ok("sunny") };
const script = [call, modelStep.stream(textStream("done", 3))];

test("seq is gapless from 0 in each turn, and every event carries turn, session and attempt (T4)", async () => {
  await using t = await testAgent({ script: [...script, stopResponse("two")], tools });
  await t.agent.runTurn("hi", "s");
  await t.agent.runTurn("again", "s");
  const turns = Map.groupBy(t.observer.events, (event) => event.turnId);
  expect(turns.size).toBe(2);
  for (const events of turns.values()) {
    expect(events.map((event) => event.seq)).toEqual(events.map((_, index) => index));
    expect(events.every((event) => event.sessionId === "s" && event.attempt === 0)).toBe(true);
  }
});

test("observers get each event synchronously, one after the other, the agent's before the turn's (T4)", async () => {
  const log: string[] = [];
  const observer = (name: string): Observer => ({ onEvent: (event) => void log.push(`${event.seq} ${name}`) });
  await using t = await testAgent({ script, tools, observers: [observer("agent-1"), observer("agent-2")] });
  await t.agent.runTurn("hi", "s", { observers: [observer("turn")] });
  const count = t.observer.events.length;
  expect(log).toEqual(
    Array.from({ length: count }, (_, seq) => [`${seq} agent-1`, `${seq} agent-2`, `${seq} turn`]).flat(),
  );
});

test("an event published during a delivery waits until all observers had the current one (T4)", async () => {
  let publish: ((partial: number) => void) | undefined;
  const provider: ToolProvider = {
    listTools: () => [toolDef("weather")],
    execute(_, context) {
      publish = (partial) => context.progress(partial);
      context.progress(1);
      return "sunny";
    },
  };
  const log: string[] = [];
  const note = (name: string, event: TurnEvent): void => {
    if (event.type === "toolCallProgress") log.push(`${name} ${JSON.stringify(event.partial)}`);
  };
  const first: Observer = {
    onEvent(event) {
      note("first", event);
      if (event.type === "toolCallProgress" && event.partial === 1) publish?.(2);
    },
  };
  const second: Observer = { onEvent: (event) => note("second", event) };
  await using t = await testAgent({ script, providers: [provider], observers: [first, second] });
  await t.agent.runTurn("hi", "s");
  expect(log).toEqual(["first 1", "second 1", "first 2", "second 2"]);
  expect(t.observer.events.map((event) => event.seq)).toEqual(t.observer.events.map((_, index) => index));
});

test("an observer that throws changes nothing for anyone, and is reported once a turn, never as an event (T4)", async () => {
  const broken = new RecordingObserver().throwOn("roundStarted").throwOn("roundEnded");
  const behind = new RecordingObserver();
  await using t = await testAgent({ script: [...script, stopResponse("two")], tools, observers: [broken, behind] });
  expect((await t.agent.runTurn("hi", "s")).status).toBe("completed");
  expect(behind.events).toEqual(t.observer.events);
  expect(broken.events).toEqual(t.observer.events);
  const report = { stage: "roundStarted", operation: "observer", errorCategory: "Error" };
  expect(t.secondaryFailures).toEqual([report]);
  expect(t.observer.ofType("custom")).toEqual([]);
  await t.agent.runTurn("again", "s");
  expect(t.secondaryFailures).toEqual([report, report]);
});

test("a promise that an observer returns is not awaited, and its rejection is reported like a throw (T4)", async () => {
  const gate = Promise.withResolvers<void>();
  const late: unknown = { onEvent: (event: TurnEvent) => (event.type === "turnStarted" ? gate.promise : undefined) };
  await using t = await testAgent({ script, tools, observers: [late as Observer] });
  expect((await t.agent.runTurn("hi", "s")).status).toBe("completed");
  expect(t.secondaryFailures).toEqual([]);
  gate.reject(new TypeError("late"));
  await t.runtime.advance(0);
  expect(t.secondaryFailures).toEqual([{ stage: "turnStarted", operation: "observer", errorCategory: "TypeError" }]);
});

test("text reaches observers while the model call is still running (T6)", async () => {
  const controller = new AbortController();
  await using t = await testAgent({ script: [modelStep.hang(textStream("he", 2).slice(0, 2))] });
  const running = t.agent.runTurn("hi", "s", { signal: controller.signal });
  await t.runtime.advance(0);
  expect(t.observer.ofType("streamChunk")).toHaveLength(2);
  expect(t.model.calls[0]?.outcome).toBe("running");
  controller.abort();
  expect((await running).text).toBe("he");
});

test.each(["afterModel", "afterTool", "afterTurn"] as const)(
  "a throw at %s is a secondary failure before the terminal event, and the turn completes (T5)",
  async (stage) => {
    const hook = new RecordingHook({ name: "spy" }).throwWhen(stage, new RangeError("secret text"));
    await using t = await testAgent({ script, tools, hooks: [hook] });
    expect((await t.agent.runTurn("hi", "s")).status).toBe("completed");
    const failure = { source: "ennead.core", label: "secondary_failure", data: { stage, errorCategory: "RangeError" } };
    assertEventsContain(["turnStarted", { type: "custom", ...failure }, "turnCompleted"], t.observer);
    expect(t.observer.ofType("custom")[0]?.data["operation"]).toEqual(expect.stringContaining("spy"));
    expect(JSON.stringify(t.observer.events)).not.toContain("secret text");
    expect(t.observer.events.at(-1)?.type).toBe("turnCompleted");
  },
);

test.each(["modelError", "turnError"] as const)(
  "a throw at %s is a secondary failure that does not replace the error of the turn (T5)",
  async (stage) => {
    const hook = new RecordingHook({ name: "spy" }).throwWhen(stage);
    await using t = await testAgent({ script: [modelStep.fail(new ModelError("auth", "no key"))], hooks: [hook] });
    const error: unknown = await t.agent.runTurn("hi", "s").catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(AgentError);
    expect(error).toMatchObject({ kind: "model", cause: { kind: "auth" } });
    assertEventsContain([{ type: "custom", data: { stage, errorCategory: "Error" } }, "turnFailed"], t.observer);
    expect(t.observer.events.at(-1)).toMatchObject({ type: "turnFailed" });
  },
);

test("a throw at toolError is a secondary failure, and the model still gets the tool's error (T5)", async () => {
  const hook = new RecordingHook({ name: "spy" }).throwWhen("toolError");
  await using t = await testAgent({
    script,
    tools: { weather: toolOutcome.throws(new Error("no sky")) },
    hooks: [hook],
  });
  const result = await t.agent.runTurn("hi", "s");
  expect(result.toolResults).toMatchObject([{ isError: true, outcome: "failed" }]);
  assertEventsContain(
    [{ type: "custom", data: { stage: "toolError" } }, "toolCallResult", "turnCompleted"],
    t.observer,
  );
});

const defect = new Defect("a mistake in a test");
const raise = (): never => {
  throw defect;
};
const leaving = (fn: () => void): PipelineHook => ({
  name: "leaving",
  stages: ["beforeContext"],
  onStage: (_, context) => context.onSettled(fn),
});
const inner = new RecordingSessionStore();
const brokenStore: SessionStore = {
  load: (id) => inner.load(id),
  save: () => Promise.reject(defect),
  append: () => Promise.reject(defect),
};
const brokenCompressor: Compressor = { compress: raise };

/** Where a defect can come from; each is raised in an otherwise ordinary turn. */
const sources: readonly (readonly [string, () => TestAgentOptions])[] = [
  ["the model", () => ({ model: { chat: () => Promise.reject(defect) } })],
  ["a tool", () => ({ script, tools: { weather: toolOutcome.throws(defect) } })],
  ["an observer", () => ({ script, tools, observers: [new RecordingObserver().throwOn("roundStarted", defect)] })],
  ["a compressor", () => ({ script, tools, compressors: [brokenCompressor] })],
  ["what a hook left for the end of the round", () => ({ script, tools, hooks: [leaving(raise)] })],
  ["a store", () => ({ script, tools, sessions: [brokenStore] })],
  ...(
    [
      "beforeTurn",
      "beforeModel",
      "afterModel",
      "beforeTool",
      "admitTool",
      "afterTool",
      "settleTool",
      "beforeEnd",
      "afterTurn",
    ] as const
  ).map(
    (stage) =>
      [
        `a hook at ${stage}`,
        () => ({ script, tools, hooks: [new RecordingHook({ name: "spy" }).throwWhen(stage, defect)] }),
      ] as const,
  ),
];

test.each(sources)("a defect raised by %s comes out of the turn untouched (T5)", async (_, options) => {
  await using t = await testAgent(options());
  const error: unknown = await t.agent.runTurn("hi", "s").catch((thrown: unknown) => thrown);
  expect(error).toBe(defect);
});

test("a script that runs out comes out of the turn as itself, and the session is free once the lease ran out (T5, S2)", async () => {
  await using t = await testAgent({ script: [call], tools });
  await expect(t.agent.runTurn("hi", "s")).rejects.toBeInstanceOf(ScriptExhausted);
  expect(() => t.assertDone()).toThrow("scripted_model_exhausted at call 2 (script had 1 steps)");
  t.model.push(stopResponse("free"));
  const next = t.agent.runTurn("again", "s");
  await t.runtime.advance(200_000);
  expect((await next).text).toBe("free");
});
