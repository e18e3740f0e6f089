import { describe, expect, expectTypeOf, it, test } from "vitest";
import {
  approval,
  type ApprovalAnswer,
  type ApprovalOptions,
  type ApprovalQuestion,
} from "../../../src/adapters/hooks/approval.js";
import { hookChain } from "../../../src/adapters/hooks/hook-chain.js";
import { MemorySessionStore } from "../../../src/adapters/sessions/memory.js";
import { defineTool, ToolRegistry, Type } from "../../../src/adapters/tools/index.js";
import type { ToolAnnotations } from "../../../src/domain/tool.js";
import type { PipelineHook } from "../../../src/ports/hook.js";
import type { SessionStore } from "../../../src/ports/session-store.js";
import {
  RecordingToolProvider,
  stopResponse,
  type TestAgent,
  testAgent,
  type TestAgentOptions,
  testRuntime,
  toolCallResponse,
  toolCallsResponse,
  toolDef,
  toolOutcome,
} from "../../../src/testkit/index.js";
import { call, callsOf, expectLawful, hookAt, never, rejectionOf, resultText } from "../../support/turns.js";

const ok = { look: toolOutcome.ok("looked"), wipe: toolOutcome.ok("wiped"), send: toolOutcome.ok("sent") };

/** An agent whose model calls these tools once and then says "done". */
const agentFor = (hooks: readonly PipelineHook[], names: readonly string[], options: TestAgentOptions = {}) =>
  testAgent({ script: [callsOf(...names), stopResponse("done")], tools: ok, hooks, ...options });

const ran = ({ tools }: TestAgent): readonly string[] => tools.execRecords.map(({ toolName }) => toolName);

const annotated = (trusted: boolean, annotations: ToolAnnotations): RecordingToolProvider =>
  new RecordingToolProvider({ name: "annotated", ...(trusted && { trustAnnotations: true }) }).add(
    { ...toolDef("wipe"), annotations },
    toolOutcome.ok("wiped"),
  );

const rename = (to: string): PipelineHook =>
  hookAt("beforeTool", ({ call: given }, context) => context.next({ call: { ...given, name: to } }), "rename");

