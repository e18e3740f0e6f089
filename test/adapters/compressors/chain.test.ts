import { describe, expect, test } from "vitest";
import { ChainCompressor } from "../../../src/adapters/compressors/chain.js";
import { TokenBudgetCompressor } from "../../../src/adapters/compressors/token-budget.js";
import { ToolResultTrimCompressor } from "../../../src/adapters/compressors/tool-result-trim.js";
import { CompositionError, ModelError } from "../../../src/domain/errors.js";
import { estimateAll } from "../../../src/domain/estimate.js";
import { type AgentMessage, textOf, userMessage } from "../../../src/domain/message.js";
import type { Compressor, ContextMessages } from "../../../src/ports/compressor.js";
import { type CompressStep, RecordingCompressor, stopResponse, testAgent } from "../../../src/testkit/index.js";
import { calling, linesOf, reply, result, sent, user } from "../../support/conversations.js";

const { signal } = new AbortController();
const messages = [user("u0", "x".repeat(2_000)), reply("a0"), user("u1")];
const context = { sessionId: "s", reason: "overflow", estimatedTokens: 9, correction: 2, signal } as const;
const fails = (kind: "server" | "timeout"): Compressor => ({
  compress: () => {
    throw new ModelError(kind, "down");
  },
});
const view =
  (pick: (given: readonly AgentMessage[]) => ContextMessages): CompressStep =>
  (given) => ({
    type: "view",
    messages: pick(given),
  });

describe("a chain", () => {
  test("answers what the first compressor does that does anything, and asks no further", async () => {
    const idle = new RecordingCompressor([{ type: "none" }], "idle");
    const first = new RecordingCompressor([view((given) => given.slice(2))], "first");
    const second = new RecordingCompressor([], "second");
    const chain = new ChainCompressor([idle, first, second]);
    expect(await chain.compress(messages, context)).toEqual({ type: "view", messages: messages.slice(2) });
    expect([idle, first, second].map(({ records }) => records.length)).toEqual([1, 1, 0]);
    expect(chain.name).toBe("chain(idle, first, second)");
  });

  test("of nobody who does anything does nothing", async () => {
    expect(await new ChainCompressor([]).compress(messages, context)).toEqual({ type: "none" });
    const idle = new RecordingCompressor([{ type: "none" }]);
    expect(await new ChainCompressor([idle], { mode: "all" }).compress(messages, context)).toEqual({ type: "none" });
  });

  test("in mode all shows each the view of those before, with its size, and answers the last view", async () => {
    const first = new RecordingCompressor([view((given) => [userMessage("summary"), ...given.slice(1)])]);
    const second = new RecordingCompressor([view((given) => given.filter(({ id }) => id !== "a0"))]);
    const action = await new ChainCompressor([first, second], { mode: "all" }).compress(messages, context);
    const [seen] = second.records;
    expect(linesOf(seen?.messages)).toEqual(["user summary", "assistant a0", "user u1"]);
    expect(seen?.estimatedTokens).toBe(estimateAll(seen?.messages ?? []) * 2);
    expect(action).toEqual({ type: "view", messages: [userMessage("summary"), messages[2]] });
  });

  test("in mode all ends with the first that replaces messages; what had no id has none, also where it was changed", async () => {
    const first = new RecordingCompressor([
      view((given) => [userMessage("one"), userMessage("two"), ...given.slice(1)]),
    ]);
    const second = new RecordingCompressor([
      ([one, two]) => ({
        type: "replace",
        messages: [one as AgentMessage, { ...two, name: "ann" } as AgentMessage],
        upTo: "a0",
      }),
    ]);
    const third = new RecordingCompressor([]);
    const action = await new ChainCompressor([first, second, third], { mode: "all" }).compress(messages, context);
    const named = { ...userMessage("two"), name: "ann" };
    expect(action).toEqual({ type: "replace", messages: [userMessage("one"), named], upTo: "a0" });
    expect(third.records).toEqual([]);
  });

  test("asks the next where the model of one fails, and tells of it", async () => {
    const told: unknown[] = [];
    const last = new RecordingCompressor([view((given) => given.slice(2))]);
    const chain = new ChainCompressor([fails("server"), fails("timeout"), last]);
    const action = await chain.compress(messages, { ...context, report: (error) => told.push(error) });
    expect(action.type).toBe("view");
    expect(told.map(String)).toEqual([expect.stringContaining("server"), expect.stringContaining("timeout")]);
  });

  test("whose models all fail rejects with the last failure", async () => {
    const chain = new ChainCompressor([fails("server"), new RecordingCompressor([]), fails("timeout")]);
    await expect(chain.compress(messages, context)).rejects.toMatchObject({ kind: "timeout" });
  });

  test("stops at any other error, and when nobody waits any more", async () => {
    const breaks: Compressor = {
      compress: () => {
        throw new RangeError("bug");
      },
    };
    const next = new RecordingCompressor([]);
    await expect(new ChainCompressor([breaks, next]).compress(messages, context)).rejects.toThrow(RangeError);
    const aborted = { ...context, signal: AbortSignal.abort() };
    await expect(new ChainCompressor([next]).compress(messages, aborted)).rejects.toThrow();
    expect(next.records).toEqual([]);
  });

  test.each([
    [[{}], {}],
    ["compressors", {}],
    [[], { mode: "last" }],
    [[], { modes: "all" }],
  ])("of %j with options %j is refused", (parts, options) => {
    expect(() => new ChainCompressor(parts as never, options as never)).toThrow(CompositionError);
  });
});

