import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AiSdkModel } from "../../../src/adapters/models/ai-sdk.js";
import { OpenAiChatModel } from "../../../src/adapters/models/openai-chat.js";
import { OpenAiResponsesModel } from "../../../src/adapters/models/openai-responses.js";
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

/** A server that answers with these bodies as events, as a list or each on its own, with this status. */
function served(answers: readonly unknown[], { status, framing }: Served): typeof globalThis.fetch {
  const texts = answers.map((one) => JSON.stringify(one) ?? "");
  const body = {
    events: texts.map((one) => `data: ${one}\n\n`).join(""),
    list: `[${texts.join(",")}]`,
    document: texts[0] ?? "",
  }[framing];
  return async (url, init) => {
    const response = await fetchOf([encoder.encode(body)])(url, init);
    return new Response(response.body, { status });
  };
}

type Served = { readonly status: number; readonly framing: "events" | "list" | "document" };
const how: fc.Arbitrary<Served> = fc.record({
  status: fc.constantFrom(...Array.from({ length: 12 }, () => 200), 400, 429, 503),
  framing: fc.constantFrom("events", "events", "list", "document"),
});

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
    await fc.assert(
      fc.asyncProperty(fc.array(answer, { maxLength: 4 }), how, async (answers, way) => {
        await settlesSoundly(() => gemini({ fetch: served(answers, way) }));
      }),
      { numRuns: 400 },
    );
  });
});

describe("whatever a server of chat completions sends", () => {
  const call = record({
    index: or(fc.constantFrom(0, 1)),
    id: or(fc.constantFrom("c1", "c2", "")),
    function: record({ name: word, arguments: or(fc.constantFrom("{}", '{"a":1}', '{"a"', ":1}", "")) }),
  });
  const message = record({
    role: word,
    content: or(fc.oneof(word, fc.array(record({ type: word, text: word }), { maxLength: 2 }))),
    refusal: rarely(word),
    reasoning_content: word,
    reasoning: rarely(word),
    reasoning_details: rarely(list(record({ type: word, text: word, data: word, signature: word, index: junk }))),
    tool_calls: list(call),
    function_call: rarely(record({ name: word, arguments: word })),
  });
  const ends = fc.constantFrom("stop", "length", "tool_calls", "content_filter", "error", "constructor", "");
  const choice = record({
    index: or(fc.constantFrom(0, 1)),
    delta: message,
    message: rarely(message),
    finish_reason: or(ends),
    error: rarely(junk),
  });
  const tokens = record({ cached_tokens: or(fc.nat()), reasoning_tokens: or(fc.nat()) });
  const usage = record({
    prompt_tokens: or(fc.nat()),
    completion_tokens: or(fc.nat()),
    total_tokens: or(fc.nat()),
    prompt_tokens_details: tokens,
    completion_tokens_details: tokens,
  });
  const answer = record({
    id: word,
    model: word,
    choices: list(choice),
    usage,
    error: rarely(record({ message: word, code: word, type: word })),
  });

  it("is a reply or a ModelError", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(answer, { maxLength: 4 }), how, async (answers, way) => {
        const fetch = served(answers, way);
        await settlesSoundly(() => new OpenAiChatModel({ model: "m1", baseUrl: "http://unused.test", fetch }));
      }),
      { numRuns: 400 },
    );
  });
});

describe("whatever a server of the responses protocol sends", () => {
  const text = or(fc.constantFrom("", "a", "b", "{}", '{"a":1}', '{"a"'));
  const part = record({
    type: or(fc.constantFrom("output_text", "refusal", "reasoning_text", "summary_text")),
    text,
    refusal: text,
  });
  const item = record({
    type: or(fc.constantFrom("message", "function_call", "reasoning", "web_search_call", "constructor")),
    id: or(fc.constantFrom("i1", "i2")),
    call_id: or(fc.constantFrom("c1", "c2")),
    name: word,
    arguments: text,
    content: list(part),
    summary: list(part),
    encrypted_content: word,
    status: word,
  });
  const whole = record({
    object: or(fc.constant("response")),
    model: word,
    status: or(fc.constantFrom("completed", "incomplete", "failed", "in_progress", "constructor")),
    output: list(item),
    incomplete_details: rarely(record({ reason: or(fc.constantFrom("max_output_tokens", "toString")) })),
    error: rarely(record({ message: word, code: word })),
    usage: record({
      input_tokens: or(fc.nat()),
      output_tokens: or(fc.nat()),
      input_tokens_details: record({ cached_tokens: or(fc.nat()) }),
    }),
  });
  const stems = ["output_text", "refusal", "reasoning_summary_text", "reasoning_text", "function_call_arguments"];
  const types = [
    ...stems.flatMap((stem) => [`response.${stem}.delta`, `response.${stem}.done`]),
    ...["output_item.added", "output_item.done", "created", "completed", "completed", "completed", "incomplete"].map(
      (name) => `response.${name}`,
    ),
    "response.failed",
    "error",
  ];
  const answer = fc.oneof(
    { weight: 1, arbitrary: whole },
    {
      weight: 6,
      arbitrary: record({
        type: or(fc.constantFrom(...types)),
        output_index: or(fc.constantFrom(0, 1)),
        content_index: or(fc.constantFrom(0, 1)),
        summary_index: or(fc.constantFrom(0, 1)),
        item_id: or(fc.constantFrom("i1", "i2")),
        delta: text,
        text,
        arguments: text,
        item,
        response: whole,
        error: rarely(record({ message: word, code: word })),
      }),
    },
  );

  it("is a reply or a ModelError", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(answer, { maxLength: 6 }), how, async (answers, way) => {
        const fetch = served(answers, way);
        await settlesSoundly(() => new OpenAiResponsesModel({ model: "m1", baseUrl: "http://unused.test", fetch }));
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
