import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { Defect, ModelError } from "../../../src/domain/errors.js";
import { OpenAiChatModel } from "../../../src/adapters/models/openai-chat.js";
import { retrying, type RetryOptions } from "../../../src/adapters/models/decorators.js";
import type { StreamChunk } from "../../../src/domain/stream-chunk.js";
import type { ChunkListener, ModelPort } from "../../../src/ports/model.js";
import { modelStep, ScriptedModel, stopResponse, testRuntime, textStream } from "../../../src/testkit/index.js";
import { request } from "./chat-outcome.js";
import { broken, chat, STOP_CHUNK, stream, text, textOfChunks, usage, wholeOnly } from "./decorated-call.js";
import { DONE, delta, loopback, SSE, STOP } from "./loopback.js";

const { fail } = modelStep;
const good = () => modelStep.stream(textStream("good", 2));

/** Waits take no time; what was asked for is kept. */
function waits(): { readonly asked: number[]; readonly runtime: NonNullable<RetryOptions["runtime"]> } {
  const asked: number[] = [];
  return {
    asked,
    runtime: {
      elapsed: () => 0,
      after(ms, fn) {
        asked.push(ms);
        queueMicrotask(fn);
        return () => undefined;
      },
    },
  };
}

describe("retrying", () => {
  it("makes a call again until it succeeds, streaming or not", async () => {
    for (const ask of [stream, chat]) {
      const { runtime } = waits();
      const inner = new ScriptedModel([fail(broken()), fail(broken("overloaded")), good()]);
      const { response } = await ask(retrying(inner, { runtime }));
      expect(response).toEqual(stopResponse("good"));
      inner.assertDone();
    }
  });

  it("hands the request on as it is", async () => {
    const { runtime } = waits();
    const seen: unknown[] = [];
    const inner = new ScriptedModel([fail(broken()), good()]);
    const model = retrying({ chat: (asked) => (seen.push(asked), inner.chat(asked)) }, { runtime });
    const asked = request();
    await chat(model, asked);
    expect(seen).toEqual([asked, asked]);
    expect(seen[1]).toBe(asked);
  });

  it.each([
    "request-build",
    "response-parse",
    "auth",
    "context-overflow",
    "content-filter",
    "aborted",
    "invalid-request",
  ] as const)("does not repeat %s", async (kind) => {
    const error = broken(kind);
    const inner = new ScriptedModel([fail(error)]);
    expect((await stream(retrying(inner))).error).toBe(error);
  });

  it("goes by what the error says of itself, not by its kind", async () => {
    const { runtime } = waits();
    const noCredit = broken("rate-limit", { retryable: false });
    expect((await chat(retrying(new ScriptedModel([fail(noCredit)])))).error).toBe(noCredit);
    const inner = new ScriptedModel([fail(broken("invalid-request", { retryable: true })), good()]);
    expect((await chat(retrying(inner, { runtime }))).response).toEqual(stopResponse("good"));
  });

  it("lets mistakes pass untouched", async () => {
    for (const mistake of [new Defect("a script ran out"), new TypeError("x is undefined")]) {
      const model = { chat: () => Promise.reject(mistake) };
      expect((await chat(retrying(model))).error).toBe(mistake);
    }
  });

  it("gives up after the last attempt with its error", async () => {
    const { runtime, asked } = waits();
    const last = broken("server", { status: 500 });
    const inner = new ScriptedModel([fail(broken()), fail(broken()), fail(last)]);
    expect((await chat(retrying(inner, { runtime, attempts: 3 }))).error).toBe(last);
    expect(asked).toHaveLength(2);
  });

  it("streams only where the model does, and describes itself as the model", () => {
    const inner = new ScriptedModel([], { contextWindow: 7 });
    expect(retrying(inner).describe?.()).toEqual(inner.describe());
    expect(retrying(wholeOnly(inner))).not.toHaveProperty("chatStreaming");
    expect(retrying(wholeOnly(inner))).not.toHaveProperty("describe");
  });

  it("refuses options that make no sense", () => {
    const inner = new ScriptedModel();
    const wrong = [{ attempts: 0 }, { baseDelayMs: Number.NaN }, { maxDelayMs: -1 }, { attempt: 2 }];
    for (const options of wrong) expect(() => retrying(inner, options as RetryOptions)).toThrow("invalid-config");
    expect(() => retrying(undefined as unknown as ScriptedModel)).toThrow("invalid-config");
  });
});

