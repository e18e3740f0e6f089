import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { AiSdkModel, toLanguageModel } from "../../../src/adapters/models/ai-sdk.js";
import { AnthropicModel } from "../../../src/adapters/models/anthropic.js";
import { fallback, rateLimited, retrying, routed, timeouts } from "../../../src/adapters/models/decorators.js";
import { GeminiModel } from "../../../src/adapters/models/gemini.js";
import { OfflineDemoModel } from "../../../src/adapters/models/offline-demo.js";
import { OpenAiChatModel } from "../../../src/adapters/models/openai-chat.js";
import { OpenAiResponsesModel } from "../../../src/adapters/models/openai-responses.js";
import type { ModelResponse } from "../../../src/domain/model.js";
import type { StreamChunk } from "../../../src/domain/stream-chunk.js";
import type { ChatRequest, ChunkListener, ModelPort } from "../../../src/ports/model.js";
import { runClaims } from "../../../src/testkit/claims/index.js";
import { modelPortClaims, type ModelPortFixture, type ModelSamples } from "../../../src/testkit/claims/model-port.js";
import * as anthropic from "./anthropic-wire.js";
import { request, tool, user } from "./chat-outcome.js";
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
  named: {
    tools: [tool("files.read all"), tool("f")],
    calls: [
      { name: "files.read all", arguments: { a: [1] } },
      { name: "files.read all", arguments: {} },
    ],
  },
  cut: { text: WORDS },
  uncounted: {},
  slow: {},
  failure: {},
  broken: {},
} satisfies ModelSamples;

/** The bodies with which a provider answers, streamed and at once; `half` is a stream as far as it comes. */
type Bodies = Readonly<
  Record<"text" | "calls" | "reasoned" | "cut" | "uncounted", { readonly streamed: string; readonly whole: string }>
> & {
  readonly half: string;
  /** What of the reasoned reply must go back as it came. */
  readonly echoed: readonly string[];
};

const THOUGHT = "hm, \u2028 «so»";
const SIGNATURE = "U0lH+/bmF0dXJl==";
const KEY = "sk-claims-0123456789";

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
  reasoned: {
    streamed:
      delta({ reasoning_content: THOUGHT.slice(0, 3) }) +
      delta({ reasoning_content: THOUGHT.slice(3) }) +
      delta({ tool_calls: chatCalls.slice(0, 1) }) +
      delta({}, "tool_calls") +
      DONE,
    whole: completion({ content: null, reasoning_content: THOUGHT, tool_calls: chatCalls.slice(0, 1) }, "tool_calls"),
  },
  cut: {
    streamed: delta({ content: "héllo " }) + delta({ content: "🧭 there" }) + delta({}, "length") + DONE,
    whole: completion({ content: WORDS }, "length"),
  },
  uncounted: { streamed: pieces + DONE, whole: completion({ content: WORDS }, "stop") },
  half: delta({ content: "Half" }),
  echoed: [THOUGHT],
};

const geminiCalls = google.piece([google.call("f", { a: [1] }), google.call("f", {})], {}, "STOP");
const geminiUsage = { usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 2, cachedContentTokenCount: 3 } };
const geminiThought = google.piece(
  [
    { text: THOUGHT, thought: true },
    { ...google.call("f", {}), thoughtSignature: SIGNATURE },
  ],
  {},
  "STOP",
);
const gemini: Bodies = {
  text: {
    streamed: google.text("héllo ", "🧭 there") + google.end("STOP", geminiUsage),
    whole: json(google.piece([{ text: WORDS }], geminiUsage, "STOP")),
  },
  calls: { streamed: event(geminiCalls), whole: json(geminiCalls) },
  reasoned: { streamed: event(geminiThought), whole: json(geminiThought) },
  cut: {
    streamed: google.text(WORDS) + google.end("MAX_TOKENS"),
    whole: json(google.piece([{ text: WORDS }], {}, "MAX_TOKENS")),
  },
  uncounted: { streamed: google.text(WORDS) + google.end(), whole: json(google.piece([{ text: WORDS }], {}, "STOP")) },
  half: google.text("Half"),
  echoed: [SIGNATURE],
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
  reasoned: {
    streamed:
      anthropic.start(claudeUsage) +
      anthropic.thinking(0, THOUGHT, SIGNATURE) +
      anthropic.call(1, "t1", "f") +
      anthropic.end("tool_use", claudeUsage),
    whole: anthropic.whole(
      [
        { type: "thinking", thinking: THOUGHT, signature: SIGNATURE },
        { type: "tool_use", id: "t1", name: "f", input: {} },
      ],
      "tool_use",
      claudeUsage,
    ),
  },
  cut: {
    streamed: anthropic.start(claudeUsage) + anthropic.text(0, WORDS) + anthropic.end("max_tokens", claudeUsage),
    whole: anthropic.whole([{ type: "text", text: WORDS }], "max_tokens", claudeUsage),
  },
  uncounted: {
    streamed: anthropic.start(null) + anthropic.text(0, WORDS) + anthropic.end("end_turn", null),
    whole: anthropic.whole([{ type: "text", text: WORDS }], "end_turn", null),
  },
  half: anthropic.start() + anthropic.text(0, "Half"),
  echoed: [THOUGHT, SIGNATURE],
};

