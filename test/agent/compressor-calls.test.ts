import { describe, expect, test } from "vitest";
import { createBudget } from "../../src/agent/budget.js";
import { InProcessScope } from "../../src/agent/in-process-scope.js";
import { ModelError } from "../../src/domain/errors.js";
import { estimateAll } from "../../src/domain/estimate.js";
import { userMessage } from "../../src/domain/message.js";
import type { ModelResponse } from "../../src/domain/model.js";
import { systemMessage } from "../../src/domain/message.js";
import { stampMessage } from "../../src/domain/stamp-message.js";
import type { CompressAction, CompressContext, Compressor } from "../../src/ports/compressor.js";
import type { Outcome, StepContext, StepOptions } from "../../src/ports/step-scope.js";
import {
  modelStep,
  RecordingCompressor,
  ScriptedModel,
  stopResponse,
  testAgent,
  type TestAgent,
  type TestAgentOptions,
  testRuntime,
  toolOutcome,
} from "../../src/testkit/index.js";
import { linesOf, reply, sent, user } from "../support/conversations.js";
import { callsOf, expectLawful, never, rejectionOf } from "../support/turns.js";

const long = (word: string): string => `${word} ${"x".repeat(2_000)}`;
const history = [user("u0", long("u0")), reply("a0", long("a0")), user("u1"), reply("a1")];
const replaced: CompressAction = { type: "replace", messages: [userMessage("summary")], upTo: "a0" };
const used = (inputTokens: number, outputTokens = 10): Pick<ModelResponse, "usage"> => ({
  usage: { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens },
});

async function seeded(options: TestAgentOptions): Promise<TestAgent> {
  const t = await testAgent({ script: [stopResponse("done"), stopResponse("more")], ...options });
  t.sessions.seed("s", { messages: history });
  return t;
}

const compressing = (compress: Compressor["compress"], name = "mine"): Compressor => ({ name, compress });

/** Asks a model once a conversation of at least four messages. */
const summarising = (model: ScriptedModel): Compressor =>
  compressing(async (messages, { ask }) => {
    if (messages.length < 5) return { type: "none" };
    const request = [stampMessage(systemMessage("summarise"), "q", 0, "request")];
    await ask?.(model, { messages: request as never, options: {} });
    return replaced;
  });

const secondary = (t: TestAgent): unknown[] =>
  t.observer.ofType("custom").flatMap(({ label, data }) => (label === "secondary_failure" ? [data] : []));