describe("approval without ask", () => {
  it("defers the calls of the tools it names, and the others of the batch run (U5)", async () => {
    await using t = await agentFor([approval({ tools: ["wipe"], reason: "it cannot be undone" })], ["look", "wipe"]);
    const result = await t.agent.runTurn("go", "s");
    expect(result.status).toBe("deferred");
    expect(result.deferred).toMatchObject([{ callId: "c2", toolName: "wipe", reason: "it cannot be undone" }]);
    expect(ran(t)).toEqual(["look"]);
    await expectLawful(t, "s");
  });

  it("lets what was approved run in another agent, which has the hook too (U5)", async () => {
    const sessions = [new MemorySessionStore()];
    await using first = await agentFor([approval({ all: true })], ["look", "wipe"], { sessions });
    await first.agent.runTurn("go", "s");
    await using second = await testAgent({
      script: [stopResponse("done")],
      tools: ok,
      hooks: [approval({ all: true })],
      sessions,
      runtime: testRuntime({ startAt: first.runtime.now() + 1 }),
    });
    const decisions = [
      { callId: "c1", approve: true },
      { callId: "c2", approve: false, reason: "not today" },
    ] as const;
    const result = await second.agent.resumeTurn("s", { decisions });
    expect(result).toMatchObject({ status: "completed", text: "done" });
    expect(ran(second)).toEqual(["look"]);
    expect(result.toolResults.map(resultText)).toEqual(["looked", "The call was rejected: not today"]);
    expect(ran(first)).toEqual([]);
    await expectLawful(second, "s");
  });

  it("keeps a call that was not decided pending, and asks about it in the same way (U5)", async () => {
    await using t = await agentFor([approval({ all: true })], ["look", "wipe"]);
    await t.agent.runTurn("go", "s");
    const half = await t.agent.resumeTurn("s", { decisions: [{ callId: "c2", approve: true }] });
    expect(half).toMatchObject({ status: "deferred", deferred: [{ callId: "c1", reason: "needs approval" }] });
    expect(t.model.callCount).toBe(1);
    const error = await rejectionOf(t.agent.resumeTurn("s", { decisions: [{ callId: "c2", approve: true }] }));
    expect(error.kind).toBe("invalid-input");
    const whole = await t.agent.resumeTurn("s", { decisions: [{ callId: "c1", approve: true }] });
    expect(whole.status).toBe("completed");
    expect(ran(t)).toEqual(["wipe", "look"]);
  });

  it("needs a new decision for a later call of a turn that was resumed", async () => {
    const script = [toolCallResponse("wipe", "c1"), toolCallResponse("wipe", "c2")];
    await using t = await testAgent({ script, tools: ok, hooks: [approval({ tools: ["wipe"] })] });
    await t.agent.runTurn("go", "s");
    const again = await t.agent.resumeTurn("s", { decisions: [{ callId: "c1", approve: true }] });
    expect(again).toMatchObject({ status: "deferred", deferred: [{ callId: "c2" }] });
    expect(ran(t)).toEqual(["wipe"]);
  });

  it("has a decision do for the hook that asked, and no other: each that needs one gets its own (U5)", async () => {
    const guard = hookAt(
      "beforeTool",
      ({ call: judged }, context) =>
        context.decision !== undefined && judged.name === "send" ? context.block("the line is down") : undefined,
      "guard",
    );
    const first = approval({ tools: ["wipe"], reason: "first" });
    const second = approval({ name: "second", hints: { destructive: true }, reason: "second" });
    const hooks = [first, second, guard];
    await using t = await agentFor(hooks, ["wipe", "send"]);
    const asked = await t.agent.runTurn("go", "s");
    expect(asked.deferred.map(({ callId, reason }) => [callId, reason])).toEqual([
      ["c1", "first"],
      ["c2", "second"],
    ]);
    const decisions = ["c1", "c2"].map((callId) => ({ callId, approve: true }) as const);
    const again = await t.agent.resumeTurn("s", { decisions });
    expect(again.toolResults.map(resultText)).toEqual(["the line is down"]);
    expect(again.deferred.map(({ callId, reason }) => [callId, reason])).toEqual([["c1", "second"]]);
    const result = await t.agent.resumeTurn("s", { decisions: [{ callId: "c1", approve: true }] });
    expect([result.status, ran(t)]).toEqual(["completed", ["wipe"]]);
  });

  it("lets a hook that joined since judge for itself, and leaves no note of who asked (U5)", async () => {
    const store = new MemorySessionStore();
    const sessions = [store];
    await using before = await agentFor([approval({ tools: ["wipe"] })], ["wipe"], { sessions });
    await before.agent.runTurn("go", "s");
    const hooks = [approval({ tools: ["wipe"] }), approval({ name: "second", all: true, reason: "second" })];
    const runtime = testRuntime({ startAt: before.runtime.now() + 1 });
    await using after = await testAgent({ script: [stopResponse("done")], tools: ok, hooks, sessions, runtime });
    const decisions = [{ callId: "c1", approve: true }] as const;
    const asked = await after.agent.resumeTurn("s", { decisions });
    expect([asked.deferred.map(({ reason }) => reason), ran(after)]).toEqual([["second"], []]);
    expect((await after.agent.resumeTurn("s", { decisions })).status).toBe("completed");
    expect(ran(after)).toEqual(["wipe"]);
    expect(Object.keys((await store.load("s")).metadata)).toEqual(["ennead.usage"]);
  });

  it("asks again about a call that a hook has changed since somebody decided (U5)", async () => {
    const grow = hookAt(
      "beforeTool",
      ({ call: asked }, context) =>
        context.next({ call: { ...asked, arguments: { n: Number(asked.arguments["n"]) + 1 } } }),
      "grow",
    );
    const script = [toolCallsResponse(call("wipe", "c1", { n: 1 })), stopResponse("done")];
    await using t = await testAgent({ script, tools: ok, hooks: [grow, approval({ all: true })] });
    const shown = await t.agent.runTurn("go", "s");
    const decisions = [{ callId: "c1", approve: true }] as const;
    const again = await t.agent.resumeTurn("s", { decisions });
    expect([shown, again].map(({ deferred }) => deferred.map(({ arguments: args }) => args))).toEqual([
      [{ n: 2 }],
      [{ n: 3 }],
    ]);
    expect(ran(t)).toEqual([]);
  });

  it("in a chain is not satisfied by a decision for a hook outside it (U5)", async () => {
    const outside = hookAt(
      "beforeTool",
      (_, context) => (context.decision === undefined ? context.defer("outside") : undefined),
      "outside",
    );
    const chain = hookChain("chain", [approval({ all: true, reason: "inside" })]);
    await using t = await agentFor([outside, chain], ["wipe"]);
    const first = await t.agent.runTurn("go", "s");
    const decisions = [{ callId: "c1", approve: true }] as const;
    const second = await t.agent.resumeTurn("s", { decisions });
    const last = await t.agent.resumeTurn("s", { decisions });
    expect([first, second].map(({ deferred }) => deferred[0]?.reason)).toEqual(["outside", "inside"]);
    expect([last.status, ran(t)]).toEqual(["completed", ["wipe"]]);
  });

  it("validates arguments that come with a decision (U1, U5)", async () => {
    const written: unknown[] = [];
    const write = defineTool({
      name: "write",
      description: "writes",
      parameters: Type.Object({ text: Type.String() }),
      execute: ({ text }) => void written.push(text),
    });
    const script = [
      toolCallsResponse(call("write", "c1", { text: "a" }), call("write", "c2", { text: "b" })),
      stopResponse("done"),
    ];
    await using t = await testAgent({ script, providers: [write], hooks: [approval({ tools: ["write"] })] });
    await t.agent.runTurn("go", "s");
    const result = await t.agent.resumeTurn("s", {
      decisions: [
        { callId: "c1", approve: true, arguments: { text: "better" } },
        { callId: "c2", approve: true, arguments: { text: 7 } },
      ],
    });
    expect(written).toEqual(["better"]);
    expect(resultText(result.toolResults[1])).toMatch(/text.*string/);
  });
});

