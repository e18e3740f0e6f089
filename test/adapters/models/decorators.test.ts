import { getEventListeners } from "node:events";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fallback, rateLimited, retrying, routed, timeouts } from "../../../src/adapters/models/decorators.js";
import { ModelError, type ModelErrorKind } from "../../../src/domain/errors.js";
import type { ModelResponse } from "../../../src/domain/model.js";
import { StreamAccumulator } from "../../../src/domain/stream.js";
import type { StreamChunk } from "../../../src/domain/stream-chunk.js";
import type { ChatRequest, ChunkListener, ModelPort } from "../../../src/ports/model.js";
import { type TestRuntime, testRuntime } from "../../../src/testkit/index.js";
import { request } from "./chat-outcome.js";
import { type Call, chat, STOP_CHUNK, stream, wholeOnly } from "./decorated-call.js";

/** What one attempt does: says `pieces`, one every `everyMs`, then answers or fails. */
type Attempt = {
  readonly pieces: number;
  readonly everyMs: number;
  readonly fails: ModelErrorKind | undefined;
  readonly tells: "chunk" | "end" | "both";
};

/** A model that does what is next in `script`, and answers when that is over. The nth attempt costs 2^n tokens and says so. */
class FlakyModel implements ModelPort {
  readonly #runtime: TestRuntime;
  readonly #script: Attempt[];
  calls = 0;

  constructor(runtime: TestRuntime, script: readonly Attempt[]) {
    this.#runtime = runtime;
    this.#script = [...script];
  }

  chat(asked: ChatRequest): Promise<ModelResponse> {
    return this.#answer(asked, undefined);
  }

  chatStreaming(asked: ChatRequest, onChunk: ChunkListener): Promise<ModelResponse> {
    return this.#answer(asked, onChunk);
  }

  async #answer({ signal }: ChatRequest, onChunk: ChunkListener | undefined): Promise<ModelResponse> {
    const usage = { inputTokens: 2 ** this.calls };
    const name = `<${this.calls}>`;
    this.calls += 1;
    const { pieces, everyMs, fails, tells } = this.#script.shift() ?? LAST;
    if (tells !== "end") onChunk?.({ type: "usage", usage });
    // Without chunks nobody is told before the end.
    const told = tells === "chunk" && onChunk !== undefined ? undefined : usage;
    for (let said = 0; said < pieces; said++) {
      if (!(await this.#sleep(everyMs, signal))) throw new ModelError("aborted", "stopped", { usage: told });
      onChunk?.({ type: "textDelta", text: name });
    }
    if (signal.aborted) throw new ModelError("aborted", "stopped", { usage: told });
    if (fails !== undefined) throw new ModelError(fails, "it broke", { usage: told });
    if (tells === "end") onChunk?.({ type: "usage", usage });
    onChunk?.(STOP_CHUNK);
    const text = name.repeat(pieces);
    return { parts: text === "" ? [] : [{ type: "text", text }], finishReason: "stop", usage };
  }

  #sleep(ms: number, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      const onAbort = (): void => {
        cancel();
        resolve(false);
      };
      const cancel = this.#runtime.after(ms, () => {
        signal.removeEventListener("abort", onAbort);
        resolve(true);
      });
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }
}

const LAST: Attempt = { pieces: 1, everyMs: 0, fails: undefined, tells: "both" };

const attempts = fc.array(
  fc.record<Attempt>({
    pieces: fc.integer({ min: 0, max: 3 }),
    everyMs: fc.constantFrom(0, 50, 150),
    fails: fc.constantFrom(undefined, "transport", "server", "auth", "invalid-request"),
    tells: fc.constantFrom("chunk", "end", "both"),
  }),
  { maxLength: 8 },
);

type Wrap = (model: ModelPort, runtime: TestRuntime) => ModelPort;

