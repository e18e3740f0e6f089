import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { AiSdkModel, type AiSdkOptions } from "../../../src/adapters/models/ai-sdk.js";
import type { AssistantPart, Message } from "../../../src/domain/message.js";
import type { ChatOptions } from "../../../src/domain/model.js";
import { request, streamedBy, tool, user, wholeBy } from "./chat-outcome.js";
import { assistant, result, toolCall } from "./gemini-wire.js";
import { delta, DONE, event, JSON_TYPE, type Loopback, loopback, pieces, SSE, STOP } from "./loopback.js";

const chat = (server: Pick<Loopback, "baseUrl">, more: Partial<AiSdkOptions> = {}): AiSdkModel =>
  new AiSdkModel({
    model: createOpenAICompatible({ name: "acme", baseURL: server.baseUrl, apiKey: "key-1", includeUsage: true })("m1"),
    ...more,
  });
const claude = (server: Pick<Loopback, "baseUrl">, more: Partial<AiSdkOptions> = {}): AiSdkModel =>
  new AiSdkModel({ model: createAnthropic({ baseURL: server.baseUrl, apiKey: "key-1" })("claude-test"), ...more });

const usage = {
  prompt_tokens: 10,
  completion_tokens: 4,
  total_tokens: 14,
  prompt_tokens_details: { cached_tokens: 6 },
  completion_tokens_details: { reasoning_tokens: 3 },
};
const counted = { inputTokens: 10, outputTokens: 4, totalTokens: 14, cachedInputTokens: 6, reasoningTokens: 3 };
const calls = [
  { index: 0, id: "c1", type: "function", function: { name: "f", arguments: '{"a":1}' } },
  { index: 1, id: "c2", type: "function", function: { name: "g", arguments: "" } },
];

const named = (type: string, fields: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
const block = (index: number, content_block: object, deltas: readonly object[]): string =>
  named("content_block_start", { index, content_block }) +
  deltas.map((one) => named("content_block_delta", { index, delta: one })).join("") +
  named("content_block_stop", { index });
const messageStart = named("message_start", {
  message: {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude-test-1",
    content: [],
    stop_reason: null,
    usage: { input_tokens: 9, cache_read_input_tokens: 5, output_tokens: 1 },
  },
});
const messageEnd = (stop_reason: string): string =>
  named("message_delta", { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 7 } }) +
  named("message_stop", {});
const thinking = block(0, { type: "thinking", thinking: "" }, [
  { type: "thinking_delta", thinking: "h" },
  { type: "thinking_delta", thinking: "m" },
  { type: "signature_delta", signature: "SIG-A" },
]);
const redacted = block(1, { type: "redacted_thinking", data: "CIPHER" }, []);
const toolUse = block(2, { type: "tool_use", id: "tu_1", name: "f", input: {} }, [
  { type: "input_json_delta", partial_json: '{"a":1}' },
]);
const thought: readonly AssistantPart[] = [
  { type: "reasoning", text: "hm", providerData: { anthropic: { signature: "SIG-A" } } },
  { type: "reasoning", text: "", providerData: { anthropic: { redactedData: "CIPHER" } } },
  {
    type: "toolCall",
    id: "tu_1",
    name: "f",
    arguments: { a: 1 },
  },
];