test.each([
  ["nothing", undefined],
  ["null", null],
  ["text", "none"],
  ["a view without messages", { type: "view" }],
  ["a view of text", { type: "view", messages: "x" }],
  ["a view that holds none", { type: "view", messages: [null] }],
])("a part that answers %s is told like one that stands alone, and the turn goes on", async (_, answer) => {
  const crooked: Compressor = { name: "crooked", compress: () => answer as never };
  const told = async (compressor: Compressor): Promise<unknown[]> => {
    await using t = await testAgent({ script: [stopResponse("ok")], compressors: [compressor] });
    t.sessions.seed("s", { messages });
    expect((await t.agent.runTurn("hi", "s")).status).toBe("completed");
    return t.observer.ofType("custom").map(({ label, data }) => [label, data["stage"], data["errorCategory"]]);
  };
  const alone = await told(crooked);
  expect(alone).toHaveLength(1);
  for (const mode of ["first", "all"] as const)
    expect(await told(new ChainCompressor([crooked, new TokenBudgetCompressor()], { mode }))).toEqual(alone);
});

test("results are trimmed first, and only what still does not fit is left out: through an agent", async () => {
  const exchanges = Array.from({ length: 8 }, (_, n) => [
    calling(`c${n}`, `id${n}`),
    result(`r${n}`, `id${n}`, `begin ${"word ".repeat(2_000)} end`),
  ]);
  const history = [user("u0", "keep me"), ...exchanges.flat(), reply("a", "done")];
  const parts = [new ToolResultTrimCompressor({ keepNewest: 1 }), new TokenBudgetCompressor()];
  const chain = new ChainCompressor(parts, { mode: "all" });
  const request = async (modelContextWindow: number): Promise<string[]> => {
    await using t = await testAgent({
      script: [stopResponse("ok")],
      compressors: [chain],
      config: { modelContextWindow },
    });
    t.sessions.seed("s", { messages: history });
    await t.agent.runTurn("hi", "s");
    expect(textOf((await t.agent.session("s")).messages[2] as never).length).toBeGreaterThan(10_000);
    return sent(t);
  };
  const roomy = await request(12_000);
  expect([roomy[0], roomy.length]).toEqual(["user keep me", history.length + 1]);
  const narrow = await request(4_000);
  expect([narrow.at(-1), narrow.length < roomy.length]).toEqual(["user hi", true]);
});
