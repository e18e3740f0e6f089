import { createBudget } from "../../src/agent/budget.js";
import { describe, expect, test } from "vitest";
import { Agent } from "../../src/agent/agent.js";
import { CommandError } from "../../src/domain/errors.js";
import { DEFAULT_LIMITS } from "../../src/domain/limits.js";
import type { AgentPorts } from "../../src/agent/agent-ports.js";
import {
  RecordingCommands,
  RecordingCompressor,
  RecordingLifecycle,
  RecordingMemory,
  RecordingObserver,
  RecordingSessionStore,
  RecordingToolProvider,
  ScriptedModel,
  stopResponse,
  testAgent,
  testConfig,
  testRuntime,
  toolDef,
  toolOutcome,
} from "../../src/testkit/index.js";
import { hookAt } from "../support/turns.js";

const SECRETS = ["PROMPT-1", "DESCRIPTION-2", "KEY-3", "SCHEMA-4", "MESSAGE-5", "PROVIDER-OPTION-6"] as const;

class KeyedModel extends ScriptedModel {
  readonly apiKey = "KEY-3";
}

/** An agent with something at every port. */
function wired(): AgentPorts {
  const trusted = new RecordingToolProvider({
    name: "files",
    trustAnnotations: true,
    validate: (_, args) => ({ ok: true, value: args }),
  })
    .add({ ...toolDef("read", "DESCRIPTION-2"), annotations: { readOnlyHint: true } }, toolOutcome.ok())
    .add(
      {
        ...toolDef("write", "Writes.", { type: "object", description: "SCHEMA-4" }),
        executionMode: "sequential",
        timeoutMs: 500,
        source: "disk",
      },
      toolOutcome.ok(),
    );
  const remote = new RecordingToolProvider({ name: "remote", optional: true }).add(
    { ...toolDef("search"), annotations: { readOnlyHint: true } },
    toolOutcome.ok(),
  );
  return {
    model: new KeyedModel([stopResponse("MESSAGE-5")], { provider: "acme", model: "large", contextWindow: 1_000 }),
    tools: [trusted, remote],
    hooks: [
      hookAt(["beforeTool", "afterTool"], () => undefined, "outer"),
      { ...hookAt(["beforeTool", "afterTool", "turnError"], () => undefined, "inner"), before: ["outer"] },
    ],
    compressors: [new RecordingCompressor([], "window")],
    memory: [new RecordingMemory({ name: "notes" })],
    observers: [new RecordingObserver()],
    sessions: [new RecordingSessionStore(), new RecordingSessionStore()],
    lifecycles: [new RecordingLifecycle("db")],
    commands: [new RecordingCommands().add("help", new CommandError("not-found", "none"))],
    config: testConfig({
      system: "PROMPT-1",
      providerOptions: { acme: { token: "PROVIDER-OPTION-6" } },
      maxToolRounds: 4,
      maxModelCalls: 9,
      toolTimeoutMs: 2_000,
    }),
    runtime: testRuntime(),
  };
}

