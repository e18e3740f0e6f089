import { expect, test } from "vitest";
import { InProcessScope } from "../../src/agent/in-process-scope.js";
import { runLoop } from "../../src/agent/run-loop.js";
import { Defect, ModelError } from "../../src/domain/errors.js";
import { userMessage } from "../../src/domain/message.js";
import type { ModelResponse } from "../../src/domain/model.js";
import { SESSION_KEYS } from "../../src/domain/session.js";
import type { NamedStep, Outcome, Settling, StepContext, StepOptions, StepScope } from "../../src/ports/step-scope.js";
import {
  modelStep,
  RecordingCompressor,
  RecordingSessionStore,
  RecordingToolProvider,
  stopResponse,
  testAgent,
  testRuntime,
  toolOutcome,
} from "../../src/testkit/index.js";
import { sent } from "../support/conversations.js";
import { callsOf, hookAt, never } from "../support/turns.js";

/** Notes which steps a turn takes, and which of them are running. */
class RecordingScope implements StepScope {
  readonly names: string[] = [];
  readonly running = new Set<string>();
  readonly #inner: StepScope;

  constructor(inner: StepScope) {
    this.#inner = inner;
  }

  step<T>(name: string, run: (c: StepContext) => Promise<T>, options?: StepOptions): Promise<Outcome<T>> {
    return this.#inner.step(name, this.#noted({ name, run }).run, options);
  }

  all<T>(
    steps: readonly NamedStep<T>[],
    onSettled: (index: number, outcome: Outcome<T>) => Promise<Settling>,
    options?: { readonly limit?: number },
  ): Promise<void> {
    return this.#inner.all(
      steps.map((step) => this.#noted(step)),
      onSettled,
      options,
    );
  }

  bounded<T>(run: () => PromiseLike<T>, ms?: number, options?: StepOptions): Promise<Outcome<T>> {
    return this.#inner.bounded(run, ms, options);
  }

  #noted<T>({ name, run }: NamedStep<T>): NamedStep<T> {
    return {
      name,
      run: async (context) => {
        this.names.push(name);
        this.running.add(name);
        try {
          return await run(context);
        } finally {
          this.running.delete(name);
        }
      },
    };
  }
}

function strictScope(): InProcessScope {
  return new InProcessScope({ signal: new AbortController().signal, runtime: testRuntime(), strict: true });
}

const steps = (names: readonly string[], kind: string): string[] => names.filter((name) => name.startsWith(kind));

test("every effect of a turn goes through the scope, under a name of its own (L7)", async () => {
  const scope = new RecordingScope(strictScope());
  const outside: string[] = [];
  const within = (kind: string): void => {
    if (steps([...scope.running], kind).length === 0) outside.push(kind);
  };
  const tools = new RecordingToolProvider().add("f", toolOutcome.ok()).add("g", toolOutcome.ok());
  await using t = await testAgent({
    script: [callsOf("f", "g"), stopResponse("done")],
    tools,
    compressors: [new RecordingCompressor()],
    hooks: [
      hookAt(
        "beforeModel",
        (_, context) => context.step("look", async () => (within("hook:"), null)).then(() => undefined),
        "h",
      ),
    ],
    config: { system: () => (within("system#"), "Be brief.") },
  });
  const { chatStreaming } = t.model;
  t.model.chatStreaming = (...args) => (within("model#"), chatStreaming.apply(t.model, args));
  const { execute, listTools } = tools;
  tools.execute = (...args) => (within("tool#"), execute.apply(tools, args));
  tools.listTools = () => (within("tools#"), listTools.apply(tools));
  const { append, load } = t.sessions;
  t.sessions.append = (...args) => (within("append#"), append.apply(t.sessions, args));
  t.sessions.load = (...args) => (within("load"), load.apply(t.sessions, args));
  await t.agent.runTurn("hi", "s", { stepScope: scope });
  expect(outside).toEqual([]);
  expect(new Set(scope.names).size).toBe(scope.names.length);
  expect(steps(scope.names, "append#").map((name) => name.slice(7))).toEqual(
    steps(scope.names, "append#").map((_, index) => String(index)),
  );
  expect(scope.names.filter((name) => !name.startsWith("append#"))).toEqual([
    "load",
    "tools#0",
    "compress#1.0",
    "system#1.0",
    "hook:h:beforeModel#1.1:look",
    "model#1",
    "tool#1.0",
    "tool#1.1",
    "compress#2.0",
    "system#2.0",
    "hook:h:beforeModel#2.1:look",
    "model#2",
  ]);
});

