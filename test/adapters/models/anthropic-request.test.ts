import { describe, expect, it } from "vitest";
import { AnthropicModel, type AnthropicOptions } from "../../../src/adapters/models/anthropic.js";
import type { AssistantPart, Message } from "../../../src/domain/message.js";
import type { ChatOptions, ReasoningEffort } from "../../../src/domain/model.js";
import type { ChatRequest } from "../../../src/ports/model.js";
import { refusals } from "./anthropic-law.js";
import { call, end, start, streamed, text, whole } from "./anthropic-wire.js";
import { request, tool, user } from "./chat-outcome.js";
import { event, loopback, pieces, type SeenRequest } from "./loopback.js";

const OK = start() + text(0, "ok") + end();

/** The one request that a model makes of a request of ours; it must be legal. */
async function seen(asked: Partial<ChatRequest>, options: Partial<AnthropicOptions> = {}): Promise<SeenRequest> {
  await using server = await loopback(pieces([OK]));
  const model = new AnthropicModel({ model: "m1", baseUrl: server.baseUrl, cache: "off", ...options });
  await model.chatStreaming(request(asked), () => undefined);
  const [first] = server.requests;
  if (first === undefined) throw new Error("no request");
  expect(refusals(first.body)).toEqual([]);
  return first;
}

async function bodyOf(
  asked: Partial<ChatRequest>,
  options: Partial<AnthropicOptions> = {},
): Promise<SeenRequest["body"]> {
  return (await seen(asked, options)).body;
}

const asking = (options: ChatOptions, extras: Partial<ChatRequest> = {}): Partial<ChatRequest> => ({
  options,
  ...extras,
});

const said = (message: object): Message => ({ id: "m", at: 0, ...message }) as Message;
const replied = (parts: readonly AssistantPart[], extras: object = {}): Message =>
  said({ role: "assistant", provider: "anthropic", parts, ...extras });
const calling = (id: string, name = "f", args: object = {}): AssistantPart =>
  ({ type: "toolCall", id, name, arguments: args }) as AssistantPart;
const answer = (toolCallId: string, extras: object = {}): Message =>
  said({ role: "tool", toolCallId, toolName: "f", content: [], isError: false, outcome: "completed", ...extras });

describe("a plain request", () => {
  it("holds what the wire demands and nothing that nobody asked for", async () => {
    expect(await bodyOf({})).toEqual({
      model: "m1",
      max_tokens: 8192,
      stream: true,
      messages: [{ role: "user", content: [{ type: "text", text: "hello" }] }],
    });
  });

  it("carries the options the wire has", async () => {
    const options: ChatOptions = {
      model: "m2",
      temperature: 0.5,
      maxOutputTokens: 7,
      stopSequences: ["END", "\n"],
      seed: 4,
      serviceTier: "standard_only",
      providerOptions: { top_k: 3, metadata: { user_id: "u" } },
    };
    expect(await bodyOf(asking(options))).toMatchObject({
      model: "m2",
      max_tokens: 7,
      temperature: 0.5,
      stop_sequences: ["END"],
      service_tier: "standard_only",
      top_k: 3,
      metadata: { user_id: "u" },
    });
    expect(Object.keys(await bodyOf(asking(options)))).not.toContain("seed");
  });

  it("keeps a temperature within the wire's range, and names one of temperature and share", async () => {
    expect(await bodyOf(asking({ temperature: 1.7, topP: 0.9 }))).toMatchObject({ temperature: 1 });
    expect(await bodyOf(asking({ topP: 0.9 }))).toMatchObject({ top_p: 0.9 });
  });

  it.each([
    ["claude-opus-4-7", false],
    ["claude-sonnet-5", false],
    ["claude-opus-10-1", false],
    ["claude-opus-4-6", true],
    ["claude-haiku-4-5-20251001", true],
  ])("tells %s how to sample: %s", async (model, tells) => {
    const body = await bodyOf(asking({ temperature: 0.5 }), { model });
    expect("temperature" in body).toBe(tells);
  });

  it.each([
    ["claude-3-haiku-20240307", 4096],
    ["claude-3-5-sonnet-20241022", 8192],
    ["claude-sonnet-4-20250514", 32_000],
    ["anthropic/claude-sonnet-4.5", 32_000],
    ["us.anthropic.claude-opus-4-6-v1:0", 32_000],
    ["claude-mythos-preview", 32_000],
    ["claude-opus-10-12-20300101", 32_000],
    ["claude-20300101", 32_000],
    ["deepseek-chat", 8192],
  ])("gives %s room for %i tokens where the request names no number", async (model, tokens) => {
    expect(await bodyOf({}, { model })).toMatchObject({ max_tokens: tokens });
    expect(await bodyOf({}, { model, maxOutputTokens: 99 })).toMatchObject({ max_tokens: 99 });
  });
});

