import { expect, test } from "vitest";
import { AgentError, ModelError } from "../../src/domain/errors.js";
import { SESSION_KEYS } from "../../src/domain/session.js";
import { okResult } from "../../src/domain/tool.js";
import type { TurnResult } from "../../src/domain/turn-result.js";
import type { PipelineHook } from "../../src/ports/hook.js";
import {
  modelStep,
  RecordingToolProvider,
  stopResponse,
  testAgent,
  type TestAgentOptions,
  toolCallResponse,
  toolOutcome,
} from "../../src/testkit/index.js";
import { linesOf, stored } from "../support/conversations.js";
import { countOf, expectDelivered, ToldStore } from "../support/levers.js";
import { callsOf, expectLawful, hookAt, never, unhandledDuring } from "../support/turns.js";

type Found = "session" | "undelivered";
type Ending = {
  readonly name: string;
  /** How it ends: a status, or the kind of the error. */
  readonly end: string;
  readonly options?: TestAgentOptions;
  readonly hooks?: (lever: { readonly abort: () => void }) => readonly PipelineHook[];
  readonly result?: Parameters<RecordingToolProvider["settle"]>[1];
  /** Where what came while the tool ran is found: undelivered unless told otherwise. */
  readonly steer?: Found;
};

const more = ["one", "two", "three"].map(stopResponse);
const calling = toolCallResponse("f", "c1");
const then = (...script: NonNullable<TestAgentOptions["script"]>): TestAgentOptions => ({
  script: [calling, ...script],
});

const endings: readonly Ending[] = [
  { name: "finish", end: "completed", hooks: () => [hookAt("beforeContinue", (_, context) => context.finish())] },
  { name: "checkpoint", end: "stopped", hooks: () => [hookAt("beforeContinue", (_, context) => context.checkpoint())] },
  { name: "stop", end: "stopped", hooks: () => [hookAt("beforeContinue", (_, context) => context.stop("so"))] },
  { name: "cancel", end: "aborted", hooks: () => [hookAt("beforeContinue", (_, context) => context.cancel("so"))] },
  {
    name: "a stop of afterTool",
    end: "stopped",
    hooks: () => [hookAt("afterTool", (_, context) => context.stop("so"))],
  },
  { name: "terminate", end: "completed", result: toolOutcome.ok(okResult("bye", { terminate: true })) },
  {
    name: "deferral",
    end: "deferred",
    options: { script: [callsOf("f", "g")] },
    hooks: () => [hookAt("beforeTool", ({ call }, context) => (call.id === "c2" ? context.defer("ask") : undefined))],
  },
  {
    name: "a throw of settleTool",
    end: "runtime",
    hooks: () => [hookAt("settleTool", () => Promise.reject(new Error("no")))],
  },
  {
    name: "an abort before the queue is looked at",
    end: "aborted",
    hooks: ({ abort }) => [hookAt("beforeContinue", () => abort())],
  },
  {
    name: "an abort of a hook after the queue was looked at",
    end: "hook-aborted",
    hooks: () => [hookAt("beforeModel", (_, context) => (context.round === 2 ? context.abort("no") : undefined))],
    steer: "session",
  },
  {
    name: "an abort after the queue was looked at",
    end: "aborted",
    hooks: ({ abort }) => [hookAt("beforeModel", (_, { round }) => void (round === 2 && abort()))],
    steer: "session",
  },
  {
    name: "a model that fails",
    end: "model",
    options: then(modelStep.fail(new ModelError("auth", "no key"))),
    steer: "session",
  },
  {
    name: "the limit of rounds",
    end: "tool-loop-exceeded",
    options: { ...then(toolCallResponse("f", "c2")), config: { maxToolRounds: 1 } },
    steer: "session",
  },
  {
    name: "the limit of rounds that stops",
    end: "stopped",
    options: { ...then(toolCallResponse("f", "c2")), config: { maxToolRounds: 1, onToolRoundLimit: "stop" } },
    steer: "session",
  },
  {
    name: "a limit of model calls",
    end: "budget-exceeded",
    options: { config: { maxModelCalls: 1 } },
    steer: "session",
  },
  {
    name: "a limit of tool calls",
    end: "budget-exceeded",
    options: { script: [callsOf("f", "f")], config: { maxToolCalls: 1 } },
  },
  {
    name: "a limit of output that it meets itself",
    end: "output-limit",
    options: { config: { maxOutputMessages: 3 } },
  },
  { name: "a limit of output", end: "output-limit", options: { config: { maxOutputMessages: 4 } }, steer: "session" },
];