describe("the wait between attempts", () => {
  const failures = (count: number) => Array.from({ length: count }, () => fail(broken()));

  it("is a random share of a ceiling that doubles up to its maximum", async () => {
    for (const [share, expected] of [
      [1, [100, 200, 400, 500, 500]],
      [0.5, [50, 100, 200, 250, 250]],
      [0, [1, 1, 1, 1, 1]],
      [Number.NaN, [1, 1, 1, 1, 1]],
      [7, [100, 200, 400, 500, 500]],
    ] as const) {
      const { runtime, asked } = waits();
      const options = { runtime, random: () => share, attempts: 6, baseDelayMs: 100, maxDelayMs: 500 };
      await chat(retrying(new ScriptedModel(failures(6)), options));
      expect(asked).toEqual(expected);
    }
  });

  it("is what the provider asks for, up to a maximum, and never less than it would be unasked", async () => {
    const { runtime, asked } = waits();
    const steps = [0, 1500, 60_000].map((retryAfterMs) => fail(broken("rate-limit", { retryAfterMs })));
    await chat(retrying(new ScriptedModel([...steps, good()]), { runtime, baseDelayMs: 100, random: () => 1 }));
    expect(asked).toEqual([100, 1500, 60_000]);
  });

  it("is not waited where the provider asks for an hour", async () => {
    const error = broken("rate-limit", { retryAfterMs: 3_600_000 });
    const failed = await chat(retrying(new ScriptedModel([fail(error)])));
    expect(failed.error).toBe(error);
    const { runtime, asked } = waits();
    const patient = retrying(new ScriptedModel([fail(error), good()]), { runtime, maxRetryAfterMs: Infinity });
    expect((await chat(patient)).response).toEqual(stopResponse("good"));
    expect(asked).toEqual([3_600_000]);
  });

  it("ends at once when the request is aborted, with what had come and had been used", async () => {
    const runtime = testRuntime();
    const controller = new AbortController();
    const partial = [{ type: "text", text: "Half" }] as const;
    const cause = broken("transport", { usage: { inputTokens: 3 }, partial, provider: "p", requestId: "r" });
    const inner = new ScriptedModel([fail(cause, [text("Half")])]);
    const model = retrying(inner, { runtime, afterOutput: "reset" });
    const call = stream(model, request({ signal: controller.signal }));
    await runtime.advance(0);
    expect(runtime.pendingTimers).toBe(1);
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(1);
    controller.abort();
    const { error, chunks } = await call;
    expect(error).toMatchObject({ kind: "aborted", retryable: false, usage: { inputTokens: 3 }, partial, cause });
    expect(textOfChunks(chunks)).toBe("Half");
    expect(runtime.pendingTimers).toBe(0);
  });

  it("is not begun when the request is aborted already", async () => {
    const runtime = testRuntime();
    const controller = new AbortController();
    const model = retrying(
      {
        chat() {
          controller.abort();
          return Promise.reject(broken());
        },
      },
      { runtime },
    );
    expect((await chat(model, request({ signal: controller.signal }))).error).toMatchObject({ kind: "aborted" });
    expect(runtime.pendingTimers).toBe(0);
  });

  it("goes by the virtual clock and leaves no timer", async () => {
    const runtime = testRuntime();
    const inner = new ScriptedModel([fail(broken()), good()]);
    const call = chat(retrying(inner, { runtime, random: () => 1 }));
    await runtime.advance(499);
    expect(inner.callCount).toBe(1);
    await runtime.advance(1);
    expect((await call).response).toEqual(stopResponse("good"));
    expect(runtime.pendingTimers).toBe(0);
  });
});

