import { describe, expect, expectTypeOf, it, test } from "vitest";
import { approval } from "../../../src/adapters/hooks/approval.js";
import { defineHook } from "../../../src/adapters/hooks/define-hook.js";
import { agentTool, subAgentUsage } from "../../../src/adapters/tools/agent-tool.js";
import { defineTool, Type } from "../../../src/adapters/tools/index.js";
import { createBudget } from "../../../src/agent/budget.js";
import { contentText } from "../../../src/domain/content.js";
import { CompositionError, Defect, ModelError } from "../../../src/domain/errors.js";
import { textOf } from "../../../src/domain/message.js";
import type { ToolProvider } from "../../../src/ports/tool-provider.js";
import {
  type ModelStep,
  modelStep,
  RecordingSessionStore,
  runClaims,
  stopResponse,
  type TestAgent,
  testAgent,
  type TestAgentOptions,
  testRuntime,
  testToolContext,
  textStream,
  toolCallResponse,
  toolCallsResponse,
  toolOutcome,
  toolProviderClaims,
} from "../../../src/testkit/index.js";

type Script = TestAgentOptions["script"];

const described = { name: "researcher", description: "Finds things out." };
const ask = toolCallResponse("researcher", "c1", { task: "find it" });

/** A calling agent whose model asks the researcher once, and the researcher. */
async function pair(
  script: Script,
  options: {
    readonly definition?: Partial<Parameters<typeof agentTool>[1]>;
    readonly child?: TestAgentOptions;
    readonly parent?: TestAgentOptions;
  } = {},
): Promise<{ readonly parent: TestAgent; readonly child: TestAgent; [Symbol.asyncDispose](): Promise<void> }> {
  const child = await testAgent({ script, ...options.child });
  const parent = await testAgent({
    script: [ask, stopResponse("thanks")],
    providers: [agentTool(child.agent, { ...described, ...options.definition })],
    ...options.parent,
  });
  const dispose = async (): Promise<void> => {
    await parent[Symbol.asyncDispose]();
    await child[Symbol.asyncDispose]();
  };
  return { parent, child, [Symbol.asyncDispose]: dispose };
}

const texts = (result: { readonly content: readonly unknown[] } | undefined): string => JSON.stringify(result?.content);

