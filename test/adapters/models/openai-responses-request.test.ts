import { describe, expect, it } from "vitest";
import { OpenAiResponsesModel, type OpenAiResponsesOptions } from "../../../src/adapters/models/openai-responses.js";
import type { AssistantPart, Message } from "../../../src/domain/message.js";
import type { ChatOptions } from "../../../src/domain/model.js";
import type { ChatRequest } from "../../../src/ports/model.js";
import { request, tool, user } from "./chat-outcome.js";
import { loopback, pieces, type SeenRequest } from "./loopback.js";
import { type Fields, item, streamOf } from "./responses-wire.js";

const SCHEMA = { type: "object", properties: { a: { type: "number" } } };
const CLOSED = { type: "object", properties: { a: { type: "string" } }, required: ["a"], additionalProperties: false };
const OK = streamOf([item.message("ok")]);

async function sent(asked: Partial<ChatRequest>, options: Partial<OpenAiResponsesOptions> = {}): Promise<SeenRequest> {
  await using server = await loopback(pieces([OK]));
  const model = new OpenAiResponsesModel({ model: "m", baseUrl: server.baseUrl, ...options });
  await model.chatStreaming(request(asked), () => undefined);
  const seen = server.requests[0];
  if (seen === undefined) throw new Error("nothing was sent");
  return seen;
}
const body = async (options: ChatOptions, adapter: Partial<OpenAiResponsesOptions> = {}) =>
  (await sent({ options, tools: [tool("f", SCHEMA)] }, adapter)).body;
const wire = async (messages: readonly Message[], adapter: Partial<OpenAiResponsesOptions> = {}) =>
  (await sent({ messages }, adapter)).body["input"] as readonly Fields[];

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
const asked = (text: string): Fields => ({ type: "message", role: "user", content: [{ type: "input_text", text }] });
const said = (content: string): Fields => ({ type: "message", role: "assistant", content });

