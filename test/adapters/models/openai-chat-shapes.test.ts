import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { fetchOf, type Outcome, request, streamed, tool, whole } from "./chat-outcome.js";
import { delta, DONE, event, JSON_TYPE, loopback, pieces, SSE, STOP } from "./loopback.js";

const encoder = new TextEncoder();
const incomplete = "ModelError(response-parse): the body ended before the reply was finished";
const hi: Outcome = { text: "hi", finish: "stop" };
const called = (...calls: NonNullable<Outcome["calls"]>): Outcome => ({ text: "", calls, finish: "tool-calls" });
const toolDelta = (...entries: readonly unknown[]): string => delta({ tool_calls: entries });
const END = delta({}, "tool_calls") + DONE;
const full = {
  id: "r",
  object: "chat.completion",
  model: "m1",
  choices: [{ index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" }],
};

/** Both a whole body and one that comes byte by byte must come to the same. */
async function outcomeOf(body: string, ask = streamed): Promise<Outcome> {
  await using server = await loopback(pieces([body]));
  const outcome = await ask({ baseUrl: server.baseUrl });
  const bytes = Array.from(encoder.encode(body), (byte) => Uint8Array.of(byte));
  expect(await ask({ baseUrl: "http://unused.test", fetch: fetchOf(bytes) })).toEqual(outcome);
  return outcome;
}

describe("the frame of a stream", () => {
  const hello = delta({ content: "hi" });
  it.each<[string, string, Outcome]>([
    [
      "comments, event names, ids and retries",
      `: PROCESSING\n\nevent: message\nid: 1\nretry: 10\n${hello}:\n${STOP}${DONE}`,
      hi,
    ],
    ["no blank after the colon", `${hello}${STOP}${DONE}`.replaceAll("data: ", "data:"), hi],
    ["[DONE] with blanks around it", `${hello}${STOP}data:   [DONE]  \n\n`, hi],
    ["[DONE] as a JSON string", `${hello}${STOP}data: "[DONE]"\n\n`, hi],
    ["[DONE] without data", `${hello}${STOP}[DONE]\n\n`, hi],
    ["the last event without a blank line", `${hello}${STOP.trimEnd()}`, hi],
    [
      "the last event without a line end, after text",
      `${hello}${delta({ content: "!" }, "stop").trimEnd()}`,
      { text: "hi!", finish: "stop" },
    ],
    ["one line end between events instead of two", `${hello}${STOP}${DONE}`.replaceAll("\n\n", "\n"), hi],
    ["empty data and pings", `data:\n\ndata: ping\n\ndata: {}\n\ndata: null\n\ndata: 7\n\n${hello}${STOP}`, hi],
    ["a wrapped comment that speaks of an error", `data: : {"error":"busy"}\n\n${hello}${STOP}`, hi],
    ["a line of a log in front", `[info] starting\n${hello}${STOP}`, hi],
    ["a line of markup in front", `<!-- busy -->\n${hello}${STOP}`, hi],
    ["blank lines in front", `\r\n\n  \n${hello}${STOP}`, hi],
    ["a status line of JSON in front", `{"status":"loading"}\n${hello}${STOP}${DONE}`, hi],
    ["lines of JSON instead of events", `${hello}${STOP}`.replaceAll("data: ", "").replaceAll("\n\n", "\n"), hi],
    ["anything after [DONE]", `${hello}${STOP}${DONE}${delta({ content: "late" })}data: {"error":"late"}\n\n`, hi],
    ["rubbish after the finish", `${hello}${STOP}data: {"usage": {"prom\n\n`, hi],
    ["[DONE] without a finish reason", `${hello}${DONE}`, { text: "hi", finish: "other" }],
  ])("may hold %s", async (_, body, wanted) => {
    expect(await outcomeOf(body)).toEqual(wanted);
  });

  it.each<[string, string, Outcome]>([
    ["nothing", "", { error: "response-parse", message: incomplete }],
    ["blanks", "\n\n", { error: "response-parse", message: incomplete }],
    ["[DONE] alone", DONE, { error: "response-parse", message: incomplete }],
    ["text without an end", hello, { error: "response-parse", message: incomplete, partialText: "hi" }],
    [
      "an end in the middle of an event",
      hello + STOP.slice(0, 30),
      expect.objectContaining({ error: "response-parse", partialText: "hi" }),
    ],
    [
      "an event that is no JSON",
      `${hello}data: {"choices": oops}\n\n${STOP}`,
      expect.objectContaining({ error: "response-parse", partialText: "hi" }),
    ],
    [
      "noise alone",
      "data: Internal Server Error\n\n",
      { error: "response-parse", message: `${incomplete}: Internal Server Error` },
    ],
  ])("never makes a reply of %s", async (_, body, wanted) => {
    expect(await outcomeOf(body)).toEqual(wanted);
  });

  it("comes to the consumer as it arrives", async () => {
    let release = (): void => undefined;
    await using server = await loopback((response) => {
      response.writeHead(200, SSE);
      response.write(delta({ content: "first" }));
      release = () => response.end(STOP);
    });
    const { OpenAiChatModel } = await import("../../../src/adapters/models/openai-chat.js");
    const seen: string[] = [];
    await new OpenAiChatModel({ model: "m", baseUrl: server.baseUrl }).chatStreaming(request(), (chunk) => {
      seen.push(chunk.type);
      if (chunk.type === "textDelta") release();
    });
    expect(seen).toEqual(["textDelta", "finish"]);
  });

  it("may be compressed", async () => {
    const body = gzipSync(delta({ content: "hi" }) + STOP + DONE);
    await using server = await loopback(pieces([body], { ...SSE, "content-encoding": "gzip" }));
    expect(await streamed({ baseUrl: server.baseUrl })).toEqual(hi);
  });

  it("may hold a very long line", async () => {
    const text = "x".repeat(2_000_000);
    await using server = await loopback(pieces([delta({ content: text }) + STOP]));
    expect(await streamed({ baseUrl: server.baseUrl })).toEqual({ text, finish: "stop" });
  });

  it("keeps a BOM inside the text", async () => {
    expect(await outcomeOf(`\ufeff${delta({ content: "\ufeffa" })}${STOP}`)).toEqual({
      text: "\ufeffa",
      finish: "stop",
    });
  });
});

describe("one document", () => {
  it("answers a request without streaming", async () => {
    const usage = {
      prompt_tokens: 100,
      completion_tokens: 10,
      total_tokens: 110,
      prompt_tokens_details: { cached_tokens: 80 },
    };
    await using server = await loopback(pieces([JSON.stringify({ ...full, usage })], JSON_TYPE));
    expect(await whole({ baseUrl: server.baseUrl })).toEqual({
      ...hi,
      usage: { inputTokens: 100, outputTokens: 10, totalTokens: 110, cachedInputTokens: 80 },
    });
    expect(server.requests[0]?.body["stream"]).toBe(false);
  });

  it.each<[string, string]>([
    ["on one line", JSON.stringify(full)],
    ["on one line with a line end", `${JSON.stringify(full)}\n`],
    ["indented", JSON.stringify(full, null, 2)],
    ["behind blanks and a BOM", `\ufeff\n \n${JSON.stringify(full)}`],
  ])("answers a request for a stream: %s", async (_, body) => {
    expect(await outcomeOf(body)).toEqual(hi);
    expect(await outcomeOf(body, whole)).toEqual(hi);
  });

  it("gives calls, reasoning and refusals as a stream would", async () => {
    const message = (fields: object): string =>
      JSON.stringify({ ...full, choices: [{ index: 0, message: fields, finish_reason: null }] });
    const tool_calls = [
      { id: "c", function: { name: "f", arguments: { a: 1 } } },
      { id: "c", function: { name: "f", arguments: "{}" } },
      { function: { name: "g", arguments: {} } },
      { id: 5, function: { arguments: "{}" } },
      { function: { arguments: "{}" } },
    ];
    expect(await outcomeOf(message({ content: null, reasoning_content: "hm", tool_calls }), whole)).toEqual({
      text: "",
      reasoning: "hm",
      calls: [
        ["c", "f", { a: 1 }],
        ["c", "f", {}],
        ["call_2", "g", {}],
        ["5", "", "the call has no name"],
        ["call_4", "", "the call has no name"],
      ],
      finish: "other",
    });
    expect(await outcomeOf(message({ refusal: "no" }).replace("null}]", '"stop"}]'), whole)).toEqual({
      text: "no",
      finish: "refusal",
    });
  });

  it.each<[string, string, string]>([
    ["without choices", '{"id":"r"}', "response-parse"],
    ["with no choice", '{"choices":[]}', "response-parse"],
    ["that is cut", '{"choices":[{"index":0,"message":{"content":"h', "response-parse"],
    ["that is a page", "<html><title>Sign in</title></html>", "response-parse"],
  ])("is a failure %s", async (_, body, error) => {
    expect(await outcomeOf(body, whole)).toMatchObject({ error });
  });

  it("quotes the title where it is a page", async () => {
    const body = "<!DOCTYPE html><html><head><title>Sign in</title></head><body>long</body></html>";
    expect(await outcomeOf(body, whole)).toMatchObject({ message: `${incomplete}: Sign in` });
  });
});

describe("a delta", () => {
  it.each<[string, string, Outcome]>([
    ["content as parts", delta({ content: [{ type: "text", text: "h" }, "i", { type: "image" }, null] }) + STOP, hi],
    [
      "thinking as parts",
      delta({
        content: [
          { type: "thinking", thinking: [{ type: "text", text: "hm" }] },
          { type: "text", text: "hi" },
        ],
      }) + STOP,
      { ...hi, reasoning: "hm" },
    ],
    ["reasoning", delta({ reasoning: "hm" }) + delta({ content: "hi" }) + STOP, { ...hi, reasoning: "hm" }],
    [
      "the same reasoning in two fields",
      delta({ reasoning: "hm", reasoning_content: "hm" }) + delta({ content: "hi" }) + STOP,
      { ...hi, reasoning: "hm" },
    ],
    ["an empty finish reason", delta({ content: "h" }, "") + delta({ content: "i" }, "") + STOP, hi],
    ["the finish reason in capitals", delta({ content: "hi" }, "STOP"), hi],
    ["the finish reason twice", delta({ content: "hi" }, "stop") + STOP + DONE, hi],
    ["an unknown finish reason", delta({ content: "hi" }, "toString"), { text: "hi", finish: "other" }],
    ["the output limit", delta({ content: "hi" }, "max_tokens"), { text: "hi", finish: "length" }],
    [
      "error: null",
      event({ error: null, choices: [{ index: 0, delta: { content: "hi" }, finish_reason: "stop" }] }),
      hi,
    ],
    [
      "the whole message once more at its end",
      delta({ content: "hi" }) +
        event({ choices: [{ index: 0, delta: {}, message: { content: "hi" }, finish_reason: "stop" }] }),
      hi,
    ],
    [
      "a call once more at its end, encoded anew",
      delta({ tool_calls: [{ index: 0, id: "c", function: { name: "f", arguments: '{"a": 1}' } }] }) +
        delta({ tool_calls: [{ index: 0, id: "c", function: { name: "f", arguments: '{"a":1}' } }] }, "tool_calls"),
      { text: "", calls: [["c", "f", { a: 1 }]], finish: "tool-calls" },
    ],
    [
      "a filter report before any choice",
      event({ choices: [], prompt_filter_results: [{ prompt_index: 0 }] }) + delta({ content: "hi" }) + STOP,
      hi,
    ],
    ["no index of its choice", event({ choices: [{ delta: { content: "hi" }, finish_reason: "stop" }] }), hi],
    [
      "its choice's index as text",
      event({ choices: [{ index: "0", delta: { content: "hi" }, finish_reason: "stop" }] }),
      hi,
    ],
    [
      "another choice",
      event({
        choices: [
          { index: 0, delta: { content: "hi" } },
          { index: 1, delta: { content: "no" }, finish_reason: "length" },
        ],
      }) +
        event({ choices: [{ index: 1, delta: { content: "no" } }] }) +
        STOP,
      hi,
    ],
    ["choices as one object", event({ choices: { index: 0, delta: { content: "hi" }, finish_reason: "stop" } }), hi],
  ])("may hold %s", async (_, body, wanted) => {
    expect(await outcomeOf(body)).toEqual(wanted);
  });

  it.each<[string, unknown, NonNullable<Outcome["usage"]>]>([
    [
      "details",
      { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8, completion_tokens_details: { reasoning_tokens: 2 } },
      { inputTokens: 5, outputTokens: 3, totalTokens: 8, reasoningTokens: 2 },
    ],
    [
      "cache hits beside the prompt",
      { prompt_tokens: 5, completion_tokens: 3, prompt_cache_hit_tokens: 4 },
      { inputTokens: 5, outputTokens: 3, totalTokens: 8, cachedInputTokens: 4 },
    ],
    [
      "zero",
      { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
      { inputTokens: 0, outputTokens: 0, totalTokens: 0 },
    ],
    [
      "rubbish beside numbers",
      { prompt_tokens: "x", completion_tokens: 3, total_tokens: null, prompt_tokens_details: null },
      { outputTokens: 3 },
    ],
    [
      "F209: cached tokens beside the prompt, of which they cannot be a part",
      { prompt_tokens: 20, completion_tokens: 10, total_tokens: 30, prompt_tokens_details: { cached_tokens: 80 } },
      { inputTokens: 100, outputTokens: 10, totalTokens: 110, cachedInputTokens: 80 },
    ],
    [
      "F209: cached tokens beside the prompt, as the total says",
      { prompt_tokens: 90, completion_tokens: 10, total_tokens: 180, prompt_tokens_details: { cached_tokens: 80 } },
      { inputTokens: 170, outputTokens: 10, totalTokens: 180, cachedInputTokens: 80 },
    ],
    [
      "F209: the names of another wire, read from the cache and written to it",
      { input_tokens: 20, output_tokens: 10, cache_read_input_tokens: 70, cache_creation_input_tokens: 10 },
      { inputTokens: 100, outputTokens: 10, totalTokens: 110, cachedInputTokens: 70, cacheWriteTokens: 10 },
    ],
    [
      "F209: cached tokens of another wire's name within the prompt",
      { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110, cache_read_input_tokens: 80 },
      { inputTokens: 100, outputTokens: 10, totalTokens: 110, cachedInputTokens: 80 },
    ],
    [
      "F209: reasoning beside the completion",
      {
        prompt_tokens: 100,
        completion_tokens: 10,
        total_tokens: 115,
        completion_tokens_details: { reasoning_tokens: 5 },
      },
      { inputTokens: 100, outputTokens: 15, totalTokens: 115, reasoningTokens: 5 },
    ],
    [
      "F209: reasoning beside the completion, and no total",
      { prompt_tokens: 100, completion_tokens: 10, completion_tokens_details: { reasoning_tokens: 50 } },
      { inputTokens: 100, outputTokens: 60, totalTokens: 160, reasoningTokens: 50 },
    ],
    [
      "F209: cached tokens and reasoning both beside",
      {
        prompt_tokens: 100,
        completion_tokens: 10,
        total_tokens: 195,
        prompt_tokens_details: { cached_tokens: 80 },
        completion_tokens_details: { reasoning_tokens: 5 },
      },
      { inputTokens: 180, outputTokens: 15, totalTokens: 195, cachedInputTokens: 80, reasoningTokens: 5 },
    ],
  ])("may count usage with %s", async (_, usage, wanted) => {
    expect(await outcomeOf(delta({ content: "hi" }) + STOP + event({ choices: [], usage }))).toEqual({
      ...hi,
      usage: wanted,
    });
    expect(
      await outcomeOf(
        delta({ content: "hi" }) + event({ choices: [{ index: 0, delta: {}, finish_reason: "stop", usage }] }),
      ),
    ).toEqual({ ...hi, usage: wanted });
  });

  it("hands on usage that is repeated in every event once", async () => {
    const usage = { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 };
    const piece = event({ usage, choices: [{ index: 0, delta: { content: "a" } }] });
    await using server = await loopback(pieces([piece, piece, piece, STOP]));
    const { OpenAiChatModel } = await import("../../../src/adapters/models/openai-chat.js");
    const types: string[] = [];
    const model = new OpenAiChatModel({ model: "m", baseUrl: server.baseUrl });
    await model.chatStreaming(request(), ({ type }) => types.push(type));
    expect(types).toEqual(["textDelta", "usage", "textDelta", "textDelta", "finish"]);
  });

  it("leaves usage unknown where it is null in every event", async () => {
    expect(await outcomeOf((delta({ content: "hi" }) + STOP).replaceAll('"model"', '"usage":null,"model"'))).toEqual(
      hi,
    );
  });
});

describe("a streamed tool call", () => {
  const f = (args: unknown): object => ({ name: "f", arguments: args });
  it.each<[string, string, Outcome]>([
    ["without a type", toolDelta({ index: 0, id: "c", function: f("{}") }), called(["c", "f", {}])],
    [
      "with arguments as an object",
      toolDelta({ index: 0, id: "c", function: f({ a: [1] }) }),
      called(["c", "f", { a: [1] }]),
    ],
    [
      "with an empty object in front of its arguments",
      toolDelta({ index: 0, id: "c", function: f({}) }) + toolDelta({ index: 0, function: { arguments: '{"a":1}' } }),
      called(["c", "f", { a: 1 }]),
    ],
    [
      "with an index as text",
      toolDelta({ index: "0", id: "c", function: f('{"a"') }) +
        toolDelta({ index: "0", function: { arguments: ":1}" } }),
      called(["c", "f", { a: 1 }]),
    ],
    [
      "with empty or null ids later on",
      toolDelta({ index: 0, id: "c", function: f('{"a"') }) +
        toolDelta({ index: 0, id: "", function: { name: "", arguments: ":" } }) +
        toolDelta({ index: 0, id: null, function: { name: null, arguments: "1}" } }),
      called(["c", "f", { a: 1 }]),
    ],
    [
      "with its id late",
      toolDelta({ index: 0, function: f('{"a"') }) + toolDelta({ index: 0, id: "c", function: { arguments: ":1}" } }),
      called(["c", "f", { a: 1 }]),
    ],
    [
      "without id and index",
      toolDelta({ function: f('{"a"') }) + toolDelta({ function: { arguments: ":1}" } }),
      called(["call_1000000", "f", { a: 1 }]),
    ],
    [
      "without index, its id in every delta",
      toolDelta({ id: "c", function: f('{"a"') }) + toolDelta({ id: "c", function: { arguments: ":1}" } }),
      called(["c", "f", { a: 1 }]),
    ],
    [
      "without function around it",
      toolDelta({ index: 0, id: "c", name: "f", arguments: "{}" }),
      called(["c", "f", {}]),
    ],
    [
      "as one object instead of a list",
      delta({ tool_calls: { index: 0, id: "c", function: f("{}") } }),
      called(["c", "f", {}]),
    ],
    ["among rubbish", toolDelta(null, 7, {}, { index: 0, id: "c", function: f("{}") }), called(["c", "f", {}])],
    [
      "beside the older form of the same call",
      delta({ tool_calls: [{ index: 0, id: "c", function: f("{}") }], function_call: f("{}") }),
      called(["c", "f", {}]),
    ],
    [
      "with arguments that are no object",
      toolDelta({ index: 0, id: "c", function: f(7) }),
      called(["c", "f", "the arguments are no JSON object"]),
    ],
  ])("may come %s", async (_, body, wanted) => {
    expect(await outcomeOf(body + END)).toEqual(wanted);
  });

  it("may be one of several that no index and no id keeps apart", async () => {
    const body = toolDelta({ function: f('{"a":1}') }) + toolDelta({ function: f('{"a":2}') });
    expect(await outcomeOf(body + END)).toMatchObject({
      calls: [
        [expect.any(String), "f", { a: 1 }],
        [expect.any(String), "f", { a: 2 }],
      ],
    });
    expect(await outcomeOf(toolDelta({ function: f('{"a":1}') }, { function: f('{"a":2}') }) + END)).toMatchObject({
      calls: [
        [expect.any(String), "f", { a: 1 }],
        [expect.any(String), "f", { a: 2 }],
      ],
    });
  });

  it("reaches the tool whose name the provider could not take", async () => {
    await using server = await loopback((response, { body }) => {
      const { name } = (body["tools"] as { function: { name: string } }[])[0]?.function ?? { name: "" };
      const piecesOfName = [name.slice(0, 3), name.slice(3)].map((piece) =>
        toolDelta({ index: 1, function: { name: piece } }),
      );
      response.end(
        toolDelta({ index: 0, id: "a", function: { name, arguments: "{}" } }) +
          toolDelta({ index: 1, id: "b" }) +
          piecesOfName.join("") +
          END,
      );
    });
    const { OpenAiChatModel } = await import("../../../src/adapters/models/openai-chat.js");
    const response = await new OpenAiChatModel({ model: "m", baseUrl: server.baseUrl }).chat(
      request({ tools: [tool("fs.list")] }),
    );
    expect(response.parts).toMatchObject([{ name: "fs.list" }, { name: "fs.list" }]);
  });
});

describe("an error inside a body that began well", () => {
  const half = delta({ content: "Half" });
  it.each<[string, string, string, string]>([
    ["nested", event({ error: { message: "boom", type: "server_error", code: null } }), "server", "boom"],
    ["nested twice", event({ error: { error: { message: "boom" } } }), "server", "boom"],
    ["flat", event({ object: "error", message: "boom", type: "InternalServerError", code: 500 }), "server", "boom"],
    ["flat with a type", event({ type: "error", message: "boom" }), "server", "boom"],
    ["flat beside a flag", event({ error: true, message: "boom" }), "server", "boom"],
    ["without anything around it", event({ message: "boom", code: 503 }), "overloaded", "boom"],
    ["as a detail", event({ detail: "boom" }), "server", "boom"],
    [
      "in a list",
      event([{ error: { code: 429, message: "boom", status: "RESOURCE_EXHAUSTED" } }]),
      "rate-limit",
      "boom",
    ],
    ["by its event name", 'event: error\ndata: {"message":"boom"}\n\n', "server", "boom"],
    ["by its event name, as text", "event: error\ndata: boom\n\n", "server", "boom"],
    [
      "beside a choice",
      event({
        choices: [{ index: 0, delta: { content: "" }, finish_reason: "error" }],
        error: { code: "server_error", message: "boom" },
      }),
      "server",
      "boom",
    ],
    [
      "inside a choice",
      event({ choices: [{ index: 0, delta: {}, error: { code: 502, message: "boom" }, finish_reason: "error" }] }),
      "server",
      "boom",
    ],
    ["as a finish reason", delta({}, "error"), "server", "error"],
    ["as a broken-off reply", delta({}, "insufficient_system_resource"), "overloaded", "insufficient_system_resource"],
    ["as a line that is no event", '{"error":{"message":"boom"}}\n', "server", "boom"],
    ["glued to half an event", 'data: {"choices":[{"index":0,"del{"error": {"message":"boom"}}\n\n', "server", "boom"],
    [
      "glued to half an event, with its own data",
      'data: {"choices":[{"index":0,"del\ndata: {"error":"boom"}\n\n',
      "server",
      "boom",
    ],
    ["after the finish", STOP + event({ error: { message: "boom" } }), "server", "boom"],
    [
      "about the context",
      event({ error: { message: "This model's maximum context length is 10 tokens" } }),
      "context-overflow",
      "maximum context",
    ],
    [
      "about capacity",
      event({ error: { type: "overloaded_error", message: "Overloaded" } }),
      "overloaded",
      "Overloaded",
    ],
    ["about a filter", event({ error: { code: "content_filter", message: "filtered" } }), "content-filter", "filtered"],
  ])("is raised where it comes %s, with the text before it", async (_, body, error, quote) => {
    const outcome = await outcomeOf(half + body + DONE);
    expect(outcome).toMatchObject({ error, partialText: "Half" });
    expect(outcome.message).toContain(quote);
  });

  it("is raised where a whole answer with status 200 is an error", async () => {
    for (const ask of [whole, streamed]) {
      expect(await outcomeOf('{"error":{"message":"no such key","code":401}}', ask)).toMatchObject({ error: "auth" });
      expect(await outcomeOf('{\n "error": "boom"\n}', ask)).toMatchObject({ error: "server" });
    }
  });
});