describe("F167: Retry-After over HTTP", () => {
  const soon = (): string => new Date(Date.now() + 50_000).toUTCString();

  it.each<[string, () => Record<string, string>, number, number]>([
    ["seconds", () => ({ "retry-after": "2" }), 2000, 2000],
    ["a date", () => ({ "retry-after": soon() }), 20_000, 50_000],
    ["a date long past", () => ({ "retry-after": "Sun, 06 Nov 1994 08:49:37 GMT" }), 1, 100],
    ["a word", () => ({ "retry-after": "soon" }), 1, 100],
    ["a date that is none", () => ({ "retry-after": "Wed, 99 Foo 2026" }), 1, 100],
    ["zero", () => ({ "retry-after": "0" }), 1, 100],
    ["a negative number", () => ({ "retry-after": "-5" }), 1, 100],
    ["milliseconds", () => ({ "retry-after-ms": "1500" }), 1500, 1500],
    ["nothing", () => ({}), 1, 100],
  ])("as %s", async (_form, headers, least, most) => {
    await using server = await loopback((response, _request, nth) => {
      if (nth === 0) return void response.writeHead(429, headers()).end("slow down");
      response.writeHead(200, SSE).end(delta({ content: "good" }) + STOP + DONE);
    });
    const { runtime, asked } = waits();
    const inner = new OpenAiChatModel({ model: "m", baseUrl: server.baseUrl });
    const model = retrying(inner, { runtime, baseDelayMs: 100 });
    const response = await model.chat(request());
    expect(response.parts).toEqual([{ type: "text", text: "good" }]);
    expect(asked).toHaveLength(1);
    expect(asked[0]).toBeGreaterThanOrEqual(least);
    expect(asked[0]).toBeLessThanOrEqual(most);
  });

  it("as an hour is not waited, and the error says how long", async () => {
    await using server = await loopback((response) => {
      response.writeHead(429, { "retry-after": "3600" }).end();
    });
    const model = retrying(new OpenAiChatModel({ model: "m", baseUrl: server.baseUrl }));
    expect((await chat(model)).error).toMatchObject({ kind: "rate-limit", retryAfterMs: 3_600_000, status: 429 });
    expect(server.requests).toHaveLength(1);
  });

  it("F169: a page, a text and an empty body are server errors and tried again", async () => {
    const bodies = [
      [502, "text/html", "<html><h1>502 Bad Gateway</h1></html>"],
      [503, "application/json", "Service Unavailable"],
      [500, "text/plain", ""],
    ] as const;
    await using server = await loopback((response, _request, nth) => {
      const [status, type, body] = bodies[nth % 3] as (typeof bodies)[number];
      response.writeHead(status, { "content-type": type }).end(body);
    });
    const { runtime, asked } = waits();
    const model = retrying(new OpenAiChatModel({ model: "m", baseUrl: server.baseUrl }), { runtime, attempts: 5 });
    const { error } = await stream(model);
    expect(error).toMatchObject({ kind: "overloaded", status: 503 });
    expect(String(error)).toContain("Service Unavailable");
    expect(asked).toHaveLength(4);
  });
});

describe("after output began", () => {
  const cut = (...chunks: readonly StreamChunk[]) => fail(broken(), chunks);

  it("fails, unless asked to start over", async () => {
    const error = broken("transport", { partial: [{ type: "text", text: "First, " }] });
    const inner = new ScriptedModel([fail(error, [text("First, ")])]);
    const failed = await stream(retrying(inner));
    expect(failed.error).toBe(error);
    expect(failed.chunks).toEqual([text("First, ")]);
  });

  it("F176: starts over with a reset, so that no text comes twice", async () => {
    const { runtime } = waits();
    const again = modelStep.stream([text("First, "), text("boil water"), STOP_CHUNK]);
    const inner = new ScriptedModel([cut(text("First, ")), cut(), cut(text("Fir")), again]);
    const { chunks, response } = await stream(retrying(inner, { runtime, afterOutput: "reset" }));
    expect(response?.parts).toEqual([{ type: "text", text: "First, boil water" }]);
    expect(chunks.filter(({ type }) => type === "reset")).toEqual([
      { type: "reset", reason: "retry" },
      { type: "reset", reason: "retry" },
    ]);
    expect(textOfChunks(chunks)).toBe("First, boil water");
  });

  it("F177: no half call of a failed attempt comes back", async () => {
    const { runtime } = waits();
    const half: StreamChunk = { type: "toolCallDelta", index: 0, id: "c1", name: "f", argumentsDelta: '{"a":' };
    const whole: StreamChunk = { type: "toolCallDelta", index: 0, id: "c2", name: "f", argumentsDelta: '{"a":1}' };
    const inner = new ScriptedModel([cut(half), modelStep.stream([whole, { type: "finish", reason: "tool-calls" }])]);
    const { response } = await stream(retrying(inner, { runtime, afterOutput: "reset" }));
    expect(response?.parts).toEqual([{ type: "toolCall", id: "c2", name: "f", arguments: { a: 1 } }]);
  });

  it("F176 over HTTP: the socket dies in the middle of the text", async () => {
    await using server = await loopback((response, _request, nth) => {
      response.writeHead(200, SSE);
      response.write(delta({ content: "First, " }), () => {
        if (nth === 0) response.destroy();
        else response.end(delta({ content: "boil water" }) + STOP + DONE);
      });
    });
    const { runtime } = waits();
    const inner = new OpenAiChatModel({ model: "m", baseUrl: server.baseUrl });
    const { chunks, response } = await stream(retrying(inner, { runtime, afterOutput: "reset" }));
    expect(response?.parts).toEqual([{ type: "text", text: "First, boil water" }]);
    expect(textOfChunks(chunks)).toBe("First, boil water");
  });

  it("means any chunk but usage", async () => {
    const { runtime } = waits();
    const inner = new ScriptedModel([cut(usage(5)), good()]);
    const { chunks, response } = await stream(retrying(inner, { runtime }));
    expect(response?.usage).toEqual({ inputTokens: 5 });
    expect(chunks.some(({ type }) => type === "reset")).toBe(false);
  });

  it("a reset by the model itself makes room for another attempt", async () => {
    const { runtime } = waits();
    const inner = new ScriptedModel([cut(text("void"), { type: "reset", reason: "inner" }), good()]);
    const { chunks, response } = await stream(retrying(inner, { runtime }));
    expect(response).toEqual(stopResponse("good"));
    expect(chunks.filter(({ type }) => type === "reset")).toHaveLength(1);
  });

  it("late chunks of a failed attempt are dropped", async () => {
    const { runtime } = waits();
    const listeners: ChunkListener[] = [];
    const inner: ModelPort = {
      chat: () => Promise.reject(broken()),
      chatStreaming(_asked, onChunk) {
        listeners.push(onChunk);
        if (listeners.length === 1) return Promise.reject(broken());
        listeners[0]?.(text("late"));
        for (const chunk of textStream("good")) onChunk(chunk);
        return Promise.resolve(stopResponse("good"));
      },
    };
    expect((await stream(retrying(inner, { runtime }))).response).toEqual(stopResponse("good"));
  });
});