describe("a request on the responses wire", () => {
  const plain = { model: "m", input: [asked("hello")], store: false, include: ["reasoning.encrypted_content"] };

  it("holds what was asked for and nothing else, and has nothing stored", async () => {
    expect((await sent({})).body).toEqual({ ...plain, stream: true });
    await using server = await loopback(pieces([OK]));
    await new OpenAiResponsesModel({ model: "m", baseUrl: server.baseUrl }).chat(request());
    expect(server.requests[0]?.body).toEqual({ ...plain, stream: false });
    expect(server.requests[0]?.path).toMatch(/\/v1\/responses$/);
  });

  it("holds every option in the words of the wire; stop sequences and seed have none", async () => {
    expect(
      await body(
        {
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
          responseSchema: CLOSED,
        },
        { reasoningSummary: "auto", promptCacheKey: ({ sessionId }) => `key-${sessionId}` },
      ),
    ).toEqual({
      ...plain,
      model: "other",
      stream: true,
      tools: [{ type: "function", name: "f", description: "does f", parameters: SCHEMA, strict: false }],
      tool_choice: { type: "function", name: "f" },
      parallel_tool_calls: false,
      temperature: 0,
      top_p: 0.5,
      max_output_tokens: 7,
      reasoning: { effort: "low", summary: "auto" },
      service_tier: "flex",
      text: { format: { type: "json_schema", name: "response", schema: CLOSED, strict: true } },
      prompt_cache_key: "key-s1",
    });
  });

  it("maps every effort, and takes other words for a model that has them", async () => {
    const efforts = ["off", "minimal", "low", "medium", "high", "xhigh", "maximum"] as const;
    const words = [];
    for (const reasoningEffort of efforts) words.push((await body({ reasoningEffort }))["reasoning"]);
    expect(words).toEqual(["none", "minimal", "low", "medium", "high", "xhigh", "max"].map((effort) => ({ effort })));
    expect(await body({ reasoningEffort: "maximum" }, { efforts: { maximum: "high" } })).toMatchObject({
      reasoning: { effort: "high" },
    });
  });

  it.each(["auto", "none", "required"] as const)("says which tool must be called: %s", async (toolChoice) => {
    expect(await body({ toolChoice })).toMatchObject({ tool_choice: toolChoice });
  });

  it("forces no tool that is not sent, and has no choice without tools", async () => {
    expect(await body({ toolChoice: { tool: "gone" } })).not.toHaveProperty("tool_choice");
    const bare = (await sent({ options: { toolChoice: "required", parallelToolCalls: true } })).body;
    expect(bare).toEqual({ ...plain, stream: true });
  });

  it("enforces a schema only where it can be", async () => {
    expect(await body({ responseSchema: SCHEMA })).toMatchObject({ text: { format: { strict: false } } });
  });

  it("marks what the provider shall keep where that is asked for", async () => {
    const mark = { prompt_cache_breakpoint: { mode: "explicit", ttl: "12h" } };
    const block = (text: string, extra = {}) => ({ type: "input_text", text, ...extra });
    const messages: Message[] = [
      { role: "system", content: [{ type: "text", text: "be brief" }], ...stamp },
      user("first"),
      user("second"),
      reply([called("c1")]),
      result("c1"),
    ];
    const items = await wire(messages, { cache: "12h" });
    expect(items.map(({ content }) => content)).toEqual([
      [block("be brief", mark)],
      [block("first")],
      [block("second", mark)],
      undefined,
      undefined,
    ]);
    expect(JSON.stringify(await wire(messages))).not.toContain("breakpoint");
  });

  it("lets provider options replace what stands", async () => {
    const providerOptions = { store: true, truncation: "auto", reasoning: { effort: "high" } };
    expect(await body({ reasoningEffort: "low", providerOptions })).toMatchObject(providerOptions);
  });

  it("carries the key, asked for each time, and the application's headers", async () => {
    let count = 0;
    await using server = await loopback(pieces([OK]));
    const model = new OpenAiResponsesModel({
      model: "m",
      baseUrl: `${server.baseUrl}/`,
      apiKey: () => Promise.resolve(`key-${++count}\n`),
      headers: { "X-Mine": "1", accept: "text/plain" },
    });
    await model.chat(request());
    await model.chatStreaming(request(), () => undefined);
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual(["Bearer key-1", "Bearer key-2"]);
    expect(server.requests[0]?.headers).toMatchObject({ "x-mine": "1", accept: "text/plain" });
  });

  it("that JSON cannot hold is refused before anything is sent", async () => {
    const options = { providerOptions: { a: 1n } } as unknown as ChatOptions;
    await expect(sent({ options })).rejects.toMatchObject({ kind: "request-build", retryable: false });
  });
});

