import { describe, expect, it } from "vitest";
import { OpenAiChatModel, type OpenAiChatOptions } from "../../../src/adapters/models/openai-chat.js";
import type { AssistantPart, Message } from "../../../src/domain/message.js";
import type { ChatOptions } from "../../../src/domain/model.js";
import type { ChatRequest } from "../../../src/ports/model.js";
import { request, tool, user } from "./chat-outcome.js";
import { delta, loopback, pieces, type SeenRequest, STOP } from "./loopback.js";

const SCHEMA = { type: "object", properties: { a: { type: "number" } } };

async function sent(asked: Partial<ChatRequest>, options: Partial<OpenAiChatOptions> = {}): Promise<SeenRequest> {
  await using server = await loopback(pieces([delta({ content: "ok" }), STOP]));
  await new OpenAiChatModel({ model: "m", baseUrl: server.baseUrl, ...options }).chatStreaming(
    request(asked),
    () => undefined,
  );
  const seen = server.requests[0];
  if (seen === undefined) throw new Error("nothing was sent");
  return seen;
}
const body = async (options: ChatOptions, adapter: Partial<OpenAiChatOptions> = {}) =>
  (await sent({ options, tools: [tool("f", SCHEMA)] }, adapter)).body;
const wire = async (messages: readonly Message[], adapter: Partial<OpenAiChatOptions> = {}) =>
  (await sent({ messages }, adapter)).body["messages"] as readonly Record<string, unknown>[];

const stamp = { id: "i", at: 0 };
const reply = (parts: readonly AssistantPart[], fields: object = {}): Message => ({
  role: "assistant",
  parts,
  ...stamp,
  ...fields,
});
const called = (id: string, fields: object = {}): AssistantPart => ({
  type: "toolCall",
  id,
  name: "f",
  arguments: {},
  ...fields,
});
const result = (toolCallId: string, fields: object = {}): Message => ({
  role: "tool",
  toolCallId,
  toolName: "f",
  content: [{ type: "text", text: "1" }],
  isError: false,
  outcome: "completed",
  ...stamp,
  ...fields,
});

