import { describe, expect, test } from "vitest";
import { AgentError, ModelError } from "../../src/domain/errors.js";
import { orderResults } from "../../src/domain/transcript.js";
import { transcriptLaw } from "../../src/domain/transcript-law.js";
import type { ModelPort } from "../../src/ports/model.js";
import type { ToolProvider } from "../../src/ports/tool-provider.js";
import {
  modelStep,
  RecordingSessionStore,
  stopResponse,
  testAgent,
  type TestAgent,
  type TestAgentOptions,
  TEST_START,
  textStream,
  toolDef,
  toolOutcome,
} from "../../src/testkit/index.js";
import { slowAgent } from "../support/every-await.js";
import { A_SECOND, outOfTime, TIME, timed } from "../support/out-of-time.js";
import {
  callsOf,
  expectLawful,
  hookAt,
  never,
  rejectionOf,
  resultText,
  terminals,
  unhandledDuring,
} from "../support/turns.js";

/** The turn ended as one that ran out of time; the session is sound, and the next turn is answered. */
async function expectExpired(t: TestAgent, error: AgentError, limit = "turnTimeoutMs"): Promise<void> {
  expect(error).toMatchObject({ kind: "budget-exceeded", limit });
  expect(error.message).toContain(limit);
  expect(error.partial?.status).toBe("stopped");
  const started = t.observer.ofType("turnStarted").length;
  expect(terminals(t.observer.events)).toEqual(started === 0 ? [] : ["turnFailed"]);
  await expectLawful(t, "s");
  t.model.push(stopResponse("back"));
  expect((await t.agent.runTurn("again", "s")).text).toBe("back");
  await expectLawful(t, "s");
  const { messages } = await t.agent.session("s");
  const input = messages.filter(({ role }) => role === "user").length + (error.partial?.undelivered.length ?? 0);
  expect(input).toBe(2);
}

test("whichever call of a port hangs, a turn whose time is up settles within a second and says so (L2)", async () => {
  const whole = await slowAgent();
  await whole.agent.runTurn("go", "s");
  const calls = [...whole.passed];
  await whole.agent.shutdown();
  expect(calls.length).toBeGreaterThan(40);
  const unhandled = await unhandledDuring(async () => {
    for (const [index, where] of calls.entries()) {
      const slow = await slowAgent(index);
      const turn = slow.agent.startTurn("go", "s", timed);
      const end = turn.result.then(
        ({ status }) => status,
        (error: unknown) => (error instanceof AgentError ? `${error.kind} ${error.limit ?? ""}` : error),
      );
      let settled: unknown;
      void end.then((value) => (settled = value));
      await slow.runtime.advance(TIME - 1);
      expect([where, settled]).toEqual([where, undefined]);
      await slow.runtime.advance(1 + A_SECOND);
      // What `afterTurn` is told is the result as it is.
      const expected = where === "hook afterTurn" ? "completed" : "budget-exceeded turnTimeoutMs";
      expect([index, where, settled]).toEqual([index, where, expected]);
      const started = slow.observer.ofType("turnStarted").length;
      expect([where, terminals(slow.observer.events).length]).toEqual([where, started]);
      // A store that does not write leaves calls for the next turn to close (S4).
      if (where !== "append") expect(transcriptLaw(orderResults((await slow.store.load("s")).messages))).toEqual([]);
      slow.relent();
      expect((await slow.agent.runTurn("again", "s")).status).toBe("completed");
      expect(transcriptLaw(orderResults((await slow.store.load("s")).messages))).toEqual([]);
      await slow.agent.shutdown();
      expect(slow.runtime.pendingTimers).toBe(0);
    }
  });
  expect(unhandled).toEqual([]);
});

test("waiting for the session's lock counts: nothing is published, and the input is told as undelivered (T3, L2)", async () => {
  const answer = Promise.withResolvers<ReturnType<typeof stopResponse>>();
  await using t = await testAgent({ script: [modelStep.respond(answer.promise)] });
  const first = t.agent.runTurn("first", "s");
  await t.runtime.advance(0);
  const before = t.observer.events.length;
  const error = await outOfTime(t);
  expect(error).toMatchObject({ kind: "budget-exceeded", limit: "turnTimeoutMs" });
  expect(error.partial?.undelivered).toMatchObject([{ role: "user", content: [{ text: "hi" }] }]);
  expect(t.observer.events).toHaveLength(before);
  answer.resolve(stopResponse("first"));
  expect((await first).text).toBe("first");
  t.model.push(stopResponse("next"));
  expect((await t.agent.runTurn("next", "s")).text).toBe("next");
});