describe("messages on the responses wire", () => {
  it("keep roles, order and what stands between calls", async () => {
    const messages: Message[] = [
      { role: "system", content: [{ type: "text", text: "be brief" }], ...stamp },
      user("go"),
      reply([
        { type: "text", text: "a" },
        { type: "text", text: "b" },
        called("c1", { arguments: { x: 1 } }),
        { type: "text", text: "c" },
        called("c2"),
      ]),
      result("c1"),
      result("c2"),
      reply([{ type: "text", text: "done" }]),
    ];
    expect(await wire(messages)).toEqual([
      { type: "message", role: "system", content: [{ type: "input_text", text: "be brief" }] },
      asked("go"),
      said("ab"),
      { type: "function_call", call_id: "c1", name: "f", arguments: '{"x":1}' },
      said("c"),
      { type: "function_call", call_id: "c2", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "c1", output: "1" },
      { type: "function_call_output", call_id: "c2", output: "1" },
      said("done"),
    ]);
  });

  it("hold images and files, and a note in place of what the provider cannot read", async () => {
    const content = [
      { type: "text", text: "see" },
      { type: "image", source: { url: "https://x.test/a.png" }, mimeType: "image/png" },
      { type: "image", source: { base64: "/9j/" }, mimeType: "image/png" },
      { type: "file", source: { base64: "QQ==" }, mimeType: "application/pdf", name: "a.pdf" },
      { type: "file", source: { url: "https://x.test/a.pdf" }, mimeType: "application/pdf" },
      { type: "file", source: { base64: "QQ==" }, mimeType: "image/png" },
      { type: "image", source: { base64: "QQ==" }, mimeType: "image/tiff" },
      { type: "image", source: { base64: "not base64!" }, mimeType: "image/png" },
      { type: "file", source: { url: "file:///etc/passwd" }, mimeType: "text/plain", name: "x" },
      { type: "file", source: { base64: "QQ==" }, mimeType: "audio/mpeg" },
      { type: "hologram" },
    ];
    const messages = [{ role: "user", content, ...stamp }] as unknown as Message[];
    expect((await wire(messages))[0]?.["content"]).toEqual([
      { type: "input_text", text: "see" },
      { type: "input_image", image_url: "https://x.test/a.png", detail: "auto" },
      { type: "input_image", image_url: "data:image/jpeg;base64,/9j/", detail: "auto" },
      { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,QQ==" },
      { type: "input_file", file_url: "https://x.test/a.pdf" },
      { type: "input_image", image_url: "data:image/png;base64,QQ==", detail: "auto" },
      { type: "input_text", text: '[An image that cannot be shown: "image/tiff"]' },
      { type: "input_text", text: '[An image that cannot be shown: "image/png"]' },
      { type: "input_text", text: '[A file that cannot be shown: "x", "text/plain"]' },
      { type: "input_text", text: '[A file that cannot be shown: "audio/mpeg"]' },
    ]);
  });

  it("say that a result is an error, and carry its pictures in it", async () => {
    const image = { type: "image", source: { base64: "QQ==" }, mimeType: "image/png" };
    const shown = { type: "input_image", image_url: "data:image/png;base64,QQ==", detail: "auto" };
    const messages = [
      reply([called("c1"), called("c2"), called("c3"), called("c4")]),
      result("c1", { isError: true, content: [{ type: "text", text: "no" }] }),
      result("c2", { content: [], structured: { a: 1 }, details: "secret" }),
      result("c3", { content: [{ type: "text", text: "see" }, image] }),
      result("c4", { isError: true, content: [{ type: "text", text: "bad" }, image] }),
    ];
    expect((await wire(messages)).slice(4).map(({ output }) => output)).toEqual([
      "<tool_error>no</tool_error>",
      '{"a":1}',
      [{ type: "input_text", text: "see" }, shown],
      [{ type: "input_text", text: "<tool_error>bad</tool_error>" }, shown],
    ]);
  });

  it("hold one id for each call, whatever ids were stored", async () => {
    const long = "x".repeat(70);
    const messages = [
      reply([called("same")]),
      result("same", { content: [{ type: "text", text: "first" }] }),
      reply([called("same"), called(long), called("größe 1")]),
      result("same", { content: [{ type: "text", text: "second" }] }),
      result(long, { content: [{ type: "text", text: "third" }] }),
      result("größe 1", { content: [{ type: "text", text: "fourth" }] }),
    ];
    const items = await wire(messages);
    const ids = items.filter(({ type }) => type === "function_call").map(({ call_id }) => call_id);
    expect(new Set(ids).size).toBe(4);
    expect(ids[0]).toBe("same");
    for (const id of ids) expect(id).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    const outputs = items.filter(({ type }) => type === "function_call_output");
    expect(outputs.map(({ call_id, output }) => [call_id, output])).toEqual(
      ["first", "second", "third", "fourth"].map((text, n) => [ids[n], text]),
    );
  });

  it("F090: hold a JSON object as the arguments of every call", async () => {
    const parts = [
      called("a", { raw: '{"n":9007199254740993}', arguments: { n: 9007199254740992 } }),
      called("b", { malformed: { raw: '{"cmd":"echo hi}', reason: "no JSON" } }),
      called("c", { arguments: '{"from":"an older version"}' }),
      called("d", { arguments: null }),
    ];
    const items = await wire([reply(parts), ...parts.map((_, n) => result("abcd".charAt(n)))]);
    expect(items.slice(0, 4).map((one) => one["arguments"])).toEqual([
      '{"n":9007199254740993}',
      "{}",
      '{"from":"an older version"}',
      "{}",
    ]);
  });

  it("F060, F062, F065: pair each call with its one result, in place", async () => {
    const late = { content: [{ type: "text", text: "ok" }] };
    const messages = [
      user("go"),
      reply([called("c1")]),
      user("wait"),
      result("c1", late),
      result("ghost"),
      user("again"),
    ];
    expect((await wire(messages)).map((one) => one["call_id"] ?? one["role"])).toEqual([
      "user",
      "c1",
      "c1",
      "user",
      "user",
    ]);
    const open = await wire([user("go"), reply([called("c1")]), user("again")]);
    expect(open[2]).toMatchObject({ type: "function_call_output", call_id: "c1" });
    expect(String(open[2]?.["output"])).toMatch(/^<tool_error>.*interrupted/);
  });

  it("F082, F084: have tool names that the provider takes, the same in the transcript", async () => {
    const long = `srv_${"x".repeat(70)}`;
    const names = ["fs.list", "fs/list", "größe messen", "", "fine-name_1", `${long}_read`, `${long}_write`];
    const messages = [reply(names.map((name, n) => called(`c${n}`, { name })))];
    const seen = (await sent({ messages, tools: names.map((name) => tool(name)) })).body;
    const found = (seen["tools"] as readonly Fields[]).map(({ name }) => String(name));
    expect(new Set(found).size).toBe(names.length);
    for (const name of found) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    const used = (seen["input"] as readonly Fields[]).filter(({ type }) => type === "function_call");
    expect(used.map(({ name }) => name)).toEqual(found);
  });

  it("F082: bring a call back to the tool's own name", async () => {
    await using server = await loopback((response, { body }) => {
      const [first] = body["tools"] as readonly Fields[];
      response.end(streamOf([item.call("c1", String(first?.["name"]), "{}")]));
    });
    const model = new OpenAiResponsesModel({ model: "m", baseUrl: server.baseUrl });
    const { parts } = await model.chat(request({ tools: [tool("fs.list")] }));
    expect(parts).toMatchObject([{ name: "fs.list" }]);
  });

  it("F085, F087, F089: have tool schemas that the provider takes; one that cannot be healed is left out alone", async () => {
    const reference = {
      type: "object",
      properties: { size: { $ref: "#/$defs/K" } },
      $defs: { K: { type: "string", enum: ["small"] } },
    };
    const nullable = {
      type: "object",
      properties: {
        m: {
          anyOf: [
            { enum: ["lo", "hi"], type: "string" },
            { enum: ["lo", "hi"], type: "null" },
          ],
        },
      },
    };
    const tools = [
      tool("s1", { type: "string" }),
      tool("s2", null as never),
      tool("s4", { properties: { a: { type: "number" } } }),
      tool("s5", reference),
      tool("s6", nullable),
    ];
    const list = (await sent({ tools })).body["tools"] as readonly Fields[];
    expect(list.map(({ name, parameters }) => [name, parameters])).toEqual([
      ["s2", { type: "object", properties: {} }],
      ["s4", { type: "object", properties: { a: { type: "number" } } }],
      ["s5", reference],
      ["s6", { ...nullable, properties: { m: { anyOf: [{ enum: ["lo", "hi"], type: "string" }, { type: "null" }] } } }],
    ]);
  });
});

describe("reasoning on the responses wire", () => {
  const plan = item.reasoning("AAA", ["plan", "more"], { id: "rs_a" });
  const more = item.reasoning("BBB", [], { id: "rs_b" });

  /** What goes back of a reply that the provider gave, as the next request holds it. */
  async function replayed(
    output: readonly Fields[],
    fields: object = {},
    adapter: Partial<OpenAiResponsesOptions> = {},
  ) {
    await using server = await loopback(pieces([streamOf(output)]));
    const model = new OpenAiResponsesModel({ model: "m", baseUrl: server.baseUrl });
    const { parts, provider } = await model.chatStreaming(request(), () => undefined);
    const stored = JSON.parse(JSON.stringify(reply(parts, { provider, ...fields }))) as Message;
    const calls = parts.flatMap((part) => (part.type === "toolCall" ? [result(part.id)] : []));
    return await wire([user("go"), stored, ...calls, user("on")], adapter);
  }

  it("goes back as it came, in its place, without any other id of the provider", async () => {
    const output = [plan, item.message("say", { phase: "commentary" }), more, item.call("c1", "f", "{}")];
    expect((await replayed(output)).slice(1, 5)).toEqual([
      plan,
      { ...said("say"), phase: "commentary" },
      more,
      { type: "function_call", call_id: "c1", name: "f", arguments: "{}" },
    ]);
  });

  it("goes back without the state it was in and without plain text beside a cipher", async () => {
    const content = [{ type: "reasoning_text", text: "hm" }];
    const [, thought] = await replayed([{ ...plan, status: "completed", content }, item.message("a")]);
    expect(thought).toEqual(plan);
  });

  it("goes back as plain text where that is all there is, and not at all where the provider would look for it by id", async () => {
    const content = [{ type: "reasoning_text", text: "hm" }];
    const open = item.reasoning(null, [], { content });
    expect((await replayed([open, item.message("a")])).slice(1, 3)).toEqual([open, said("a")]);
    expect((await replayed([item.reasoning(null, ["sum"]), item.message("a")])).slice(1, 2)).toEqual([said("a")]);
  });

  it("does not go back where nothing of its reply follows it", async () => {
    expect(await replayed([plan])).toEqual([asked("go"), asked("on")]);
    expect((await replayed([item.message("a"), plan])).slice(1)).toEqual([said("a"), asked("on")]);
    expect(await replayed([plan, item.message(" \n")])).toEqual([asked("go"), asked("on")]);
  });

  it("does not go to another provider, nor where it is switched off", async () => {
    const output = [plan, item.message("a", { phase: "final_answer" })];
    const foreign = await replayed(output, { provider: "another" });
    expect(JSON.stringify(foreign)).not.toContain("AAA");
    expect(JSON.stringify(foreign)).not.toContain("phase");
    expect(foreign).toEqual([asked("go"), said("a"), asked("on")]);
    expect(JSON.stringify(await replayed(output, {}, { replayReasoning: false }))).not.toContain("AAA");
    expect((await sent({}, { replayReasoning: false })).body).not.toHaveProperty("include");
  });

  it("does not go back with data that is no item of this wire", async () => {
    const parts = [null, "x", 7, {}, { type: "message" }, { type: "reasoning" }, { signature: "S" }].map(
      (providerData): AssistantPart => ({ type: "reasoning", text: "t", providerData }),
    );
    expect(await wire([user("go"), reply([...parts, { type: "text", text: "a" }])])).toEqual([asked("go"), said("a")]);
  });

  it("takes a compaction back too", async () => {
    const compaction = { type: "compaction", id: "cmp_1", encrypted_content: "CCC" };
    expect((await replayed([compaction, item.refusal("no")])).slice(1, 3)).toEqual([compaction, said("no")]);
  });
});

describe("the description of the model", () => {
  it("tells provider, model and context window without a request", () => {
    expect(new OpenAiResponsesModel({ model: "m", contextWindow: 9 }).describe()).toMatchObject({
      provider: "openai-responses",
      model: "m",
      contextWindow: 9,
    });
  });

  it("takes no option that does not exist, no bad address and no empty model", () => {
    for (const options of [{ model: "" }, { model: "m", baseUrl: "nowhere" }, { model: "m", baseURL: "x" }]) {
      expect(() => new OpenAiResponsesModel(options as OpenAiResponsesOptions)).toThrow(/invalid-config/);
    }
  });
});
