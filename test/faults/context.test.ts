import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ChainCompressor } from "../../src/adapters/compressors/chain.js";
import { SlidingWindowCompressor } from "../../src/adapters/compressors/sliding-window.js";
import { SummarizeCompressor, type SummarizeOptions } from "../../src/adapters/compressors/summarize.js";
import { TokenBudgetCompressor } from "../../src/adapters/compressors/token-budget.js";
import { ToolResultTrimCompressor } from "../../src/adapters/compressors/tool-result-trim.js";
import type { Content } from "../../src/domain/content.js";
import { ModelError } from "../../src/domain/errors.js";
import { estimateAll } from "../../src/domain/estimate.js";
import { type AgentMessage, type Message, type MessageInput, textOf } from "../../src/domain/message.js";
import { assistantMessage, toolResultMessage, userMessage } from "../../src/domain/message.js";
import type { ModelResponse } from "../../src/domain/model.js";
import { isPinned, pinned } from "../../src/domain/pins.js";
import { okResult } from "../../src/domain/tool.js";
import { transcriptLaw } from "../../src/domain/transcript-law.js";
import type { Compressor } from "../../src/ports/compressor.js";
import type { ModelPort } from "../../src/ports/model.js";
import {
  modelStep,
  type ModelStep,
  ScriptedModel,
  stopResponse,
  testAgent,
  type TestAgent,
  type TestAgentOptions,
  toolCallResponse,
  toolOutcome,
} from "../../src/testkit/index.js";
import { sqliteFixture } from "../adapters/sessions/sqlite-fixture.js";
import { rejectionOf } from "../support/turns.js";

const asking = (...ids: readonly string[]): MessageInput =>
  assistantMessage(ids.map((id) => ({ type: "toolCall", id, name: "f", arguments: {} })));
const answering = (id: string, text = `r-${id}`): MessageInput =>
  toolResultMessage({ id, name: "f", arguments: {} }, okResult(text));
const filler = (word: string, words = 400): string => `${word} ${"word ".repeat(words)}`;

type Stored = TestAgent & { readonly history: readonly AgentMessage[] };

/** An agent over a database file whose session "s" holds this. */
async function agentOn(history: readonly MessageInput[], options: TestAgentOptions): Promise<Stored & AsyncDisposable> {
  const fixture = sqliteFixture();
  const messages = history.map((message, index) => ({ ...message, id: `h.${index}`, at: index }) as AgentMessage);
  if (messages.length > 0) await fixture.store.save("s", { messages, metadata: {}, revision: 0 });
  const t = await testAgent({ sessions: [fixture.store], tools: { f: toolOutcome.ok("fine") }, ...options });
  return Object.assign(t, {
    history: messages,
    async [Symbol.asyncDispose]() {
      await t.agent.shutdown();
      await fixture[Symbol.asyncDispose]();
    },
  });
}

const lastRequest = (t: TestAgent): readonly Message[] => t.model.requests.at(-1)?.messages ?? [];
const secondary = (t: TestAgent): unknown[] =>
  t.observer
    .ofType("custom")
    .flatMap(({ label, data }) => (label === "secondary_failure" ? [data["errorCategory"]] : []));

/** A model of summaries that says how often it was asked, and of what. */
const summaries = (...script: readonly (ModelStep | ModelResponse)[]): ScriptedModel =>
  new ScriptedModel(script.length > 0 ? script : Array.from({ length: 50 }, (_, n) => stopResponse(`Summary ${n}.`)));
const summarizing = (options: Partial<SummarizeOptions> = {}): SummarizeCompressor =>
  new SummarizeCompressor({ model: summaries(), ...options });