describe("the address and the key", () => {
  it.each([
    ["", "/v1/messages"],
    ["/", "/v1/messages"],
    ["/v1", "/v1/messages"],
    ["/v1/", "/v1/messages"],
    ["/anthropic", "/anthropic/v1/messages"],
    ["/api/v4?x=1", "/api/v4/messages?x=1"],
    ["/v1/messages", "/v1/messages"],
  ])("completes the path %s to %s", async (path, whole) => {
    const urls: string[] = [];
    const fetch = (url: string | URL | Request): Promise<Response> => {
      urls.push(String(url));
      return Promise.resolve(new Response(OK));
    };
    await streamed({ baseUrl: `http://unused.test${path}`, fetch: fetch as typeof globalThis.fetch });
    expect(urls).toEqual([`http://unused.test${whole}`]);
  });

  it("sends the key in a header of its own, or as a bearer token", async () => {
    const { headers } = await seen({}, { apiKey: "sk-1" });
    expect(headers).toMatchObject({
      "x-api-key": "sk-1",
      "anthropic-version": "2023-06-01",
      accept: "text/event-stream",
    });
    expect(headers.authorization).toBeUndefined();
    expect((await seen({}, { apiKey: "sk-1", keyAs: "bearer" })).headers).toMatchObject({
      authorization: "Bearer sk-1",
    });
  });

  it("asks for the key before every request", async () => {
    await using server = await loopback(pieces([OK]));
    let count = 0;
    const apiKey = (): Promise<string> => Promise.resolve(`key-${++count}`);
    const model = new AnthropicModel({ model: "m1", baseUrl: server.baseUrl, apiKey });
    await model.chat(request());
    await model.chatStreaming(request(), () => undefined);
    expect(server.requests.map(({ headers }) => headers["x-api-key"])).toEqual(["key-1", "key-2"]);
  });

  it("lets headers of the application replace its own", async () => {
    const headers = { "Anthropic-Version": "2026-10-21", "anthropic-beta": "b-1" };
    expect((await seen({}, { headers })).headers).toMatchObject({
      "anthropic-version": "2026-10-21",
      "anthropic-beta": "b-1",
    });
  });

  it("refuses options that cannot work when it is made", () => {
    expect(() => new AnthropicModel({ model: "" })).toThrow(/invalid-config/);
    expect(() => new AnthropicModel({ model: "m", baseUrl: "nowhere" })).toThrow(/invalid-config/);
    expect(() => new AnthropicModel({ model: "m", baseURL: "http://a.test" } as never)).toThrow(/did you mean baseUrl/);
  });

  it("says what it is", () => {
    expect(new AnthropicModel({ model: "m", contextWindow: 9 }).describe()).toMatchObject({
      provider: "anthropic",
      model: "m",
      contextWindow: 9,
      input: ["text", "image", "file"],
    });
  });
});