describe("the usage of failed attempts", () => {
  const failedWith = (inputTokens: number) => fail(broken("server", { usage: { inputTokens } }));

  it("is part of the response's, and of what the chunks add up to", async () => {
    for (const ask of [stream, chat]) {
      const { runtime } = waits();
      const inner = new ScriptedModel([
        failedWith(10),
        failedWith(20),
        modelStep.stream([usage(4), text("ok"), { type: "usage", usage: { outputTokens: 5 } }, STOP_CHUNK]),
      ]);
      const { response } = await ask(retrying(inner, { runtime }));
      expect(response?.usage).toEqual({ inputTokens: 34, outputTokens: 5 });
    }
  });

  it("is told anew after a reset, also of a model that resets itself", async () => {
    const { runtime } = waits();
    for (const after of [[usage(3)], []]) {
      const inner = new ScriptedModel([
        fail(broken(), [usage(1), text("a")]),
        modelStep.stream([usage(2, 9), text("b"), { type: "reset", reason: "x" }, text("c"), ...after, STOP_CHUNK]),
      ]);
      const { response } = await stream(retrying(inner, { runtime, afterOutput: "reset" }));
      expect(response).toEqual({ ...stopResponse("c"), usage: { inputTokens: 1 + 3 * after.length } });
    }
  });

  it("is known from the chunks where the error does not say", async () => {
    const { runtime } = waits();
    const inner = new ScriptedModel([fail(broken(), [usage(7), usage(8, 1)]), good()]);
    const { response } = await stream(retrying(inner, { runtime }));
    expect(response?.usage).toEqual({ inputTokens: 8, outputTokens: 1 });
  });

  it("is part of the error of a call that failed for good, and changes no error of the model", async () => {
    const { runtime } = waits();
    const same = broken("server", { usage: { inputTokens: 5 }, status: 500, requestId: "r1" });
    const inner = new ScriptedModel([fail(same), fail(same), fail(same)]);
    const { error } = await chat(retrying(inner, { runtime, attempts: 3 }));
    expect(error).toBeInstanceOf(ModelError);
    expect(error).toMatchObject({
      kind: "server",
      message: "ModelError(server): it broke",
      usage: { inputTokens: 15 },
      status: 500,
      requestId: "r1",
      retryable: true,
      cause: same,
    });
    expect(same.usage).toEqual({ inputTokens: 5 });
  });

  it("is counted once where decorators are nested", async () => {
    const { runtime } = waits();
    const inner = new ScriptedModel([
      failedWith(1),
      failedWith(2),
      failedWith(4),
      modelStep.stream([usage(8), STOP_CHUNK]),
    ]);
    const model = retrying(retrying(inner, { runtime, attempts: 2 }), { runtime });
    expect((await stream(model)).response?.usage).toEqual({ inputTokens: 15 });
  });
});