describe("which calls need approval", () => {
  it.each<[string, boolean, ToolAnnotations, ApprovalOptions["hints"], string]>([
    ["nobody is trusted", false, { readOnlyHint: true, destructiveHint: false }, { destructive: true }, "deferred"],
    ["a trusted tool may be destructive", true, {}, { destructive: true }, "deferred"],
    ["a trusted tool only adds", true, { destructiveHint: false }, { destructive: true }, "completed"],
    ["a trusted tool only adds, yet is no reader", true, { destructiveHint: false }, { readOnly: false }, "deferred"],
    ["a trusted tool only reads", true, { readOnlyHint: true }, { readOnly: false }, "completed"],
    [
      "one of two hints is not so",
      true,
      { idempotentHint: true },
      { destructive: true, idempotent: false },
      "completed",
    ],
  ])("hints count as far as the provider is trusted: %s", async (_what, trusted, annotations, hints, status) => {
    await using t = await agentFor([approval({ hints })], ["wipe"], { tools: annotated(trusted, annotations) });
    expect((await t.agent.runTurn("go")).status).toBe(status);
  });

  it.each<[string, NonNullable<ApprovalOptions["when"]>]>([
    ["at once", ({ call: asked }) => asked.arguments["amount"] === 500],
    ["later", async ({ call: asked }) => asked.arguments["amount"] === 500],
  ])("a predicate sees the call and the turn, and answers %s", async (_when, when) => {
    const script = [
      toolCallsResponse(call("send", "c1", { amount: 5 }), call("send", "c2", { amount: 500 })),
      stopResponse("done"),
    ];
    const sessions: string[] = [];
    const hook = approval({ when: (asked) => (sessions.push(asked.context.sessionId), when(asked)) });
    await using t = await testAgent({ script, tools: ok, hooks: [hook] });
    const { deferred } = await t.agent.runTurn("go", "s");
    expect(deferred.map(({ callId }) => callId)).toEqual(["c2"]);
    expect(sessions).toEqual(["s", "s"]);
  });

  it.each<[string, () => unknown]>([
    ["throws", () => Promise.reject(new Error("no idea"))],
    ["forgets to answer", () => undefined],
    ["answers what is only like an answer", () => "no"],
  ])("a predicate that %s lets nothing run, and the turn goes on", async (_what, when) => {
    await using t = await agentFor([approval({ when: when as () => boolean })], ["wipe"]);
    const result = await t.agent.runTurn("go");
    expect(ran(t)).toEqual([]);
    expect(result).toMatchObject({ status: "completed", toolResults: [{ isError: true }] });
  });

  it("a tool that does not exist has nothing to approve", async () => {
    await using t = await agentFor([approval({ all: true, ask: () => expect.unreachable() })], ["nothing"]);
    const { toolResults } = await t.agent.runTurn("go");
    expect(resultText(toolResults[0])).toContain("no tool named nothing");
  });

  it.each([
    ["names", { tools: ["wipe"] }],
    ["hints", { hints: { destructive: true } }],
  ])("a call that another hook renamed is judged by the tool it would run: %s", async (_by, options) => {
    const tools = annotated(true, {}).add(
      { ...toolDef("look"), annotations: { readOnlyHint: true } },
      toolOutcome.ok("looked"),
    );
    await using away = await agentFor([rename("look"), approval(options)], ["wipe"], { tools });
    expect((await away.agent.runTurn("go")).status).toBe("completed");
    for (const asked of ["look", "nothing"]) {
      const hooks = [rename("wipe"), approval(options)];
      await using t = await agentFor(hooks, [asked], { tools });
      expect((await t.agent.runTurn("go")).deferred).toMatchObject([{ callId: "c1", toolName: "wipe" }]);
      await using chained = await agentFor([hookChain("chain", hooks)], [asked], { tools });
      expect((await chained.agent.runTurn("go")).deferred).toMatchObject([{ callId: "c1", toolName: "wipe" }]);
    }
  });

  it("in a chain of hooks nothing good is believed of a tool that a call was renamed to", async () => {
    const tools = annotated(true, { readOnlyHint: true }).add("look", toolOutcome.ok("looked"));
    const chain = hookChain("chain", [rename("wipe"), approval({ hints: { destructive: true } })]);
    await using t = await agentFor([chain], ["look"], { tools });
    expect((await t.agent.runTurn("go")).status).toBe("deferred");
  });

  it.each<["before" | "after", object]>([
    ["before", { at: "sky" }],
    ["after", { at: "ground" }],
  ])("it sees what the hooks it stands behind have made of a call: %s (A4)", async (place, seen) => {
    const rewrite = hookAt(
      "beforeTool",
      ({ call: given }, context) => context.next({ call: { ...given, arguments: { at: "ground" } } }),
      "rewrite",
    );
    const questions: object[] = [];
    const gate = approval({
      all: true,
      [place]: ["rewrite"],
      ask: ({ call: asked }) => questions.push(asked.arguments) > 0,
    });
    const hooks = place === "before" ? [rewrite, gate] : [gate, rewrite];
    await using t = await testAgent({
      script: [toolCallResponse("look", "c1", { at: "sky" }), stopResponse("done")],
      tools: ok,
      hooks,
    });
    await t.agent.runTurn("go");
    expect(questions).toEqual([seen]);
    expect(t.tools.execRecords).toMatchObject([{ arguments: { at: "ground" } }]);
  });
});