/** A turn whose first reply calls a tool; while it runs, "steered" and "followed" are accepted. */
async function play(
  { options, hooks, result = toolOutcome.ok("fine") }: Ending,
  config: TestAgentOptions["config"] = {},
) {
  const tools = new RecordingToolProvider().add("f", toolOutcome.held()).add("g", toolOutcome.ok());
  const abort = (): void => turn.abort("enough");
  const t = await testAgent({
    script: [calling, ...more],
    ...options,
    tools,
    hooks: hooks?.({ abort }),
    config: { ...config, ...options?.config },
  });
  const turn = t.agent.startTurn("hi", "s");
  await tools.started("c1");
  const accepted = turn.steer("steered") && turn.followUp("followed");
  tools.settle("c1", result);
  return { t, accepted, ...(await overOf(turn.result)) };
}

/** What a turn did, however it ended. */
async function overOf(work: Promise<TurnResult>): Promise<{ readonly over: TurnResult; readonly end: string }> {
  try {
    const over = await work;
    return { over, end: over.status };
  } catch (error) {
    if (!(error instanceof AgentError) || error.partial === undefined) throw error;
    return { over: error.partial, end: error.kind };
  }
}

test.each(endings.map((ending) => [ending.name, ending] as const))(
  "a turn that ends by %s has each accepted message in its session or tells it as undelivered (L3)",
  async (_, ending) => {
    const { t, accepted, over, end } = await play(ending);
    await using _t = t;
    expect(end).toBe(ending.end);
    expect(await expectDelivered(t, { text: "steered", accepted }, over)).toBe(ending.steer ?? "undelivered");
    expect(await expectDelivered(t, { text: "followed", accepted }, over)).toBe("undelivered");
    await expectLawful(t, "s");
  },
);

test.each(endings.filter(({ steer }) => steer === "session").map((ending) => [ending.name, ending] as const))(
  'with persistence "turn", %s tells the input and what was taken as undelivered where nothing was stored (L3, S3)',
  async (_, ending) => {
    const { t, over, end } = await play(ending, { persistence: "turn" });
    await using _t = t;
    const failed = !["completed", "stopped", "aborted"].includes(end);
    const told = failed ? ["user hi", "user steered", "user followed"] : ["user followed"];
    expect(linesOf(over.undelivered)).toEqual(told);
    expect(countOf("steered", (await t.agent.session("s")).messages)).toBe(failed ? 0 : 1);
  },
);

test.each(["completed", "aborted"])(
  'with persistence "turn", a last write that fails as the turn is %s tells everything as undelivered (L3, S3)',
  async (end) => {
    const hook = hookAt("beforeModel", (_, { round }) => void (round === 3 && end === "aborted" && turn.abort()));
    const config = { persistence: "turn" as const };
    await using t = await testAgent({ script: [stopResponse("done"), ...more], hooks: [hook], config });
    t.sessions.failSave("s");
    const turn = t.agent.startTurn("hi", "s");
    turn.steer("steered");
    turn.followUp("followed");
    turn.followUp("followed again");
    const { over } = await overOf(turn.result);
    expect(linesOf(over.undelivered)).toEqual(["user hi", "user steered", "user followed", "user followed again"]);
    expect((await t.agent.session("s")).messages).toEqual([]);
  },
);

test("a message whose write fails is undelivered, told by the error (L3, S3)", async () => {
  await using t = await testAgent({ script: [calling, ...more], tools: { f: toolOutcome.ok("fine") } });
  // Input, reply, result, and then the message.
  t.sessions.failSave("s", { nth: 4 });
  const turn = t.agent.startTurn("hi", "s", { config: { steerMode: "all" } });
  turn.subscribe(
    ({ type }) => void (type === "toolCallStarted" && [turn.steer("a"), turn.steer("b"), turn.followUp("c")]),
  );
  const { over, end } = await overOf(turn.result);
  expect(end).toBe("session");
  expect(linesOf(over.undelivered)).toEqual(["user a", "user b", "user c"]);
  expect(linesOf(over.messages)).toEqual(["user hi", "calls c1", "c1 = fine"]);
  expect(await stored(t)).toEqual(linesOf(over.messages));
  expect(linesOf(t.observer.ofType("messageAdded").map(({ message }) => message))).toEqual(["user hi"]);
});

test("a message that comes while a result's write fails is undelivered (L3)", async () => {
  const store = new ToldStore();
  await using t = await testAgent({ script: [calling], tools: { f: toolOutcome.ok("fine") }, sessions: [store] });
  store.failSave("s", { nth: 3 });
  store.onAppend = ({ messages }) => void (linesOf(messages).includes("c1 = fine") && turn.steer("psst"));
  const turn = t.agent.startTurn("hi", "s");
  const { over, end } = await overOf(turn.result);
  expect([end, linesOf(over.undelivered)]).toEqual(["session", ["user psst"]]);
});

