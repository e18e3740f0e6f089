import { expect, test } from "vitest";
import { InProcessScope } from "../../src/agent/in-process-scope.js";
import { Defect, ModelError } from "../../src/domain/errors.js";
import type { NamedStep, Outcome, Settling, StepContext, StepOptions, StepScope } from "../../src/ports/step-scope.js";
import {
  modelStep,
  RecordingCompressor,
  RecordingToolProvider,
  stopResponse,
  testAgent,
  testRuntime,
  toolOutcome,
} from "../../src/testkit/index.js";
import { callsOf, hookAt } from "../support/turns.js";

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
  expect(() => scope.step("load", async () => 1)).toThrow(Defect);
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
