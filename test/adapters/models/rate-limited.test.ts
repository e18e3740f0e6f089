import { getEventListeners } from "node:events";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { rateLimited, type RateLimitOptions } from "../../../src/adapters/models/decorators.js";
import { RateWindow } from "../../../src/adapters/models/decorators/rate-window.js";
import type { ModelResponse } from "../../../src/domain/model.js";
import type { ModelPort } from "../../../src/ports/model.js";
import { modelStep, ScriptedModel, stopResponse, testRuntime, textStream } from "../../../src/testkit/index.js";
import { request, user } from "./chat-outcome.js";
import { broken, chat, stream, wholeOnly } from "./decorated-call.js";

/** Calls that begin are kept by number, and end when the test says so. */
function byHand() {
  const begun: number[] = [];
  const replies: PromiseWithResolvers<ModelResponse>[] = [];
  const model: ModelPort = {
    chat({ round }) {
      const reply = Promise.withResolvers<ModelResponse>();
      begun.push(round);
      replies.push(reply);
      return reply.promise;
    },
  };
  return {
    model,
    begun,
    fail: (nth: number, usage?: ModelResponse["usage"]) => replies[nth]?.reject(broken("server", { usage })),
    end: (nth: number, usage?: ModelResponse["usage"]) => replies[nth]?.resolve({ ...stopResponse("ok"), usage }),
  };
}

function setUp(options: RateLimitOptions) {
  const runtime = testRuntime();
  const { model, ...hand } = byHand();
  const limited = rateLimited(model, { runtime, ...options });
  const calls: ReturnType<typeof chat>[] = [];
  const ask = (round: number, fields: Parameters<typeof request>[0] = {}): ReturnType<typeof chat> => {
    const call = chat(limited, request({ round, ...fields }));
    calls.push(call);
    return call;
  };
  return { runtime, ask, ...hand };
}

const minute = 60_000;

describe("rateLimited", () => {
  it("changes nothing for calls that fit, streaming or not", async () => {
    const runtime = testRuntime();
    for (const ask of [stream, chat]) {
      const inner = new ScriptedModel([modelStep.stream(textStream("good", 2))]);
      const model = rateLimited(inner, { runtime, requestsPerMinute: 1, tokensPerMinute: 10_000, concurrency: 1 });
      expect((await ask(model)).response).toEqual(stopResponse("good"));
      expect(runtime.pendingTimers).toBe(0);
    }
  });

  it("streams only where the model does, and describes itself as the model", () => {
    const inner = new ScriptedModel([], { contextWindow: 7 });
    expect(rateLimited(inner, {}).describe?.()).toEqual(inner.describe());
    expect(rateLimited(wholeOnly(inner), {})).not.toHaveProperty("chatStreaming");
  });

  it("refuses options that make no sense", () => {
    for (const options of [{ concurrency: 0 }, { requestsPerMinute: Number.NaN }, { tokens: 1 }]) {
      expect(() => rateLimited(new ScriptedModel(), options as RateLimitOptions)).toThrow("invalid-config");
    }
  });
});

describe("a limit on concurrency", () => {
  it("lets calls in, first come first served, as others end or fail", async () => {
    const { ask, begun, end, fail, runtime } = setUp({ concurrency: 2 });
    for (const round of [0, 1, 2, 3]) void ask(round);
    await runtime.advance(0);
    expect(begun).toEqual([0, 1]);
    fail(1);
    await runtime.advance(0);
    expect(begun).toEqual([0, 1, 2]);
    end(0);
    end(2);
    await runtime.advance(0);
    expect(begun).toEqual([0, 1, 2, 3]);
    expect(runtime.pendingTimers).toBe(0);
  });
});

describe("a limit on requests", () => {
  it("holds for any 60 seconds, not for minutes of the clock", async () => {
    const { ask, begun, runtime } = setUp({ requestsPerMinute: 2 });
    void ask(0);
    await runtime.advance(40_000);
    for (const round of [1, 2, 3]) void ask(round);
    await runtime.advance(19_999);
    expect(begun).toEqual([0, 1]);
    await runtime.advance(1);
    expect(begun).toEqual([0, 1, 2]);
    await runtime.advance(39_999);
    expect(begun).toEqual([0, 1, 2]);
    await runtime.advance(1);
    expect(begun).toEqual([0, 1, 2, 3]);
    expect(runtime.pendingTimers).toBe(0);
  });
});