/** One of each kind, made to act on conversations of some thousand tokens, before a model call. */
const all: readonly (readonly [string, (room: number) => Compressor])[] = [
  ["sliding-window", (room) => new SlidingWindowCompressor({ maxMessages: Math.ceil(room / 300) })],
  ["token-budget", (room) => new TokenBudgetCompressor({ maxTokens: room })],
  ["tool-result-trim", (room) => new ToolResultTrimCompressor({ maxTokens: room, keepNewest: 1, maxCharacters: 50 })],
  ["summarize", (room) => summarizing({ maxTokens: room, keepExchanges: 1 })],
  ["summarize into a thread", (room) => summarizing({ maxTokens: room, keepExchanges: 1, into: "newThread" })],
  [
    "chain",
    (room) =>
      new ChainCompressor(
        [
          new ToolResultTrimCompressor({ maxTokens: room, keepNewest: 1 }),
          summarizing({ maxTokens: room, keepExchanges: 2 }),
        ],
        { mode: "all" },
      ),
  ],
];

describe("cuts", () => {
  const longTurn = [
    userMessage(filler("t0")),
    ...["c1", "c2", "c3"].flatMap((id) => [asking(id), answering(id, filler(id))]),
    assistantMessage("fin"),
  ];

  test.each(all)("F148: %s cuts no call from its result, wherever the room ends", async (_, make) => {
    for (let room = 50; room <= 2_000; room += 150) {
      await using t = await agentOn(longTurn, { script: [stopResponse("ok")], compressors: [make(room)] });
      await t.agent.runTurn("next", "s");
      expect(transcriptLaw(lastRequest(t)), `room ${room}`).toEqual([]);
      expect(textOf(lastRequest(t).at(-1) as Message)).toBe("next");
    }
  });

  test.each(all)("F148: %s cuts no batch of parallel calls either, whose ids come again", async (_, make) => {
    const batch = [asking("0", "1"), answering("0", filler("r")), answering("1", filler("r"))];
    const history = [
      userMessage("q"),
      ...batch,
      assistantMessage("a"),
      userMessage("q"),
      ...batch,
      assistantMessage("b"),
    ];
    for (let room = 50; room <= 2_000; room += 350) {
      await using t = await agentOn(history, { script: [stopResponse("ok")], compressors: [make(room)] });
      await t.agent.runTurn("next", "s");
      expect(transcriptLaw(lastRequest(t)), `room ${room}`).toEqual([]);
    }
  });

  test.each(all)(
    "F150: a call that never got a result has one in the request under %s, or is not in it",
    async (_, make) => {
      const history = [userMessage(filler("q")), assistantMessage(filler("x")), userMessage("do"), asking("c1")];
      for (const room of [50, 450, 900]) {
        await using t = await agentOn(history, { script: [stopResponse("ok")], compressors: [make(room)] });
        await t.agent.runTurn("next", "s");
        expect(transcriptLaw(lastRequest(t))).toEqual([]);
      }
    },
  );

  test.each(all)(
    "F152: what a user said behind a result is kept by %s without the result of a call that is gone",
    async (_, make) => {
      const history = [
        userMessage(filler("q")),
        asking("t1"),
        answering("t1", filler("1")),
        userMessage("and be quick"),
        assistantMessage("ok"),
      ];
      for (const room of [50, 450, 900]) {
        await using t = await agentOn(history, { script: [stopResponse("ok")], compressors: [make(room)] });
        await t.agent.runTurn("next", "s");
        const request = lastRequest(t);
        expect(transcriptLaw(request)).toEqual([]);
        const hasCall = request.some(
          (message) => message.role === "assistant" && message.parts.some(({ type }) => type === "toolCall"),
        );
        expect(request.some(({ role }) => role === "tool")).toBe(hasCall);
      }
    },
  );

  test("F155: a limit of nothing keeps the newest user message, and not everything", async () => {
    const history = [userMessage("one"), asking("c1"), answering("c1"), assistantMessage("two")];
    const compressors: readonly Compressor[] = [
      new SlidingWindowCompressor({ maxMessages: 0 }),
      new TokenBudgetCompressor({ maxTokens: 1 }),
    ];
    for (const compressor of compressors) {
      await using t = await agentOn(history, { script: [stopResponse("ok")], compressors: [compressor] });
      await t.agent.runTurn("newest", "s");
      expect(lastRequest(t).map(textOf)).toEqual(["newest"]);
    }
  });
});