describe("a model of @ai-sdk/openai-compatible", () => {
  const streamedBody =
    delta({ reasoning_content: "hm" }) +
    delta({ content: "Hel" }) +
    delta({ content: "lo" }) +
    delta({ tool_calls: calls }) +
    delta({}, "tool_calls") +
    event({ choices: [], usage }) +
    DONE;
  const wholeBody = {
    id: "r1",
    model: "m1",
    choices: [
      {
        index: 0,
        finish_reason: "tool_calls",
        message: { role: "assistant", reasoning_content: "hm", content: "Hello", tool_calls: calls },
      },
    ],
    usage,
  };
  const both = (server: Pick<Loopback, "baseUrl">) => [streamedBy(chat(server), tools), wholeBy(chat(server), tools)];
  const tools = request({ tools: [tool("f"), tool("g")] });

  it("streams and answers at once with the same text, reasoning, calls and usage", async () => {
    await using server = await loopback((response, { body }) => {
      const stream = body["stream"] === true;
      response.writeHead(200, stream ? SSE : JSON_TYPE).end(stream ? streamedBody : JSON.stringify(wholeBody));
    });
    const wanted = {
      text: "Hello",
      reasoning: "hm",
      calls: [
        ["c1", "f", { a: 1 }],
        ["c2", "g", {}],
      ],
      finish: "tool-calls",
      usage: counted,
    };
    for (const outcome of await Promise.all(both(server))) expect(outcome).toEqual(wanted);
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual(["Bearer key-1", "Bearer key-1"]);
  });

  it("does so byte by byte", async () => {
    await using server = await loopback(pieces(Array.from(Buffer.from(streamedBody), (byte) => Uint8Array.of(byte))));
    expect(await streamedBy(chat(server), tools)).toMatchObject({ text: "Hello", finish: "tool-calls" });
  });

  it("leaves usage unknown where the wire counts nothing, and what the wire does not say", async () => {
    await using server = await loopback((response, _, nth) => {
      const counts = nth === 0 ? "" : event({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } });
      response.writeHead(200, SSE).end(delta({ content: "hi" }) + STOP + counts + DONE);
    });
    expect(await streamedBy(chat(server))).toEqual({ text: "hi", finish: "stop" });
    expect(await streamedBy(chat(server))).toEqual({
      text: "hi",
      finish: "stop",
      usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 },
    });
  });

  it("sends every option, and tools by names that any provider takes", async () => {
    await using server = await loopback(
      pieces(
        [JSON.stringify({ ...wholeBody, choices: [{ index: 0, finish_reason: "stop", message: { content: "hi" } }] })],
        JSON_TYPE,
      ),
    );
    const options: ChatOptions = {
      temperature: 0.5,
      topP: 0.9,
      maxOutputTokens: 100,
      stopSequences: ["END"],
      seed: 7,
      toolChoice: { tool: "fs.list" },
      reasoningEffort: "high",
      providerOptions: { acme: { user: "u1" } },
    };
    await chat(server, { headers: { "x-more": "1" } }).chat(request({ tools: [tool("fs.list")], options }));
    const [sent] = server.requests;
    expect(sent?.headers["x-more"]).toBe("1");
    const name = expect.stringMatching(/^fs_list_[0-9a-f]{8}$/) as string;
    expect(sent?.body).toMatchObject({
      model: "m1",
      temperature: 0.5,
      top_p: 0.9,
      max_tokens: 100,
      stop: ["END"],
      seed: 7,
      reasoning_effort: "high",
      user: "u1",
      tools: [{ type: "function", function: { name, parameters: { type: "object", properties: {} } } }],
      tool_choice: { type: "function", function: { name } },
    });
  });

  it("sends what was stored in a form that is always legal", async () => {
    await using server = await loopback(pieces([delta({ content: "hi" }) + STOP + DONE]));
    const image = { type: "image", mimeType: "image/png", source: { base64: "AAAA" } } as const;
    const messages: readonly Message[] = [
      { role: "system", id: "s", at: 0, content: [{ type: "text", text: "be brief" }] },
      { role: "user", id: "u", at: 0, content: [{ type: "text", text: "look" }, { type: "text", text: " " }, image] },
      assistant(
        [{ type: "text", text: "ok" }, toolCall("c1", "f", { arguments: "{bad" as never }), toolCall("c2", "f")],
        "other",
      ),
      user("wait"),
      result("c1"),
      result("ghost"),
      { role: "system", id: "s2", at: 0, content: [{ type: "text", text: "in French" }] },
      assistant([{ type: "text", text: "\n" }], "other"),
    ];
    await chat(server).chatStreaming(request({ messages }), () => undefined);
    expect(server.requests[0]?.body["messages"]).toEqual([
      { role: "system", content: "be brief" },
      {
        role: "user",
        content: [
          { type: "text", text: "look" },
          { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
        ],
      },
      {
        role: "assistant",
        content: "ok",
        tool_calls: [
          { id: "c1", type: "function", function: { name: "f", arguments: "{}" } },
          { id: "c2", type: "function", function: { name: "f", arguments: "{}" } },
        ],
      },
      { role: "tool", tool_call_id: "c1", content: "result of c1" },
      { role: "tool", tool_call_id: "c2", content: expect.stringContaining("interrupted") as string },
      { role: "user", content: "wait" },
      { role: "user", content: "<system>in French</system>" },
    ]);
  });

  it.each<[string, string, object]>([
    ["a stream without an end", delta({ content: "Half" }), { error: "response-parse", partialText: "Half" }],
    [
      "an error in the stream",
      delta({ content: "Half" }) + event({ error: { message: "Overloaded", type: "overloaded_error" } }),
      { error: "overloaded", partialText: "Half" },
    ],
    [
      "an event that is no JSON",
      `${delta({ content: "Half" })}data: {oops\n\n`,
      { error: "response-parse", partialText: "Half" },
    ],
  ])("never makes a reply of %s", async (_, body, wanted) => {
    await using server = await loopback(pieces([body]));
    expect(await streamedBy(chat(server))).toMatchObject(wanted);
  });

  it.each<[number, unknown, Record<string, string>, object]>([
    [401, { error: { message: "no" } }, {}, { kind: "auth", retryable: false }],
    [
      429,
      { error: { message: "slow down" } },
      { "retry-after": "2", "x-request-id": "r-7" },
      { kind: "rate-limit", retryable: true, retryAfterMs: 2000, requestId: "r-7" },
    ],
    [
      400,
      { error: { message: "maximum context length is 10 tokens" } },
      {},
      { kind: "context-overflow", retryable: false },
    ],
    [400, { error: { message: "Invalid schema for function 'f'" } }, {}, { kind: "invalid-request", toolName: "f" }],
    [500, { error: { message: "boom" } }, {}, { kind: "server", retryable: true }],
    [502, "<html><h1>Bad Gateway</h1></html>", {}, { kind: "server", status: 502 }],
    [200, "<html>", {}, { kind: "response-parse", status: 200 }],
    [200, { error: { message: "Overloaded", type: "overloaded_error" } }, {}, { kind: "overloaded" }],
  ])("reports status %s as a typed error: %j", async (status, body, headers, wanted) => {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    await using server = await loopback(pieces([text], { ...JSON_TYPE, ...headers }, status));
    await expect(chat(server).chat(tools)).rejects.toMatchObject({
      name: "ModelError",
      provider: "ai-sdk/acme.chat",
      ...wanted,
    });
    expect(server.requests).toHaveLength(1);
  });

  it.each([
    ["Incorrect API key provided: my-own-key-1234.", "my-own-key-1234"],
    ["no such token: sk-proj-abcdefgh12345678", "sk-proj-abcdefgh12345678"],
    ["Authorization: Bearer eyJhbGciOi.abc was refused", "eyJhbGciOi.abc"],
    ["API key AIzaSyA1234567890abcdef not valid", "AIzaSyA1234567890abcdef"],
  ])("quotes no key that a provider quotes: %s", async (message, key) => {
    for (const [status, told] of [
      [401, "ModelError: ModelError(auth): HTTP 401"],
      [500, "[secret]"],
    ] as const) {
      await using server = await loopback(pieces([JSON.stringify({ error: { message } })], JSON_TYPE, status));
      const error: unknown = await chat(server)
        .chat(request())
        .catch((thrown: unknown) => thrown);
      expect(String(error)).toContain(told);
      expect(JSON.stringify([error, String(error), (error as Error).stack, (error as Error).cause])).not.toContain(key);
    }
  });

  it("reports a server that is not there, and one that resets, as transport", async () => {
    expect(await streamedBy(chat({ baseUrl: "http://127.0.0.1:1/v1" }))).toMatchObject({ error: "transport" });
    await using server = await loopback((response) => {
      response.writeHead(200, SSE).write(delta({ content: "Half" }), () => response.destroy());
    });
    expect(await streamedBy(chat(server))).toMatchObject({ error: "transport", partialText: "Half" });
  });

  it("ends promptly on an abort and a stall with what came, and keeps no listener", async () => {
    await using server = await loopback(
      (response) => void response.writeHead(200, SSE).write(delta({ content: "Half" })),
    );
    const controller = new AbortController();
    const call = chat(server).chatStreaming(request({ signal: controller.signal }), () => controller.abort());
    await expect(call).rejects.toMatchObject({ kind: "aborted", retryable: false, partial: [{ text: "Half" }] });
    await server.closed;
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
    expect(await streamedBy(chat(server, { idleTimeoutMs: 30 }))).toMatchObject({
      error: "timeout",
      partialText: "Half",
    });
  });
});