test("waiting for a lease counts (S2, L2)", async () => {
  const store = new RecordingSessionStore();
  await using t = await testAgent({ sessions: [store] });
  store.seed("s", { metadata: { "ennead.turn": { turnId: "elsewhere", until: 1 } } });
  const error = await outOfTime(t);
  expect(error).toMatchObject({ kind: "budget-exceeded", limit: "turnTimeoutMs" });
  expect(error.partial?.undelivered).toHaveLength(1);
  expect(terminals(t.observer.events)).toEqual(["turnFailed"]);
  expect(t.model.callCount).toBe(0);
  expect((await t.agent.session("s")).messages).toEqual([]);
  t.model.push(stopResponse("back"));
  expect((await t.agent.runTurn("again", "s", { takeOver: true })).text).toBe("back");
});

const deaf: ModelPort = {
  chat: never,
  chatStreaming: (_, onChunk) => (onChunk({ type: "textDelta", text: "so far" }), never()),
};

test("a model that streams is cut off, and what it said is stored (L2, L5)", async () => {
  await using t = await testAgent({ model: deaf });
  const error = await outOfTime(t);
  expect(error).toMatchObject({ kind: "budget-exceeded", limit: "turnTimeoutMs", partial: { text: "so far" } });
  expect((await t.agent.session("s")).messages.at(-1)).toMatchObject({
    role: "assistant",
    parts: [{ type: "text", text: "so far" }],
  });
  expect(terminals(t.observer.events)).toEqual(["turnFailed"]);
  t.agent.setModel(t.model);
  t.model.push(stopResponse("back"));
  expect((await t.agent.runTurn("again", "s")).text).toBe("back");
});

const OF_CALLS: ReadonlySet<string> = new Set(["beforeTool", "admitTool", "afterTool", "settleTool"]);
const OF_REPLIES: ReadonlySet<string> = new Set(["afterModel", "beforeContinue", "beforeEnd"]);

describe("time that is up while the turn waits for others (L2)", () => {
  test("tools that ignore the signal get unknown results, later waves do not start", async () => {
    const alone: ToolProvider = {
      name: "alone",
      listTools: () => [{ ...toolDef("alone"), executionMode: "sequential" }],
      execute: () => "ran",
    };
    await using t = await testAgent({
      script: [callsOf("deaf", "quick", "alone")],
      tools: { deaf: toolOutcome.hangs({ ignoreAbort: true }), quick: toolOutcome.ok("done") },
      providers: [alone],
    });
    const error = await outOfTime(t);
    expect(error.partial?.exchanges.map(({ callId, outcome }) => `${callId} ${outcome}`)).toEqual([
      "c1 unknown",
      "c2 completed",
      "c3 not-started",
    ]);
    expect(error.partial?.toolResults.map(resultText)[1]).toBe("done");
    await expectExpired(t, error);
  });

  test.each([
    "beforeTurn",
    "beforeTools",
    "chooseTools",
    "beforeContext",
    "beforeModel",
    "afterModel",
    "beforeTool",
    "admitTool",
    "afterTool",
    "settleTool",
    "beforeContinue",
    "beforeEnd",
  ] as const)("a hook at %s", async (kind) => {
    let hangs = true;
    const hook = hookAt(kind, () => (hangs ? never() : undefined), "deaf");
    const script = OF_CALLS.has(kind) ? [callsOf("f")] : OF_REPLIES.has(kind) ? [stopResponse("said")] : [];
    await using t = await testAgent({ script, tools: { f: toolOutcome.ok() }, hooks: [hook] });
    const error = await outOfTime(t);
    hangs = false;
    await expectExpired(t, error);
  });

  test("a hook that asks for a retry", async () => {
    let hangs = true;
    const hook = hookAt("modelError", () => (hangs ? never() : undefined), "deaf");
    const lost = modelStep.fail(new ModelError("transport", "lost"), textStream("half").slice(0, -1));
    await using t = await testAgent({ script: [lost], hooks: [hook] });
    const error = await outOfTime(t);
    hangs = false;
    expect((await t.agent.session("s")).messages.at(-1)).toMatchObject({ parts: [{ text: "half" }] });
    await expectExpired(t, error);
  });

  test("a hook that wants to stop, but only after the time", async () => {
    const late = Promise.withResolvers<void>();
    const hook = hookAt("beforeTurn", async (_, context) => {
      if (context.signal.aborted || t.runtime.now() > TEST_START) return undefined;
      await late.promise;
      return context.stop("enough");
    });
    await using t = await testAgent({ hooks: [hook] });
    const turn = rejectionOf(t.agent.runTurn("hi", "s", timed));
    await t.runtime.advance(TIME);
    late.resolve();
    await t.runtime.advance(0);
    const error = await turn;
    expect(t.observer.events).toEqual([]);
    await expectExpired(t, error);
  });

  test("error hooks hear of a turn that ran out of time in beforeTurn", async () => {
    const told: unknown[] = [];
    let hangs = true;
    const hooks = [
      hookAt("turnError", ({ error }) => void told.push((error as AgentError).limit), "told"),
      hookAt("beforeTurn", () => (hangs ? never() : undefined), "deaf"),
    ];
    await using t = await testAgent({ hooks });
    const error = await outOfTime(t);
    hangs = false;
    expect(told).toEqual(["turnTimeoutMs"]);
    await expectExpired(t, error);
  });

  test("listing tools, also of a provider that ignores the signal", async () => {
    let hangs = false;
    const provider: ToolProvider = {
      name: "deaf",
      listTools: () => (hangs ? never() : [toolDef("g")]),
      execute: () => "ran",
    };
    await using t = await testAgent({ providers: [provider] });
    hangs = true;
    const error = await outOfTime(t);
    hangs = false;
    await expectExpired(t, error);
  });

  test("a compressor, and the system function", async () => {
    let [compressing, prompting] = [true, false];
    const options: TestAgentOptions = {
      compressors: [
        { name: "deaf", compress: () => (compressing ? never() : Promise.resolve({ type: "none" as const })) },
      ],
      config: { system: () => (prompting ? never() : "be brief") },
    };
    await using t = await testAgent(options);
    const first = await outOfTime(t);
    [compressing, prompting] = [false, true];
    const second = await outOfTime(t);
    prompting = false;
    expect([first.limit, second.limit]).toEqual(["turnTimeoutMs", "turnTimeoutMs"]);
    expect(terminals(t.observer.events)).toEqual(["turnFailed", "turnFailed"]);
    expect(t.model.callCount).toBe(0);
    t.model.push(stopResponse("back"));
    expect((await t.agent.runTurn("again", "s")).text).toBe("back");
  });
});