describe("a limit on tokens", () => {
  const tokens = (count: number): RateLimitOptions => ({ tokensPerMinute: count, estimate: ({ round }) => round });

  it("counts estimates until the usage is known: what was too much is free again at once", async () => {
    const { ask, begun, end, runtime } = setUp(tokens(100));
    void ask(60);
    void ask(50);
    await runtime.advance(0);
    expect(begun).toEqual([60]);
    end(0, { inputTokens: 20, outputTokens: 30 });
    await runtime.advance(0);
    expect(begun).toEqual([60, 50]);
  });

  it("counts what was used beyond the estimate from when it is known", async () => {
    const { ask, begun, end, runtime } = setUp(tokens(100));
    void ask(10);
    await runtime.advance(minute);
    end(0, { totalTokens: 100 });
    await runtime.advance(0);
    void ask(20);
    await runtime.advance(minute - 1);
    expect(begun).toEqual([10]);
    await runtime.advance(1);
    expect(begun).toEqual([10, 20]);
  });

  it("takes no correction for another request", async () => {
    const { ask, begun, end, runtime } = setUp({ ...tokens(100), requestsPerMinute: 2 });
    void ask(10);
    await runtime.advance(0);
    end(0, { totalTokens: 20 });
    await runtime.advance(0);
    void ask(30);
    await runtime.advance(0);
    expect(begun).toEqual([10, 30]);
  });

  it("counts the usage of calls that failed, and the estimate where nobody knows", async () => {
    const { ask, begun, fail, runtime } = setUp(tokens(100));
    void ask(60);
    await runtime.advance(0);
    fail(0);
    void ask(41);
    await runtime.advance(0);
    expect(begun).toEqual([60]);
    await runtime.advance(minute);
    fail(1, { inputTokens: 1 });
    void ask(99);
    await runtime.advance(0);
    expect(begun).toEqual([60, 41, 99]);
  });

  it("lets nobody overtake the first, however small", async () => {
    const { ask, begun, runtime } = setUp(tokens(100));
    for (const round of [90, 50, 5]) void ask(round);
    await runtime.advance(minute - 1);
    expect(begun).toEqual([90]);
    await runtime.advance(1);
    expect(begun).toEqual([90, 50, 5]);
  });

  it("lets a call larger than the limit go alone", async () => {
    const { ask, begun, runtime } = setUp(tokens(100));
    for (const round of [1, 500, 2]) void ask(round);
    await runtime.advance(minute - 1);
    expect(begun).toEqual([1]);
    await runtime.advance(1);
    expect(begun).toEqual([1, 500]);
    await runtime.advance(minute);
    expect(begun).toEqual([1, 500, 2]);
  });

  it("fails a call whose estimate fails or is no count, and books nothing for it", async () => {
    for (const estimate of [() => Number.NaN, () => -1, () => Infinity]) {
      const { ask, begun } = setUp({ tokensPerMinute: 10, estimate });
      expect((await ask(0)).error).toMatchObject({ kind: "request-build", retryable: false });
      expect(begun).toEqual([]);
    }
    const cause = new Error("no tokenizer");
    const { ask } = setUp({
      tokensPerMinute: 10,
      estimate: () => {
        throw cause;
      },
    });
    expect((await ask(0)).error).toMatchObject({ kind: "request-build", cause });
  });

  it("estimates by the messages and the output that is allowed", async () => {
    const { ask, begun, runtime } = setUp({ tokensPerMinute: 1000 });
    void ask(0, { messages: [user("x".repeat(2000))] });
    void ask(1, { options: { maxOutputTokens: 600 } });
    await runtime.advance(0);
    expect(begun).toEqual([0]);
    await runtime.advance(minute);
    expect(begun).toEqual([0, 1]);
  });
});

describe("a call that waits", () => {
  it("leaves the queue when it is aborted, and lets the next one in", async () => {
    const { ask, begun, runtime } = setUp({ tokensPerMinute: 100, estimate: ({ round }) => round });
    const controller = new AbortController();
    void ask(60);
    const waiting = ask(50, { signal: controller.signal });
    void ask(40);
    await runtime.advance(0);
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(1);
    controller.abort();
    expect((await waiting).error).toMatchObject({ kind: "aborted", retryable: false });
    await runtime.advance(0);
    expect(begun).toEqual([60, 40]);
    expect(runtime.pendingTimers).toBe(0);
  });

  it("leaves no timer behind when it was the last", async () => {
    const { ask, runtime } = setUp({ requestsPerMinute: 1 });
    const controller = new AbortController();
    void ask(0);
    const waiting = ask(1, { signal: controller.signal });
    await runtime.advance(0);
    expect(runtime.pendingTimers).toBe(1);
    controller.abort();
    await waiting;
    expect(runtime.pendingTimers).toBe(0);
  });

  it("is not even queued when it is aborted already, and books nothing", async () => {
    const { ask, begun, runtime } = setUp({ requestsPerMinute: 1 });
    expect((await ask(0, { signal: AbortSignal.abort() })).error).toMatchObject({ kind: "aborted" });
    void ask(1);
    await runtime.advance(0);
    expect(begun).toEqual([1]);
  });

  it("keeps no listener once it began", async () => {
    const { ask, runtime } = setUp({ concurrency: 1 });
    const { signal } = new AbortController();
    void ask(0, { signal });
    await runtime.advance(0);
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });
});

describe("the window", () => {
  it("never lets more in within any 60 seconds than it may, and nobody waits longer than needed", () => {
    const asks = fc.array(
      fc.record({ gap: fc.integer({ min: 0, max: 30_000 }), tokens: fc.integer({ min: 0, max: 60 }) }),
    );
    fc.assert(
      fc.property(asks, (list) => {
        const limits = { requestsPerMinute: 5, tokensPerMinute: 100 };
        const window = new RateWindow(limits);
        const begun: { at: number; tokens: number }[] = [];
        const fits = (at: number, tokens: number): boolean => {
          const recent = begun.filter((one) => one.at > at - minute);
          const sum = recent.reduce((total, one) => total + one.tokens, tokens);
          return recent.length < limits.requestsPerMinute && sum <= limits.tokensPerMinute;
        };
        let now = 0;
        for (const { gap, tokens } of list) {
          now += gap;
          const wait = window.waitFor(tokens, now);
          if (wait > 0) expect(fits(now + wait - 1, tokens)).toBe(false);
          now += wait;
          expect(fits(now, tokens)).toBe(true);
          expect(window.waitFor(tokens, now)).toBe(0);
          window.book(tokens, now);
          begun.push({ at: now, tokens });
        }
      }),
    );
  });
});
