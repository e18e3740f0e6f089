import { describe, expect, test } from "vitest";
import { ModelError } from "../../src/domain/errors.js";
import type { ModelResponse } from "../../src/domain/model.js";
import type { StreamChunk } from "../../src/domain/stream-chunk.js";
import type { ChatRequest, ChunkListener, ModelPort } from "../../src/ports/model.js";
import { textStream, toolCallStream } from "../../src/testkit/builders.js";
import { checkClaims, runClaims } from "../../src/testkit/claims/index.js";
import { soFar } from "../../src/testkit/claims/model-fixture.js";
import { modelPortClaims, type ModelPortFixture, type ModelSamples } from "../../src/testkit/claims/model-port.js";
import { ConversingModel } from "../../src/testkit/fakes/conversing-model.js";
import { modelStep, type ModelStep } from "../../src/testkit/fakes/model-step.js";
import { ScriptedModel } from "../../src/testkit/fakes/scripted-model.js";
import { proveClaims } from "./prove-claims.js";

const samples = {
  text: { text: "héllo 🧭 there" },
  calls: {
    calls: [
      { name: "f", arguments: { a: [1] } },
      { name: "f", arguments: {} },
    ],
  },
  named: { calls: [{ name: "files.read all", arguments: {} }] },
  reasoned: { reasoning: "hm", echoed: ["SIG"] },
  cut: { text: "as far as" },
  uncounted: {},
  slow: {},
  failure: {},
  broken: {},
} satisfies ModelSamples;

const gone = new ModelError("server", "gone");
const usage: StreamChunk = { type: "usage", usage: { inputTokens: 5, outputTokens: 2, cachedInputTokens: 3 } };
const text = textStream(samples.text.text, 3);
const goneLate = new ModelError("server", "gone", { partial: soFar(text.slice(0, 1)).parts });
const steps: Readonly<Record<keyof ModelSamples, ModelStep>> = {
  text: modelStep.stream([usage, ...text]),
  calls: modelStep.stream([
    { type: "toolCallDelta", index: 0, id: "c1", name: "f", argumentsDelta: '{"a":' },
    { type: "toolCallDelta", index: 0, argumentsDelta: "[1]}" },
    { type: "toolCallDelta", index: 1, id: "c2", name: "f" },
    { type: "finish", reason: "tool-calls" },
  ]),
  named: modelStep.stream(toolCallStream("files.read all", "c1")),
  reasoned: modelStep.stream([
    { type: "reasoningDelta", text: "hm", part: 0, signature: "SIG" },
    ...toolCallStream("f", "c1"),
  ]),
  cut: modelStep.stream([
    { type: "textDelta", text: "as far as" },
    { type: "finish", reason: "length" },
  ]),
  uncounted: modelStep.stream(text),
  slow: modelStep.hang(text.slice(0, 1)),
  failure: modelStep.fail(gone),
  broken: modelStep.fail(goneLate, text.slice(0, 1)),
};

function scripted(own: Partial<typeof steps> = {}): ModelPortFixture & { readonly model: ScriptedModel } {
  const model = new ScriptedModel();
  return {
    model,
    samples,
    key: "sk-0123456789",
    sent: () => JSON.stringify(model.requests.at(-1)),
    deadlineMs: 50,
    prepare: (sample) => model.push(own[sample] ?? steps[sample]),
  };
}

describe("the scripted model", () => {
  runClaims({ test, claims: modelPortClaims, make: scripted });
});

describe("the conversing model", () => {
  // It answers by the conversation: each sample is asked at its first step, and again once it was answered.
  const make = (): ModelPortFixture => {
    let model = new ConversingModel([]);
    let newest: ChatRequest | undefined;
    const noted = (request: ChatRequest): ChatRequest => {
      newest = request;
      return request;
    };
    return {
      model: {
        chat: (request) => model.chat(noted(request)),
        chatStreaming: (request, onChunk) => model.chatStreaming(noted(request), onChunk),
        describe: () => model.describe(),
      },
      samples,
      key: "sk-0123456789",
      sent: () => JSON.stringify(newest),
      deadlineMs: 50,
      prepare: (sample) => void (model = new ConversingModel([steps[sample], steps[sample]])),
    };
  };
  runClaims({ test, claims: modelPortClaims, make });
});

type Chat = (request: ChatRequest, onChunk: ChunkListener | undefined) => Promise<ModelResponse>;

/** A model that works, with both of its calls going through `around`. */
function wrapped(around: (base: Chat) => Chat, own: Partial<typeof steps> = {}): ModelPortFixture {
  const { model, ...rest } = scripted(own);
  const chat = around((request, onChunk) =>
    onChunk === undefined ? model.chat(request) : model.chatStreaming(request, onChunk),
  );
  const port: ModelPort = {
    chat: (request) => chat(request, undefined),
    chatStreaming: (request, onChunk) => chat(request, onChunk),
    describe: () => model.describe(),
  };
  return { ...rest, model: port };
}