test("names stay unique over retries, compressions and changed tool lists (L7)", async () => {
  const scope = new RecordingScope(strictScope());
  const fail = modelStep.fail(new ModelError("context-overflow", "too long"));
  const tools = new RecordingToolProvider().add("f", toolOutcome.ok());
  const change = hookAt("beforeModel", async (_, context) => {
    await context.step("look", async () => null);
    if (context.round === 1) tools.add("g", toolOutcome.ok());
  });
  const retry = hookAt("modelError", async (_, context) => {
    await context.step("note", async () => null);
    return context.retry({ compress: true });
  });
  await using t = await testAgent({
    script: [fail, fail, callsOf("f", "f"), fail, stopResponse("done")],
    tools,
    compressors: [new RecordingCompressor(), new RecordingCompressor()],
    hooks: [
      change,
      retry,
      hookAt("afterTool", (_, context) => context.step("x", async () => null).then(() => undefined)),
    ],
    config: { system: () => "Be brief." },
  });
  expect((await t.agent.runTurn("hi", "s", { stepScope: scope })).text).toBe("done");
  expect(new Set(scope.names).size).toBe(scope.names.length);
  expect(steps(scope.names, "model#")).toEqual(["model#1", "model#1.1", "model#1.2", "model#2", "model#2.1"]);
  expect(steps(scope.names, "poll#")).toEqual(["poll#2"]);
});

test("a strict scope refuses a name it knows, as a defect", async () => {
  const scope = strictScope();
  await scope.step("load", async () => 1);
  await expect(scope.step("load", async () => 1)).rejects.toBeInstanceOf(Defect);
});

