import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { Defect } from "../../../src/domain/errors.js";
import { retrying, type TimeoutOptions, timeouts } from "../../../src/adapters/models/decorators.js";
import { OpenAiChatModel } from "../../../src/adapters/models/openai-chat.js";
import type { ModelResponse } from "../../../src/domain/model.js";
import type { ChunkListener, ModelPort } from "../../../src/ports/model.js";
import {
  modelStep,
  ScriptedModel,
  stopResponse,
  type TestRuntime,
  testRuntime,
  textStream,
} from "../../../src/testkit/index.js";
import { request } from "./chat-outcome.js";
import { broken, type Call, chat, STOP_CHUNK, stream, text, usage, wholeOnly } from "./decorated-call.js";
import { delta, loopback, SSE } from "./loopback.js";

const paced = (runtime: TestRuntime, everyMs: number, pieces = 3) =>
  modelStep.stream(textStream("abcdef", pieces), undefined, { runtime, everyMs });

/** A model whose call is played by hand, and that tells when it is aborted; it settles only when the test says so. */
function byHand() {
  const reply = Promise.withResolvers<ModelResponse>();
  let emit: ChunkListener = () => undefined;
  let signal: AbortSignal | undefined;
  const model: ModelPort = {
    chat(asked) {
      signal = asked.signal;
      return reply.promise;
    },
    chatStreaming(asked, onChunk) {
      emit = onChunk;
      return model.chat(asked);
    },
  };
  return { model, reply, emit: ((chunk) => emit(chunk)) as ChunkListener, aborted: () => signal?.aborted };
}

/** Fails where the call has not settled by now, instead of waiting for it. */
async function settledBy(call: Promise<Call>): Promise<Call> {
  const nothing = Symbol("nothing");
  const first = await Promise.race([call, new Promise((resolve) => void setImmediate(resolve, nothing))]);
  if (first === nothing) throw new Error("the call has not settled");
  return call;
}

describe("timeouts", () => {
  it("change nothing for a call that is quick enough, and leave no timer", async () => {
    const runtime = testRuntime();
    for (const ask of [stream, chat]) {
      const model = timeouts(new ScriptedModel([modelStep.stream(textStream("good", 2))]), {
        runtime,
        firstTokenTimeoutMs: 1,
        idleTimeoutMs: 1,
        totalTimeoutMs: 1,
      });
      expect((await ask(model)).response).toEqual(stopResponse("good"));
      expect(runtime.pendingTimers).toBe(0);
    }
  });

  it("pass the model's own failure on", async () => {
    const runtime = testRuntime();
    for (const error of [broken("server"), broken("aborted"), new Defect("x"), new TypeError("y")]) {
      const model = { chat: () => Promise.reject(error) };
      expect((await chat(timeouts(model, { runtime, totalTimeoutMs: 1 }))).error).toBe(error);
      expect(runtime.pendingTimers).toBe(0);
    }
  });

  it("stream only where the model does, and describe themselves as the model", () => {
    const inner = new ScriptedModel([], { contextWindow: 7 });
    expect(timeouts(inner, {}).describe?.()).toEqual(inner.describe());
    expect(timeouts(wholeOnly(inner), {})).not.toHaveProperty("chatStreaming");
  });

  it("refuse options that make no sense", () => {
    for (const options of [{ idleTimeoutMs: -1 }, { totalTimeoutMs: "5" }, { idleMs: 5 }]) {
      expect(() => timeouts(new ScriptedModel(), options as TimeoutOptions)).toThrow("invalid-config");
    }
  });
});

describe("the limit on the first token", () => {
  it("ends a call that says nothing, and aborts it", async () => {
    const runtime = testRuntime();
    const inner = new ScriptedModel([modelStep.hang([usage(4)])]);
    const call = stream(timeouts(inner, { runtime, firstTokenTimeoutMs: 100, idleTimeoutMs: 1, totalTimeoutMs: 9999 }));
    await runtime.advance(99);
    expect(inner.calls[0]?.outcome).toBe("running");
    await runtime.advance(1);
    const { error } = await settledBy(call);
    expect(error).toMatchObject({ kind: "timeout", retryable: true });
    expect(String(error)).toBe("ModelError: ModelError(timeout): no first token within 100 ms");
    expect(inner.calls[0]?.outcome).toBe("aborted");
    expect(runtime.pendingTimers).toBe(0);
  });

  it("holds again after a reset", async () => {
    const runtime = testRuntime();
    const { model, emit, reply, aborted } = byHand();
    const call = stream(timeouts(model, { runtime, firstTokenTimeoutMs: 100, idleTimeoutMs: 10 }));
    emit(text("a"));
    emit({ type: "reset", reason: "retry" });
    await runtime.advance(99);
    expect(aborted()).toBe(false);
    await runtime.advance(1);
    expect(aborted()).toBe(true);
    reply.reject(broken("aborted"));
    expect((await settledBy(call)).error).toMatchObject({ kind: "timeout" });
  });

  it("is not put off by usage, which is no token", async () => {
    const runtime = testRuntime();
    const { model, emit, reply, aborted } = byHand();
    const call = stream(timeouts(model, { runtime, firstTokenTimeoutMs: 100 }));
    await runtime.advance(90);
    emit(usage(5));
    await runtime.advance(9);
    expect(aborted()).toBe(false);
    await runtime.advance(1);
    expect(aborted()).toBe(true);
    reply.reject(broken("aborted"));
    expect((await settledBy(call)).error).toMatchObject({ kind: "timeout" });
  });

  it("does not hold for a call that does not stream", async () => {
    const runtime = testRuntime();
    const { model, reply, aborted } = byHand();
    const call = chat(timeouts(model, { runtime, firstTokenTimeoutMs: 1, idleTimeoutMs: 1 }));
    await runtime.advance(1000);
    expect(aborted()).toBe(false);
    reply.resolve(stopResponse("late"));
    expect((await call).response).toEqual(stopResponse("late"));
  });
});