describe("a model of @ai-sdk/anthropic", () => {
  const tools = request({ tools: [tool("f")] });
  const body = messageStart + thinking + redacted + toolUse + messageEnd("tool_use");

  it("keeps signatures and ciphers as provider data, and gives them back with the calls they led to", async () => {
    await using server = await loopback(pieces([body]));
    const model = claude(server);
    const response = await model.chatStreaming(tools, () => undefined);
    expect(response).toMatchObject({
      parts: thought,
      finishReason: "tool-calls",
      model: "claude-test-1",
      provider: "ai-sdk/anthropic.messages",
    });
    expect(response.usage).toMatchObject({ inputTokens: 14, outputTokens: 7, totalTokens: 21, cachedInputTokens: 5 });
    const { parts, provider } = response;
    const messages = [
      user("go"),
      assistant(JSON.parse(JSON.stringify(parts)) as typeof parts, provider),
      result("tu_1"),
    ];
    await model.chatStreaming({ ...tools, messages }, () => undefined);
    expect(server.requests[1]?.body["messages"]).toMatchObject([
      { role: "user" },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "hm", signature: "SIG-A" },
          { type: "redacted_thinking", data: "CIPHER" },
          { type: "tool_use", id: "tu_1", name: "f", input: { a: 1 } },
        ],
      },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "tu_1", content: "result of tu_1" }] },
    ]);
    await model.chatStreaming(
      { ...tools, messages: [user("go"), assistant(parts, "other"), result("tu_1")] },
      () => undefined,
    );
    expect(server.requests[2]?.body["messages"]).toMatchObject([{}, { content: [{ type: "tool_use" }] }, {}]);
  });

  it("answers at once as it streams", async () => {
    const content = [
      { type: "thinking", thinking: "hm", signature: "SIG-A" },
      { type: "redacted_thinking", data: "CIPHER" },
      { type: "tool_use", id: "tu_1", name: "f", input: { a: 1 } },
    ];
    const whole = {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "claude-test-1",
      content,
      stop_reason: "tool_use",
      usage: { input_tokens: 9, cache_read_input_tokens: 5, output_tokens: 7 },
    };
    await using server = await loopback((response, { body: sent }) => {
      const stream = sent["stream"] === true;
      response.writeHead(200, stream ? SSE : JSON_TYPE).end(stream ? body : JSON.stringify(whole));
    });
    const once = await claude(server).chat(tools);
    let input = "";
    const streamed = await claude(server).chatStreaming(tools, (chunk) => {
      if (chunk.type === "toolCallDelta") input += chunk.argumentsDelta ?? "";
    });
    expect(input).toBe('{"a":1}');
    expect(once).toEqual(streamed);
    expect(once.parts).toEqual(thought);
  });

  it("never makes a reply of a stream that ends too soon, and reports errors inside of it", async () => {
    const half = messageStart + block(0, { type: "text", text: "" }, [{ type: "text_delta", text: "Half" }]);
    await using server = await loopback((response, _, nth) => {
      response
        .writeHead(200, SSE)
        .end(nth === 0 ? half : half + named("error", { error: { type: "overloaded_error", message: "Overloaded" } }));
    });
    expect(await streamedBy(claude(server))).toMatchObject({ error: "response-parse", partialText: "Half" });
    expect(await streamedBy(claude(server))).toMatchObject({ error: "overloaded", partialText: "Half" });
  });

  it("keeps the digits of numbers that no double holds, there and back", async () => {
    const raw = '{"n":12345678901234567890}';
    const big = block(0, { type: "tool_use", id: "t1", name: "f", input: {} }, [
      { type: "input_json_delta", partial_json: raw },
    ]);
    await using server = await loopback(pieces([messageStart + big + messageEnd("tool_use")]));
    const { parts, provider } = await claude(server).chatStreaming(tools, () => undefined);
    expect(parts).toMatchObject([{ type: "toolCall", raw }]);
    let sent = "";
    const fetch: typeof globalThis.fetch = (_, init) => {
      sent = String(init?.body);
      return Promise.resolve(new Response("{}", { status: 400 }));
    };
    const model = new AiSdkModel({ model: createAnthropic({ apiKey: "k", fetch })("claude-test") });
    await wholeBy(model, request({ messages: [user("go"), assistant(parts, provider), result("t1")] }));
    expect(sent).toContain(`"input":${raw}`);
  });

  it("groups results, images among them, and marks failures", async () => {
    await using server = await loopback(
      pieces([
        messageStart +
          block(0, { type: "text", text: "" }, [{ type: "text_delta", text: "ok" }]) +
          messageEnd("end_turn"),
      ]),
    );
    const image = { type: "image", mimeType: "image/png", source: { base64: "AAAA" } } as const;
    const messages = [
      user("go"),
      assistant([toolCall("t1", "f"), toolCall("t2", "f"), toolCall("t3", "f")]),
      result("t1", { content: [{ type: "text", text: "see" }, image] }),
      result("t2", { isError: true }),
      result("t3", { content: [], structured: { a: 1 } }),
    ];
    expect(await streamedBy(claude(server), request({ messages }))).toMatchObject({ text: "ok", finish: "stop" });
    expect((server.requests[0]?.body["messages"] as unknown[])[2]).toMatchObject({
      role: "user",
      content: [
        {
          tool_use_id: "t1",
          content: [
            { type: "text", text: "see" },
            { type: "image", source: { type: "base64", data: "AAAA" } },
          ],
        },
        { tool_use_id: "t2", content: "result of t2", is_error: true },
        { tool_use_id: "t3", content: '{"a":1}' },
      ],
    });
  });
});