const wraps: Readonly<Record<string, Wrap>> = {
  retrying: (model, runtime) => retrying(model, { runtime, afterOutput: "reset", attempts: 3 }),
  "retrying, no reset": (model, runtime) => retrying(model, { runtime, attempts: 3 }),
  fallback: (model, runtime) => fallback([model, model], { runtime, afterOutput: "reset" }),
  "fallback to what cannot stream": (model, runtime) =>
    fallback([model, wholeOnly(model)], { runtime, afterOutput: "reset" }),
  timeouts: (model, runtime) =>
    timeouts(model, { runtime, firstTokenTimeoutMs: 100, idleTimeoutMs: 100, totalTimeoutMs: 5000 }),
  rateLimited: (model, runtime) => rateLimited(model, { runtime, requestsPerMinute: 3, concurrency: 1 }),
  routed: (model) => routed([{ when: ({ round }) => round > 0, to: model }], model),
};

const nested = fc.array(fc.constantFrom(...Object.keys(wraps)), { minLength: 1, maxLength: 4 });

function setUp(script: readonly Attempt[], layers: readonly string[]) {
  const runtime = testRuntime();
  const inner = new FlakyModel(runtime, script);
  const model = layers.reduce<ModelPort>((wrapped, layer) => (wraps[layer] as Wrap)(wrapped, runtime), inner);
  return { runtime, inner, model };
}

/** Lets time pass until the call has settled. */
async function settle(call: Promise<Call>, runtime: TestRuntime): Promise<Call> {
  let settled = false;
  void call.finally(() => (settled = true)).catch(() => undefined);
  for (let minutes = 0; !settled && minutes < 10_000; minutes++) await runtime.advance(60_000);
  return await call;
}

describe("decorators in any order", () => {
  it("hand over what adds up to the response, no text twice, and lose no usage", async () => {
    await fc.assert(
      fc.asyncProperty(attempts, nested, fc.boolean(), async (script, layers, streaming) => {
        const { runtime, inner, model } = setUp(script, layers);
        const { response, error, chunks } = await settle((streaming ? stream : chat)(model), runtime);
        if (error !== undefined) expect(error).toBeInstanceOf(ModelError);
        // A model that tells nothing at the end has told it in chunks.
        const known = response?.usage ?? (error as ModelError | undefined)?.usage ?? usageOf(chunks);
        expect(known?.inputTokens).toBe(2 ** inner.calls - 1);
        expect(namesShown(chunks).size).toBeLessThan(2);
        expect(runtime.pendingTimers).toBe(0);
      }),
      { numRuns: 300 },
    );
  });

  it("end at once when the request is aborted, whatever they wait for, and leave neither timer nor listener", async () => {
    const moments = fc.integer({ min: 0, max: 2000 });
    await fc.assert(
      fc.asyncProperty(attempts, nested, fc.boolean(), moments, async (script, layers, streaming, moment) => {
        const { runtime, inner, model } = setUp(script, layers);
        const controller = new AbortController();
        let ended: Call | undefined;
        void (streaming ? stream : chat)(model, request({ signal: controller.signal })).then((call) => (ended = call));
        await runtime.advance(moment);
        const before = ended;
        const calls = inner.calls;
        controller.abort();
        await runtime.advance(0);
        expect(ended).toBeDefined();
        if (before === undefined) expect(ended?.error).toMatchObject({ kind: "aborted" });
        expect(inner.calls).toBe(calls);
        expect(runtime.pendingTimers).toBe(0);
        expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
      }),
      { numRuns: 300 },
    );
  });
});

function usageOf(chunks: readonly StreamChunk[]): ModelResponse["usage"] {
  const accumulator = new StreamAccumulator();
  for (const chunk of chunks) accumulator.push(chunk);
  return accumulator.partial().usage;
}

/** The attempts whose text stands in the end. */
function namesShown(chunks: readonly StreamChunk[]): ReadonlySet<string> {
  const names = new Set<string>();
  for (const chunk of chunks) {
    if (chunk.type === "reset") names.clear();
    if (chunk.type === "textDelta") for (const [name] of chunk.text.matchAll(/<\d+>/g)) names.add(name);
  }
  return names;
}