describe("explain tells how an agent is wired (A4)", () => {
  test("as data", async () => {
    await using agent = await Agent.create(wired());
    const { text, ...data } = agent.explain();
    expect(text).not.toBe("");
    expect(data).toEqual({
      model: { name: "KeyedModel", provider: "acme", model: "large", contextWindow: 1_000, streaming: true },
      sessions: [{ name: "recording" }, { name: "recording" }],
      providers: [
        { name: "files", optional: false, trusted: true },
        { name: "remote", optional: true, trusted: false },
      ],
      tools: [
        {
          name: "read",
          source: "files",
          executionMode: "parallel",
          timeoutMs: 2_000,
          hints: { readOnly: true, destructive: false, idempotent: true, openWorld: true },
          validated: true,
        },
        {
          name: "write",
          source: "disk",
          executionMode: "sequential",
          timeoutMs: 500,
          hints: { readOnly: false, destructive: true, idempotent: false, openWorld: true },
          validated: true,
        },
        {
          name: "search",
          source: "remote",
          executionMode: "parallel",
          timeoutMs: 2_000,
          hints: { readOnly: false, destructive: true, idempotent: false, openWorld: true },
          validated: false,
        },
      ],
      hooks: { beforeTool: ["inner", "outer"], afterTool: ["outer", "inner"], turnError: ["inner"] },
      compressors: [{ name: "window" }],
      memory: [{ name: "notes" }],
      observers: [{ name: "RecordingObserver" }],
      lifecycles: [{ name: "db" }],
      commands: ["help"],
      behaviour: {
        system: "text",
        projectsMessages: false,
        toolExecution: "parallel",
        malformedCalls: "report",
        coerceArguments: false,
        persistence: "round",
        onBusy: "wait",
        onToolRoundLimit: "fail",
        steerMode: "one",
        followUpMode: "one",
      },
      limits: { ...finite(DEFAULT_LIMITS), maxToolRounds: 4, maxModelCalls: 9 },
      notes: ["arguments for the tools of remote are not validated"],
    });
    expect(JSON.parse(JSON.stringify(data))).toEqual(data);
  });

  test("as text for a person", async () => {
    await using agent = await Agent.create(wired());
    expect(agent.explain().text.split("\n")).toEqual([
      "model: KeyedModel (large), streaming",
      "sessions: recording, recording",
      "tool providers: files, remote",
      "  read: from files, parallel, read-only, idempotent, 2000 ms, validated",
      "  write: from disk, sequential, destructive, 500 ms, validated",
      "  search: from remote, parallel, destructive, 2000 ms, not validated",
      "compressors: window",
      "memory: notes",
      "observers: RecordingObserver",
      "lifecycles: db",
      "commands: help",
      "hooks:",
      "  beforeTool: inner > outer",
      "  afterTool: outer > inner",
      "  turnError: inner",
      "behaviour: system text, projectsMessages false, toolExecution parallel, malformedCalls report, coerceArguments false, persistence round, onBusy wait, onToolRoundLimit fail, steerMode one, followUpMode one",
      "limits other than the defaults: maxToolRounds 4, maxModelCalls 9",
      "note: arguments for the tools of remote are not validated",
    ]);
  });

  test("without a key, a prompt, a message, a description or an option of a provider, also after a turn", async () => {
    await using agent = await Agent.create(wired());
    await agent.runTurn("MESSAGE-5", "s");
    const all = JSON.stringify(agent.explain());
    for (const secret of SECRETS) expect(all).not.toContain(secret);
  });

  test("as it is now: the model that was set, the tools that were listed last", async () => {
    const ports = wired();
    await using agent = await Agent.create(ports);
    agent.setModel("small");
    (ports.tools?.[0] as RecordingToolProvider).add("late", toolOutcome.ok()).remove("read");
    expect(agent.explain().tools.map(({ name }) => name)).toEqual(["read", "write", "search"]);
    await agent.tools();
    expect(agent.explain().tools.map(({ name }) => name)).toEqual(["write", "late", "search"]);
    expect(agent.explain().model).toMatchObject({ name: "KeyedModel", provider: "acme", model: "small" });
  });

  test("with as little as there is of a model that says nothing of itself", async () => {
    await using t = await testAgent();
    t.agent.setModel({ chat: async () => stopResponse("hi") });
    expect(t.agent.explain().model).toEqual({ name: "(unnamed)", streaming: false });
  });

  test("as a copy: who changes it changes nothing", async () => {
    await using agent = await Agent.create(wired());
    const before = agent.explain();
    const changed = agent.explain() as unknown as {
      tools: unknown[];
      limits: object;
      hooks: { beforeTool: unknown[] };
    };
    changed.tools.length = 0;
    changed.hooks.beforeTool.reverse();
    Object.assign(changed.limits, { maxToolRounds: 99 });
    expect(agent.explain()).toEqual(before);
  });

  test("once for what is registered twice", async () => {
    const observer = new RecordingObserver();
    const store = new RecordingSessionStore();
    const hook = hookAt("beforeTurn", () => undefined, "twice");
    const provider = new RecordingToolProvider({ name: "tools" });
    await using agent = await Agent.create({
      model: new ScriptedModel(),
      tools: [provider, provider],
      observers: [observer, observer],
      sessions: [store, store],
      hooks: [hook, hook],
    });
    const { observers, sessions, hooks, providers } = agent.explain();
    expect([observers.length, sessions.length, hooks.beforeTurn, providers.length]).toEqual([1, 1, ["twice"], 1]);
  });
});