const responding = (change: (response: ModelResponse, streamed: boolean) => ModelResponse) => () =>
  wrapped((base) => async (request, onChunk) => change(await base(request, onChunk), onChunk !== undefined));
const emitting = (change: (chunk: StreamChunk, emit: ChunkListener) => void) => () =>
  wrapped((base) => (request, onChunk) => base(request, onChunk && ((chunk) => change(chunk, onChunk))));
const rejecting =
  (change: (error: unknown, chunks: number, emit: ChunkListener | undefined) => Promise<ModelResponse>) => () =>
    wrapped((base) => async (request, onChunk) => {
      let chunks = 0;
      const counted = onChunk && ((chunk: StreamChunk) => void (chunks++, onChunk(chunk)));
      return await base(request, counted).catch((error: unknown) => change(error, chunks, onChunk));
    });

/** Each breaks the claim it is named after, and no other. */
const broken: Readonly<Record<string, () => ModelPortFixture>> = {
  "model-replies": () => ({ ...scripted({ text: modelStep.stream(textStream("something else")) }) }),
  "model-replies-are-json": responding((response) => Object.assign({ ...response }, { at: new Date(0) })),
  "model-streams-the-same": responding((response, streamed) =>
    streamed && response.parts[0]?.type === "text" ? { ...response, model: "m2" } : response,
  ),
  "model-chunks-add-up": emitting((chunk, emit) => {
    emit(chunk);
    if (chunk.type === "toolCallDelta" && chunk.index === 1) emit({ type: "textDelta", text: "extra" });
  }),
  "model-chunks-stay": () => {
    const buffer: Record<string, unknown> = {};
    return emitting((chunk, emit) => {
      for (const key of Object.keys(buffer)) Reflect.deleteProperty(buffer, key);
      emit(Object.assign(buffer, chunk));
    })();
  },
  "model-chunks-finish-once": emitting((chunk, emit) => {
    emit(chunk);
    if (chunk.type === "finish") emit(chunk);
  }),
  "model-is-silent-when-settled": () =>
    wrapped((base) => async (request, onChunk) => {
      const response = await base(request, onChunk);
      if (onChunk !== undefined) setImmediate(() => onChunk({ type: "usage", usage: {} }));
      return response;
    }),
  "model-calls-tools": () => scripted({ calls: modelStep.stream(toolCallStream("f", "c1")) }),
  "model-says-it-was-cut": () => scripted({ cut: modelStep.stream(textStream(samples.cut.text)) }),
  "model-sends-what-it-is-asked": () =>
    wrapped((base) => (request, onChunk) => {
      const { temperature: _, ...options } = request.options;
      return base({ ...request, options }, onChunk);
    }),
  "model-gives-reasoning-back": () => {
    const fixture = scripted();
    return { ...fixture, sent: () => fixture.sent?.().replace("SIG", "sig") ?? "" };
  },
  "model-calls-tools-by-name": () => scripted({ named: modelStep.stream(toolCallStream("files_read_all", "c1")) }),
  "model-takes-a-choice-of-tool": () =>
    wrapped((base) => async (request, onChunk) => {
      if (request.options.toolChoice !== undefined) throw new ModelError("invalid-request", "no such tool");
      return await base(request, onChunk);
    }),
  "model-keeps-what-came": rejecting((error) =>
    Promise.reject(error instanceof ModelError ? new ModelError(error.kind, "gone", {}) : error),
  ),
  "model-keeps-its-key": () => scripted({ failure: modelStep.fail(new ModelError("auth", "bad key sk-0123456789")) }),
  "model-takes-its-reply-back": () =>
    wrapped((base) => async (request, onChunk) => {
      const isBack = request.messages.filter(({ role }) => role === "tool").length === samples.calls.calls.length;
      if (isBack) throw new ModelError("invalid-request", "no");
      return await base(request, onChunk);
    }),
  "model-replies-concurrently": () => {
    let running = 0;
    return wrapped((base) => async (request, onChunk) => {
      const crowded = ++running > 1;
      await Promise.resolve();
      const response = await base(request, onChunk).finally(() => running--);
      return crowded ? { ...response, model: "crowded" } : response;
    });
  },
  "model-counts-tokens": () =>
    scripted({ text: modelStep.stream([{ type: "usage", usage: { inputTokens: 5, cachedInputTokens: 6 } }, ...text]) }),
  "model-knows-what-it-does-not-count": () =>
    scripted({ uncounted: modelStep.stream([{ type: "usage", usage: { inputTokens: 0 } }, ...text]) }),
  "model-describes-itself": () => {
    let asked = 0;
    const fixture = scripted();
    const { model } = fixture;
    const port: ModelPort = {
      chat: (request) => model.chat(request),
      chatStreaming: (request, onChunk) => model.chatStreaming(request, onChunk),
      describe: () => ({ provider: "p", model: `m${asked++}` }),
    };
    return { ...fixture, model: port };
  },
  "model-leaves-requests-alone": () =>
    wrapped((base) => (request, onChunk) => {
      Object.assign(request.options, { seed: 1 });
      return base(request, onChunk);
    }),
  "model-fails-typed": rejecting((error, chunks) =>
    Promise.reject(chunks === 0 && error === gone ? new TypeError("fetch failed") : error),
  ),
  "model-breaks-loudly": rejecting((error, chunks) =>
    error === goneLate && chunks > 0
      ? Promise.resolve({ parts: [{ type: "text", text: "half" }], finishReason: "stop" })
      : Promise.reject(error),
  ),
  "model-settles-on-abort": () =>
    wrapped((base) => async (request, onChunk) => {
      const early = request.signal.aborted;
      return await base(request, onChunk).catch((error: unknown) => {
        if (early || !request.signal.aborted) throw error;
        return Promise.withResolvers<never>().promise;
      });
    }),
  "model-is-silent-when-aborted": rejecting((error, _, emit) => {
    if (error !== gone && error !== goneLate) setImmediate(() => emit?.({ type: "usage", usage: {} }));
    return Promise.reject(error);
  }),
  "model-refuses-when-aborted": () =>
    wrapped((base) => (request, onChunk) => {
      const signal = request.signal.aborted ? new AbortController().signal : request.signal;
      return base({ ...request, signal }, onChunk);
    }),
  "model-leaves-no-listener": () =>
    wrapped((base) => (request, onChunk) => {
      request.signal.addEventListener("abort", () => undefined);
      return base(request, onChunk);
    }),
};

