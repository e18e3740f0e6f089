import { expect, test } from "vitest";
import { Agent } from "../../src/agent/agent.js";
import { runLoop } from "../../src/agent/run-loop.js";
import { type CompositionError } from "../../src/domain/errors.js";
import { assistantMessage, type MessageInput, userMessage } from "../../src/domain/message.js";
import type { TurnOptions } from "../../src/ports/agent-api.js";
import {
  RecordingSessionStore,
  ScriptedModel,
  stopResponse,
  testAgent,
  testRuntime,
  toolDef,
} from "../../src/testkit/index.js";
import { calling, stored, user } from "../support/conversations.js";
import { expectLawful, hookAt, never, rejectionOf } from "../support/turns.js";

/** A provider that counts who listens to it. */
function listened(listTools: () => never | Promise<never> | [] = () => []) {
  let listeners = 0;
  const onToolsChanged = () => {
    listeners += 1;
    return () => void (listeners -= 1);
  };
  return { provider: { listTools, execute: () => "", onToolsChanged }, count: () => listeners };
}

const misfits: readonly (readonly [string, TurnOptions, CompositionError["kind"]])[] = [
  ["a config field nobody knows", { config: { nope: 1 } as never }, "invalid-config"],
  ["a limit that is no number", { config: { maxToolRounds: Number.NaN } }, "invalid-config"],
  [
    "a hook before one that is not there",
    { hooks: [{ name: "a", before: ["b"], onStage: () => undefined }] },
    "hook-order",
  ],
  ["a hook named like another", { hooks: [hookAt("afterTurn", () => undefined, "mine")] }, "duplicate-id"],
];

test.each(misfits)("%s among a turn's options rejects its result as invalid input", async (_, options, kind) => {
  await using t = await testAgent({ hooks: [hookAt("afterTurn", () => undefined, "mine")] });
  const turn = t.agent.startTurn("hi", "s", options);
  const events: unknown[] = [];
  turn.subscribe((event) => void events.push(event));
  for (const error of [await rejectionOf(turn.result), await rejectionOf(t.agent.runTurn("hi", "s", options))]) {
    expect(error).toMatchObject({ kind: "invalid-input", cause: { name: "CompositionError", kind } });
  }
  expect([events, t.observer.events, t.model.callCount]).toEqual([[], [], 0]);
  for await (const _ of turn) expect.unreachable();
});

test("two hooks of one name do not fit together; one hook given twice fires once (A4, L7)", async () => {
  const made = (name: string) => hookAt("afterTurn", () => undefined, name);
  const agent = (hooks: ReturnType<typeof made>[]) =>
    Agent.create({ model: new ScriptedModel(), sessions: [new RecordingSessionStore()], hooks });
  await expect(agent([made("a"), made("a")])).rejects.toMatchObject({ kind: "duplicate-id" });
  const twice = made("a");
  await using _agent = await agent([twice, twice, made("b")]);
});

test("a field of a turn's config that is undefined leaves the agent's setting", async () => {
  await using t = await testAgent({ script: [stopResponse("a")], config: { temperature: 0.5, model: "large" } });
  await t.agent.runTurn("hi", "s", { config: { temperature: undefined, model: undefined, seed: 1 } });
  expect(t.model.requests[0]?.options).toMatchObject({ temperature: 0.5, model: "large", seed: 1 });
});

test("a model of the turn's own is asked in that turn alone, under its own name", async () => {
  const own = new ScriptedModel([stopResponse("own"), stopResponse("named")]);
  await using t = await testAgent({ script: [stopResponse("agent's")], config: { model: "large" } });
  expect(await t.agent.runTurn("a", "s", { model: own })).toMatchObject({ text: "own" });
  expect(await t.agent.runTurn("b", "s", { model: own, config: { model: "small" } })).toMatchObject({ text: "named" });
  expect(await t.agent.runTurn("c", "s")).toMatchObject({ text: "agent's" });
  expect(own.requests.map(({ options }) => options.model)).toEqual([undefined, "small"]);
  expect(t.model.requests.map(({ options }) => options.model)).toEqual(["large"]);
  expect(await rejectionOf(t.agent.runTurn("d", "s", { model: {} as never }))).toMatchObject({ kind: "invalid-input" });
});

test("an input with an open call is refused, and one that a hook puts there aborts the turn (S4)", async () => {
  const { id: _id, at: _at, ...open } = calling("a", "c1");
  const input: MessageInput[] = [open, userMessage("and?")];
  await using t = await testAgent({ script: [stopResponse("ok")] });
  expect(await rejectionOf(t.agent.runTurn(input, "s"))).toMatchObject({ kind: "invalid-input" });
  const hook = hookAt("beforeTurn", (_, context) => context.next({ input }));
  expect(await rejectionOf(t.agent.runTurn("hi", "s", { hooks: [hook] }))).toMatchObject({ kind: "hook-aborted" });
  expect(await stored(t)).toEqual([]);
  await t.agent.runTurn([userMessage("u"), assistantMessage("a"), userMessage("v")], "s");
  await expectLawful(t, "s");
});

