import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { OpenAiChatModel } from "../../../src/adapters/models/openai-chat.js";
import { OpenAiResponsesModel } from "../../../src/adapters/models/openai-responses.js";
import type { ModelError } from "../../../src/domain/errors.js";
import type { Message } from "../../../src/domain/message.js";
import type { ChatOptions } from "../../../src/domain/model.js";
import { wireCases } from "../../faults/wire-cases.js";
import { CHAT_REPLIES, completionOf, streamedCompletion } from "./chat-replies.js";
import { type Outcome, request, streamedBy, tool, user, wholeBy } from "./chat-outcome.js";
import { JSON_TYPE, loopback, pieces } from "./loopback.js";
import { REPLIES } from "./responses-replies.js";
import { type Fields, frame, item, response, streamOf } from "./responses-wire.js";

const official = (baseURL: string) => new OpenAI({ baseURL, apiKey: "key", maxRetries: 0, logLevel: "off" });
const chatModel = (baseUrl: string) => new OpenAiChatModel({ model: "m1", baseUrl });
const responsesModel = (baseUrl: string) => new OpenAiResponsesModel({ model: "m1", baseUrl });

type Call = readonly [id: string, name: string, args: string];
type Read = { readonly text: string; readonly calls: readonly Call[]; readonly total: number | undefined };

/** What the official client was told, in the words of our outcomes; arguments that are no JSON are not compared. */
function expectSame(read: Read, ours: Outcome): void {
  expect(read.text).toBe(ours.text);
  expect(read.calls.map(([id, name]) => [id, name])).toEqual((ours.calls ?? []).map(([id, name]) => [id, name]));
  for (const [n, [, , args]] of read.calls.entries()) {
    const told = ours.calls?.[n]?.[2];
    if (typeof told === "object") expect(JSON.parse(args === "" ? "{}" : args)).toEqual(told);
  }
  expect(read.total).toBe(ours.usage?.totalTokens);
}

function readResponse({ output, output_text, usage }: OpenAI.Responses.Response): Read {
  const refusals = output.flatMap((one) =>
    one.type === "message" ? one.content.map((part) => (part.type === "refusal" ? part.refusal : "")) : [],
  );
  return {
    text: output_text + refusals.join(""),
    calls: output.flatMap((one) =>
      one.type === "function_call" ? [[one.call_id, one.name, one.arguments] as const] : [],
    ),
    // The provider sends null in an event that begins a reply.
    total: (usage ?? undefined)?.total_tokens,
  };
}

function readCompletion({ choices, usage }: OpenAI.ChatCompletion): Read {
  const [choice] = choices;
  const calls = choice?.message.tool_calls ?? [];
  return {
    text: (choice?.message.content ?? "") + (choice?.message.refusal ?? ""),
    calls: calls.flatMap((call) =>
      call.type === "function" ? [[call.id, call.function.name, call.function.arguments] as const] : [],
    ),
    total: usage?.total_tokens,
  };
}

describe("the official client reads the bodies of the responses wire that we test with as we do", () => {
  it.each(REPLIES)("streamed and whole: %s", async (_, output, fields, wanted) => {
    await using streamed = await loopback(pieces([streamOf(output, fields)]));
    const stream = official(streamed.baseUrl).responses.stream({ model: "m1", input: "hi" });
    expectSame(readResponse(await stream.finalResponse()), wanted);
    await using whole = await loopback(pieces([JSON.stringify(response(output, fields))], JSON_TYPE));
    expectSame(readResponse(await official(whole.baseUrl).responses.create({ model: "m1", input: "hi" })), wanted);
  });

  it("and fails where we fail", async () => {
    const error = { code: "server_error", message: "boom" };
    for (const body of [frame("error", { ...error, param: null }), frame("error", { error })]) {
      await using server = await loopback(pieces([body]));
      const stream = official(server.baseUrl).responses.stream({ model: "m1", input: "hi" });
      await expect(stream.finalResponse()).rejects.toThrow();
      expect(await streamedBy(responsesModel(server.baseUrl))).toHaveProperty("error");
    }
  });

  it("and leaves a reply in progress that ends too early, which is a failure for us", async () => {
    const [body = ""] = streamOf([item.message("hi")]).split("event: response.completed");
    await using server = await loopback(pieces([body]));
    const stream = official(server.baseUrl).responses.stream({ model: "m1", input: "hi" });
    expect(await stream.finalResponse()).toMatchObject({ status: "in_progress" });
    expect(await streamedBy(responsesModel(server.baseUrl))).toMatchObject({ error: "response-parse" });
  });
});

