import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { ServerResponse } from "node:http";
import { describe, test } from "vitest";
import { AiSdkModel, toLanguageModel } from "../../../src/adapters/models/ai-sdk.js";
import { AnthropicModel } from "../../../src/adapters/models/anthropic.js";
import { fallback, rateLimited, retrying, routed, timeouts } from "../../../src/adapters/models/decorators.js";
import { GeminiModel } from "../../../src/adapters/models/gemini.js";
import { OfflineDemoModel } from "../../../src/adapters/models/offline-demo.js";
import { OpenAiChatModel } from "../../../src/adapters/models/openai-chat.js";
import { OpenAiResponsesModel } from "../../../src/adapters/models/openai-responses.js";
import type { ModelPort } from "../../../src/ports/model.js";
import { runClaims } from "../../../src/testkit/claims/index.js";
import { modelPortClaims, type ModelPortFixture, type ModelSamples } from "../../../src/testkit/claims/model-port.js";
import * as anthropic from "./anthropic-wire.js";
import { tool, user } from "./chat-outcome.js";
import * as google from "./gemini-wire.js";
import { delta, DONE, event, JSON_TYPE, loopback, type SeenRequest, SSE, STOP } from "./loopback.js";
import { direct, handlerOf } from "./proxy-call.js";
import { item, response as responseOf, streamOf } from "./responses-wire.js";

const WORDS = "héllo 🧭 there";
const tools = [tool("f")];
const samples = {
  text: { text: WORDS },
  calls: {
    tools,
    calls: [
      { name: "f", arguments: { a: [1] } },
      { name: "f", arguments: {} },
    ],
  },
  uncounted: {},
  slow: {},
  failure: {},
  broken: {},
} satisfies ModelSamples;

/** The bodies with which a provider answers, streamed and at once; `half` is a stream as far as it comes. */
type Bodies = Readonly<
  Record<"text" | "calls" | "uncounted", { readonly streamed: string; readonly whole: string }>
> & {
  readonly half: string;
};

const json = (value: unknown): string => JSON.stringify(value);
const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7, prompt_tokens_details: { cached_tokens: 3 } };
const chatCalls = [
  { index: 0, id: "c1", type: "function", function: { name: "f", arguments: '{"a":[1]}' } },
  { index: 1, id: "c2", type: "function", function: { name: "f", arguments: "{}" } },
];
const completion = (message: object, finish_reason: string, more: object = {}): string =>
  json({
    id: "r1",
    model: "m1",
    choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason }],
    ...more,
  });
const pieces = delta({ content: "héllo " }) + delta({ content: "🧭 there" }) + STOP;

const chat: Bodies = {
  text: {
    streamed: pieces + event({ choices: [], usage }) + DONE,
    whole: completion({ content: WORDS }, "stop", { usage }),
  },
  calls: {
    streamed: delta({ tool_calls: chatCalls }) + delta({}, "tool_calls") + DONE,
    whole: completion({ content: null, tool_calls: chatCalls }, "tool_calls"),
  },
  uncounted: { streamed: pieces + DONE, whole: completion({ content: WORDS }, "stop") },
  half: delta({ content: "Half" }),
};

const geminiCalls = google.piece([google.call("f", { a: [1] }), google.call("f", {})], {}, "STOP");
const geminiUsage = { usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 2, cachedContentTokenCount: 3 } };
const gemini: Bodies = {
  text: {
    streamed: google.text("héllo ", "🧭 there") + google.end("STOP", geminiUsage),
    whole: json(google.piece([{ text: WORDS }], geminiUsage, "STOP")),
  },
  calls: { streamed: event(geminiCalls), whole: json(geminiCalls) },
  uncounted: { streamed: google.text(WORDS) + google.end(), whole: json(google.piece([{ text: WORDS }], {}, "STOP")) },
  half: google.text("Half"),
};

const claudeCalls = [
  { type: "tool_use", id: "t1", name: "f", input: { a: [1] } },
  { type: "tool_use", id: "t2", name: "f", input: {} },
];
const claudeUsage = { input_tokens: 9, output_tokens: 5 };
const claude: Bodies = {
  text: {
    streamed:
      anthropic.start(claudeUsage) + anthropic.text(0, "héllo ", "🧭 there") + anthropic.end("end_turn", claudeUsage),
    whole: anthropic.whole([{ type: "text", text: WORDS }], "end_turn", claudeUsage),
  },
  calls: {
    streamed:
      anthropic.start(claudeUsage) +
      anthropic.call(0, "t1", "f", '{"a":', "[1]}") +
      anthropic.call(1, "t2", "f") +
      anthropic.end("tool_use", claudeUsage),
    whole: anthropic.whole(claudeCalls, "tool_use", claudeUsage),
  },
  uncounted: {
    streamed: anthropic.start(null) + anthropic.text(0, WORDS) + anthropic.end("end_turn", null),
    whole: anthropic.whole([{ type: "text", text: WORDS }], "end_turn", null),
  },
  half: anthropic.start() + anthropic.text(0, "Half"),
};