describe("content", () => {
  const png = "iVBORw0KGgo=";

  it("goes as blocks the provider reads", async () => {
    const content = [
      { type: "image", source: { base64: png }, mimeType: "image/png" },
      { type: "image", source: { url: "https://a.test/x.png" }, mimeType: "image/png" },
      { type: "file", source: { base64: "JVBERi0=" }, mimeType: "application/pdf", name: "a.pdf" },
      { type: "file", source: { url: "https://a.test/x.pdf" }, mimeType: "application/pdf" },
      { type: "file", source: { base64: btoa("a,b") }, mimeType: "text/csv; charset=utf-8", name: "t.csv" },
      { type: "file", source: { base64: png }, mimeType: "image/png" },
    ];
    const body = await bodyOf({ messages: [said({ role: "user", content })] });
    const image = { type: "image", source: { type: "base64", media_type: "image/png", data: png } };
    expect(body["messages"]).toEqual([
      {
        role: "user",
        content: [
          image,
          { type: "image", source: { type: "url", url: "https://a.test/x.png" } },
          {
            type: "document",
            source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" },
            title: "a.pdf",
          },
          { type: "document", source: { type: "url", url: "https://a.test/x.pdf" } },
          { type: "document", source: { type: "text", media_type: "text/plain", data: "a,b" }, title: "t.csv" },
          image,
        ],
      },
    ]);
  });

  it("names the type an image really has, and takes bytes out of a data URL", async () => {
    const content = [
      { type: "image", source: { base64: png }, mimeType: "image/jpeg" },
      { type: "image", source: { url: `data:image/png;base64,${png}` }, mimeType: "image/png" },
    ];
    const [message] = (await bodyOf({ messages: [said({ role: "user", content })] }))["messages"] as Blocks;
    const source = { type: "base64", media_type: "image/png", data: png };
    expect(message?.content).toEqual([
      { type: "image", source },
      { type: "image", source },
    ]);
  });

  it("tells the model of what it cannot be shown", async () => {
    const content = [
      { type: "image", source: { base64: "Qk0=" }, mimeType: "image/bmp" },
      { type: "image", source: { url: "file:///etc/passwd" }, mimeType: "image/png" },
      { type: "file", source: { base64: "UEsDBA==" }, mimeType: "application/zip", name: 'a"b.zip' },
    ];
    const [message] = (await bodyOf({ messages: [said({ role: "user", content })] }))["messages"] as Blocks;
    expect(message?.content.map((block) => block["text"])).toEqual([
      '[An image that cannot be shown: "image/bmp"]',
      '[An image that cannot be shown: "image/png"]',
      '[A file that cannot be shown: "a\\"b.zip", "application/zip"]',
    ]);
  });

  it("is well-formed text", async () => {
    const [message] = (await bodyOf({ messages: [user("a\ud800b")] }))["messages"] as Blocks;
    expect(message?.content[0]).toEqual({ type: "text", text: "a\ufffdb" });
  });
});

type Blocks = readonly { readonly role: string; readonly content: readonly { readonly [key: string]: unknown }[] }[];

describe("instructions", () => {
  it("in front become the system prompt; later ones are told by the user", async () => {
    const system = (words: string): Message => said({ role: "system", content: [{ type: "text", text: words }] });
    const messages = [system("one"), system(" "), system("two"), user("hi"), replied([{ type: "text", text: "yo" }])];
    const body = await bodyOf({ messages: [...messages, system("now in French"), user("go")] });
    expect(body["system"]).toEqual([
      { type: "text", text: "one" },
      { type: "text", text: "two" },
    ]);
    expect((body["messages"] as Blocks).at(-1)?.content).toEqual([
      { type: "text", text: "<system>now in French</system>" },
      { type: "text", text: "go" },
    ]);
  });
});

describe("results", () => {
  const history = (...results: readonly Message[]): Partial<ChatRequest> => ({
    messages: [user("go"), replied([calling("c1")]), ...results],
    tools: [tool("f")],
  });
  const resultIn = async (extras: object): Promise<unknown> =>
    ((await bodyOf(history(answer("c1", extras))))["messages"] as Blocks)[2]?.content;

  it("that are empty hold nothing, or what is structured", async () => {
    expect(await resultIn({})).toEqual([{ type: "tool_result", tool_use_id: "c1" }]);
    expect(await resultIn({ structured: { a: [1] } })).toMatchObject([{ content: [{ text: '{"a":[1]}' }] }]);
    const both = { content: [{ type: "text", text: "x" }], structured: { a: 1 } };
    expect(await resultIn(both)).toMatchObject([{ content: [{ text: "x" }] }]);
  });

  it("that are errors hold text only; what else they hold follows", async () => {
    const image = { type: "image", source: { base64: "iVBORw0KGgo=" }, mimeType: "image/png" };
    expect(await resultIn({ isError: true, content: [image, { type: "text", text: "no" }] })).toMatchObject([
      { type: "tool_result", is_error: true, content: [{ type: "text", text: "no" }] },
      { type: "image" },
    ]);
    expect(await resultIn({ isError: true })).toMatchObject([
      { is_error: true, content: [{ text: "The tool failed without a message." }] },
    ]);
  });

  it("keep their calls when ids are such as the provider refuses", async () => {
    const parts = [calling("functions.f:0"), calling("functions f 0"), calling("")];
    const results = parts.map((part) =>
      answer("id" in part ? part.id : "", { content: [{ type: "text", text: "r" }] }),
    );
    const body = await bodyOf({ messages: [user("go"), replied(parts), ...results], tools: [tool("f")] });
    const [, reply, told] = body["messages"] as Blocks;
    const ids = reply?.content.map((block) => block["id"]);
    expect(new Set(ids).size).toBe(3);
    expect(told?.content.map((block) => block["tool_use_id"])).toEqual(ids);
  });

  it("stand for tools that are offered no more", async () => {
    const body = await bodyOf({ ...history(answer("c1")), tools: [] });
    expect(body["tools"]).toMatchObject([{ name: "f", input_schema: { type: "object" } }]);
    expect(body["tool_choice"]).toEqual({ type: "none" });
  });
});