const finite = (limits: object): object =>
  Object.fromEntries(Object.entries(limits).filter(([, limit]) => limit !== Number.POSITIVE_INFINITY));

describe("notes tell what deserves a look (A4)", () => {
  const notesOf = async (ports: Partial<AgentPorts>): Promise<readonly string[]> => {
    const defaults = { model: new ScriptedModel(), sessions: [new RecordingSessionStore()] };
    await using agent = await Agent.create({ ...defaults, ...ports });
    return agent.explain().notes;
  };
  const compressors = [new RecordingCompressor()];

  test("and nothing where nothing does", async () => {
    expect(await notesOf({ compressors })).toEqual([]);
  });

  test("an agent that forgets nothing on the way, and one that stores at the end", async () => {
    expect(await notesOf({})).toEqual([expect.stringContaining("no compressor")]);
    expect(await notesOf({ compressors, config: { persistence: "turn" } })).toEqual([
      expect.stringContaining("stored at its end"),
    ]);
  });

  test("tools without a timeout or without validation", async () => {
    const provider = new RecordingToolProvider({ name: "raw" }).add("f", toolOutcome.ok());
    expect(await notesOf({ compressors, tools: [provider] })).toEqual([
      "arguments for the tools of raw are not validated",
      "some tools have no timeout",
    ]);
    expect(await notesOf({ compressors, tools: [provider], config: { toolTimeoutMs: 100 } })).toHaveLength(1);
  });
});

const HOSTILE = `x\u001b[2J\n  evil: from core, read-only\r\u202e${"n".repeat(5_000)}`;

describe("hostile names", () => {
  test("of tools, sources, hooks, ports and models stay in their line of the text, and short", async () => {
    const provider = new RecordingToolProvider({ name: HOSTILE }).add(
      { ...toolDef(HOSTILE), source: HOSTILE },
      toolOutcome.ok(),
    );
    const observer = Object.assign(new RecordingObserver(), { name: HOSTILE });
    await using t = await testAgent({
      model: new ScriptedModel([], { model: HOSTILE, provider: HOSTILE }),
      tools: provider,
      hooks: [hookAt("beforeTurn", () => undefined, HOSTILE)],
      observers: [observer],
      memory: [new RecordingMemory({ name: HOSTILE })],
      compressors: [new RecordingCompressor([], HOSTILE)],
      lifecycles: [new RecordingLifecycle(HOSTILE)],
    });
    const { text, tools, notes } = t.agent.explain();
    const lines = text.split("\n");
    for (const line of lines) {
      expect(line).not.toMatch(/[\p{Cc}\u202e]/u);
      expect(line.length).toBeLessThan(400);
    }
    expect(lines.filter((line) => line.trimStart().startsWith("evil"))).toEqual([]);
    expect(lines).toHaveLength(t.agent.explain().notes.length + 13);
    for (const note of notes) expect(note).not.toMatch(/\p{Cc}/u);
    // The data is for programs, which compare names as they are.
    expect(tools[0]?.name).toBe(HOSTILE);
  });

  test("and names that are none fall back to the class, or say so", async () => {
    const odd = Object.assign(Object.create(null) as object, { onEvent: () => undefined });
    await using t = await testAgent({
      observers: [
        Object.assign(new RecordingObserver(), { name: "" }),
        Object.assign(new RecordingObserver(), { name: 7 }),
        odd as never,
        { onEvent: () => undefined },
      ],
    });
    expect(t.agent.explain().observers.map(({ name }) => name)).toEqual([
      "RecordingObserver",
      "RecordingObserver",
      "RecordingObserver",
      "(unnamed)",
      "(unnamed)",
    ]);
  });
});

test("explain tells what the budget of the configuration allows, without its price (A4)", async () => {
  const budget = createBudget({ maxCost: 2, maxModelCalls: 9, price: () => 1 });
  await using t = await testAgent({ config: { budget } });
  const { budget: told, text } = t.agent.explain();
  expect([told, text.split("\n").find((line) => line.startsWith("budget"))]).toEqual([
    { maxCost: 2, maxModelCalls: 9 },
    "budget: maxCost 2, maxModelCalls 9",
  ]);
});