test("a strict scope tells the names in order, and refuses the first that differs from an earlier run (L7)", async () => {
  const run = async (rounds: number, strict: true | { readonly names: readonly string[] }) => {
    const scope = new InProcessScope({ signal: new AbortController().signal, runtime: testRuntime(), strict });
    const script = [...Array.from({ length: rounds - 1 }, () => callsOf("f")), stopResponse("done")];
    await using t = await testAgent({ script, tools: { f: toolOutcome.ok() } });
    const outcome = await t.agent.runTurn("hi", "s", { stepScope: scope }).catch((error: unknown) => error);
    return { outcome, names: scope.names };
  };
  const { names } = await run(2, true);
  expect(names.slice(0, 4)).toEqual(["load", "append#0", "tools#0", "model#1"]);
  expect(await run(2, { names })).toMatchObject({ outcome: { status: "completed" }, names });
  expect(await run(2, { names: names.slice(0, 3) })).toMatchObject({ outcome: { status: "completed" }, names });
  const { outcome } = await run(1, { names });
  expect(outcome).toBeInstanceOf(Defect);
  expect(String(outcome)).toMatch(/append#2.*tool#1.0|append#1/);
});

/** A model that neither answers nor hears of an abort. */
const deaf = { chat: never };

test("a turn in a scope that was handed in settles within a second of an abort; the scope can serve the next (L5)", async () => {
  await using t = await testAgent({ model: deaf });
  const scope = new InProcessScope({ signal: new AbortController().signal, runtime: t.runtime });
  const idle = t.runtime.pendingTimers;
  for (const session of ["s", "s2"]) {
    const turn = t.agent.startTurn("hi", session, { stepScope: scope });
    await t.runtime.advance(0);
    turn.abort();
    let settled = false;
    void turn.result.then(() => (settled = true));
    await t.runtime.advance(1_000);
    expect(settled).toBe(true);
    expect((await turn.result).status).toBe("aborted");
  }
  // The heartbeat's own timer.
  expect(t.runtime.pendingTimers).toBeLessThanOrEqual(idle + 1);
});

test("a loop in a scope that was handed in settles within a second of an abort and leaves no timer (L5)", async () => {
  const runtime = testRuntime();
  const controller = new AbortController();
  const stepScope = new InProcessScope({ signal: controller.signal, runtime });
  const running = runLoop([userMessage("hi")], { model: deaf, runtime, stepScope, signal: controller.signal });
  let settled = false;
  void running.then(() => (settled = true));
  await runtime.advance(0);
  controller.abort();
  await runtime.advance(1_000);
  expect(settled).toBe(true);
  expect((await running).status).toBe("aborted");
  expect(runtime.pendingTimers).toBe(0);
});

test("a wait for another's lease happens in steps that record what they saw (L7, S2)", async () => {
  const store = new RecordingSessionStore();
  store.seed("s", { metadata: { [SESSION_KEYS.turn]: { turnId: "killed", until: 0 } } });
  const recorded: [string, unknown][] = [];
  const inner = strictScope();
  const scope: StepScope = {
    step: async (name, run, options) => {
      const outcome = await inner.step(name, run, options);
      if (outcome.ok) recorded.push([name, outcome.value]);
      return outcome;
    },
    all: (list, onSettled, options) => inner.all(list, onSettled, options),
    bounded: (run, ms, options) => inner.bounded(run, ms, options),
  };
  await using t = await testAgent({
    script: [stopResponse("done")],
    sessions: [store],
    config: { turnLeaseMs: 500 },
  });
  const turn = t.agent.startTurn("hi", "s", { stepScope: scope });
  await t.runtime.advance(2_000);
  expect((await turn.result).text).toBe("done");
  const looks = recorded.filter(([name]) => name === "load" || name.startsWith("lease"));
  expect(looks.map(([name]) => name).slice(0, 2)).toEqual(["load", "lease#1"]);
  expect(looks.map(([, value]) => (value as { held: boolean }).held)).toEqual([
    ...looks.slice(1).map(() => true),
    false,
  ]);
  expect(store.ops.filter((op) => op.type === "load")).toHaveLength(looks.length);
});

test("what a poll records is what it saw (L7)", async () => {
  const polls: unknown[] = [];
  const inner = strictScope();
  const scope: StepScope = {
    step: async (name, run, options) => {
      const outcome = await inner.step(name, run, options);
      if (!name.startsWith("poll#") || !outcome.ok) return outcome;
      polls.push(outcome.value);
      // A replay that recorded no change lists nothing anew.
      return { ok: true, value: { toolsChanged: false, messages: [] } as typeof outcome.value };
    },
    all: (list, onSettled, options) => inner.all(list, onSettled, options),
    bounded: (run, ms, options) => inner.bounded(run, ms, options),
  };
  const tools = new RecordingToolProvider();
  tools.add("f", toolOutcome.ok());
  const change = hookAt("afterTool", () => void tools.add("g", toolOutcome.ok()));
  await using t = await testAgent({ script: [callsOf("f"), stopResponse("done")], tools, hooks: [change] });
  const resolved = () => t.observer.events.filter(({ type }) => type === "toolsResolved").length;
  await t.agent.runTurn("hi", "s", { stepScope: scope });
  expect([polls, resolved()]).toEqual([[{ toolsChanged: true, messages: [] }], 1]);
});

test("a load that is answered after the abort changes nothing the next turn stands on", async () => {
  const late = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<ModelResponse>();
  await using t = await testAgent({
    script: [stopResponse("one"), modelStep.respond(answer.promise), stopResponse("four")],
  });
  await t.agent.runTurn("one", "s");
  const { load } = t.sessions;
  t.sessions.load = async (id) => {
    const loaded = await load.call(t.sessions, id);
    await late.promise;
    return loaded;
  };
  const turn = t.agent.startTurn("two", "s");
  await t.runtime.advance(0);
  turn.abort();
  await t.runtime.advance(1_000);
  expect((await turn.result).status).toBe("aborted");
  t.sessions.load = load;
  const next = t.agent.startTurn("three", "s");
  await t.runtime.advance(0);
  late.resolve();
  await t.runtime.advance(0);
  answer.resolve(stopResponse("three"));
  expect((await next.result).text).toBe("three");
  await t.agent.runTurn("four", "s");
  expect(sent(t)).toEqual(["user one", "assistant one", "user three", "assistant three", "user four"]);
});

test("what a step records is JSON (L7)", async () => {
  const recorded: unknown[] = [];
  const inner = strictScope();
  const scope: StepScope = {
    step: async (name, run, options) => {
      const outcome = await inner.step(name, run, options);
      if (outcome.ok) recorded.push([name, outcome.value]);
      return outcome;
    },
    all: (list, onSettled, options) =>
      inner.all(
        list.map((step) => ({
          name: step.name,
          run: async (context: StepContext) => {
            const value = await step.run(context);
            recorded.push([step.name, value]);
            return value;
          },
        })),
        onSettled,
        options,
      ),
    bounded: (run, ms, options) => inner.bounded(run, ms, options),
  };
  await using t = await testAgent({ script: [callsOf("f"), stopResponse("done")], tools: { f: toolOutcome.ok("x") } });
  await t.agent.runTurn("hi", "s", { stepScope: scope });
  expect(recorded.length).toBeGreaterThan(5);
  expect(JSON.parse(JSON.stringify(recorded))).toEqual(recorded);
});