describe("calls", () => {
  const inputOf = async (part: object): Promise<string> => {
    await using server = await loopback(pieces([OK]));
    let sent = "";
    const fetch: typeof globalThis.fetch = (_, init) => {
      sent = String(init?.body);
      return Promise.resolve(new Response(OK));
    };
    const model = new AnthropicModel({ model: "m1", baseUrl: server.baseUrl, fetch });
    const messages = [user("go"), replied([{ ...calling("c1"), ...part } as AssistantPart]), answer("c1")];
    await model.chat(request({ messages, tools: [tool("f")] }));
    return /"input":(.*?)\}\]\},\{"role"/.exec(sent)?.[1] ?? sent;
  };

  it("go with all digits of numbers that no double holds", async () => {
    const raw = '{"id":12345678901234567890,"n":[1.5,1e400],"s":"12345678901234567890"}';
    expect(await inputOf({ raw, arguments: { id: 12345678901234567890 } })).toBe(raw);
  });

  it("come with them, streamed or whole", async () => {
    const raw = '{"id":12345678901234567890}';
    const bodies = [
      start() + call(0, "t1", "f", raw) + end("tool_use"),
      whole([{ type: "tool_use", id: "t1", name: "f", input: {} }]),
    ];
    for (const body of bodies) {
      await using server = await loopback(pieces([body.replace('"input":{}', `"input":${raw}`)]));
      const { parts } = await new AnthropicModel({ model: "m1", baseUrl: server.baseUrl }).chat(request());
      expect(parts).toMatchObject([{ raw }]);
    }
  });

  it("of the provider's own tools hold plain values", async () => {
    const found = { type: "web_search_tool_result", tool_use_id: "s1", content: [{ at: 7 }] };
    const body = whole([found, { type: "text", text: "a", citations: [{ type: "x", at: 7 }] }]);
    await using server = await loopback(pieces([body.replaceAll('"at":7', '"at":12345678901234567890')]));
    const { parts } = await new AnthropicModel({ model: "m1", baseUrl: server.baseUrl }).chat(request());
    expect(JSON.stringify(parts).match(/"at":12345678901234567000/g)).toHaveLength(2);
    expect(JSON.parse(JSON.stringify(parts))).toEqual(parts);
  });

  it("F090: go with an object, whatever was stored", async () => {
    expect(await inputOf({ arguments: {}, malformed: { raw: '{"cmd":"echo hi}', reason: "no JSON" } })).toBe("{}");
    expect(await inputOf({ arguments: '{"a":1}' })).toBe('{"a":1}');
    expect(await inputOf({ arguments: '{"cmd":"echo hi}' })).toBe("{}");
    expect(await inputOf({ arguments: [1] })).toBe("{}");
    expect(await inputOf({ raw: "[1]", arguments: { a: 2 } })).toBe('{"a":2}');
  });
});