describe("the limit between chunks", () => {
  it("F179: ends a stream that stalls, with what the aborted call had streamed and used", async () => {
    const runtime = testRuntime();
    const { model, emit, reply, aborted } = byHand();
    const call = stream(timeouts(model, { runtime, idleTimeoutMs: 200 }));
    emit(text("Half"));
    await runtime.advance(150);
    emit(text(" a reply"));
    await runtime.advance(199);
    expect(aborted()).toBe(false);
    await runtime.advance(1);
    expect(aborted()).toBe(true);
    const partial = [{ type: "text", text: "Half a reply" }] as const;
    const usage = { inputTokens: 3 };
    reply.reject(broken("aborted", { partial, usage, requestId: "r1", provider: "p" }));
    const { error } = await settledBy(call);
    expect(error).toMatchObject({ kind: "timeout", retryable: true, partial, usage, requestId: "r1", provider: "p" });
    expect(String(error)).toContain("no chunk within 200 ms");
    expect(runtime.pendingTimers).toBe(0);
  });

  it("F179: does not take empty chunks for progress", async () => {
    const runtime = testRuntime();
    const { model, emit, reply, aborted } = byHand();
    const call = stream(timeouts(model, { runtime, idleTimeoutMs: 200 }));
    emit(text("Half"));
    const empty = [
      text(""),
      { type: "reasoningDelta", text: "", part: 1 },
      { type: "toolCallDelta", index: 0 },
    ] as const;
    for (const chunk of empty) {
      await runtime.advance(60);
      emit(chunk);
    }
    await runtime.advance(20);
    expect(aborted()).toBe(true);
    reply.reject(broken("aborted"));
    expect((await settledBy(call)).error).toMatchObject({ kind: "timeout" });
  });

  it("does not end a stream that is slow but alive", async () => {
    const runtime = testRuntime();
    const call = stream(
      timeouts(new ScriptedModel([paced(runtime, 150)]), { runtime, firstTokenTimeoutMs: 200, idleTimeoutMs: 200 }),
    );
    await runtime.advance(600);
    expect((await settledBy(call)).response).toEqual(stopResponse("abcdef"));
  });

  it("sets one timer, however many chunks come", async () => {
    const clock = testRuntime();
    let set = 0;
    const runtime = {
      elapsed: clock.elapsed,
      after: (...args: Parameters<TestRuntime["after"]>) => (set++, clock.after(...args)),
    };
    const call = stream(
      timeouts(new ScriptedModel([modelStep.stream(textStream("x".repeat(1000), 1000))]), {
        runtime,
        idleTimeoutMs: 5,
      }),
    );
    await call;
    expect(set).toBeLessThan(4);
  });

  it("F179 over HTTP: the request is cancelled", async () => {
    await using server = await loopback((response) => {
      response.writeHead(200, SSE);
      response.write(`${delta({ content: "Half" })}: comment\n\n`);
    });
    const model = timeouts(new OpenAiChatModel({ model: "m", baseUrl: server.baseUrl }), { idleTimeoutMs: 30 });
    const { error } = await stream(model);
    expect(error).toMatchObject({ kind: "timeout", partial: [{ type: "text", text: "Half" }] });
    await server.closed;
  });
});

describe("the limit on the whole call", () => {
  it("ends a stream that goes on and on, and a call that does not stream", async () => {
    for (const ask of [stream, chat]) {
      const runtime = testRuntime();
      const { model, emit, reply, aborted } = byHand();
      const call = ask(timeouts(model, { runtime, totalTimeoutMs: 100, idleTimeoutMs: 50, firstTokenTimeoutMs: 50 }));
      for (const _ of [1, 2, 3]) {
        emit(text("a"));
        await runtime.advance(30);
      }
      expect(aborted()).toBe(false);
      emit(text("a"));
      await runtime.advance(10);
      expect(aborted()).toBe(true);
      reply.reject(broken("aborted"));
      expect(String((await settledBy(call)).error)).toContain("no whole reply within 100 ms");
      expect(runtime.pendingTimers).toBe(0);
    }
  });

  it("ends the wait of a retry inside it, and keeps what its attempts used", async () => {
    const runtime = testRuntime();
    const spent = broken("server", { usage: { inputTokens: 6 }, retryAfterMs: 5000 });
    const inner = retrying(new ScriptedModel([modelStep.fail(spent)]), { runtime });
    const call = stream(timeouts(inner, { runtime, totalTimeoutMs: 100 }));
    await runtime.advance(100);
    expect((await settledBy(call)).error).toMatchObject({ kind: "timeout", usage: { inputTokens: 6 } });
    expect(runtime.pendingTimers).toBe(0);
  });
});