test("F153: the system prompt is in every request once, and no part of what is summarised", async () => {
  const model = summaries();
  await using t = await agentOn([userMessage(filler("q")), assistantMessage(filler("a"))], {
    script: [stopResponse(filler("b")), stopResponse(filler("c")), stopResponse("d")],
    compressors: [new SummarizeCompressor({ model, maxTokens: 700, keepExchanges: 1 })],
    config: { system: "RULE-7" },
  });
  for (const text of ["one", "two", "three"]) await t.agent.runTurn(filler(text), "s");
  expect(t.observer.ofType("contextReplaced").length).toBeGreaterThanOrEqual(2);
  for (const { messages } of t.model.requests) {
    const having = messages.filter((message) => textOf(message).includes("RULE-7"));
    expect(having.map(({ role }) => role)).toEqual(["system"]);
    expect(messages[0]).toBe(having[0]);
  }
  expect(JSON.stringify(model.requests)).not.toContain("RULE-7");
});

describe("estimates", () => {
  test.each([
    ["token-budget", () => new TokenBudgetCompressor({ maxTokens: 20_000 })],
    ["summarize", () => summarizing({ maxTokens: 20_000 })],
  ] as const)(
    "F157: where a provider counts three times the estimate, %s keeps something recent and the header",
    async (_, make) => {
      const turns = Array.from({ length: 10 }, (_unused, n) => [
        userMessage(filler(`q${n}`, 1_500)),
        assistantMessage(filler("a", 1_500)),
      ]);
      const reported = { ...stopResponse("counted"), usage: { inputTokens: 90_000, outputTokens: 5 } };
      await using t = await agentOn(turns.flat(), {
        script: [reported, stopResponse("ok")],
        compressors: [make()],
        config: { system: "HEADER", modelContextWindow: 200_000 },
      });
      await t.agent.runTurn("first", "s");
      await t.agent.runTurn("newest", "s");
      const texts = lastRequest(t).map(textOf);
      expect([texts[0], texts.at(-1)]).toEqual(["HEADER", "newest"]);
      expect(lastRequest(t).length).toBeLessThan(22);
      expect(transcriptLaw(lastRequest(t))).toEqual([]);
    },
  );

  const data = "A".repeat(4_000_000);
  const inline: Content = { type: "image", mimeType: "image/png", source: { base64: data } };
  const address: Content = { type: "image", mimeType: "image/png", source: { url: `data:image/png;base64,${data}` } };

  test.each([
    ["a user message", [userMessage([{ type: "text", text: "what is this?" }, inline])]],
    ["a data: address", [userMessage([{ type: "text", text: "what is this?" }, address])]],
    [
      "a tool result",
      [
        userMessage("look"),
        asking("c"),
        toolResultMessage({ id: "c", name: "f", arguments: {} }, { content: [inline], isError: false }),
      ],
    ],
  ] as const)("F158: a picture of four million characters in %s compacts nothing, and is sent", async (_, history) => {
    const model = summaries();
    const compressors = [
      new SummarizeCompressor({ model }),
      new TokenBudgetCompressor(),
      new ToolResultTrimCompressor(),
    ];
    await using t = await agentOn([...history, assistantMessage("nice")], {
      script: [stopResponse("a picture")],
      compressors,
      config: { modelContextWindow: 128_000 },
    });
    await t.agent.runTurn("and now?", "s");
    expect(estimateAll(t.history)).toBeLessThan(10_000);
    expect(JSON.stringify(lastRequest(t)).length).toBeGreaterThan(4_000_000);
    expect([model.callCount, t.observer.ofType("contextReplaced")]).toEqual([0, []]);
  });

  test("F160: a result of 400,000 characters of base64 is cut or compressed before the request is sent", async () => {
    const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, n) => (n * 7_919 + (n >> 5) * 31) & 255));
    const dense = bytes.toString("base64");
    const compressors = [new ToolResultTrimCompressor({ keepNewest: 0 }), new TokenBudgetCompressor()];
    const script = [toolCallResponse("f", "c"), stopResponse("done"), stopResponse("more")];
    await using t = await agentOn([], {
      script,
      compressors,
      tools: { f: toolOutcome.ok(dense) },
      config: { modelContextWindow: 200_000, maxToolResultBytes: 1_000_000 },
    });
    await t.agent.runTurn("encode it", "s");
    expect(estimateAll(t.model.requests[1]?.messages ?? [])).toBeGreaterThan(160_000);
    await t.agent.runTurn("and then?", "s");
    expect(estimateAll(lastRequest(t))).toBeLessThan(10_000);
  });
});