describe("agentTool", () => {
  runClaims({
    test,
    claims: toolProviderClaims,
    capabilities: { changes: { missing: "one tool never changes" } },
    make: async () => {
      const steps = Array.from({ length: 12 }, () => modelStep.hang());
      const model = { chat: async () => await Promise.resolve(stopResponse("found")) };
      const child = await testAgent({ script: steps });
      const answering = await testAgent({ model, config: { streaming: false } });
      // One agent answers, one hangs: the task says which.
      const tool = agentTool((context) => (context.requestedName === "slow" ? child.agent : answering.agent), {
        ...described,
        session: "call",
      });
      const slow: ToolProvider = {
        ...tool,
        execute: (call, context) =>
          tool.execute(call, call.arguments["task"] === "hang" ? { ...context, requestedName: "slow" } : context),
      };
      // Each call of the claims is a new one, and says so in its details.
      const same: ToolProvider = {
        ...slow,
        execute: async (call, context) => {
          const returned = (await slow.execute(call, context)) as { details?: unknown };
          return { ...returned, details: null };
        },
      };
      return {
        provider: same,
        call: { name: "researcher", arguments: { task: "find it" } },
        slowCall: { name: "researcher", arguments: { task: "hang" } },
        invalid: { arguments: { task: { secret: "hunter-2222" } }, path: "/task" },
        [Symbol.asyncDispose]: async () => {
          await child[Symbol.asyncDispose]();
          await answering[Symbol.asyncDispose]();
        },
      };
    },
  });

  it("gives the task to the agent as its input, and its answer to the model that asked", async () => {
    await using agents = await pair([stopResponse("It is under the sofa.")]);
    const { toolResults, exchanges } = await agents.parent.agent.runTurn("where is it?");
    expect(agents.child.model.requests[0]?.messages.map(textOf)).toEqual(["find it"]);
    expect(toolResults[0]).toMatchObject({ isError: false, content: [{ text: "It is under the sofa." }] });
    const sessionId = `${exchanges[0]?.executionId}.researcher`;
    expect(toolResults[0]?.details).toMatchObject({ agent: { sessionId, status: "completed", rounds: 1 } });
    const stored = await agents.child.agent.session(sessionId);
    expect(stored.messages[0]).toMatchObject({ metadata: { "ennead.agent_tool": { callId: "c1" } } });
  });

  it("infers what input gets from its own parameters, and refuses such parameters without input", () => {
    const api = {} as never as Parameters<typeof agentTool>[0];
    const parameters = Type.Object({ city: Type.String() });
    agentTool(() => api as never, {
      ...described,
      parameters,
      input: ({ city }) => {
        expectTypeOf(city).toEqualTypeOf<string>();
        return `The weather in ${city}?`;
      },
    });
    expect(() => agentTool(() => api as never, { ...described, parameters })).toThrow(CompositionError);
    expect(() => agentTool("x" as never, described)).toThrow(CompositionError);
    expect(() => agentTool(() => api as never, { ...described, maxDepth: 0 })).toThrow(CompositionError);
  });

  it("has a session for each call, or for each conversation that calls", async () => {
    const twice = toolCallsResponse(
      { id: "c1", name: "researcher", arguments: { task: "one" } },
      { id: "c2", name: "researcher", arguments: { task: "two" } },
    );
    for (const session of ["call", "conversation"] as const) {
      const script = [stopResponse("a"), stopResponse("b")];
      await using agents = await pair(script, {
        definition: { session },
        parent: { script: [twice, stopResponse("ok")] },
      });
      await agents.parent.agent.runTurn("go", "s");
      const sent = agents.child.model.requests.map(({ messages }) => messages.map(textOf));
      expect(sent).toEqual(session === "call" ? [["one"], ["two"]] : [["one"], ["one", "a", "two"]]);
    }
  });

  it("publishes the agent's events as progress of the call, without chunks unless all are wanted", async () => {
    for (const events of ["steps", "all", "none"] as const) {
      await using agents = await pair([modelStep.stream(textStream("found it", 2))], { definition: { events } });
      await agents.parent.agent.runTurn("go");
      const seen = agents.parent.observer.events.flatMap((event) =>
        event.type === "toolCallProgress" ? [(event.partial as { event: { type: string } }).event.type] : [],
      );
      expect(seen.includes("turnStarted") && seen.includes("turnCompleted")).toBe(events !== "none");
      expect(seen.includes("streamChunk")).toBe(events === "all");
    }
  });

  it("passes an abort down, and settles with it", async () => {
    await using agents = await pair([modelStep.hang()]);
    const controller = new AbortController();
    const turn = agents.parent.agent.runTurn("go", "s", { signal: controller.signal });
    await expect.poll(() => agents.child.model.callCount).toBe(1);
    controller.abort();
    const { status, toolResults } = await turn;
    expect([status, toolResults[0]?.isError]).toEqual(["aborted", true]);
    const last = agents.child.observer.events.at(-1);
    expect(last?.type).toBe("turnAborted");
  });

  it("draws from the budgets of the turn that calls it, and passes its usage up through all levels", async () => {
    const used = (text: string, totalTokens: number) => ({
      ...stopResponse(text),
      usage: { inputTokens: totalTokens - 1, outputTokens: 1, totalTokens },
    });
    const budget = createBudget({ maxTotalTokens: 1_000_000 });
    const deep = await testAgent({ script: [used("deep", 7)] });
    const inner = agentTool(deep.agent, { ...described, name: "inner" });
    const middle = [
      { ...toolCallResponse("inner", "i1", { task: "x" }), usage: { totalTokens: 100 } },
      used("mid", 200),
    ];
    await using agents = await pair(middle, {
      child: { providers: [inner] },
      parent: {
        providers: [],
        script: [{ ...ask, usage: { totalTokens: 1_000 } }, used("ok", 2_000)],
      },
    });
    const provider = agentTool(agents.child.agent, described);
    const result = await agents.parent.agent.runTurn("go", "s", { budget, tools: [provider] });
    expect(budget.spent()).toMatchObject({ totalTokens: 3_307, modelCalls: 5 });
    expect(result.usage.totalTokens).toBe(3_000);
    expect(subAgentUsage(result.exchanges).totalTokens).toBe(307);
    await deep[Symbol.asyncDispose]();
  });

  it.each<[string, Script, TestAgentOptions, string]>([
    [
      "its model fails",
      [modelStep.fail(new ModelError("auth", "key sk-secret is wrong"))],
      {},
      "researcher could not ask its model: ModelError(auth).",
    ],
    [
      "its rounds are used up",
      [toolCallResponse("none", "x1", {}), toolCallResponse("none", "x2", {})],
      { config: { maxToolRounds: 1 } },
      "researcher ran into its limit maxToolRounds before it was done.",
    ],
    [
      "its budget is used up",
      [stopResponse("never")],
      { config: { maxModelCalls: 0 } },
      "researcher ran into its limit maxModelCalls before it was done.",
    ],
    [
      "a hook stops it",
      [stopResponse("half of it")],
      { hooks: [defineHook("enough", { beforeModel: (_stage, context) => context.stop("enough for today") })] },
      "researcher stopped before it was done (enough for today).",
    ],
    [
      "a hook aborts it",
      [],
      { hooks: [defineHook("no", { beforeTurn: (_stage, context) => context.abort("secret reason") })] },
      "researcher was stopped by one of its hooks.",
    ],
    [
      "a call of it needs a decision",
      [toolCallResponse("pay", "p1", {})],
      { tools: { pay: toolOutcome.ok() }, hooks: [approval({ tools: ["pay"] })] },
      "researcher waits for a decision about a call of pay; its task is not done. Say so; it goes on where that is decided, not by another call.",
    ],
    ["it has nothing to say", [stopResponse("")], {}, "researcher is done and said nothing."],
  ])("tells the model what became of it when %s", async (_what, script, child, text) => {
    await using agents = await pair(script, { child });
    const { status, toolResults } = await agents.parent.agent.runTurn("go");
    expect(status).toBe("completed");
    expect(toolResults[0]?.content[0]).toMatchObject({ text });
    expect(texts(toolResults[0])).not.toContain("secret");
    expect(toolResults[0]?.isError).toBe(!text.includes("is done"));
    expect(toolResults[0]?.details).toMatchObject({
      agent: { sessionId: expect.stringMatching(/\.researcher$/) as unknown },
    });
  });

  it("says which calls wait, and where, so that they can be decided and the agent goes on", async () => {
    await using agents = await pair([toolCallResponse("pay", "p1", {}), stopResponse("paid")], {
      child: { tools: { pay: toolOutcome.ok("done") }, hooks: [approval({ tools: ["pay"] })] },
    });
    const { toolResults } = await agents.parent.agent.runTurn("go");
    const { agent } = toolResults[0]?.details as { agent: { sessionId: string; deferred: { callId: string }[] } };
    expect(agent.deferred).toEqual([{ callId: "p1", toolName: "pay" }]);
    const decisions = agent.deferred.map(({ callId }) => ({ callId, approve: true as const }));
    expect((await agents.child.agent.resumeTurn(agent.sessionId, { decisions })).text).toBe("paid");
  });

  it("lets a defect through", async () => {
    await using agents = await pair([]);
    await expect(agents.parent.agent.runTurn("go")).rejects.toSatisfy(Defect.is);
  });

  it("does not call itself without end", async () => {
    const self: { agent?: TestAgent } = {};
    const tool = agentTool(() => self.agent?.agent as never, { ...described, maxDepth: 3 });
    const model = {
      // Asks the agent again as long as it was not refused.
      chat: async ({ messages }: { messages: readonly unknown[] }) =>
        await Promise.resolve(
          messages.length > 1
            ? stopResponse(JSON.stringify(messages.at(-1)))
            : toolCallResponse("researcher", "c1", { task: "again" }),
        ),
    };
    self.agent = await testAgent({ model, providers: [tool], config: { streaming: false } });
    const { text } = await self.agent.agent.runTurn("go");
    expect(text).toContain("3 agents stand one below the other already");
    await self.agent[Symbol.asyncDispose]();
  });

  it("has one who asks later start at the top again", async () => {
    await using agents = await pair([stopResponse("a"), stopResponse("b")], {
      definition: { maxDepth: 1 },
      parent: { script: [ask, stopResponse("x"), ask, stopResponse("y")] },
    });
    for (const session of ["s1", "s2"]) {
      const { toolResults } = await agents.parent.agent.runTurn("go", session);
      expect(toolResults[0]?.isError).toBe(false);
    }
  });
});