describe("the official client reads the bodies of the chat wire that we test with as we do", () => {
  it.each(CHAT_REPLIES)("streamed and whole: %s", async (_, message, finish, wanted) => {
    const params = { model: "m1", messages: [] };
    await using streamed = await loopback(pieces([streamedCompletion(message, finish)]));
    const stream = official(streamed.baseUrl).chat.completions.stream(params);
    expectSame(readCompletion(await stream.finalChatCompletion()), wanted);
    expect(await streamedBy(chatModel(streamed.baseUrl))).toEqual(wanted);
    const document = JSON.stringify(completionOf(message, finish));
    await using whole = await loopback(pieces([document], JSON_TYPE));
    expectSame(readCompletion(await official(whole.baseUrl).chat.completions.create(params)), wanted);
    expect(await wholeBy(chatModel(whole.baseUrl))).toEqual(wanted);
  });

  /** The client throws at a comment in a payload, at missing choices, at errors and half events; the rest it reads, without judging the end. */
  const REFUSED = ["F005", "F008", "F010", "F021"];
  const bodies = wireCases.flatMap(({ id, title, bodies }) => bodies.map((body) => ({ id, title, body })));

  it.each(bodies)("$id $title", async ({ id, body }) => {
    await using server = await loopback(pieces(body));
    const read = async (): Promise<string> => {
      const stream = await official(server.baseUrl).chat.completions.create({ model: "m", messages: [], stream: true });
      let text = "";
      for await (const { choices } of stream) {
        text += (choices[0]?.delta.content ?? "") + (choices[0]?.delta.refusal ?? "");
      }
      return text;
    };
    if (REFUSED.includes(id)) return await expect(read()).rejects.toThrow();
    const ours = await streamedBy(chatModel(server.baseUrl));
    expect(await read()).toBe(ours.text ?? ours.partialText ?? "");
  });
});

describe("the official client tells the same of a refused request as we do", () => {
  const error = { message: "Rate limit reached", type: "requests", param: null, code: "rate_limit_exceeded" };

  it.each([400, 401, 403, 404, 409, 422, 429, 500, 503])("status %i, and the id of the request", async (status) => {
    const answer = pieces([JSON.stringify({ error })], { ...JSON_TYPE, "x-request-id": "req_1" }, status);
    await using server = await loopback(answer);
    const client = official(server.baseUrl);
    const caught = (call: Promise<unknown>): Promise<unknown> => call.catch((thrown: unknown) => thrown);
    const calls = [
      [() => client.responses.create({ model: "m", input: "" }), responsesModel(server.baseUrl)],
      [() => client.chat.completions.create({ model: "m", messages: [] }), chatModel(server.baseUrl)],
    ] as const;
    for (const [theirs, model] of calls) {
      const told = (await caught(theirs())) as InstanceType<typeof OpenAI.APIError>;
      const { status: code, requestId } = (await caught(model.chat(request()))) as ModelError;
      expect([told.status, told.requestID]).toEqual([code, requestId]);
      expect(code).toBe(status);
    }
  });
});