describe("compaction that does not help", () => {
  const overflow = modelStep.fail(new ModelError("context-overflow", "too long"));
  const history = [
    userMessage(filler("q0")),
    assistantMessage(filler("a0")),
    userMessage("q1"),
    assistantMessage("a1"),
  ];

  test.each(all)(
    "F162: a provider that overflows whatever it is sent is asked twice a turn under %s, then its error stands",
    async (_, make) => {
      const script = Array.from({ length: 20 }, () => overflow);
      await using t = await agentOn(history, {
        script,
        compressors: [make(100_000)],
        config: { modelContextWindow: 100_000 },
      });
      for (const calls of [2, 4]) {
        const id = (await t.agent.session("s")).metadata["ennead.redirected_to"];
        const error = await rejectionOf(t.agent.runTurn("hi", typeof id === "string" ? id : "s"));
        expect(error).toMatchObject({ kind: "model", cause: { kind: "context-overflow" } });
        expect(t.model.callCount).toBeLessThanOrEqual(calls);
      }
      const { messages } = await t.agent.session("s");
      expect(messages.slice(0, 4).map((message) => textOf(message as Message))).toEqual(history.map(textOf));
    },
  );

  test("F162: nor are summaries asked for without end where they succeed and nothing gets smaller", async () => {
    const model = summaries();
    const script = [...Array.from({ length: 7 }, (_, n) => toolCallResponse("f", `c${n}`)), stopResponse("done")];
    await using t = await agentOn([userMessage(filler("q0")), assistantMessage(filler("a0"))], {
      script,
      compressors: [new SummarizeCompressor({ model, maxTokens: 10, keepExchanges: 1 })],
    });
    expect((await t.agent.runTurn(filler("large question", 2_000), "s")).text).toBe("done");
    expect(model.callCount).toBeLessThanOrEqual(3);
  });

  test.each(all.filter(([name]) => name !== "tool-result-trim"))(
    "F127: a result larger than the window costs its turn under %s, and not the session",
    async (_, make) => {
      const window = 4_000;
      const dense = Buffer.from(Array.from({ length: 9_000 }, (_unused, n) => (n * 7_919 + (n >> 5) * 31) & 255));
      const requests: (readonly Message[])[] = [];
      const model: ModelPort = {
        chat: ({ messages }) => {
          requests.push(messages);
          if (estimateAll(messages) > window) return Promise.reject(new ModelError("context-overflow", "too long"));
          return Promise.resolve(requests.length === 1 ? toolCallResponse("f", "c") : stopResponse("ok"));
        },
      };
      await using t = await agentOn([], {
        model,
        compressors: [make(window)],
        tools: { f: toolOutcome.ok(dense.toString("base64")) },
        config: { modelContextWindow: window },
      });
      const error = await rejectionOf(t.agent.runTurn("encode it", "s"));
      expect(error).toMatchObject({ kind: "model", cause: { kind: "context-overflow" } });
      expect((await t.agent.runTurn("shorter, please", "s")).text).toBe("ok");
      expect(textOf(requests.at(-1)?.at(-1) as Message)).toBe("shorter, please");
      expect((await t.agent.session("s")).messages.filter(({ role }) => role === "tool")).toHaveLength(1);
    },
  );

  const failures = [
    ["an error", modelStep.fail(new ModelError("server", "SECRET 500")), "ModelError(server)"],
    ["an overflow", modelStep.fail(new ModelError("context-overflow", "SECRET")), "ModelError(context-overflow)"],
    ["empty text", stopResponse(""), "ModelError(response-parse)"],
    ["a refusal", stopResponse("I'm sorry, but I cannot summarise this."), "ModelError(response-parse)"],
    ["a tool call", toolCallResponse("f", "c"), "ModelError(response-parse)"],
    ["half a text", { ...stopResponse("half"), finishReason: "length" }, "ModelError(response-parse)"],
    ["more than there was", stopResponse(filler("more", 1_500)), "ModelError(response-parse)"],
  ] as const satisfies readonly (readonly [string, ModelStep | ModelResponse, string])[];

  test.each(failures)(
    "F163: a summary that is %s changes no history, is told, and is not tried every round",
    async (_, step, category) => {
      const model = new ScriptedModel([step, stopResponse("a late summary")]);
      const script = [toolCallResponse("f", "x1"), stopResponse("one"), stopResponse("two")];
      await using t = await agentOn(history, {
        script,
        compressors: [new SummarizeCompressor({ model, maxTokens: 500, keepExchanges: 1 })],
      });
      expect((await t.agent.runTurn("first", "s")).text).toBe("one");
      expect((await t.agent.runTurn("second", "s")).text).toBe("two");
      expect([model.callCount, secondary(t)]).toEqual([1, [category]]);
      const { messages, compaction } = await t.agent.session("s");
      expect(compaction).toBeUndefined();
      expect(messages.slice(0, 4).map((message) => textOf(message as Message))).toEqual(history.map(textOf));
      for (const request of t.model.requests) {
        expect(request.messages.slice(0, 4).map(textOf)).toEqual(history.map(textOf));
        expect(JSON.stringify(request.messages)).not.toMatch(/SECRET|half|sorry|more word/);
      }
    },
  );

  test.each(failures)(
    "F163: one that somebody asked for and that is %s rejects, and the session is what it was",
    async (_, step) => {
      const model = new ScriptedModel([step, stopResponse("They talked.")]);
      await using t = await agentOn(history, { compressors: [new SummarizeCompressor({ model, keepExchanges: 1 })] });
      const { revision } = await t.agent.session("s");
      expect((await rejectionOf(t.agent.compact("s"))).cause).toBeInstanceOf(ModelError);
      expect(await t.agent.session("s")).toMatchObject({ revision, messages: { length: 4 } });
      expect(await t.agent.compact("s")).toMatchObject({ changed: true, before: 4 });
    },
  );

  test("F162: an estimate that was far too high is not believed for ever: what the provider counts brings it down", async () => {
    const small = { ...stopResponse("ok"), usage: { inputTokens: 450, outputTokens: 1 } };
    const model = summaries();
    await using t = await agentOn(history, {
      script: [small, small, small],
      compressors: [new SummarizeCompressor({ model, maxTokens: 900 })],
    });
    for (const text of ["one", "two", "three"]) await t.agent.runTurn(text, "s");
    expect(model.callCount).toBe(0);
  });
});