describe("an answer by a schema", () => {
  const result = Type.Object({ place: Type.String() });

  it.each([
    ["JSON", '{"place":"sofa"}', { isError: false, structured: { place: "sofa" } }],
    ["JSON in a fence", '```json\n{"place":"sofa"}\n```', { isError: false, structured: { place: "sofa" } }],
    [
      "JSON in a fence and blanks",
      ' \n``` \n\n {"place":"sofa"} ``` \n',
      { isError: false, structured: { place: "sofa" } },
    ],
    ["a fence with nothing in it", "```\n```", { isError: true }],
    ["a fence that is not closed, at any length", `\`\`\`\n${"\n".repeat(100_000)}x`, { isError: true }],
    ["other JSON", '{"place":5}', { isError: true }],
    ["text", "under the sofa", { isError: true }],
  ])("is told to the model and checked: %s", async (_what, answer, expected) => {
    await using agents = await pair([stopResponse(answer)], { definition: { result } });
    const { toolResults } = await agents.parent.agent.runTurn("go");
    expect(toolResults[0]).toMatchObject(expected);
    expect(agents.child.model.requests[0]?.options.responseSchema).toMatchObject({ required: ["place"] });
  });
});

test("an answer of another shape keeps the session and the usage of its agent", async () => {
  await using agents = await pair([{ ...stopResponse('{"place":5}'), usage: { totalTokens: 7 } }], {
    definition: { result: Type.Object({ place: Type.String() }) },
  });
  const { toolResults, exchanges } = await agents.parent.agent.runTurn("go");
  expect(toolResults[0]).toMatchObject({ isError: true, details: { agent: { status: "completed", rounds: 1 } } });
  expect(contentText(toolResults[0]?.content ?? [])).toContain("/place: string");
  expect(subAgentUsage(exchanges)).toEqual({ totalTokens: 7 });
});