test.each([
  ["a config that does not fit", { config: { nope: 1 } as never }],
  ["a hook order that does not fit", { hooks: [{ before: ["b"], onStage: () => undefined }] }],
  ["no store", { sessions: [] }],
  [
    "a lifecycle that does not start",
    { lifecycles: [{ onStart: () => Promise.reject(new Error("no")), onShutdown: () => undefined }] },
  ],
  [
    "a tool list that fails",
    {
      tools: [
        listened(() => {
          throw new Error("no");
        }).provider,
      ],
    },
  ],
])("%s leaves nobody listening for changed tools (A1, A3)", async (_, change) => {
  const { provider, count } = listened();
  const { tools = [], ...rest } = change as { tools?: [] };
  const ports = { model: new ScriptedModel(), sessions: [new RecordingSessionStore()], tools: [provider, ...tools] };
  await expect(Agent.create({ ...ports, ...rest })).rejects.toBeInstanceOf(Error);
  expect(count()).toBe(0);
});

test("a provider that cannot be listened to leaves nobody listening to the others (A1)", async () => {
  const { provider, count } = listened();
  const deaf = {
    ...provider,
    onToolsChanged: () => {
      throw new Error("deaf");
    },
  };
  const ports = { model: new ScriptedModel(), sessions: [new RecordingSessionStore()] };
  await expect(Agent.create({ ...ports, tools: [provider, deaf] })).rejects.toThrow("deaf");
  expect(count()).toBe(0);
  await expect(runLoop([userMessage("hi")], { model: ports.model, tools: [provider, deaf] })).rejects.toMatchObject({
    kind: "runtime",
  });
  expect(count()).toBe(0);
});

test("a provider that never lists fails composition after storeTimeoutMs with its name; an optional one is left out (A1, U8)", async () => {
  const runtime = testRuntime();
  const hung = (optional?: true) => ({
    name: "hung",
    listTools: never,
    execute: () => "",
    ...(optional && { optional }),
  });
  const create = (tool: ReturnType<typeof hung>) =>
    Agent.create({
      model: new ScriptedModel(),
      sessions: [new RecordingSessionStore()],
      tools: [tool, { listTools: () => [toolDef("f")], execute: () => "" }],
      config: { storeTimeoutMs: 1_000, onSecondaryFailure: () => undefined },
      runtime,
    });
  const failing = expect(create(hung())).rejects.toThrow("hung could not list its tools");
  await runtime.advance(1_000);
  await failing;
  const made = create(hung(true));
  await runtime.advance(1_000);
  const agent = await made;
  const listing = agent.tools();
  await runtime.advance(1_000);
  expect((await listing).map(({ name }) => name)).toEqual(["f"]);
  await agent.shutdown();
});

test("a loop is checked like an agent: no model is a CompositionError, a provider given twice is one", async () => {
  const given = [user("hi")];
  await expect(runLoop(given, { model: undefined as never })).rejects.toMatchObject({ kind: "empty-port" });
  const tools = { listTools: () => [toolDef("f")], execute: () => "" };
  const model = new ScriptedModel([stopResponse("done")]);
  expect((await runLoop(given, { model, tools: [tools, tools] })).text).toBe("done");
});

test("a provider that throws when a loop stops listening is a secondary failure", async () => {
  const failures: unknown[] = [];
  const tools = [
    {
      listTools: () => [],
      execute: () => "",
      onToolsChanged: () => () => {
        throw new Error("no");
      },
    },
  ];
  const model = new ScriptedModel([stopResponse("done")]);
  const config = { onSecondaryFailure: (failure: unknown) => void failures.push(failure) };
  expect((await runLoop([user("hi")], { model, tools, config })).status).toBe("completed");
  expect(failures).toEqual([{ stage: "tools", operation: "stop listening", errorCategory: "Error" }]);
});

test("options in the place of the session id reject the turn as invalid input, and nothing is stored", async () => {
  await using t = await testAgent({ script: [stopResponse("hi")] });
  const error = await rejectionOf(t.agent.runTurn("hello", { signal: undefined } as never));
  expect(error).toMatchObject({ kind: "invalid-input", message: expect.stringContaining("the session id is no text") });
  expect(t.model.callCount).toBe(0);
  expect(t.sessions.saveSnapshots()).toEqual([]);
});

test.each([
  ["maxToolRound", "config has no option maxToolRound; did you mean maxToolRounds?"],
  ["maxToolsRounds", "config has no option maxToolsRounds; did you mean maxToolRounds?"],
])("a config with the field %s says what it has instead", async (field, message) => {
  await expect(testAgent({ config: { [field]: 3 } as never })).rejects.toThrow(message);
});