describe("tools", () => {
  const tools = [tool("f"), tool("g")];
  const choiceOf = async (options: ChatOptions): Promise<unknown> =>
    (await bodyOf(asking(options, { tools })))["tool_choice"];

  it("go with their schemas", async () => {
    expect((await bodyOf({ tools: [tool("f")] }))["tools"]).toEqual([
      { name: "f", description: "does f", input_schema: { type: "object", properties: {} } },
    ]);
  });

  it("may be left to the model, forbidden, demanded or named, one at a time or several", async () => {
    expect(await choiceOf({})).toBeUndefined();
    expect(await choiceOf({ toolChoice: "auto" })).toEqual({ type: "auto" });
    expect(await choiceOf({ toolChoice: "none" })).toEqual({ type: "none" });
    expect(await choiceOf({ toolChoice: "required" })).toEqual({ type: "any" });
    expect(await choiceOf({ toolChoice: { tool: "g" } })).toEqual({ type: "tool", name: "g" });
    expect(await choiceOf({ toolChoice: { tool: "gone" } })).toBeUndefined();
    expect(await choiceOf({ parallelToolCalls: true })).toBeUndefined();
    expect(await choiceOf({ parallelToolCalls: false })).toEqual({ type: "auto", disable_parallel_tool_use: true });
    expect(await choiceOf({ parallelToolCalls: false, toolChoice: "none" })).toEqual({ type: "none" });
    const one = { parallelToolCalls: false, toolChoice: { tool: "g" } } as const;
    expect(await choiceOf(one)).toEqual({ type: "tool", name: "g", disable_parallel_tool_use: true });
    expect(await bodyOf(asking({ toolChoice: "required", parallelToolCalls: false }))).not.toHaveProperty(
      "tool_choice",
    );
  });

  it("F082, F084: go under names the provider takes, and come back under their own", async () => {
    const long = "srv_".padEnd(75, "x");
    const names = ["fs.list", "team/roster", "größe messen", "", `${long}_read`, `${long}_write`];
    const body = await bodyOf({ tools: names.map((name) => tool(name)) });
    const wire = (body["tools"] as readonly { readonly name: string }[]).map(({ name }) => name);
    expect(new Set(wire).size).toBe(names.length);
    for (const [at, name] of wire.entries()) {
      expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
      const raw = start() + call(0, "t1", name, "{}") + end("tool_use");
      await using server = await loopback(pieces([raw]));
      const asked = request({ tools: names.map((own) => tool(own)) });
      expect(await streamed({ baseUrl: server.baseUrl }, asked)).toMatchObject({ calls: [["t1", names[at], {}]] });
    }
  });

  it("F085: whose schema is none of an object are healed or left out", async () => {
    const offered = [
      tool("s1", { type: "string" }),
      { name: "s2" },
      tool("s3", null as never),
      tool("s4", { properties: { a: { type: "number" } } }),
      tool("ok"),
    ];
    const body = await bodyOf({ tools: offered as ChatRequest["tools"] });
    expect(body["tools"]).toMatchObject([{ name: "s2" }, { name: "s3" }, { name: "s4" }, { name: "ok" }]);
    expect((body["tools"] as readonly object[])[2]).toMatchObject({
      input_schema: { type: "object", properties: { a: { type: "number" } } },
    });
  });

  it("F087, F089: keep references, and lose enum values that no branch can hold", async () => {
    const size = { $ref: "#/$defs/K", default: "big" };
    const defs = { K: { type: "string", enum: ["small", "big"] } };
    const values = ["lo", "hi"];
    const m = {
      anyOf: [
        { enum: values, type: "string" },
        { enum: values, type: "null" },
      ],
    };
    const body = await bodyOf({ tools: [tool("f", { type: "object", properties: { size, m }, $defs: defs })] });
    expect(body["tools"]).toMatchObject([{ input_schema: { properties: { size }, $defs: defs } }]);
    expect(JSON.stringify(body["tools"])).toContain('{"type":"null"}');
  });

  it("lose unions on top of their schemas, and keep all that these offer", async () => {
    const a = { type: "number" } as const;
    const b = { type: "string" } as const;
    const schema = {
      type: "object",
      properties: { c: b },
      required: ["c"],
      oneOf: [
        { properties: { a }, required: ["a", "d"] },
        { properties: { b, d: b }, required: ["d"] },
      ],
      allOf: [{ properties: { e: a }, required: ["e"] }],
    } as const;
    expect((await bodyOf({ tools: [tool("f", schema)] }))["tools"]).toMatchObject([
      {
        input_schema: {
          type: "object",
          properties: { a, b, c: b, d: b, e: a },
          required: ["c", "e", "d"],
        },
      },
    ]);
  });

  it("lose unions in unions at a cost that does not double with each", async () => {
    let schema: object = { properties: { z: { type: "null" } } };
    for (let depth = 0; depth < 30; depth++) schema = { anyOf: [schema], oneOf: [{}], allOf: [{}] };
    const [only] = (await bodyOf({ tools: [tool("f", { type: "object", ...schema })] }))["tools"] as readonly object[];
    expect(only).toMatchObject({ input_schema: { properties: { z: { type: "null" } } } });
  });
});

