import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AiSdkModel } from "../../../src/adapters/models/ai-sdk.js";
import { decodeResponse } from "../../../src/domain/model-response.js";
import { ModelError } from "../../../src/domain/errors.js";
import type { ModelPort } from "../../../src/ports/model.js";
import { fetchOf, request, tool } from "./chat-outcome.js";
import { gemini } from "./gemini-wire.js";

const encoder = new TextEncoder();
const junk = fc.oneof(
  fc.constantFrom<unknown>(
    undefined,
    null,
    true,
    0,
    -1,
    1.5,
    1e21,
    "",
    " ",
    "x",
    "STOP",
    "toString",
    [],
    {},
    [null],
    [[]],
  ),
  fc.jsonValue({ maxDepth: 2 }),
);

/** A value of the wire's shape, any piece of which may be something else. */
const or = <T>(shape: fc.Arbitrary<T>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 9, arbitrary: shape as fc.Arbitrary<unknown> }, { weight: 1, arbitrary: junk });
const record = (fields: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<unknown> =>
  or(fc.record(fields, { requiredKeys: [] }));
const list = (items: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> => or(fc.array(items, { maxLength: 3 }));
const rarely = (shape: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 12, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: shape });
const word = or(
  fc.constantFrom("a", "f", "STOP", "MAX_TOKENS", "SAFETY", "MALFORMED_FUNCTION_CALL", "constructor", "__proto__"),
);

/** Each way of asking settles as a sound response, or with a ModelError and nothing else. */
async function settlesSoundly(make: () => Required<ModelPort>): Promise<void> {
  const asked = request({ tools: [tool("f")] });
  for (const ask of [() => make().chat(asked), () => make().chatStreaming(asked, () => undefined)]) {
    try {
      const response = await ask();
      expect(decodeResponse(response, "the response")).toEqual(response);
    } catch (error) {
      expect(error).toBeInstanceOf(ModelError);
    }
  }
}

describe("whatever a Gemini server sends", () => {
  const part = record({
    text: word,
    thought: or(fc.boolean()),
    thoughtSignature: word,
    functionCall: record({ name: word, id: word, args: record({ a: junk }) }),
  });
  const candidate = record({
    index: or(fc.constantFrom(0, 1)),
    finishReason: word,
    content: record({ parts: list(part) }),
  });
  const usage = record({
    promptTokenCount: or(fc.nat()),
    candidatesTokenCount: or(fc.nat()),
    thoughtsTokenCount: or(fc.nat()),
  });
  const answer = record({
    candidates: list(candidate),
    usageMetadata: usage,
    modelVersion: word,
    responseId: word,
    promptFeedback: rarely(record({ blockReason: word })),
    error: rarely(
      record({
        code: or(fc.constantFrom(429, 500)),
        message: word,
        status: word,
        details: list(record({ "@type": word, retryDelay: word })),
      }),
    ),
  });

  it("is a reply or a ModelError", async () => {
    const body = fc.tuple(
      fc.array(answer, { maxLength: 4 }),
      fc.constantFrom(...Array.from({ length: 12 }, () => 200), 400, 429, 503),
      fc.boolean(),
    );
    await fc.assert(
      fc.asyncProperty(body, async ([answers, status, framed]) => {
        const texts = answers.map((one) => JSON.stringify(one) ?? "");
        const bytes = encoder.encode(framed ? texts.map((one) => `data: ${one}\n\n`).join("") : `[${texts.join(",")}]`);
        const fetch: typeof globalThis.fetch = async (url, init) => {
          const response = await fetchOf([bytes])(url, init);
          return new Response(response.body, { status });
        };
        await settlesSoundly(() => gemini({ fetch }));
      }),
      { numRuns: 400 },
    );
  });
});

describe("whatever a model of the AI SDK gives", () => {
  const metadata = record({ acme: record({ signature: word }), x: junk });
  const id = or(fc.constantFrom("1", "2", "c1"));
  const types = [
    "text-start",
    "text-delta",
    "text-end",
    "reasoning-start",
    "reasoning-delta",
    "reasoning-end",
    "tool-input-start",
    "tool-input-delta",
    "tool-input-end",
    "tool-call",
    "tool-result",
    "text",
    "reasoning",
    "response-metadata",
    "finish",
    "error",
    "raw",
    "file",
  ];
  const tokens = record({ total: or(fc.nat()), cacheRead: or(fc.nat()), reasoning: or(fc.nat()) });
  const piece = record({
    type: or(fc.constantFrom(...types)),
    id,
    toolCallId: id,
    toolName: word,
    text: word,
    delta: word,
    input: or(fc.constantFrom("{}", '{"a":1}', "{", "[]")),
    providerExecuted: or(fc.boolean()),
    providerMetadata: metadata,
    error: junk,
    modelId: word,
    finishReason: record({
      unified: or(fc.constantFrom("stop", "length", "error", "other", "interrupted", "toString")),
      raw: word,
    }),
    usage: record({ inputTokens: tokens, outputTokens: tokens, raw: junk }),
  });

  it("is a reply or a ModelError", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 6 }), piece, junk, async (pieces, last, thrown) => {
        const model = {
          specificationVersion: "v4",
          provider: "acme",
          modelId: "m1",
          supportedUrls: {},
          doGenerate: () =>
            pieces.length === 0
              ? Promise.reject(thrown)
              : Promise.resolve({ ...(last as object), content: pieces, warnings: [] }),
          doStream: () =>
            Promise.resolve({
              stream: ReadableStream.from([...pieces, last]) as ReadableStream<LanguageModelV4StreamPart>,
            }),
        } as unknown as LanguageModelV4;
        await settlesSoundly(() => new AiSdkModel({ model }));
      }),
      { numRuns: 400 },
    );
  });
});