describe("a request", () => {
  it("holds what was asked for and nothing else", async () => {
    expect((await sent({})).body).toEqual({
      model: "m",
      messages: [{ role: "user", content: "hello" }],
      stream: true,
      stream_options: { include_usage: true },
    });
    const server = await loopback(pieces([delta({ content: "ok" }), STOP]));
    await new OpenAiChatModel({ model: "m", baseUrl: server.baseUrl }).chat(request());
    expect(server.requests[0]?.body).toEqual({
      model: "m",
      messages: [{ role: "user", content: "hello" }],
      stream: false,
    });
    await server[Symbol.asyncDispose]();
  });

  it("holds every option in the words of the wire", async () => {
    expect(
      await body({
        model: "other",
        temperature: 0,
        topP: 0.5,
        maxOutputTokens: 7,
        stopSequences: ["x"],
        seed: 0,
        toolChoice: { tool: "f" },
        parallelToolCalls: false,
        reasoningEffort: "low",
        serviceTier: "flex",
        responseSchema: { type: "object", properties: { a: { type: "string" } } },
      }),
    ).toEqual({
      model: "other",
      messages: [{ role: "user", content: "hello" }],
      stream: true,
      stream_options: { include_usage: true },
      tools: [{ type: "function", function: { name: "f", description: "does f", parameters: SCHEMA } }],
      tool_choice: { type: "function", function: { name: "f" } },
      parallel_tool_calls: false,
      temperature: 0,
      top_p: 0.5,
      max_tokens: 7,
      stop: ["x"],
      seed: 0,
      reasoning_effort: "low",
      service_tier: "flex",
      response_format: {
        type: "json_schema",
        json_schema: {
          name: "response",
          schema: { type: "object", properties: { a: { type: "string" } } },
          strict: false,
        },
      },
    });
  });

  it("maps every effort, and takes other words for a server that has them", async () => {
    const efforts = ["off", "minimal", "low", "medium", "high", "xhigh", "maximum"] as const;
    const words = [];
    for (const reasoningEffort of efforts) words.push((await body({ reasoningEffort }))["reasoning_effort"]);
    expect(words).toEqual(["none", "minimal", "low", "medium", "high", "xhigh", "xhigh"]);
    expect((await body({ reasoningEffort: "maximum" }, { efforts: { maximum: "high" } }))["reasoning_effort"]).toBe(
      "high",
    );
  });

  it("asks for strict output where the schema allows it", async () => {
    const strict = async (responseSchema: ChatOptions["responseSchema"]) =>
      ((await body({ responseSchema }))["response_format"] as { json_schema: { strict: boolean } }).json_schema.strict;
    const closed = {
      type: "object",
      properties: { a: { type: "string" } },
      required: ["a"],
      additionalProperties: false,
    };
    expect(await strict(closed)).toBe(true);
    expect(await strict({ ...closed, properties: { a: { type: "array", items: closed } } })).toBe(true);
    expect(await strict({ ...closed, properties: { a: { type: "array", items: SCHEMA } } })).toBe(false);
    expect(await strict({ ...closed, required: [] })).toBe(false);
  });

  it("says what the provider shall keep where that is asked for", async () => {
    const mark = { prompt_cache_breakpoint: { mode: "explicit", ttl: "30m" } };
    const messages: Message[] = [
      { role: "system", content: [{ type: "text", text: "be brief" }], ...stamp },
      user("first"),
      {
        role: "user",
        content: [
          { type: "text", text: "a" },
          { type: "text", text: "b" },
        ],
        ...stamp,
      },
    ];
    const { body } = await sent({ messages }, { cache: "30m", promptCacheKey: ({ sessionId }) => sessionId });
    expect(body["prompt_cache_key"]).toBe("s1");
    expect((body["messages"] as { content: unknown }[]).map(({ content }) => content)).toEqual([
      [{ type: "text", text: "be brief", ...mark }],
      "first",
      [
        { type: "text", text: "a" },
        { type: "text", text: "b", ...mark },
      ],
    ]);
  });

  it("forces no tool that is not sent", async () => {
    expect(await body({ toolChoice: { tool: "gone" } })).not.toHaveProperty("tool_choice");
    expect(await body({ toolChoice: "none" })).toMatchObject({ tool_choice: "none" });
  });

  it("lets provider options replace what stands", async () => {
    expect(
      await body({ temperature: 1, providerOptions: { temperature: 0, top_k: 4, stream_options: null } }),
    ).toMatchObject({
      temperature: 0,
      top_k: 4,
      stream_options: null,
    });
  });

  it("can do without usage and with the other name of the output limit", async () => {
    const seen = await body({ maxOutputTokens: 3 }, { streamUsage: false, maxTokensField: "max_completion_tokens" });
    expect(seen).toMatchObject({ max_completion_tokens: 3 });
    expect(seen).not.toHaveProperty("stream_options");
    expect(seen).not.toHaveProperty("max_tokens");
  });

  it("sends no tool choice without tools", async () => {
    const seen = (await sent({ options: { toolChoice: "required", parallelToolCalls: true } })).body;
    expect(Object.keys(seen).sort()).toEqual(["messages", "model", "stream", "stream_options"]);
  });

  it("carries the key, asked for each time, and the application's headers", async () => {
    let count = 0;
    const model = (baseUrl: string) =>
      new OpenAiChatModel({
        model: "m",
        baseUrl: `${baseUrl}/`,
        apiKey: () => `key-${++count}\n`,
        headers: { "X-Mine": "1", accept: "text/plain" },
      });
    await using server = await loopback(pieces([delta({ content: "ok" }), STOP]));
    const one = model(server.baseUrl);
    await one.chat(request());
    await one.chatStreaming(request(), () => undefined);
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual(["Bearer key-1", "Bearer key-2"]);
    expect(server.requests[0]).toMatchObject({
      headers: { "x-mine": "1", accept: "text/plain", "content-type": "application/json" },
    });
    expect(server.requests[0]?.path).toMatch(/\/v1\/chat\/completions$/);
  });

  it("carries no authorization without a key", async () => {
    expect((await sent({})).headers.authorization).toBeUndefined();
  });

  it("that JSON cannot hold is refused before anything is sent", async () => {
    const options = { providerOptions: { a: 1n } } as unknown as ChatOptions;
    await expect(sent({ options })).rejects.toMatchObject({ kind: "request-build", retryable: false });
  });
});