const responsesText = [item.message(WORDS)];
const responsesCalls = [item.call("c1", "f", '{"a":[1]}'), item.call("c2", "f", "{}")];
const responsesThought = [item.reasoning(SIGNATURE, [THOUGHT]), item.call("c1", "f", "{}")];
const cutOff = { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } };
const responses: Bodies = {
  text: { streamed: streamOf(responsesText), whole: json(responseOf(responsesText)) },
  calls: { streamed: streamOf(responsesCalls), whole: json(responseOf(responsesCalls)) },
  uncounted: {
    streamed: streamOf(responsesText, { usage: null }),
    whole: json(responseOf(responsesText, { usage: null })),
  },
  reasoned: { streamed: streamOf(responsesThought), whole: json(responseOf(responsesThought)) },
  cut: { streamed: streamOf(responsesText, cutOff), whole: json(responseOf(responsesText, cutOff)) },
  echoed: [SIGNATURE],
  half: streamOf(responsesText).split("event: response.output_text.done")[0] ?? "",
};

type Wire = { readonly bodies: Bodies; readonly make: (baseUrl: string) => ModelPort };

/** Every request below such an address is cut off, after a piece of the reply where it is streamed. */
const cutting = (baseUrl: string): string => `${baseUrl}/cut`;

const compatible = (baseURL: string) =>
  createOpenAICompatible({ name: "acme", baseURL, includeUsage: true, apiKey: KEY })("m1");
const chatAt = (baseUrl: string): ModelPort => new OpenAiChatModel({ model: "m1", apiKey: KEY, baseUrl });
const overChat = (make: (model: ModelPort) => ModelPort): Wire => ({
  bodies: chat,
  make: (baseUrl) => make(chatAt(baseUrl)),
});

/** A model each request of which fails at its first attempt. */
function failingFirst(baseUrl: string): ModelPort {
  const [broken, good] = [chatAt(cutting(baseUrl)), chatAt(baseUrl)];
  const seen = new WeakSet<ChatRequest>();
  const next = (request: ChatRequest): ModelPort => {
    if (seen.has(request)) return good;
    seen.add(request);
    return broken;
  };
  return {
    chat: (request) => next(request).chat(request),
    chatStreaming: (request, onChunk) => streamOn(next(request), request, onChunk),
    describe: () => ({ provider: "openai-chat", model: "m1" }),
  };
}

function streamOn(model: ModelPort, request: ChatRequest, onChunk: ChunkListener): Promise<ModelResponse> {
  if (model.chatStreaming === undefined) throw new Error("the model does not stream");
  return model.chatStreaming(request, onChunk);
}

/** Their first attempt is cut off, always. */
const secondAttempts: Readonly<Record<string, Wire>> = {
  retrying: {
    bodies: chat,
    make: (baseUrl) => retrying(failingFirst(baseUrl), { attempts: 2, baseDelayMs: 0, afterOutput: "reset" }),
  },
  fallback: {
    bodies: chat,
    make: (baseUrl) => fallback([chatAt(cutting(baseUrl)), chatAt(baseUrl)], { coolDownMs: 0, afterOutput: "reset" }),
  },
};
const wires: Readonly<Record<string, Wire>> = {
  "openai-chat": overChat((model) => model),
  "openai-responses": {
    bodies: responses,
    make: (baseUrl) => new OpenAiResponsesModel({ model: "m1", apiKey: KEY, baseUrl }),
  },
  anthropic: { bodies: claude, make: (baseUrl) => new AnthropicModel({ model: "m1", apiKey: KEY, baseUrl }) },
  gemini: { bodies: gemini, make: (baseUrl) => new GeminiModel({ model: "m1", apiKey: KEY, baseUrl }) },
  "ai-sdk": { bodies: chat, make: (baseUrl) => new AiSdkModel({ model: compatible(baseUrl) }) },
  "ai-sdk, of a port offered to the AI SDK": overChat((model) => new AiSdkModel({ model: toLanguageModel(model) })),
  proxy: overChat((model) => direct(handlerOf(model))),
  timeouts: overChat((model) =>
    timeouts(model, { firstTokenTimeoutMs: 60_000, idleTimeoutMs: 60_000, totalTimeoutMs: 60_000 }),
  ),
  rateLimited: overChat((model) => rateLimited(model, { requestsPerMinute: 1000 })),
  routed: overChat((model) => routed([], model)),
  ...secondAttempts,
};