describe("a model call of a compressor is on the account of the turn (A5)", () => {
  test("its usage is the turn's and the session's, and a budget counts it", async () => {
    const summaries = new ScriptedModel([{ ...stopResponse("short"), ...used(500, 50) }]);
    const budget = createBudget({ maxTotalTokens: 1_000_000 });
    await using t = await seeded({
      script: [{ ...stopResponse("done"), ...used(100) }],
      compressors: [summarising(summaries)],
    });
    const { usage } = await t.agent.runTurn("hi", "s", { budget });
    expect(usage).toMatchObject({ inputTokens: 600, outputTokens: 60, totalTokens: 660 });
    expect(await t.agent.usage("s")).toMatchObject({ session: { totalTokens: 660 }, turn: { modelCalls: 2 } });
    expect(budget.spent()).toMatchObject({ totalTokens: 660, modelCalls: 2 });
    expect(summaries.requests[0]).toMatchObject({ tools: [], options: {} });
  });

  test("one that failed is counted too, and the turn goes on without it", async () => {
    const failure = new ModelError("server", "secret", { usage: { inputTokens: 7, totalTokens: 7 } });
    const summaries = new ScriptedModel([modelStep.fail(failure)]);
    await using t = await seeded({
      script: [{ ...stopResponse("done"), ...used(100) }],
      compressors: [summarising(summaries)],
    });
    const { usage, text } = await t.agent.runTurn("hi", "s");
    expect([text, usage.totalTokens]).toEqual(["done", 117]);
    expect(secondary(t)).toEqual([{ stage: "compress", operation: "mine", errorCategory: "ModelError(server)" }]);
    expect(JSON.stringify(t.observer.events)).not.toContain("secret");
    expect(sent(t)).toEqual([...linesOf(history), "user hi"]);
  });

  test("none is made for which a budget has no room, and the turn goes on", async () => {
    const summaries = new ScriptedModel([]);
    const large = compressing(async (_, { ask }) => {
      await ask?.(summaries, { messages: [], options: { maxOutputTokens: 50_000 } });
      return replaced;
    });
    await using t = await seeded({ compressors: [large] });
    const { text } = await t.agent.runTurn("hi", "s", { budget: createBudget({ maxTotalTokens: 10_000 }) });
    expect([text, summaries.callCount]).toEqual(["done", 0]);
    expect(secondary(t)).toMatchObject([{ errorCategory: "ModelError(request-build)" }]);
  });

  test("a compaction that somebody asked for stores what it used beside the last turn's", async () => {
    const summaries = new ScriptedModel([{ ...stopResponse("short"), ...used(500, 50) }]);
    const compressor = compressing(async (_, { ask, reason }) => {
      if (reason !== "requested") return { type: "none" };
      await ask?.(summaries, { messages: [], options: {} });
      return replaced;
    });
    await using t = await seeded({ script: [{ ...stopResponse("done"), ...used(100) }], compressors: [compressor] });
    await t.agent.runTurn("hi", "s");
    const before = await t.agent.usage("s");
    expect((await t.agent.compact("s")).changed).toBe(true);
    expect(await t.agent.usage("s")).toMatchObject({ session: { totalTokens: 660 }, turn: before?.turn });
  });

  test("a replayed turn counts what the step recorded, and asks nobody again (L7)", async () => {
    const journal = new Map<string, Outcome<unknown>>();
    const run = async (summaries: ScriptedModel) => {
      const budget = createBudget({ maxTotalTokens: 1_000_000 });
      const runtime = testRuntime();
      const control = new AbortController();
      const inner = new InProcessScope({ signal: control.signal, runtime });
      const scope = Object.assign(Object.create(inner) as InProcessScope, {
        step: async <T>(
          name: string,
          work: (c: StepContext) => Promise<T>,
          options?: StepOptions,
        ): Promise<Outcome<T>> => {
          if (!name.startsWith("compress#")) return inner.step(name, work, options);
          const known = journal.get(name);
          if (known !== undefined) return known as Outcome<T>;
          const outcome = await inner.step(name, work, options);
          journal.set(name, JSON.parse(JSON.stringify(outcome)) as Outcome<unknown>);
          return outcome;
        },
        all: inner.all.bind(inner),
        bounded: inner.bounded.bind(inner),
        abort: inner.abort.bind(inner),
        interrupt: inner.interrupt.bind(inner),
        release: inner.release.bind(inner),
      });
      await using t = await seeded({
        script: [{ ...stopResponse("done"), ...used(100) }],
        compressors: [summarising(summaries)],
        runtime,
      });
      const { usage } = await t.agent.runTurn("hi", "s", { budget, stepScope: scope, turnId: "t1" });
      return { usage, spent: budget.spent(), sent: sent(t) };
    };
    const first = await run(new ScriptedModel([{ ...stopResponse("short"), ...used(500, 50) }]));
    const again = await run(new ScriptedModel([]));
    expect(again).toEqual(first);
    expect(first.usage.totalTokens).toBe(660);
  });
});