const responsesText = [item.message(WORDS)];
const responsesCalls = [item.call("c1", "f", '{"a":[1]}'), item.call("c2", "f", "{}")];
const responses: Bodies = {
  text: { streamed: streamOf(responsesText), whole: json(responseOf(responsesText)) },
  calls: { streamed: streamOf(responsesCalls), whole: json(responseOf(responsesCalls)) },
  uncounted: {
    streamed: streamOf(responsesText, { usage: null }),
    whole: json(responseOf(responsesText, { usage: null })),
  },
  half: streamOf(responsesText).split("event: response.output_text.done")[0] ?? "",
};

type Wire = { readonly bodies: Bodies; readonly make: (baseUrl: string) => ModelPort };

const compatible = (baseURL: string) => createOpenAICompatible({ name: "acme", baseURL, includeUsage: true })("m1");
const overChat = (make: (model: ModelPort) => ModelPort): Wire => ({
  bodies: chat,
  make: (baseUrl) => make(new OpenAiChatModel({ model: "m1", baseUrl })),
});
const wires: Readonly<Record<string, Wire>> = {
  "openai-chat": overChat((model) => model),
  "openai-responses": { bodies: responses, make: (baseUrl) => new OpenAiResponsesModel({ model: "m1", baseUrl }) },
  anthropic: { bodies: claude, make: (baseUrl) => new AnthropicModel({ model: "m1", baseUrl }) },
  gemini: { bodies: gemini, make: (baseUrl) => new GeminiModel({ model: "m1", baseUrl }) },
  "ai-sdk": { bodies: chat, make: (baseUrl) => new AiSdkModel({ model: compatible(baseUrl) }) },
  "ai-sdk, of a port offered to the AI SDK": overChat((model) => new AiSdkModel({ model: toLanguageModel(model) })),
  proxy: overChat((model) => direct(handlerOf(model))),
  retrying: overChat((model) => retrying(model, { attempts: 1 })),
  fallback: overChat((model) => fallback([model])),
  timeouts: overChat((model) =>
    timeouts(model, { firstTokenTimeoutMs: 60_000, idleTimeoutMs: 60_000, totalTimeoutMs: 60_000 }),
  ),
  rateLimited: overChat((model) => rateLimited(model, { requestsPerMinute: 1000 })),
  routed: overChat((model) => routed([], model)),
};

/** Answers each request with the sample it was prepared for; the pieces are whole bodies, or single bytes. */
async function fixtureOf(
  { bodies, make }: Wire,
  cut: (body: string) => readonly (string | Uint8Array)[],
): Promise<ModelPortFixture> {
  const prepared: (keyof ModelSamples)[] = [];
  const server = await loopback((response, request, nth) => answer(response, request, prepared[nth] ?? "text"));
  function answer(response: ServerResponse, request: SeenRequest, sample: keyof ModelSamples): void {
    const isStream = request.body["stream"] === true || request.path.includes(":streamGenerateContent");
    if (sample === "failure") return void response.writeHead(500, JSON_TYPE).end(json({ error: { message: "boom" } }));
    response.writeHead(200, isStream ? SSE : JSON_TYPE);
    if (sample === "slow" || sample === "broken") {
      response.write(isStream ? bodies.half : " ", () => {
        if (sample === "broken") response.destroy();
      });
      return;
    }
    const body = bodies[sample];
    for (const piece of cut(isStream ? body.streamed : body.whole)) response.write(piece);
    response.end();
  }
  return {
    model: make(server.baseUrl),
    samples,
    prepare: (sample) => void prepared.push(sample),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

const cuts: Readonly<Record<string, (body: string) => readonly (string | Uint8Array)[]>> = {
  "in one piece": (body) => [body],
  "byte by byte": (body) => Array.from(Buffer.from(body), (byte) => Uint8Array.of(byte)),
};

for (const [name, wire] of Object.entries(wires)) {
  describe.each(Object.entries(cuts))(`${name}, over HTTP %s`, (_, cut) => {
    runClaims({ test, claims: modelPortClaims, make: () => fixtureOf(wire, cut) });
  });
}

describe("offline-demo", () => {
  const say = (words: string): ReturnType<typeof user> => user(words);
  const model = new OfflineDemoModel();
  const add = {
    ...tool("add_numbers", {
      type: "object",
      properties: { expression: { type: "string" } },
      required: ["expression"],
    }),
    description: "Calculate the sum of two numbers, such as 2 + 3.",
  };
  const make = async (): Promise<ModelPortFixture> => {
    const messages = [say("hello there")];
    const asked = {
      messages,
      tools: [],
      options: {},
      signal: new AbortController().signal,
      sessionId: "s",
      turnId: "t",
      round: 0,
    };
    const { parts } = await model.chat(asked);
    const text = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
    const calls = {
      messages: [say("what is 2 + 3?")],
      tools: [add],
      calls: [{ name: "add_numbers", arguments: { expression: "2 + 3" } }],
    };
    return { model, samples: { text: { messages, text }, calls, uncounted: { messages }, slow: { messages } } };
  };
  const never = { missing: "its rules never fail" };
  runClaims({ test, claims: modelPortClaims, make, capabilities: { failure: never, broken: never } });
});