describe("what is sent has the official client's own types", () => {
  const stamp = { id: "i", at: 0 };
  const SCHEMA = {
    type: "object",
    properties: { a: { type: "string" } },
    required: ["a"],
    additionalProperties: false,
  };
  const thought: Fields = item.reasoning("AAA", ["plan"]);
  const messages: readonly Message[] = [
    { role: "system", content: [{ type: "text", text: "be brief" }], ...stamp },
    {
      role: "user",
      content: [
        { type: "text", text: "see" },
        { type: "image", source: { url: "https://x.test/a.png" }, mimeType: "image/png" },
        { type: "file", source: { base64: "QQ==" }, mimeType: "application/pdf", name: "a.pdf" },
      ],
      ...stamp,
    },
    {
      role: "assistant",
      parts: [
        { type: "reasoning", text: "plan", providerData: thought as never },
        { type: "text", text: "look", providerData: { phase: "commentary" } },
        { type: "toolCall", id: "c1", name: "f", arguments: { a: "x" } },
      ],
      ...stamp,
    },
    {
      role: "tool",
      toolCallId: "c1",
      toolName: "f",
      content: [{ type: "text", text: "1" }],
      isError: false,
      outcome: "completed",
      ...stamp,
    },
    user("go on"),
  ];
  const options: ChatOptions = {
    temperature: 0,
    topP: 1,
    maxOutputTokens: 9,
    toolChoice: { tool: "f" },
    parallelToolCalls: true,
    reasoningEffort: "maximum",
    serviceTier: "flex",
    responseSchema: SCHEMA,
  };
  const asked = request({ messages, tools: [tool("f", SCHEMA)], options });

  it("on the responses wire", async () => {
    await using server = await loopback(pieces([streamOf([item.message("ok")])]));
    const model = new OpenAiResponsesModel({
      model: "m1",
      baseUrl: server.baseUrl,
      cache: "30m",
      promptCacheKey: () => "k",
      reasoningSummary: "auto",
    });
    await model.chatStreaming(asked, () => undefined);
    const prompt_cache_breakpoint = { mode: "explicit", ttl: "30m" } as const;
    const wanted = {
      model: "m1",
      input: [
        {
          type: "message",
          role: "system",
          content: [{ type: "input_text", text: "be brief", prompt_cache_breakpoint }],
        },
        {
          type: "message",
          role: "user",
          content: [
            { type: "input_text", text: "see" },
            { type: "input_image", image_url: "https://x.test/a.png", detail: "auto" },
            { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,QQ==" },
          ],
        },
        { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "plan" }], encrypted_content: "AAA" },
        { type: "message", role: "assistant", content: "look", phase: "commentary" },
        { type: "function_call", call_id: "c1", name: "f", arguments: '{"a":"x"}' },
        { type: "function_call_output", call_id: "c1", output: "1" },
        {
          type: "message",
          role: "user",
          content: [{ type: "input_text", text: "go on", prompt_cache_breakpoint }],
        },
      ],
      stream: true,
      store: false,
      include: ["reasoning.encrypted_content"],
      tools: [{ type: "function", name: "f", description: "does f", parameters: SCHEMA, strict: false }],
      tool_choice: { type: "function", name: "f" },
      parallel_tool_calls: true,
      temperature: 0,
      top_p: 1,
      max_output_tokens: 9,
      reasoning: { effort: "max", summary: "auto" },
      service_tier: "flex",
      text: { format: { type: "json_schema", name: "response", schema: SCHEMA, strict: true } },
      prompt_cache_key: "k",
    } satisfies OpenAI.Responses.ResponseCreateParamsStreaming;
    expect(server.requests[0]?.body).toEqual(wanted);
  });

  it("on the chat wire", async () => {
    await using server = await loopback(pieces([streamedCompletion({ content: "ok" }, "stop")]));
    const model = new OpenAiChatModel({
      model: "m1",
      baseUrl: server.baseUrl,
      cache: "30m",
      promptCacheKey: () => "k",
      maxTokensField: "max_completion_tokens",
      echoReasoning: "never",
    });
    await model.chatStreaming(asked, () => undefined);
    const prompt_cache_breakpoint = { mode: "explicit", ttl: "30m" } as const;
    const wanted = {
      model: "m1",
      messages: [
        { role: "system", content: [{ type: "text", text: "be brief", prompt_cache_breakpoint }] },
        {
          role: "user",
          content: [
            { type: "text", text: "see" },
            { type: "image_url", image_url: { url: "https://x.test/a.png" } },
            { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,QQ==" } },
          ],
        },
        {
          role: "assistant",
          content: "look",
          tool_calls: [{ id: "c1", type: "function", function: { name: "f", arguments: '{"a":"x"}' } }],
        },
        { role: "tool", tool_call_id: "c1", content: "1" },
        { role: "user", content: [{ type: "text", text: "go on", prompt_cache_breakpoint }] },
      ],
      stream: true,
      stream_options: { include_usage: true },
      tools: [{ type: "function", function: { name: "f", description: "does f", parameters: SCHEMA } }],
      tool_choice: { type: "function", function: { name: "f" } },
      parallel_tool_calls: true,
      temperature: 0,
      top_p: 1,
      max_completion_tokens: 9,
      reasoning_effort: "xhigh",
      service_tier: "flex",
      response_format: { type: "json_schema", json_schema: { name: "response", schema: SCHEMA, strict: true } },
      prompt_cache_key: "k",
    } satisfies OpenAI.ChatCompletionCreateParamsStreaming;
    expect(server.requests[0]?.body).toEqual(wanted);
  });
});