describe("a compressor that gives no good answer is passed over, once a turn (C1)", () => {
  const idle = { stage: "compress", operation: "mine" };

  test("one that hangs is given up after compressTimeoutMs, and its signal fires", async () => {
    let signal: AbortSignal | undefined;
    const hangs = compressing((_, context) => {
      signal = context.signal;
      return never();
    });
    await using t = await seeded({
      compressors: [hangs],
      script: [callsOf("f"), stopResponse("done")],
      tools: { f: toolOutcome.ok() },
      config: { compressTimeoutMs: 100 },
    });
    const turn = t.agent.runTurn("hi", "s");
    await t.runtime.advance(100);
    expect((await turn).text).toBe("done");
    expect(signal?.aborted).toBe(true);
    expect(secondary(t)).toEqual([{ ...idle, errorCategory: "timeout" }]);
    await expectLawful(t, "s");
  });

  test("what it had asked of models until then counts in the turn, the answer that never came too", async () => {
    const summaries = new ScriptedModel([{ ...stopResponse("short"), ...used(500, 50) }, modelStep.hang()]);
    const asksTwice = compressing(async (_, { ask }) => {
      const request = { messages: [stampMessage(systemMessage("summarise"), "q", 0, "request")] as never, options: {} };
      await ask?.(summaries, request);
      await ask?.(summaries, request);
      return replaced;
    });
    await using t = await seeded({
      compressors: [asksTwice],
      script: [{ ...stopResponse("done"), ...used(100) }],
      config: { compressTimeoutMs: 100 },
    });
    const turn = t.agent.runTurn("hi", "s");
    await t.runtime.advance(100);
    expect(await turn).toMatchObject({ text: "done", usage: { inputTokens: 600, outputTokens: 60 } });
    const { metadata } = await t.agent.session("s");
    expect(metadata["ennead.usage"]).toMatchObject({ turn: { modelCalls: 3 } });
  });

  test("an abort of the turn fires the signal too, and is no failure of the compressor", async () => {
    let signal: AbortSignal | undefined;
    const waits = compressing(
      (_, context) =>
        new Promise((_resolve, reject) => {
          signal = context.signal;
          context.signal.addEventListener("abort", () => reject(new ModelError("aborted", "aborted")));
        }),
    );
    await using t = await seeded({ compressors: [waits] });
    const turn = t.agent.startTurn("hi", "s");
    await t.runtime.advance(0);
    turn.abort("enough");
    expect((await turn.result).status).toBe("aborted");
    expect([signal?.aborted, secondary(t), t.model.callCount]).toEqual([true, [], 0]);
  });

  test("the next one is asked instead", async () => {
    const fails = compressing(() => {
      throw new ModelError("rate-limit", "slow down");
    });
    const other = new RecordingCompressor([replaced], "other");
    await using t = await seeded({ compressors: [fails, other] });
    await t.agent.runTurn("hi", "s");
    expect(sent(t)[0]).toBe("user summary");
  });

  test("what it found another way around is told by the category of the error alone", async () => {
    const reports = compressing((_, { report }) => {
      report?.(new RangeError("secret"));
      report?.("secret");
      return replaced;
    });
    await using t = await seeded({ compressors: [reports] });
    await t.agent.runTurn("hi", "s");
    expect(secondary(t)).toEqual([
      { ...idle, errorCategory: "RangeError" },
      { ...idle, errorCategory: "string" },
    ]);
    expect(sent(t)[0]).toBe("user summary");
  });

  test("any other error it throws fails the turn, and nothing is lost", async () => {
    await using t = await seeded({
      compressors: [
        compressing(() => {
          throw new RangeError("secret");
        }),
      ],
    });
    const error = await rejectionOf(t.agent.runTurn("hi", "s"));
    expect([error.kind, error.message.includes("secret")]).toEqual(["runtime", false]);
    expect(linesOf((await t.agent.session("s")).messages)).toEqual([...linesOf(history), "user hi"]);
    await expectLawful(t, "s");
  });
});