describe("approval with ask", () => {
  it.each<[string, ApprovalAnswer, string, readonly string[]]>([
    ["true", true, "wiped", ["wipe"]],
    ["an approval", { approve: true }, "wiped", ["wipe"]],
    ["false", false, "The call was rejected", []],
    ["a rejection", { approve: false, reason: "too late" }, "The call was rejected: too late", []],
  ])("answered %s", async (_what, answer, text, tools) => {
    await using t = await agentFor([approval({ tools: ["wipe"], ask: () => answer })], ["wipe"]);
    const result = await t.agent.runTurn("go");
    expect(result.status).toBe("completed");
    expect(resultText(result.toolResults[0])).toBe(text);
    expect(ran(t)).toEqual(tools);
  });

  it("tells whoever is asked what would run, and where", async () => {
    const questions: ApprovalQuestion[] = [];
    const ask = (question: ApprovalQuestion): boolean => questions.push(question) > 0;
    const tools = annotated(true, { idempotentHint: true });
    await using t = await agentFor([approval({ tools: ["wipe"], ask })], ["wipe"], { tools });
    const { turnId } = await t.agent.runTurn("go", "s");
    expect(questions).toMatchObject([
      { call: { id: "c1", name: "wipe" }, tool: { name: "wipe" }, sessionId: "s", turnId, round: 1 },
    ]);
    expect(questions[0]?.hints).toEqual({ readOnly: false, destructive: true, idempotent: true, openWorld: true });
    expectTypeOf<ApprovalQuestion>().not.toHaveProperty("context");
  });

  it("validates changed arguments again before they run (U1)", async () => {
    const written: string[] = [];
    const write = defineTool({
      name: "write",
      description: "writes",
      parameters: Type.Object({ text: Type.String() }),
      execute: ({ text }) => void written.push(text),
    });
    const script = [
      toolCallsResponse(call("write", "c1", { text: "a" }), call("write", "c2", { text: "b" })),
      stopResponse("done"),
    ];
    const ask = ({ call: { id } }: ApprovalQuestion) =>
      ({ approve: true, arguments: { text: id === "c1" ? "better" : 7 } }) as const;
    await using t = await testAgent({ script, providers: [write], hooks: [approval({ all: true, ask })] });
    const { toolResults } = await t.agent.runTurn("go");
    expect(written).toEqual(["better"]);
    expect(resultText(toolResults[1])).toMatch(/text.*string/);
  });

  it("asks about parallel calls one after the other, in source order, and runs none before all are answered (U2)", async () => {
    const log: string[] = [];
    const answers = [Promise.withResolvers<boolean>(), Promise.withResolvers<boolean>()] as const;
    const asked = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    const ask = async ({ call: { id } }: ApprovalQuestion): Promise<boolean> => {
      log.push(`ask ${id}`);
      const index = id === "c1" ? 0 : 1;
      asked[index].resolve();
      return answers[index].promise;
    };
    await using t = await agentFor([approval({ all: true, ask })], ["look", "wipe"]);
    const turn = t.agent.startTurn("go");
    await asked[0].promise;
    expect(log).toEqual(["ask c1"]);
    answers[0].resolve(true);
    await asked[1].promise;
    expect(ran(t)).toEqual([]);
    answers[1].resolve(false);
    const { toolResults } = await turn.result;
    expect(toolResults.map(({ isError }) => isError)).toEqual([false, true]);
    expect(ran(t)).toEqual(["look"]);
  });

  it("defers where it is answered so, and asks nobody about a call that was decided since", async () => {
    let count = 0;
    const ask = (): ApprovalAnswer => {
      count += 1;
      return "defer";
    };
    await using t = await agentFor([approval({ all: true, ask })], ["wipe"]);
    expect((await t.agent.runTurn("go", "s")).status).toBe("deferred");
    const result = await t.agent.resumeTurn("s", { decisions: [{ callId: "c1", approve: true }] });
    expect(result.status).toBe("completed");
    expect(ran(t)).toEqual(["wipe"]);
    expect(count).toBe(1);
  });

  it.each<[string, () => unknown]>([
    ["throws", () => Promise.reject(new Error("no idea"))],
    ["throws at once", () => expect.unreachable()],
    ["answers nothing", () => undefined],
    ["answers what is only like an answer", () => "yes"],
    ["rejects without a reason", () => ({ approve: false })],
    ["gives arguments that are none", () => ({ approve: true, arguments: "all" })],
    ["gives arguments that JSON cannot hold", () => ({ approve: true, arguments: { size: 1n } })],
  ])("lets nothing run when it %s, and the turn goes on", async (_what, ask) => {
    await using t = await agentFor([approval({ all: true, ask: ask as () => boolean })], ["wipe", "look"]);
    const result = await t.agent.runTurn("go", "s");
    expect(ran(t)).toEqual([]);
    expect(result.status).toBe("completed");
    expect(resultText(result.toolResults[0])).toBe("The call was refused: hook approval failed at beforeTool.");
    await expectLawful(t, "s");
  });

  it("lets nothing run when nobody answers within its time, then or later, and withdraws the question", async () => {
    const answer = Promise.withResolvers<boolean>();
    const asked = Promise.withResolvers<AbortSignal>();
    const ask = ({ signal }: ApprovalQuestion): Promise<boolean> => (asked.resolve(signal), answer.promise);
    await using t = await agentFor([approval({ all: true, ask, timeoutMs: 2_000 })], ["wipe"]);
    const running = t.agent.runTurn("go", "s");
    const signal = await asked.promise;
    await t.runtime.advance(1_999);
    expect(signal.aborted).toBe(false);
    await t.runtime.advance(1);
    answer.resolve(true);
    expect(await running).toMatchObject({ status: "completed", toolResults: [{ isError: true }] });
    expect(signal.aborted).toBe(true);
    expect(ran(t)).toEqual([]);
  });

  it("waits for a person as long as it takes, whatever bounds other hooks", async () => {
    const answer = Promise.withResolvers<boolean>();
    const asked = Promise.withResolvers<void>();
    const ask = (): Promise<boolean> => (asked.resolve(), answer.promise);
    const config = { hookTimeoutMs: 100 };
    await using t = await agentFor([approval({ all: true, ask })], ["wipe"], { config });
    const running = t.agent.runTurn("go");
    await asked.promise;
    await t.runtime.advance(24 * 60 * 60_000);
    answer.resolve(true);
    await running;
    expect(ran(t)).toEqual(["wipe"]);
  });

  it("lets nothing run when the turn is aborted while somebody thinks (L5)", async () => {
    const asked = Promise.withResolvers<AbortSignal>();
    const ask = ({ signal }: ApprovalQuestion): Promise<never> => (asked.resolve(signal), never());
    await using t = await agentFor([approval({ all: true, ask })], ["wipe", "look"]);
    const turn = t.agent.startTurn("go", "s");
    const signal = await asked.promise;
    turn.abort("enough");
    expect(signal.aborted).toBe(true);
    await t.runtime.advance(1_000);
    expect((await turn.result).status).toBe("aborted");
    expect(ran(t)).toEqual([]);
    await expectLawful(t, "s");
  });
});