/** The names under which a request offers its tools, and those of the tools it forces. */
function toolNames({ body }: SeenRequest): {
  readonly offered: readonly unknown[];
  readonly forced: readonly unknown[];
} {
  const {
    tools = [],
    tool_choice: choice,
    toolConfig,
  } = body as {
    readonly tools?: readonly {
      readonly name?: unknown;
      readonly function?: { readonly name?: unknown };
      readonly functionDeclarations?: readonly { readonly name: unknown }[];
    }[];
    readonly tool_choice?: { readonly name?: unknown; readonly function?: { readonly name?: unknown } };
    readonly toolConfig?: { readonly functionCallingConfig?: { readonly allowedFunctionNames?: readonly unknown[] } };
  };
  const offered = tools.flatMap(
    (one) => one.functionDeclarations?.map(({ name }) => name) ?? [one.function?.name ?? one.name],
  );
  const single = choice?.function?.name ?? choice?.name;
  const allowed = toolConfig?.functionCallingConfig?.allowedFunctionNames ?? [];
  return { offered, forced: single === undefined ? allowed : [single] };
}

/** Refuses what providers refuse: names they do not take, and a choice of a tool that is not offered. */
function complaintAbout(request: SeenRequest): string | undefined {
  const { offered, forced } = toolNames(request);
  const illegal = offered.find((name) => typeof name !== "string" || !/^[a-zA-Z0-9_-]{1,64}$/.test(name));
  if (illegal !== undefined) return `the name ${String(illegal)} is not allowed`;
  return forced.every((name) => offered.includes(name)) ? undefined : "the forced tool is not offered";
}

/** Answers each request with the sample it was prepared for; the pieces are whole bodies, or single bytes. */
async function fixtureOf(
  { bodies, make }: Wire,
  cut: (body: string) => readonly (string | Uint8Array)[],
): Promise<ModelPortFixture> {
  const prepared: (keyof ModelSamples)[] = [];
  const answered: SeenRequest[] = [];
  const server = await loopback((response, request) => {
    const isStream = request.body["stream"] === true || request.path.includes(":streamGenerateContent");
    if (request.path.includes("/cut/")) return begin(response, isStream, () => response.destroy());
    answered.push(request);
    const complaint = complaintAbout(request);
    if (complaint !== undefined) return fail(response, 400, complaint);
    const sample = prepared[answered.length - 1] ?? "text";
    if (sample === "failure") return fail(response, 500, `boom: the key ${KEY} is unwell`);
    if (sample === "slow") return begin(response, isStream, () => undefined);
    if (sample === "broken") return begin(response, isStream, () => response.destroy());
    response.writeHead(200, isStream ? SSE : JSON_TYPE);
    const body = bodies[sample === "named" ? "calls" : sample][isStream ? "streamed" : "whole"];
    const [name = "f"] = toolNames(request).offered;
    for (const piece of cut(body.replaceAll('"name":"f"', `"name":${json(name)}`))) response.write(piece);
    response.end();
  });
  function fail(response: ServerResponse, status: number, message: string): void {
    response.writeHead(status, JSON_TYPE).end(json({ error: { message } }));
  }
  function begin(response: ServerResponse, isStream: boolean, then: () => void): void {
    response.writeHead(200, isStream ? SSE : JSON_TYPE).write(isStream ? bodies.half : " ", then);
  }
  return {
    model: make(server.baseUrl),
    samples: { ...samples, reasoned: { tools, reasoning: THOUGHT, echoed: bodies.echoed } },
    prepare: (sample) => void prepared.push(sample),
    sent: () => json(answered.at(-1)?.body),
    key: KEY,
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

test.each(Object.entries(secondAttempts))("%s shows what the claims see of a second attempt", async (_, wire) => {
  const { model, prepare, ...rest } = await fixtureOf(wire, (body) => [body]);
  await using _server = rest as AsyncDisposable;
  prepare?.("text");
  const chunks: StreamChunk[] = [];
  const { parts } = await streamOn(model, request(), (chunk) => chunks.push(chunk));
  expect(parts).toEqual([{ type: "text", text: WORDS }]);
  expect(chunks.map(({ type }) => type).slice(0, 3)).toEqual(["textDelta", "reset", "textDelta"]);
});

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
  const noServer = { missing: "there is no server" };
  const capabilities = {
    failure: never,
    broken: never,
    partial: never,
    cut: { missing: "it is never long" },
    reasoning: { missing: "it does not think" },
    sent: noServer,
    names: noServer,
    key: noServer,
  };
  runClaims({ test, claims: modelPortClaims, make, capabilities });
});