describe("estimates are corrected by what the provider reports (C1)", () => {
  /** What a compressor is told in these turns, when replies report this usage. */
  async function contextsOf(usages: readonly (ModelResponse["usage"] | undefined)[]): Promise<CompressContext[]> {
    const contexts: CompressContext[] = [];
    const script = usages.map((usage) => ({ ...stopResponse("done"), ...(usage === undefined ? {} : { usage }) }));
    await using t = await seeded({
      script: [...script, stopResponse("last")],
      compressors: [compressing((_, context) => (contexts.push(context), { type: "none" }))],
      config: { system: "be brief" },
    });
    for (let n = 0; n <= usages.length; n++) await t.agent.runTurn(`turn ${n}`, "s");
    return contexts;
  }

  const estimate = estimateAll(history);

  test("by twice what was estimated, and the more the longer it goes on", async () => {
    const contexts = await contextsOf([{ inputTokens: estimate * 2 }, { inputTokens: estimate * 2 }]);
    const corrections = contexts.map(({ correction = 0 }) => correction);
    expect(corrections[0]).toBe(1);
    expect(corrections[1]).toBeGreaterThan(1.7);
    expect(corrections[1]).toBeLessThan(2.1);
    expect(contexts[1]?.estimatedTokens).toBeGreaterThan(estimate * 1.7);
  });

  test.each<[string, ModelResponse["usage"]]>([
    ["missing", undefined],
    ["zero", { inputTokens: 0 }],
    ["without what was read from a cache", { inputTokens: 700, cachedInputTokens: 4_000 }],
    ["far too small", { inputTokens: 3 }],
    ["far too large", { inputTokens: 9_000_000 }],
  ])("not by usage that is %s", async (_, usage) => {
    expect((await contextsOf([usage])).map(({ correction }) => correction)).toEqual([1, 1]);
  });

  test("what was reported of a request before a compaction does not compact what is left", async () => {
    const asked: number[] = [];
    const compressor = compressing((messages, { estimatedTokens }) => {
      asked.push(estimatedTokens);
      return messages.length > 4 ? { type: "replace", messages: [userMessage("summary")] } : { type: "none" };
    });
    const large = { ...stopResponse("done"), usage: { inputTokens: 1_500, outputTokens: 1 } };
    await using t = await seeded({ script: [large, stopResponse("more")], compressors: [compressor] });
    await t.agent.runTurn("one", "s");
    await t.agent.runTurn("two", "s");
    expect(asked[0]).toBeGreaterThan(900);
    expect(asked[1]).toBeLessThan(100);
  });

  test("never by more than four times, nor below a half", async () => {
    const [, high] = await contextsOf([{ inputTokens: estimate * 6 }]);
    const [, low] = await contextsOf([{ inputTokens: Math.ceil(estimate * 0.3) }]);
    expect([high?.correction, low?.correction]).toEqual([4, 0.5]);
  });

  test("also in another process, which finds it in the session", async () => {
    const idle = new RecordingCompressor([]);
    await using t = await seeded({
      script: [{ ...stopResponse("done"), usage: { inputTokens: estimate * 3 } }],
      compressors: [idle],
    });
    await t.agent.runTurn("hi", "s");
    const seen = new RecordingCompressor([]);
    await using next = await testAgent({ script: [stopResponse("ok")], sessions: [t.sessions], compressors: [seen] });
    await next.agent.runTurn("more", "s", { turnId: "another" });
    expect(seen.records[0]?.correction).toBeGreaterThan(2.5);
    expect((await next.agent.usage("s"))?.correction).toBe(seen.records[0]?.correction);
  });

  test("and what a request holds beside the conversation is told: the system prompt and the tools", async () => {
    const idle = new RecordingCompressor([]);
    const config = { system: "word ".repeat(300) };
    await using bare = await seeded({ compressors: [idle], config });
    await bare.agent.runTurn("hi", "s");
    const more = new RecordingCompressor([]);
    await using tools = await seeded({ compressors: [more], config, tools: { f: toolOutcome.ok() } });
    await tools.agent.runTurn("hi", "s");
    const [one = 0, two = 0] = [idle.records[0]?.overheadTokens, more.records[0]?.overheadTokens];
    expect(one).toBeGreaterThan(290);
    expect(one).toBeLessThan(320);
    expect(two).toBeGreaterThan(one);
  });
});