describe("reasoning", () => {
  const parts: readonly AssistantPart[] = [
    { type: "reasoning", text: "hm", signature: "S1" },
    { type: "reasoning", text: "CIPHER", redacted: true },
    calling("c1"),
  ];
  const history = (extras: object): Partial<ChatRequest> => ({
    messages: [user("go"), replied(parts, extras), answer("c1")],
    tools: [tool("f")],
  });
  const typesIn = async (extras: object, options: Partial<AnthropicOptions> = {}): Promise<unknown> =>
    ((await bodyOf(history(extras), options))["messages"] as Blocks)[1]?.content.map(({ type }) => type);

  it("goes back to its own provider as it came, and to no other", async () => {
    const all = ["thinking", "redacted_thinking", "tool_use"];
    expect(await typesIn({})).toEqual(all);
    expect(await typesIn({ provider: "gemini" })).toEqual(["tool_use"]);
    expect(await typesIn({ provider: "mine" }, { provider: "mine" })).toEqual(all);
  });

  it("is left out where nothing else is left of a reply", async () => {
    const messages = [user("go"), replied([parts[0] as AssistantPart]), user("again")];
    expect((await bodyOf({ messages }))["messages"]).toMatchObject([{ content: [{ text: "go" }, { text: "again" }] }]);
  });

  it("is left out of a second try where the provider refuses a piece of it", async () => {
    await using server = await loopback((response, _, nth) => {
      if (nth > 0) return void response.end(OK);
      const message = "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to another.";
      response.writeHead(400).end(JSON.stringify({ type: "error", error: { type: "invalid_request_error", message } }));
    });
    const asked = request(history({}));
    expect(await streamed({ baseUrl: server.baseUrl }, asked)).toMatchObject({ text: "ok" });
    const kinds = server.requests.map(({ body }) => (body["messages"] as Blocks)[1]?.content.length);
    expect(kinds).toEqual([3, 1]);
  });

  it("and an older picture are left out one after the other where the provider refuses both", async () => {
    await using server = await loopback((response, _, nth) => {
      const messages = [
        "messages.0.content.0.image.source.base64: image exceeds 5 MB maximum: 8000000 bytes > 5242880 bytes",
        "messages.1.content.0: Invalid `signature` in `thinking` block",
      ];
      const error = { type: "invalid_request_error", message: messages[nth] };
      if (nth < 2) response.writeHead(400).end(JSON.stringify({ type: "error", error }));
      else response.end(OK);
    });
    const image = { type: "image", source: { base64: "iVBORw0KGgo=" }, mimeType: "image/png" };
    const { messages = [], tools = [] } = history({});
    const asked = request({ messages: [said({ role: "user", content: [image] }), ...messages], tools });
    expect(await streamed({ baseUrl: server.baseUrl }, asked)).toMatchObject({ text: "ok" });
    const sent = server.requests.map(({ body }) => body["messages"] as Blocks);
    expect(sent.map(([first]) => first?.content[0]?.["type"])).toEqual(["image", "text", "text"]);
    expect(sent.map(([, reply]) => reply?.content.length)).toEqual([3, 3, 1]);
  });

  it("of the provider's own tools goes back once, and never by halves", async () => {
    const half = (block: object): AssistantPart =>
      ({ type: "reasoning", text: "", providerData: { block } }) as unknown as AssistantPart;
    const use = { type: "server_tool_use", id: "s1", name: "web_search", input: {} };
    const found = { type: "web_search_tool_result", tool_use_id: "s1", content: [] };
    const reply = replied([half(use), half(use), half(found), half(found), half({ ...use, id: "s2" }), calling("c1")]);
    const messages = [user("go"), reply, answer("c1"), reply, answer("c1"), user("on")];
    const sent = (await bodyOf({ messages, tools: [tool("f")] }))["messages"] as Blocks;
    expect(sent[1]?.content.slice(0, -1)).toEqual([use, found]);
    expect(sent[3]?.content.map(({ type }) => type)).toEqual(["tool_use"]);
  });

  it("is not sent a second time for any other refusal, nor where there was none", async () => {
    const refused = "Invalid `signature` in `thinking` block";
    for (const [status, message, asked, error] of [
      [400, "max_tokens: too large", request(history({})), "invalid-request"],
      [400, refused, request(history({ provider: "gemini" })), "invalid-request"],
      [500, refused, request(history({})), "server"],
    ] as const) {
      const body = JSON.stringify({ type: "error", error: { type: "some_error", message } });
      await using server = await loopback(pieces([body], {}, status));
      expect(await streamed({ baseUrl: server.baseUrl }, asked)).toMatchObject({ error });
      expect(server.requests).toHaveLength(1);
    }
  });

  it("of a text goes back with what the text quotes", async () => {
    const citation = { type: "char_location", cited_text: "x", document_index: 0 };
    const raw =
      start() +
      event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }) +
      event({ type: "content_block_delta", index: 0, delta: { type: "citations_delta", citation } }) +
      event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "so" } }) +
      event({ type: "content_block_stop", index: 0 }) +
      end();
    const content = [{ type: "text", text: "so", citations: [citation] }];
    for (const body of [raw, whole(content)]) {
      await using server = await loopback(pieces([body]));
      const reply = await new AnthropicModel({ model: "m1", baseUrl: server.baseUrl }).chat(request());
      const back = async (provider: string): Promise<unknown> => {
        const sent = await bodyOf({ messages: [user("go"), replied(reply.parts, { provider }), user("on")] });
        return (sent["messages"] as Blocks)[1]?.content;
      };
      expect(await back("anthropic")).toEqual(content);
      expect(await back("other")).toEqual([{ type: "text", text: "so" }]);
    }
  });

  it("of the provider's own tools goes back in pairs, each in its place", async () => {
    const use = { type: "server_tool_use", id: "s1", name: "web_search", input: { q: "x" } };
    const found = { type: "web_search_tool_result", tool_use_id: "s1", content: [] };
    const raw =
      start() +
      event({ type: "content_block_start", index: 0, content_block: { ...use, input: {} } }) +
      event({ type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: '{"q":"x"}' } }) +
      event({ type: "content_block_stop", index: 0 }) +
      event({ type: "content_block_start", index: 1, content_block: found }) +
      event({ type: "content_block_stop", index: 1 }) +
      text(2, "found") +
      end("pause_turn");
    await using server = await loopback(pieces([raw]));
    const model = new AnthropicModel({ model: "m1", baseUrl: server.baseUrl });
    const reply = await model.chatStreaming(request(), () => undefined);
    expect(reply).toMatchObject({ finishReason: "other", rawFinishReason: "pause_turn" });
    const body = await bodyOf({ messages: [user("go"), replied(reply.parts), user("on")] });
    expect((body["messages"] as Blocks)[1]?.content).toEqual([use, found, { type: "text", text: "found" }]);
  });
});