describe("approval for tools that are not there", () => {
  const told = ({ observer }: TestAgent): unknown[] =>
    observer.ofType("custom").flatMap(({ source, label, data }) => (source === "approval" ? [[label, data]] : []));

  it("tells their names when the turn starts, once, and goes on: they may come later", async () => {
    await using t = await agentFor([approval({ tools: ["wipe", "wipe_al", "send"] })], ["look", "look"]);
    expect((await t.agent.runTurn("go")).status).toBe("completed");
    expect(told(t)).toEqual([["approval-unmatched", { tools: ["wipe_al"] }]]);
  });

  it("asks no model where it is to refuse, and says for which", async () => {
    await using t = await agentFor([approval({ tools: ["wipe", "wipe_al"], unmatched: "refuse" })], ["wipe"]);
    const error = await rejectionOf(t.agent.runTurn("go"));
    expect([error.kind, t.model.callCount]).toEqual(["hook-aborted", 0]);
    expect(error.message).toContain("tools that are not there: wipe_al");
  });

  it("says and refuses nothing where all of them are there, and where they go while the turn runs", async () => {
    const registry = new ToolRegistry();
    registry.register(tool("wipe", () => "wiped"));
    registry.register(tool("look", () => (registry.unregister("wipe"), "looked")));
    await using t = await testAgent({
      script: [callsOf("look"), stopResponse("done")],
      providers: [registry],
      hooks: [approval({ tools: ["wipe"], unmatched: "refuse" })],
    });
    expect((await t.agent.runTurn("go")).status).toBe("completed");
    expect([told(t), t.model.requests.at(-1)?.tools.map(({ name }) => name)]).toEqual([[], ["look"]]);
  });
});