describe("messages on the wire", () => {
  it("keep roles, names and order", async () => {
    const messages: Message[] = [
      { role: "system", content: [{ type: "text", text: "be brief" }], ...stamp },
      { role: "user", content: [{ type: "text", text: "go" }], name: "Ann Ö", ...stamp },
      reply([{ type: "text", text: "a" }, { type: "text", text: "b" }, called("c1", { arguments: { x: 1 } })]),
      result("c1"),
      reply([{ type: "text", text: "done" }]),
    ];
    expect(await wire(messages)).toEqual([
      { role: "system", content: "be brief" },
      { role: "user", content: "go", name: "Ann__" },
      {
        role: "assistant",
        content: "ab",
        tool_calls: [{ id: "c1", type: "function", function: { name: "f", arguments: '{"x":1}' } }],
      },
      { role: "tool", tool_call_id: "c1", content: "1" },
      { role: "assistant", content: "done" },
    ]);
  });

  it("hold images, sound and files, a note for what cannot be sent, and no parts and roles of unknown types", async () => {
    const content = [
      { type: "text", text: "see" },
      { type: "image", source: { url: "https://x.test/a.png" }, mimeType: "image/png" },
      { type: "image", source: { base64: "QQ==" }, mimeType: "image/png" },
      { type: "file", source: { base64: "QQ==" }, mimeType: "audio/mpeg" },
      { type: "file", source: { base64: "QQ==" }, mimeType: "application/pdf", name: "a.pdf" },
      { type: "image", source: { base64: "QQ==" }, mimeType: "image/tiff" },
      { type: "file", source: { base64: "no base64!" }, mimeType: "application/pdf", name: "b.pdf" },
      { type: "hologram" },
    ];
    const messages = [
      { role: "user", content, ...stamp },
      { role: "user", content: [{ type: "hologram" }], ...stamp },
      { role: "note", ...stamp },
      { role: "assistant", parts: [{ type: "hologram" }, { type: "text", text: "ok" }], ...stamp },
    ] as unknown as Message[];
    expect(await wire(messages)).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "see" },
          { type: "image_url", image_url: { url: "https://x.test/a.png" } },
          { type: "image_url", image_url: { url: "data:image/png;base64,QQ==" } },
          { type: "input_audio", input_audio: { data: "QQ==", format: "mp3" } },
          { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,QQ==" } },
          { type: "text", text: '[An image that cannot be shown: "image/tiff"]' },
          { type: "text", text: '[A file that cannot be shown: "b.pdf", "application/pdf"]' },
        ],
      },
      { role: "assistant", content: "ok" },
    ]);
  });

  it("leave out replies without text or calls, whatever else they hold", async () => {
    const empty = [reply([]), reply([{ type: "text", text: " \n" }]), reply([{ type: "reasoning", text: "hm" }])];
    expect(await wire([user("a"), ...empty, user("b")])).toEqual([
      { role: "user", content: "a" },
      { role: "user", content: "b" },
    ]);
  });

  it("say that a result is an error, and use its structure only where it has no content", async () => {
    const messages = [
      reply([called("c1"), called("c2"), called("c3"), called("c4")]),
      result("c1", { isError: true, content: [{ type: "text", text: "no" }] }),
      result("c2", { content: [], structured: { a: 1 }, details: "secret" }),
      result("c3", {
        content: [
          { type: "text", text: "a" },
          { type: "text", text: "b" },
        ],
        structured: { a: 1 },
      }),
      result("c4", { content: [], isError: true }),
    ];
    expect((await wire(messages)).slice(1).map(({ content }) => content)).toEqual([
      "<tool_error>no</tool_error>",
      '{"a":1}',
      "a\nb",
      "<tool_error></tool_error>",
    ]);
  });

  it("carry the pictures of results behind all results of the batch", async () => {
    const image = { type: "image", source: { base64: "QQ==" }, mimeType: "image/png" };
    const messages = [
      reply([called("c1"), called("c2")]),
      result("c1", { content: [image] }),
      result("c2"),
      user("and?"),
    ];
    expect((await wire(messages)).slice(1)).toEqual([
      { role: "tool", tool_call_id: "c1", content: "The result follows as an attachment." },
      { role: "tool", tool_call_id: "c2", content: "1" },
      {
        role: "user",
        content: [
          { type: "text", text: "Attachment of the result of c1:" },
          { type: "image_url", image_url: { url: "data:image/png;base64,QQ==" } },
        ],
      },
      { role: "user", content: "and?" },
    ]);
  });

  it("are well-formed text, also inside arguments", async () => {
    const messages = [
      user("a\ud800b \\ud800 🧭"),
      reply([called("c", { arguments: { "k\udc00": "\ud83dx", ok: "\\ud83d🧭" } })]),
      result("c"),
    ];
    const [asked, answer] = await wire(messages);
    expect(asked?.["content"]).toBe("a\ufffdb \\ud800 🧭");
    const [call] = answer?.["tool_calls"] as { function: { arguments: string } }[];
    expect(JSON.parse(call?.function.arguments ?? "")).toEqual({ "k\ufffd": "\ufffdx", ok: "\\ud83d🧭" });
  });

  it("F090: hold a JSON object as the arguments of every call", async () => {
    const parts = [
      called("a", { raw: '{"n":9007199254740993}', arguments: { n: 9007199254740992 } }),
      called("b", { malformed: { raw: '{"cmd":"echo hi}', reason: "no JSON" } }),
      called("c", { arguments: '{"from":"an older version"}' }),
      called("d", { arguments: '{"cmd":"echo hi}' }),
      called("e", { arguments: null }),
      called("g", { raw: "broken", arguments: { a: 1 } }),
      called("h", { arguments: [1] }),
    ];
    const [answer] = await wire([reply(parts), ...parts.map((_, n) => result("abcdegh".charAt(n)))]);
    const texts = (answer?.["tool_calls"] as { function: { arguments: string } }[]).map(
      (call) => call.function.arguments,
    );
    expect(texts).toEqual(['{"n":9007199254740993}', "{}", '{"from":"an older version"}', "{}", "{}", '{"a":1}', "{}"]);
  });
});