describe("an effort", () => {
  const efforts = ["off", "minimal", "low", "medium", "high", "xhigh", "maximum"] as const;
  const fieldsOf = async (model: string, effort: ReasoningEffort, options: ChatOptions = {}): Promise<unknown> => {
    const { thinking, output_config: config } = await bodyOf(asking({ ...options, reasoningEffort: effort }), {
      model,
    });
    return [thinking, (config as { readonly effort?: string } | undefined)?.effort];
  };
  const adaptive = { type: "adaptive", display: "summarized" };
  const budget = (tokens: number): unknown => ({ type: "enabled", budget_tokens: tokens });

  it.each<[string, readonly unknown[]]>([
    ["claude-opus-4-7", [{ type: "disabled" }, "low", "low", "medium", "high", "xhigh", "max"]],
    ["claude-opus-4-6", [{ type: "disabled" }, "low", "low", "medium", "high", "high", "max"]],
    ["claude-haiku-5-5", [{ type: "disabled" }, "low", "low", "medium", "high", "xhigh", "max"]],
    ["claude-opus-5-5", ["low", "low", "low", "medium", "high", "xhigh", "max"]],
    ["claude-fable-5", ["low", "low", "low", "medium", "high", "xhigh", "max"]],
  ])("asks %s for as much thinking as it says", async (model, wanted) => {
    for (const [at, effort] of efforts.entries()) {
      const word = wanted[at];
      const expected = effort === "off" && typeof word === "object" ? [word, undefined] : [adaptive, word];
      expect(await fieldsOf(model, effort), effort).toEqual(
        effort === "off" && word === "low" ? [undefined, "low"] : expected,
      );
    }
  });

  it.each<[string, readonly unknown[]]>([
    ["claude-sonnet-4-5", [{ type: "disabled" }, ...[1024, 4096, 10_000, 16_000, 24_000, 24_000].map(budget)]],
    ["deepseek-reasoner", [{ type: "disabled" }, ...[1024, 4096, 6144, 6144, 6144, 6144].map(budget)]],
    ["claude-3-5-haiku-20241022", efforts.map(() => undefined)],
  ])("gives %s tokens for as much thinking as it says", async (model, wanted) => {
    for (const [at, effort] of efforts.entries())
      expect(await fieldsOf(model, effort), effort).toEqual([wanted[at], undefined]);
  });

  it("is none where no tokens are left for it, or a reply is gone on with that began without it", async () => {
    expect(await fieldsOf("claude-sonnet-4-5", "high", { maxOutputTokens: 2000 })).toEqual([undefined, undefined]);
    const messages = [user("go"), replied([calling("c1")]), answer("c1")];
    const asked = asking({ reasoningEffort: "low" }, { messages, tools: [tool("f")] });
    expect(await bodyOf(asked, { model: "claude-sonnet-4-5" })).not.toHaveProperty("thinking");
    expect(await bodyOf(asked, { model: "claude-opus-4-6" })).toMatchObject({ thinking: adaptive });
  });

  it("gives way to a forced call, which no model makes while it thinks", async () => {
    const asked = asking({ reasoningEffort: "maximum", toolChoice: "required" }, { tools: [tool("f")] });
    const forced = { thinking: { type: "disabled" }, output_config: { effort: "high" } };
    expect(await bodyOf(asked, { model: "claude-opus-4-6" })).toMatchObject(forced);
    expect(await bodyOf(asked, { model: "claude-sonnet-4-5" })).not.toHaveProperty("thinking");
    expect(await bodyOf(asked, { model: "claude-fable-5" })).not.toHaveProperty("thinking");
  });

  it("is what the application says where the model differs", async () => {
    const asked = asking({ reasoningEffort: "low" });
    const efforts = { low: { thinking: { type: "between_tools" }, effort: "medium" } };
    expect(await bodyOf(asked, { efforts })).toMatchObject({
      thinking: { type: "between_tools" },
      output_config: { effort: "medium" },
    });
    expect(await bodyOf(asked, { thinking: "adaptive", thinkingDisplay: "omitted" })).toMatchObject({
      thinking: { type: "adaptive", display: "omitted" },
    });
    expect(await bodyOf(asked, { thinking: "none" })).not.toHaveProperty("thinking");
  });
});