describe("old messages", () => {
  const turns = Array.from({ length: 40 }, (_, n) => [
    userMessage(n === 0 ? "my code is K9" : `turn ${n}`),
    assistantMessage(`noted ${n}`),
  ]).flat();

  test.each([
    ["nobody", []],
    ["token-budget", [new TokenBudgetCompressor()]],
    ["tool-result-trim", [new ToolResultTrimCompressor()]],
    ["summarize", [summarizing()]],
    ["the default window of a hundred messages", [new SlidingWindowCompressor({ maxMessages: 100 })]],
  ] as const)("F165: forty short turns are all in the request of the next under %s", async (_, compressors) => {
    await using t = await agentOn(turns, {
      script: [stopResponse("K9")],
      compressors,
      config: { modelContextWindow: 128_000 },
    });
    await t.agent.runTurn("what is my code?", "s");
    expect(lastRequest(t)).toHaveLength(81);
    expect(textOf(lastRequest(t)[0] as Message)).toBe("my code is K9");
  });

  test("F165: what a summary says of them is in every later request, also in another agent and under a second summary", async () => {
    const model = summaries(stopResponse("The code is K9."), stopResponse("The code is K9, still."));
    const compressors = [new SummarizeCompressor({ model, maxTokens: 400, keepExchanges: 1 })];
    const fixture = sqliteFixture();
    await using _closing = fixture;
    await using t = await agentOn(turns, { script: [stopResponse(filler("Yes:")), stopResponse("and?")], compressors });
    await t.agent.runTurn("what is my code?", "s");
    expect(textOf(lastRequest(t)[0] as Message)).toContain("The code is K9.");
    await t.agent.runTurn(filler("again"), "s");
    const session = await t.agent.session("s");
    expect(session.messages).toHaveLength(84);
    await fixture.store.save("s", session, { replace: true });
    const script = [stopResponse("K9")];
    await using other = await testAgent({ script, compressors, sessions: [fixture.store] });
    await other.agent.runTurn("and now?", "s", { turnId: "another" });
    expect(model.callCount).toBe(2);
    for (const { messages } of [...t.model.requests, ...other.model.requests]) {
      expect(JSON.stringify(messages)).toContain("K9");
    }
  });
});