describe("a model that does not stop when it is aborted", () => {
  it("is left behind after a second, and its late chunks with it", async () => {
    const runtime = testRuntime();
    const { model, emit } = byHand();
    const call = stream(timeouts(model, { runtime, totalTimeoutMs: 100 }));
    await runtime.advance(1099);
    await expect(settledBy(call)).rejects.toThrow("has not settled");
    await runtime.advance(1);
    const { error, chunks } = await settledBy(call);
    emit(text("late"));
    expect(error).toMatchObject({ kind: "timeout" });
    expect(chunks).toEqual([]);
    expect(runtime.pendingTimers).toBe(0);
  });

  it("is left behind after an abort of the request too", async () => {
    const runtime = testRuntime();
    const controller = new AbortController();
    const { model, aborted } = byHand();
    const call = chat(timeouts(model, { runtime, totalTimeoutMs: 100_000 }), request({ signal: controller.signal }));
    await runtime.advance(10);
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(1);
    controller.abort();
    expect(aborted()).toBe(true);
    await runtime.advance(1000);
    expect((await settledBy(call)).error).toMatchObject({ kind: "aborted", retryable: false });
    expect(runtime.pendingTimers).toBe(0);
  });

  it("is too late with whatever it says, but for what it has used", async () => {
    const runtime = testRuntime();
    const controller = new AbortController();
    for (const kind of ["timeout", "aborted"] as const) {
      const { model, reply, emit } = byHand();
      const asked = request({ signal: controller.signal });
      const call = stream(timeouts(model, { runtime, totalTimeoutMs: 100 }), asked);
      emit(text("in time"));
      if (kind === "timeout") await runtime.advance(100);
      else controller.abort();
      for (const chunk of [text("too late"), usage(9), STOP_CHUNK]) emit(chunk);
      const late = stopResponse("too late");
      reply.resolve({ ...late, usage: { inputTokens: 9 } });
      const { error, chunks } = await settledBy(call);
      expect(error).toMatchObject({ kind, usage: { inputTokens: 9 }, partial: late.parts });
      expect(chunks).toEqual([text("in time")]);
      expect(runtime.pendingTimers).toBe(0);
    }
  });

  it("cannot keep its limits from being reached by never letting a timer ring", async () => {
    const clock = testRuntime();
    let now = 0;
    const runtime = { elapsed: () => now, after: clock.after };
    const { model, reply, emit, aborted } = byHand();
    const call = stream(timeouts(model, { runtime, totalTimeoutMs: 100 }));
    for (const at of [1, 100, 101]) {
      now = at;
      emit(text(String(at)));
    }
    expect(aborted()).toBe(true);
    reply.resolve(stopResponse("1100101"));
    const { error, chunks } = await settledBy(call);
    expect(error).toMatchObject({ kind: "timeout" });
    expect(chunks).toEqual([text("1"), text("100")]);
  });

  it("may still fail by itself: that failure stands", async () => {
    const runtime = testRuntime();
    const { model, reply } = byHand();
    const call = stream(timeouts(model, { runtime, totalTimeoutMs: 100 }));
    await runtime.advance(100);
    const own = broken("rate-limit");
    reply.reject(own);
    expect((await settledBy(call)).error).toBe(own);
  });
});

describe("the signal of the request", () => {
  it("reaches the model, whose own error stands", async () => {
    const runtime = testRuntime();
    const controller = new AbortController();
    const inner = new ScriptedModel([modelStep.hang([text("Half")])]);
    const call = stream(timeouts(inner, { runtime, totalTimeoutMs: 100 }), request({ signal: controller.signal }));
    controller.abort();
    expect((await settledBy(call)).error).toMatchObject({ kind: "aborted" });
    expect(inner.calls[0]?.outcome).toBe("aborted");
    expect(runtime.pendingTimers).toBe(0);
  });

  it("that was aborted before is seen by the model", async () => {
    const runtime = testRuntime();
    const call = chat(
      timeouts(new ScriptedModel([modelStep.hang()]), { runtime, totalTimeoutMs: 100 }),
      request({ signal: AbortSignal.abort() }),
    );
    expect((await settledBy(call)).error).toMatchObject({ kind: "aborted" });
    expect(runtime.pendingTimers).toBe(0);
  });
});