describe("the schema of a reply", () => {
  it("goes closed, and tells the model what the provider cannot enforce", async () => {
    const responseSchema = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: {
        a: { type: "number", minimum: 1, description: "a count" },
        b: { type: "array", items: { type: "object", properties: {} }, minItems: 1 },
        c: { oneOf: [{ type: "string", format: "uuid" }, { type: "null" }] },
      },
      required: ["a"],
    };
    const body = await bodyOf(asking({ responseSchema }), { model: "claude-sonnet-4-5" });
    expect(body["output_config"]).toEqual({
      format: {
        type: "json_schema",
        schema: {
          type: "object",
          properties: {
            a: { type: "number", description: "a count (minimum: 1)" },
            b: { type: "array", items: { type: "object", properties: {}, additionalProperties: false }, minItems: 1 },
            c: { anyOf: [{ type: "string", format: "uuid" }, { type: "null" }] },
          },
          required: ["a"],
          additionalProperties: false,
        },
      },
    });
    expect(await bodyOf(asking({ responseSchema }), { model: "claude-opus-4-1" })).not.toHaveProperty("output_config");
  });
});

describe("the cache", () => {
  const messages = [
    said({ role: "system", content: [{ type: "text", text: "be good" }] }),
    user("one"),
    replied([calling("c1")]),
    answer("c1"),
    replied([{ type: "text", text: "two" }]),
    user("three"),
  ];
  const marksOf = async (options: Partial<AnthropicOptions>): Promise<readonly string[]> => {
    const body = await bodyOf({ messages, tools: [tool("f"), tool("g")] }, options);
    const marks: string[] = [];
    const visit = (value: unknown, path: string): void => {
      if (typeof value !== "object" || value === null) return;
      for (const [key, inner] of Object.entries(value)) {
        if (key === "cache_control") marks.push(`${path} ${JSON.stringify(inner)}`);
        else visit(inner, `${path}.${key}`);
      }
    };
    visit({ tools: body["tools"], system: body["system"], messages: body["messages"] }, "");
    return marks;
  };

  it("keeps tools, system prompt and the last two messages of the user, by default for five minutes", async () => {
    const mark = '{"type":"ephemeral"}';
    const places = [".tools.1", ".system.0", ".messages.2.content.0", ".messages.4.content.0"];
    expect(await marksOf({ cache: undefined })).toEqual(places.map((place) => `${place} ${mark}`));
    expect(await marksOf({ cache: "1h" })).toEqual(places.map((place) => `${place} {"type":"ephemeral","ttl":"1h"}`));
    expect(await marksOf({ cache: "off" })).toEqual([]);
  });
});