test("the agent, and what it is told, may have to be looked up first", async () => {
  await using child = await testAgent({ script: [stopResponse("found")] });
  const look = async (source: () => unknown): Promise<string> => {
    const parameters = Type.Object({ about: Type.String() });
    const input = async ({ about }: { readonly about: string }) => `Tell about ${about}.`;
    const tool = agentTool(source as never, { name: "ask", description: "d", parameters, input });
    const script = [toolCallResponse("ask", "1", { about: "tea" }), stopResponse("done")];
    await using t = await testAgent({ script, providers: [tool] });
    const { toolResults } = await t.agent.runTurn("go");
    return contentText(toolResults[0]?.content ?? []);
  };
  expect(await look(async () => child.agent)).toBe("found");
  expect(child.model.requests[0]?.messages.map(textOf)).toEqual(["Tell about tea."]);
  for (const none of [undefined, null, {}])
    expect(await look(() => none)).toBe("the function that finds the agent of ask found none");
});

describe("an attempt that is repeated", () => {
  const call = { id: "c1", name: "researcher", arguments: { task: "find it" } };
  const context = testToolContext({ executionId: "message-7.0" });

  it("goes on with the conversation of the first, and does nothing twice", async () => {
    const sessions = new RecordingSessionStore();
    const runs: string[] = [];
    const runtime = testRuntime();
    const pay = defineTool({
      name: "pay",
      description: "Pays.",
      parameters: Type.Object({}),
      execute: () => void runs.push("paid"),
    });
    const steps = (script: readonly (ModelStep | ReturnType<typeof stopResponse>)[]): TestAgentOptions => ({
      script,
      sessions: [sessions],
      providers: [pay],
      // One clock, so that no two turns have one id.
      runtime,
    });
    const first = await testAgent(
      steps([toolCallResponse("pay", "p1", {}), modelStep.fail(new ModelError("server", "down"))]),
    );
    await agentTool(first.agent, described).execute(call, context);
    await first[Symbol.asyncDispose]();
    const second = await testAgent(steps([stopResponse("paid it")]));
    const returned = await agentTool(second.agent, described).execute(call, context);
    expect(returned).toMatchObject({ isError: false, content: [{ text: "paid it" }] });
    expect(runs).toEqual(["paid"]);
    expect(second.model.requests[0]?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
    await second[Symbol.asyncDispose]();
  });

  it("answers what a finished one said, without asking again", async () => {
    await using child = await testAgent({ script: [stopResponse("found")] });
    const tool = agentTool(child.agent, described);
    await tool.execute(call, context);
    expect(await tool.execute(call, context)).toMatchObject({ isError: false, content: [{ text: "found" }] });
    expect(child.model.callCount).toBe(1);
  });

  it("answers with its own reply where the conversation has gone on with other calls", async () => {
    await using child = await testAgent({ script: [stopResponse("first"), stopResponse("second")] });
    const tool = agentTool(child.agent, { ...described, session: "conversation" });
    const later = testToolContext({ sessionId: context.sessionId, executionId: "message-7.1" });
    await tool.execute(call, context);
    await tool.execute({ ...call, id: "c2" }, later);
    expect(await tool.execute(call, context)).toMatchObject({ content: [{ text: "first" }] });
    expect(await tool.execute({ ...call, id: "c2" }, later)).toMatchObject({ content: [{ text: "second" }] });
    expect(child.model.callCount).toBe(2);
  });

  it("claims no answer where it was cut off and the conversation has gone on", async () => {
    await using child = await testAgent({
      script: [modelStep.fail(new ModelError("server", "down")), stopResponse("second")],
    });
    const tool = agentTool(child.agent, { ...described, session: "conversation" });
    await tool.execute(call, context);
    await tool.execute(call, testToolContext({ sessionId: context.sessionId, executionId: "message-7.1" }));
    expect(await tool.execute(call, context)).toMatchObject({ isError: true });
    expect(child.model.callCount).toBe(2);
  });

  it("leaves the turn of a later call alone", async () => {
    await using child = await testAgent({
      script: [stopResponse("first"), modelStep.fail(new ModelError("server", "down"))],
    });
    const tool = agentTool(child.agent, { ...described, session: "conversation" });
    await tool.execute(call, context);
    await tool.execute(call, testToolContext({ sessionId: context.sessionId, executionId: "message-7.1" }));
    expect(await tool.execute(call, context)).toMatchObject({ content: [{ text: "first" }] });
    expect(child.model.callCount).toBe(2);
  });
});

test("an agent tool without a definition is refused where it is made", () => {
  expect(() => agentTool(undefined as never, undefined as never)).toThrow("agentTool needs a definition");
});

it.each([{ session: "conversion" }, { events: "step" }])(
  "a choice that there is not is refused: %j",
  async (choice) => {
    await using child = await testAgent({ script: [] });
    expect(() => agentTool(child.agent, { ...described, ...(choice as object) })).toThrow(
      "CompositionError(invalid-config)",
    );
  },
);