describe("reasoning on the wire", () => {
  const thought = { type: "reasoning", text: "I should look." } as const;
  const history = (parts: readonly AssistantPart[], fields: object = {}) => [
    user("go"),
    reply([...parts, called("c1")], fields),
    result("c1"),
  ];
  const echoed = async (messages: readonly Message[], adapter: Partial<OpenAiChatOptions> = {}) =>
    (await wire(messages, adapter))[1];

  it("F074: goes back with the calls it led to, and with nothing else", async () => {
    expect(await echoed(history([thought]))).toMatchObject({ reasoning_content: "I should look." });
    expect(await echoed([user("go"), reply([thought, { type: "text", text: "a" }])])).toEqual({
      role: "assistant",
      content: "a",
    });
  });

  it("F075: goes back empty where the server demands it, and not at all where it refuses it", async () => {
    expect(await echoed(history([]), { echoReasoning: "always" })).toHaveProperty("reasoning_content", "");
    expect(await echoed(history([]))).not.toHaveProperty("reasoning_content");
    expect(await echoed(history([thought]), { echoReasoning: "never" })).not.toHaveProperty("reasoning_content");
  });

  it("goes back in the field it came in", async () => {
    await using server = await loopback(
      pieces([delta({ reasoning: "h" }), delta({ reasoning: "m" }), delta({ content: "a" }), STOP]),
    );
    const { parts } = await new OpenAiChatModel({ model: "m", baseUrl: server.baseUrl }).chat(request());
    expect(await echoed(history(parts))).toMatchObject({ reasoning: "hm", content: "a" });
  });

  it("goes back with the details the server gave, the pieces of each put together", async () => {
    const detail = (fields: object) =>
      delta({ reasoning: "x", reasoning_details: [{ type: "reasoning.text", index: 0, ...fields }] });
    const encrypted = { type: "reasoning.encrypted", index: 1, data: "AB" };
    const body = [
      detail({ text: "h" }),
      detail({ text: "m", signature: "S" }),
      delta({ reasoning_details: [encrypted] }),
      STOP,
    ];
    await using server = await loopback(pieces(body));
    const { parts } = await new OpenAiChatModel({ model: "m", baseUrl: server.baseUrl }).chat(request());
    expect(await echoed(history(parts))).toMatchObject({
      reasoning: "xx",
      reasoning_details: [{ type: "reasoning.text", index: 0, text: "hm", signature: "S" }, encrypted],
    });
  });

  it("goes back as the signature of a call, to its own provider only", async () => {
    const extra_content = { google: { thought_signature: "SIG" } };
    const entry = { index: 0, id: "c1", extra_content, function: { name: "f", arguments: "{}" } };
    await using server = await loopback(pieces([delta({ tool_calls: [entry] }), delta({}, "tool_calls")]));
    const { parts } = await new OpenAiChatModel({ model: "m", baseUrl: server.baseUrl }).chat(request());
    const sentBack = async (fields: object) => (await wire([reply(parts, fields), result("c1")]))[0];
    expect(await sentBack({})).toMatchObject({ tool_calls: [{ id: "c1", extra_content }] });
    expect(JSON.stringify(await sentBack({ provider: "another" }))).not.toContain("SIG");
  });

  it("goes back empty in place of another provider's where the server demands it", async () => {
    const foreign = history([thought], { provider: "another" });
    expect(await echoed(foreign, { echoReasoning: "always" })).toHaveProperty("reasoning_content", "");
  });

  it("does not go to another provider than its own, nor where it is a cipher", async () => {
    expect(await echoed(history([thought], { provider: "another" }))).not.toHaveProperty("reasoning_content");
    expect(await echoed(history([thought], { provider: "mine" }), { provider: "mine" })).toHaveProperty(
      "reasoning_content",
    );
    expect(await echoed(history([{ ...thought, redacted: true }]))).not.toHaveProperty("reasoning_content");
  });
});