test("a message whose turn loses its session to another's is told to the one who sent it (L3, S2)", async () => {
  await using t = await testAgent({ script: [calling, ...more], tools: { f: toolOutcome.ok("fine") } });
  const turn = t.agent.startTurn("hi", "s");
  turn.subscribe((event) => {
    if (event.type !== "roundEnded" || event.round !== 1) return;
    turn.steer("psst");
    t.sessions.conflictOnce("s");
  });
  const { over, end } = await overOf(turn.result);
  expect(end).toBe("session");
  expect(await expectDelivered(t, { text: "psst", accepted: true }, over)).toBe("undelivered");
});

test("a message that is on its way to a store that hangs is undelivered when the turn is aborted (L3, L5)", async () => {
  class Hanging extends ToldStore {
    override append(...args: Parameters<ToldStore["append"]>): Promise<number> {
      return countOf("psst", args[1].messages) === 0 ? super.append(...args) : never();
    }
  }
  const sessions = [new Hanging()];
  await using t = await testAgent({ script: [calling, ...more], tools: { f: toolOutcome.ok("fine") }, sessions });
  const turn = t.agent.startTurn("hi", "s");
  turn.subscribe((event) => void (event.type === "roundEnded" && event.round === 1 && turn.steer("psst")));
  await t.runtime.advance(0);
  turn.followUp("and");
  turn.abort();
  await t.runtime.advance(1_000);
  const { over, end } = await overOf(turn.result);
  expect(end).toBe("aborted");
  expect(linesOf(over.undelivered)).toEqual(["user psst", "user and"]);
});

test("a turn whose time is up tells what waits as undelivered (L2, L3)", async () => {
  const tools = { f: toolOutcome.hangs() };
  await using t = await testAgent({ script: [calling], tools, config: { turnTimeoutMs: 1_000 } });
  const turn = t.agent.startTurn("hi", "s");
  await t.runtime.advance(500);
  turn.steer("psst");
  await t.runtime.advance(2_000);
  const { over, end } = await overOf(turn.result);
  expect([end, linesOf(over.undelivered)]).toEqual(["budget-exceeded", ["user psst"]]);
});

test("a resumed turn that has nothing to do tells what it accepted as undelivered (L3, S6)", async () => {
  await using t = await testAgent({ script: [stopResponse("done")] });
  await t.agent.runTurn("hi", "s");
  const turn = t.agent.startResume("s");
  expect(turn.steer("psst")).toBe(true);
  const { over, end } = await overOf(turn.result);
  expect([end, linesOf(over.undelivered)]).toEqual(["nothing-to-resume", ["user psst"]]);
});

test("steering goes into a resumed turn behind the results of the calls it takes up (L3, S6)", async () => {
  const defers = hookAt("beforeTool", (_, context) =>
    context.decision === undefined ? context.defer("ask") : undefined,
  );
  await using t = await testAgent({
    script: [calling, ...more],
    tools: { f: toolOutcome.ok("fine") },
    hooks: [defers],
  });
  expect((await t.agent.runTurn("hi", "s")).status).toBe("deferred");
  const turn = t.agent.startResume("s", { decisions: [{ callId: "c1", approve: true }] });
  turn.followUp("and");
  turn.steer("psst");
  expect((await turn.result).undelivered).toEqual([]);
  expect(await stored(t)).toEqual([
    "user hi",
    "calls c1",
    "c1 = fine",
    "user psst",
    "assistant one",
    "user and",
    "assistant two",
  ]);
  expect((await t.agent.session("s")).metadata).not.toHaveProperty(SESSION_KEYS.deferred);
});

test("a turn that still waits for a decision tells steering as undelivered (L3, U5)", async () => {
  const defers = hookAt("beforeTool", (_, context) => context.defer("ask"));
  await using t = await testAgent({ script: [calling], tools: { f: toolOutcome.ok("fine") }, hooks: [defers] });
  await t.agent.runTurn("hi", "s");
  const turn = t.agent.startResume("s");
  turn.steer("psst");
  const result = await turn.result;
  expect([result.status, linesOf(result.undelivered)]).toEqual(["deferred", ["user psst"]]);
  expect(result.deferred).toMatchObject([{ callId: "c1" }]);
});

test("a message that nobody reads the result for is no unhandled rejection, whatever the turn ends by (L3)", async () => {
  const unhandled = await unhandledDuring(async () => {
    await using t = await testAgent({ script: [modelStep.fail(new ModelError("auth", "no key"))] });
    const turn = t.agent.startTurn("hi", "s");
    turn.steer("psst");
    await t.runtime.advance(0);
  });
  expect(unhandled).toEqual([]);
});