describe("whatever was said", () => {
  const step = fc.record({
    kind: fc.constantFrom("user", "reply", "calls", "calls"),
    words: fc.integer({ min: 1, max: 300 }),
    ids: fc.uniqueArray(fc.constantFrom("c1", "c2", "c3"), { minLength: 1, maxLength: 3 }),
    pin: fc.nat(9),
  });
  const histories = fc.array(step, { minLength: 1, maxLength: 14 }).map((steps) =>
    steps.flatMap(({ kind, words, ids, pin }, n): MessageInput[] => {
      const keep = <M extends MessageInput>(message: M): M => (pin === 0 ? pinned(message) : message);
      if (kind === "user") return [keep(userMessage(filler(`q${n}`, words)))];
      if (kind === "reply") return [keep(assistantMessage(filler(`a${n}`, words)))];
      return [asking(...ids), ...ids.map((id) => keep(answering(id, filler(`r${n}`, words))))];
    }),
  );

  test.each(all)(
    "under %s requests are lawful, pins and the newest message stay, and the session keeps all",
    async (_, make) => {
      await fc.assert(
        fc.asyncProperty(histories, fc.integer({ min: 1, max: 2_000 }), async (given, room) => {
          const history = [userMessage("hello"), ...given];
          await using t = await agentOn(history, {
            script: [toolCallResponse("f", "n1"), stopResponse("ok")],
            compressors: [make(room)],
          });
          const { finalSessionId } = await t.agent.runTurn("newest", "s");
          for (const { messages } of t.model.requests) {
            expect(transcriptLaw(messages)).toEqual([]);
            expect(messages.find(({ role }) => role !== "system")?.role).toBe("user");
            expect(messages.some((message) => textOf(message) === "newest")).toBe(true);
            const texts = messages.map(textOf);
            for (const message of t.history) if (isPinned(message)) expect(texts).toContain(textOf(message as Message));
          }
          expect((await t.agent.session("s")).messages.slice(0, history.length)).toHaveLength(history.length);
          const { messages } = await t.agent.session(finalSessionId);
          expect(textOf(messages.at(-1) as Message)).toBe("ok");
        }),
        { numRuns: 15 },
      );
    },
  );
});
