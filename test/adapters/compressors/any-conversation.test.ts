import fc from "fast-check";
import { expect, test } from "vitest";
import { ChainCompressor } from "../../../src/adapters/compressors/chain.js";
import { SlidingWindowCompressor } from "../../../src/adapters/compressors/sliding-window.js";
import { SummarizeCompressor } from "../../../src/adapters/compressors/summarize.js";
import { TokenBudgetCompressor } from "../../../src/adapters/compressors/token-budget.js";
import { ToolResultTrimCompressor } from "../../../src/adapters/compressors/tool-result-trim.js";
import { ModelError } from "../../../src/domain/errors.js";
import { type AgentMessage, isMessage, type Message, toolCallsOf } from "../../../src/domain/message.js";
import type { ModelResponse } from "../../../src/domain/model.js";
import { isPinned, pinned } from "../../../src/domain/pins.js";
import type { Compressor } from "../../../src/ports/compressor.js";
import type { ModelPort } from "../../../src/ports/model.js";
import {
  orderResults,
  stopResponse,
  testAgent,
  toolCallResponse,
  toolCallsResponse,
  toolOutcome,
  transcriptLaw,
} from "../../../src/testkit/index.js";
import { calling, reply, result, user } from "../../support/conversations.js";

const text = fc.oneof(
  fc.string({ maxLength: 30 }),
  fc.constantFrom("", "漢字かな".repeat(40), "word ".repeat(200), "💥".repeat(50), "\ud800", "</summary>\n<summary>"),
);
const step = fc.record({
  kind: fc.constantFrom("user", "user", "reply", "calls", "system"),
  texts: fc.array(text, { minLength: 4, maxLength: 4 }),
  calls: fc.integer({ min: 1, max: 4 }),
  pin: fc.nat(9),
  reverse: fc.boolean(),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const PICTURE = { type: "image", source: { base64: "iVBORw0KGgo=" }, mimeType: "image/png" } as const;

/** What one step adds; calls of several replies have the same ids, and their results come in any order. */
function messagesOf({ kind, texts, calls, pin, reverse }: Step, n: number): Message[] {
  const own = <M extends Message>(message: M): M => (pin === 0 ? (pinned(message) as M) : message);
  const [first = ""] = texts;
  switch (kind) {
    case "reply":
      return [own(reply(`m${n}`, first))];
    case "system":
      return [own({ role: "system", id: `m${n}`, at: 0, content: [{ type: "text", text: first }] })];
    case "calls": {
      const ids = Array.from({ length: calls }, (_, call) => `c${call}`);
      const results = ids.map((id, call) => result(`m${n}.${call}`, id, texts[call]));
      return [own(calling(`m${n}`, ...ids)), ...(reverse ? results.reverse() : results)];
    }
    default:
      return [own({ ...user(`m${n}`, first), content: [{ type: "text", text: first }, PICTURE] })];
  }
}

const answers: Readonly<Record<string, () => ModelResponse>> = {
  short: () => stopResponse("All is well."),
  none: () => stopResponse(""),
  long: () => stopResponse("word ".repeat(20_000)),
  refused: () => ({ ...stopResponse("no"), finishReason: "refusal" }),
  cut: () => ({ ...stopResponse("All is"), finishReason: "length" }),
  calls: () => toolCallResponse("f", "x", {}),
  fails: () => {
    throw new ModelError("transport", "down", { retryable: false });
  },
};

/** Each way of making a conversation smaller. The model of summaries gives the answers of `words` in turn; whoever asks it without end is stopped. */
function compressorOf(kind: string, words: readonly string[], size: number): Compressor {
  let asked = 0;
  const model: ModelPort = {
    chat: async () => {
      if (asked > 100) throw new TypeError("summaries without end");
      return (answers[words[asked++ % words.length] ?? ""] ?? answers["short"])?.() as ModelResponse;
    },
  };
  const of = (other: string): Compressor => compressorOf(other, words, size);
  const summary = { model, maxTokens: 50 + size * 10, keepExchanges: 1 + (size % 3) };
  switch (kind) {
    case "window":
      return new SlidingWindowCompressor({ maxMessages: size % 9 });
    case "budget":
      return new TokenBudgetCompressor({ maxTokens: 1 + size * 20 });
    case "trim":
      return new ToolResultTrimCompressor({ share: 0.1, keepNewest: size % 3, maxCharacters: size * 3 });
    case "summary":
      return new SummarizeCompressor(summary);
    case "thread":
      return new SummarizeCompressor({ ...summary, into: "newThread" });
    case "first":
      return new ChainCompressor([of("summary"), of("window")]);
    default:
      return new ChainCompressor([of("trim"), of("first"), of("budget")], { mode: "all" });
  }
}

/** A model that asks for tools twice a turn, and may refuse requests as too large. */
function asking(refuses: "nothing" | "the first" | "all", window: number) {
  const requests: (readonly Message[])[] = [];
  const model: ModelPort = {
    describe: () => ({ provider: "test", model: "test", contextWindow: window }),
    chat: async ({ messages }) => {
      requests.push(messages);
      const n = requests.length;
      if (refuses === "all" || (refuses === "the first" && n === 1))
        throw new ModelError("context-overflow", "too large");
      if (n > 2) return stopResponse("done");
      return toolCallsResponse(...["x", "y"].map((id) => ({ id: id + n, name: "f", arguments: {} })));
    },
  };
  return { model, requests };
}

/** What a request of a conversation holds whatever a compressor made of it (C1). */
function expectWhole(request: readonly Message[], history: readonly Message[]): void {
  expect(transcriptLaw(orderResults(request))).toEqual([]);
  expect(request.find(({ role }) => role !== "system")?.role).toBe("user");
  const there = new Map(request.map((message) => [message.id, message]));
  for (const [at, message] of history.entries()) {
    const empty = message.role === "assistant" && message.parts.length === 0;
    if (isPinned(message) && !empty) expect(there.get(message.id)).toEqual(message);
    const whole = history.slice(at, at + 1 + toolCallsOf(message).length);
    expect([0, whole.length]).toContain(whole.filter(({ id }) => there.has(id)).length);
  }
}

test("any conversation, compressed in any way, is sent whole in its parts, with what is pinned, and is stored as it was (C1)", async () => {
  const kinds = fc.constantFrom("window", "budget", "trim", "summary", "thread", "first", "all");
  const words = fc.array(fc.constantFrom(...Object.keys(answers)), { minLength: 1, maxLength: 4 });
  const refuses = fc.constantFrom("nothing" as const, "the first" as const, "all" as const);
  const windows = fc.integer({ min: 100, max: 5_000 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 14 }),
      kinds,
      words,
      fc.nat(60),
      windows,
      refuses,
      async (...given) => {
        const [steps, kind, said, size, window, refused] = given;
        const history = [user("m", "begin"), ...steps.flatMap(messagesOf)];
        const { model, requests } = asking(refused, window);
        const tools = { f: Array.from({ length: 8 }, () => toolOutcome.ok("r".repeat(500))) };
        const t = await testAgent({ model, tools, compressors: [compressorOf(kind, said, size)] });
        t.sessions.seed("s", { messages: history });
        const first = await t.agent.runTurn("next", "s").catch((error: unknown) => error);
        if (first instanceof Error) expect(first.message).toContain("context-overflow");
        await t.agent.compact("s").catch(() => undefined);
        const kept: readonly AgentMessage[] = (await t.agent.session("s")).messages.filter(isMessage);
        expect(kept.slice(0, history.length)).toEqual(history);
        for (const request of requests) expectWhole(request, history);
        expect(requests.length).toBeLessThanOrEqual(4);
        await t.agent.shutdown();
      },
    ),
    { numRuns: 300 },
  );
});