describe("tools on the wire", () => {
  const names = async (list: readonly string[]): Promise<string[]> => {
    const { body } = await sent({ tools: list.map((name) => tool(name)) });
    return (body["tools"] as { function: { name: string } }[]).map((one) => one.function.name);
  };

  it("F082, F084: have names that providers take, all different, and the same in the transcript", async () => {
    const long = `srv_${"x".repeat(70)}`;
    const list = [
      "fs.list",
      "fs/list",
      "team/roster",
      "größe messen",
      "",
      "fine-name_1",
      `${long}_read`,
      `${long}_write`,
    ];
    const found = await names(list);
    expect(new Set(found).size).toBe(list.length);
    for (const name of found) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(found[5]).toBe("fine-name_1");
    const messages = [reply(list.map((name, n) => called(`c${n}`, { name })))];
    const [answer] = await wire(messages);
    expect((answer?.["tool_calls"] as { function: { name: string } }[]).map((call) => call.function.name)).toEqual(
      found,
    );
  });

  it("F085: have a schema of an object; one that has none is left out alone", async () => {
    const tools = [
      tool("s1", { type: "string" }),
      tool("s2", undefined),
      tool("s3", null as never),
      tool("s4", { properties: { a: { type: "number" } } }),
      tool("s5", { type: ["object", "null"] }),
      tool("ok"),
    ];
    const { body } = await sent({ tools });
    const list = body["tools"] as { function: { name: string; parameters: object } }[];
    expect(list.map(({ function: one }) => [one.name, one.parameters])).toEqual([
      ["s2", { type: "object", properties: {} }],
      ["s3", { type: "object", properties: {} }],
      ["s4", { type: "object", properties: { a: { type: "number" } } }],
      ["s5", { type: "object", properties: {} }],
      ["ok", { type: "object", properties: {} }],
    ]);
  });
});

describe("the description of a model", () => {
  it("tells provider, model and context window without a request", () => {
    expect(new OpenAiChatModel({ model: "m", contextWindow: 9 }).describe()).toMatchObject({
      provider: "openai-chat",
      model: "m",
      contextWindow: 9,
    });
  });

  it("is in every response, with the model the server named", async () => {
    await using server = await loopback(pieces([delta({ content: "a" }), STOP]));
    const model = new OpenAiChatModel({ model: "m", baseUrl: server.baseUrl, provider: "mine" });
    expect(await model.chat(request())).toMatchObject({ provider: "mine", model: "m1", rawFinishReason: "stop" });
  });
});