describe("time that is up at the end (L2)", () => {
  /** A store whose writes beyond the first `lets` hang. */
  class SlowStore extends RecordingSessionStore {
    lets = Number.POSITIVE_INFINITY;
    override append: RecordingSessionStore["append"] = async (id, delta) =>
      this.lets-- > 0 ? RecordingSessionStore.prototype.append.call(this, id, delta) : never();
  }

  test("a last write that hangs is given up, and the turn is one that ran out of time", async () => {
    const store = new SlowStore();
    await using t = await testAgent({ script: [stopResponse("said")], sessions: [store] });
    store.lets = 2;
    const error = await outOfTime(t);
    store.lets = Number.POSITIVE_INFINITY;
    expect(error).toMatchObject({ kind: "budget-exceeded", limit: "turnTimeoutMs", partial: { text: "said" } });
    await expectExpired(t, error);
  });

  test("an after hook that hangs is given up, and the turn is what it was", async () => {
    const hook = hookAt("afterTurn", never, "deaf");
    await using t = await testAgent({ script: [stopResponse("said")], hooks: [hook] });
    const turn = t.agent.runTurn("hi", "s", timed);
    await t.runtime.advance(TIME + A_SECOND);
    expect((await turn).status).toBe("completed");
    expect(terminals(t.observer.events)).toEqual(["turnCompleted"]);
  });

  test("an abort that comes first is an abort, and one that comes later changes nothing", async () => {
    await using t = await testAgent({ model: deaf });
    const aborted = t.agent.startTurn("hi", "s", timed);
    await t.runtime.advance(TIME - 1);
    aborted.abort("enough");
    await t.runtime.advance(A_SECOND);
    expect((await aborted.result).status).toBe("aborted");
    const expired = t.agent.startTurn("hi", "s", timed);
    await t.runtime.advance(TIME);
    expired.abort("too late");
    await t.runtime.advance(A_SECOND);
    expect(await rejectionOf(expired.result)).toMatchObject({ limit: "turnTimeoutMs" });
    expect(terminals(t.observer.events)).toEqual(["turnAborted", "turnFailed"]);
  });
});