proveClaims("modelPortClaims", { claims: modelPortClaims, sound: () => wrapped((base) => base), broken });

test("an aborted call that resolves settles, but breaks the claim all the same", async () => {
  const make = (): ModelPortFixture =>
    wrapped((base) => async (request, onChunk) => {
      const early = request.signal.aborted || onChunk !== undefined;
      return await base(request, onChunk).catch((error: unknown) => {
        if (early || !request.signal.aborted) throw error;
        return { parts: [], finishReason: "stop" };
      });
    });
  const { results } = await checkClaims({ claims: modelPortClaims, make });
  expect(results.flatMap(({ id, outcome }) => (outcome === "failed" ? [id] : []))).toEqual(["model-settles-on-abort"]);
});

test.each([
  ["a message", ({ messages }: ChatRequest) => ({ messages: messages.slice(1) }), "said-by-system is sent"],
  [
    "the order",
    ({ messages }: ChatRequest) => ({ messages: messages.toReversed() }),
    "the conversation in what is sent",
  ],
  ["all tools", () => ({ tools: [] }), "described-tool is sent"],
  ["an option", () => ({ options: { temperature: 0.125 } }), "the option maxOutputTokens is sent"],
])("a model that loses %s on the way to what answers is found out", async (_, lost, message) => {
  const make = (): ModelPortFixture =>
    wrapped((base) => (request, onChunk) => base({ ...request, ...lost(request) }, onChunk));
  const claims = modelPortClaims.filter(({ id }) => id === "model-sends-what-it-is-asked");
  const { results } = await checkClaims({ claims, make });
  expect(results).toMatchObject([{ outcome: "failed", error: { message: expect.stringContaining(message) } }]);
});

test("a field that is undefined counts as none", async () => {
  const make = responding((response, streamed) => (streamed ? { ...response, rawFinishReason: undefined } : response));
  expect((await checkClaims({ claims: modelPortClaims, make })).ok).toBe(true);
});

test("a fixture that cannot show a capability must declare it missing", async () => {
  const make = (): ModelPortFixture => {
    const model = new ScriptedModel();
    const chatOnly: ModelPort = { chat: (request) => model.chat(request) };
    return { model: chatOnly, samples: { text: samples.text }, prepare: (sample) => model.push(steps[sample]) };
  };
  expect((await checkClaims({ claims: modelPortClaims, make })).ok).toBe(false);
  const missing = { missing: "a fake" };
  const needs = [...new Set(modelPortClaims.flatMap(({ needs: need }) => need ?? []))];
  const capabilities = Object.fromEntries(needs.map((need) => [need, missing]));
  const honest = await checkClaims({ claims: modelPortClaims, make, capabilities });
  expect(honest.results.filter(({ outcome }) => outcome === "failed")).toEqual([]);
  expect(honest.results.filter(({ outcome }) => outcome === "skipped")).toHaveLength(
    modelPortClaims.filter(({ needs: need }) => need !== undefined).length,
  );
});