const tool = (name: string, execute: () => string) =>
  defineTool({ name, description: "", parameters: Type.Object({}), execute });

test.each<[object | undefined, RegExp]>([
  [undefined, /approval needs an object/],
  [{}, /ask for nothing.*all: true/],
  [{ ask: () => true }, /ask for nothing/],
  [{ tools: [] }, /ask for nothing/],
  [{ hints: {} }, /ask for nothing/],
  [{ hints: { destructive: undefined } }, /ask for nothing/],
  [{ all: false }, /all is true/],
  [{ tools: "wipe" }, /tools is a list/],
  [{ tools: ["wipe", ""] }, /tools is a list/],
  [{ tools: ["wipe"], unmatched: "abort" }, /unmatched is "report" or "refuse"/],
  [{ all: true, unmatched: "refuse" }, /unmatched is about the names in tools/],
  [{ hints: { destructiveHint: true } }, /approval.hints has no option destructiveHint/],
  [{ hints: { destructive: "yes" } }, /a hint is true or false/],
  [{ when: true }, /when is a function/],
  [{ all: true, ask: true }, /ask is a function/],
  [{ all: true, name: 1 }, /texts/],
  [{ all: true, onAsk: () => true }, /no option onAsk/],
])("approval(%j) says what is wrong with it", (options, text) => {
  expect(() => approval(options as never)).toThrow(text);
  expect(() => approval(options as never)).toThrow(/CompositionError\(invalid-config\)/);
});

test("two of one name are refused, and of two names not (A4)", async () => {
  const sessions: SessionStore[] = [new MemorySessionStore()];
  const twice = [approval({ all: true }), approval({ tools: ["wipe"] })];
  await expect(testAgent({ hooks: twice, sessions })).rejects.toThrow("two hooks are named approval");
  const { hooks } = await agentFor([approval({ all: true }), approval({ all: true, name: "other" })], []).then((t) =>
    t.agent.explain(),
  );
  expect(hooks).toEqual({ beforeTool: ["approval", "other"] });
});
