import { describe, expect, it } from "vitest";
import { fetchOf, type Outcome, request, tool, user } from "./chat-outcome.js";
import { assistant, call, end, gemini, piece, result, streamed, text, whole } from "./gemini-wire.js";
import { event, JSON_TYPE, loopback, pieces, SSE } from "./loopback.js";

const encoder = new TextEncoder();
const incomplete = "ModelError(response-parse): the body ended before the reply was finished";

/** What a body comes to over HTTP; one byte at a time, cut anywhere, and with other line ends it must come to the same. */
async function outcomeOf(body: string): Promise<Outcome> {
  await using server = await loopback(pieces([body]));
  const outcome = await streamed({ baseUrl: server.baseUrl });
  const unused = "http://unused.test";
  for (const form of [body, body.replaceAll("\n", "\r\n")]) {
    const bytes = encoder.encode(form);
    const single = Array.from(bytes, (byte) => Uint8Array.of(byte));
    expect(await streamed({ baseUrl: unused, fetch: fetchOf(single) })).toEqual(outcome);
    for (let cut = 1; cut < bytes.length; cut++) {
      const fetch = fetchOf([bytes.subarray(0, cut), bytes.subarray(cut)]);
      expect(await streamed({ baseUrl: unused, fetch }), `cut at ${cut}`).toEqual(outcome);
    }
  }
  return outcome;
}

const parts = async (body: string, tools = [tool("f")]) => {
  await using server = await loopback(pieces([body]));
  return (await gemini({ baseUrl: server.baseUrl }).chatStreaming(request({ tools }), () => undefined)).parts;
};

describe("a streamed reply", () => {
  it.each<[string, string, Outcome]>([
    ["text in pieces", text("漢", "字🧭") + end(), { text: "漢字🧭", finish: "stop" }],
    ["text and the end in one response", event(piece([{ text: "hi" }], {}, "STOP")), { text: "hi", finish: "stop" }],
    ["the last event without a blank line", (text("hi") + end()).trimEnd(), { text: "hi", finish: "stop" }],
    [
      "comments, pings and a BOM",
      `\ufeff: busy\n\ndata:\n\ndata: : ping\n\n${text("hi")}${end()}`,
      { text: "hi", finish: "stop" },
    ],
    [
      "candidates without content, null and other ones",
      event({ candidates: null }) +
        event({ candidates: [{ index: 1, content: { parts: [{ text: "no" }] } }] }) +
        event({ candidates: [{ index: 0, content: null }] }) +
        text("hi") +
        end(),
      { text: "hi", finish: "stop" },
    ],
    [
      "parts of a kind not known",
      event(piece([{ executableCode: { code: "1" } }, null, 7, { text: "hi" }])) + end(),
      { text: "hi", finish: "stop" },
    ],
    ["text after its finish", end() + text("late"), { text: "late", finish: "stop" }],
    ["nothing but an end", end(), { text: "", finish: "stop" }],
    [
      "thoughts before text",
      event(piece([{ text: "hm ", thought: true }])) +
        event(piece([{ text: "so", thought: true }, { text: "hi" }])) +
        end(),
      { text: "hi", reasoning: "hm so", finish: "stop" },
    ],
    [
      "one call",
      event(piece([call("f", { a: 1 }, "c1")])) + end(),
      { text: "", calls: [["c1", "f", { a: 1 }]], finish: "tool-calls" },
    ],
    [
      "parallel calls in one response",
      event(piece([call("f", { n: 1 }, "c1"), call("f", { n: 2 }, "c2")], {}, "STOP")),
      {
        text: "",
        calls: [
          ["c1", "f", { n: 1 }],
          ["c2", "f", { n: 2 }],
        ],
        finish: "tool-calls",
      },
    ],
    [
      "parallel calls in several responses, without ids",
      event(piece([call("f", { n: 1 })])) + event(piece([call("f", { n: 2 })])) + end(),
      {
        text: "",
        calls: [
          ["call_resp-1_0", "f", { n: 1 }],
          ["call_resp-1_1", "f", { n: 2 }],
        ],
        finish: "tool-calls",
      },
    ],
    [
      "two calls with one id",
      event(piece([call("f", { n: 1 }, "c"), call("f", { n: 2 }, "c")])) + end(),
      {
        text: "",
        calls: [
          ["c", "f", { n: 1 }],
          ["c", "f", { n: 2 }],
        ],
        finish: "tool-calls",
      },
    ],
    [
      "a call without arguments, and one whose arguments are null",
      event(piece([call("f"), call("f", null)])) + end(),
      {
        text: "",
        calls: [
          ["call_resp-1_0", "f", {}],
          ["call_resp-1_1", "f", {}],
        ],
        finish: "tool-calls",
      },
    ],
    [
      "arguments that are no object",
      event(piece([call("f", [1], "c")])) + end(),
      { text: "", calls: [["c", "f", "the arguments are no JSON object"]], finish: "tool-calls" },
    ],
    [
      "a call without a name",
      event(piece([call("", {}, "c")])) + end(),
      { text: "", calls: [["c", "", "the call has no name"]], finish: "tool-calls" },
    ],
    [
      "text, thought and call in one response",
      event(piece([{ text: "hm", thought: true }, { text: "look" }, call("f", {}, "c")], {}, "STOP")),
      { text: "look", reasoning: "hm", calls: [["c", "f", {}]], finish: "tool-calls" },
    ],
    ["a cut reply", text("Well") + end("MAX_TOKENS"), { text: "Well", finish: "length" }],
    [
      "an array of responses, as the wire sends them without events",
      `[${JSON.stringify(piece([{ text: "a" }]))},\n${JSON.stringify(piece([{ text: "b" }], {}, "STOP"))}\n]`,
      { text: "ab", finish: "stop" },
    ],
  ])("may hold %s", async (_, body, wanted) => {
    expect(await outcomeOf(body)).toEqual(wanted);
  });

  it.each<[string, string, Outcome]>([
    ["nothing", "", { error: "response-parse", message: incomplete }],
    ["text without an end", text("Half"), { error: "response-parse", message: incomplete, partialText: "Half" }],
    [
      "a call without an end",
      event(piece([call("f", { a: 1 }, "c")])),
      { error: "response-parse", message: incomplete },
    ],
    [
      "an end in the middle of an event",
      text("Half") + end().slice(0, 40),
      { error: "response-parse", message: expect.stringContaining(incomplete) as string, partialText: "Half" },
    ],
    [
      "an error event",
      text("Half") + event({ error: { code: 503, message: "overloaded", status: "UNAVAILABLE" } }),
      {
        error: "overloaded",
        message: "ModelError(overloaded): the provider reported an error: overloaded",
        partialText: "Half",
      },
    ],
    [
      "an error after the end",
      text("Half") + end() + event({ error: { code: 500, message: "boom", status: "INTERNAL" } }),
      { error: "server", message: "ModelError(server): the provider reported an error: boom", partialText: "Half" },
    ],
    [
      "an error as a list",
      `[{"error":{"code":429,"message":"slow down","status":"RESOURCE_EXHAUSTED"}}]`,
      { error: "rate-limit", message: "ModelError(rate-limit): the provider reported an error: slow down" },
    ],
    [
      "an error glued to half an event",
      `${text("Half")}data: {"candidates":[{"con{"error":{"message":"read failed"}}\n\n`,
      {
        error: "server",
        message: "ModelError(server): the provider reported an error: read failed",
        partialText: "Half",
      },
    ],
  ])("never makes a reply of %s", async (_, body, wanted) => {
    expect(await outcomeOf(body)).toEqual(wanted);
  });

  it("comes to the consumer as it arrives", async () => {
    let release = (): void => undefined;
    await using server = await loopback((response) => {
      response.writeHead(200, SSE);
      response.write(text("first"));
      release = () => response.end(end());
    });
    const seen: string[] = [];
    await gemini({ baseUrl: server.baseUrl }).chatStreaming(request(), (chunk) => {
      seen.push(chunk.type);
      if (chunk.type === "textDelta") release();
    });
    expect(seen).toEqual(["textDelta", "finish"]);
  });

  it("keeps the digits of numbers that no double holds, there and back, streamed or not", async () => {
    const raw = '{"n":12345678901234567890,"x":1e400,"s":"12345678901234567"}';
    const answer = JSON.stringify(piece([call("f", "ARGS", "c1")], {}, "STOP")).replace('"ARGS"', raw);
    await using server = await loopback((response, { path }) => {
      response.end(path.includes("stream") ? event(answer) : answer);
    });
    const model = gemini({ baseUrl: server.baseUrl });
    const once = await model.chat(request({ tools: [tool("f")] }));
    expect(once.parts).toMatchObject([{ type: "toolCall", raw }]);
    expect(await model.chatStreaming(request({ tools: [tool("f")] }), () => undefined)).toEqual(once);
    let sent = "";
    const fetch: typeof globalThis.fetch = (_, init) => {
      sent = String(init?.body);
      return Promise.resolve(new Response(answer));
    };
    await gemini({ fetch }).chat(request({ messages: [user("go"), assistant(once.parts), result("c1")] }));
    expect(sent).toContain(`"args":${raw}`);
  });

  it("reaches the tool whose name the provider could not take", async () => {
    await using server = await loopback((response, { body }) => {
      const [{ functionDeclarations }] = body["tools"] as [{ functionDeclarations: { name: string }[] }];
      response.end(event(piece(functionDeclarations.map(({ name }) => call(name, {})))) + end());
    });
    const names = ["fs.list", "team/roster", "größe messen", "", "1st", "x".repeat(80)];
    const response = await gemini({ baseUrl: server.baseUrl }).chat(
      request({ tools: names.map((name) => tool(name)) }),
    );
    expect(response.parts.map((part) => part.type === "toolCall" && part.name)).toEqual(names);
  });

  it("names its model and says who gave it", async () => {
    await using server = await loopback(pieces([text("hi") + end()]));
    const response = await gemini({ baseUrl: server.baseUrl, provider: "mine" }).chat(request());
    expect(response).toMatchObject({ model: "gemini-test-001", provider: "mine", rawFinishReason: "STOP" });
  });
});

describe("a thought signature", () => {
  it("stays on the part it came with, and parts it apart from its neighbours", async () => {
    const body =
      event(piece([{ text: "hm", thought: true }])) +
      event(piece([{ text: "", thought: true, thoughtSignature: "S1" }])) +
      text("a", "b") +
      event(piece([{ text: "c", thoughtSignature: "S2" }])) +
      text("d") +
      event(piece([{ ...call("f", {}, "c1"), thoughtSignature: "S3" }, call("f", {})])) +
      event(piece([{ text: "", thoughtSignature: "S4" }])) +
      event(piece([{ thoughtSignature: "S5" }, { inlineData: { data: "" }, thoughtSignature: "S6" }], {}, "STOP"));
    expect(await parts(body)).toEqual([
      { type: "reasoning", text: "hm" },
      { type: "reasoning", text: "", providerData: { thoughtSignature: "S1" } },
      { type: "text", text: "ab" },
      { type: "text", text: "c", providerData: { thoughtSignature: "S2" } },
      { type: "text", text: "d" },
      { type: "toolCall", id: "c1", name: "f", arguments: {}, providerData: { id: "c1", thoughtSignature: "S3" } },
      { type: "toolCall", id: "call_resp-1_1", name: "f", arguments: {} },
      { type: "text", text: "", providerData: { thoughtSignature: "S4" } },
      { type: "text", text: "", providerData: { thoughtSignature: "S5" } },
    ]);
  });
});

describe("usage", () => {
  const usage = {
    promptTokenCount: 100,
    toolUsePromptTokenCount: 5,
    candidatesTokenCount: 10,
    thoughtsTokenCount: 30,
    cachedContentTokenCount: 80,
    totalTokenCount: 145,
  };
  const counted = { inputTokens: 105, outputTokens: 40, totalTokens: 145, cachedInputTokens: 80, reasoningTokens: 30 };

  it("counts thoughts as output and tool results as input", async () => {
    expect(await outcomeOf(text("hi") + end("STOP", { usageMetadata: usage }))).toEqual({
      text: "hi",
      finish: "stop",
      usage: counted,
    });
  });

  it.each<[string, unknown, Outcome["usage"]]>([
    ["what is left out stays unknown", { promptTokenCount: 5, totalTokenCount: 5 }, { inputTokens: 5, totalTokens: 5 }],
    [
      "the sum stands for a total left out",
      { promptTokenCount: 5, candidatesTokenCount: 2 },
      { inputTokens: 5, outputTokens: 2, totalTokens: 7 },
    ],
    [
      "zero is a count",
      { promptTokenCount: 0, candidatesTokenCount: 0 },
      { inputTokens: 0, outputTokens: 0, totalTokens: 0 },
    ],
    ["rubbish is none", { promptTokenCount: "x", candidatesTokenCount: -1, thoughtsTokenCount: 1.5 }, undefined],
    ["nothing is nothing", null, undefined],
  ])("%s", async (_, usageMetadata, wanted) => {
    const outcome = await outcomeOf(text("hi") + end("STOP", { usageMetadata }));
    expect(outcome).toEqual({ text: "hi", finish: "stop", ...(wanted === undefined ? {} : { usage: wanted }) });
  });

  it("is handed on when it changes, and the last one counts", async () => {
    const now = (candidatesTokenCount: number): object => ({
      usageMetadata: { promptTokenCount: 5, candidatesTokenCount },
    });
    const body = [
      event(piece([{ text: "a" }], now(1))),
      event(piece([{ text: "b" }], now(1))),
      end("STOP", now(2)),
    ].join("");
    await using server = await loopback(pieces([body]));
    const types: string[] = [];
    const response = await gemini({ baseUrl: server.baseUrl }).chatStreaming(request(), ({ type }) => types.push(type));
    expect(types).toEqual(["textDelta", "usage", "textDelta", "usage", "finish"]);
    expect(response.usage).toEqual({ inputTokens: 5, outputTokens: 2, totalTokens: 7 });
  });
});

describe("a finish reason", () => {
  it.each([
    ["STOP", "stop"],
    ["MAX_TOKENS", "length"],
    ["SAFETY", "content-filter"],
    ["RECITATION", "content-filter"],
    ["BLOCKLIST", "content-filter"],
    ["PROHIBITED_CONTENT", "content-filter"],
    ["SPII", "content-filter"],
    ["LANGUAGE", "other"],
    ["OTHER", "other"],
    ["SOMETHING_NEW", "other"],
    ["toString", "other"],
  ])("%s means %s, with the text so far", async (raw, finish) => {
    expect(await outcomeOf(text("Well") + end(raw))).toEqual({ text: "Well", finish });
  });

  it.each([
    ["MALFORMED_FUNCTION_CALL", "response-parse", true],
    ["UNEXPECTED_TOOL_CALL", "response-parse", true],
    ["MALFORMED_RESPONSE", "response-parse", true],
    ["MISSING_THOUGHT_SIGNATURE", "invalid-request", false],
  ])("%s is a failure with what came before it", async (raw, kind, retryable) => {
    await using server = await loopback(pieces([text("Half") + end(raw, { usageMetadata: { promptTokenCount: 3 } })]));
    const failed = gemini({ baseUrl: server.baseUrl }).chat(request());
    await expect(failed).rejects.toMatchObject({
      kind,
      retryable,
      requestId: "resp-1",
      usage: { inputTokens: 3 },
      partial: [{ text: "Half" }],
    });
  });

  it("is none where the prompt was blocked: that is a failure nobody should repeat", async () => {
    const body = event({
      promptFeedback: { blockReason: "SAFETY" },
      usageMetadata: { promptTokenCount: 3 },
      responseId: "resp-2",
    });
    expect(await outcomeOf(body)).toEqual({
      error: "content-filter",
      message: "ModelError(content-filter): the provider blocked the prompt: SAFETY",
    });
    await using server = await loopback(pieces([body.slice("data: ".length)], JSON_TYPE));
    const failed = gemini({ baseUrl: server.baseUrl }).chat(request());
    await expect(failed).rejects.toMatchObject({ retryable: false, requestId: "resp-2", usage: { inputTokens: 3 } });
  });
});

describe("a whole reply", () => {
  it("comes to the same as a streamed one", async () => {
    const all = piece(
      [{ text: "hm", thought: true }, { text: "hi" }, call("f", { a: 1 }, "c")],
      { usageMetadata: { promptTokenCount: 3 } },
      "STOP",
    );
    await using server = await loopback((response, { path }) => {
      const stream = path.endsWith(":streamGenerateContent?alt=sse");
      response.writeHead(200, stream ? SSE : JSON_TYPE).end(stream ? event(all) : JSON.stringify(all, null, 2));
    });
    const outcome = await whole({ baseUrl: server.baseUrl });
    expect(outcome).toEqual({
      text: "hi",
      reasoning: "hm",
      calls: [["c", "f", { a: 1 }]],
      finish: "tool-calls",
      usage: { inputTokens: 3 },
    });
    expect(await streamed({ baseUrl: server.baseUrl })).toEqual(outcome);
    expect(server.requests.map(({ path }) => path.replace(/^\/[^/]*/, ""))).toEqual([
      "/v1/models/gemini-3-flash:generateContent",
      "/v1/models/gemini-3-flash:streamGenerateContent?alt=sse",
    ]);
  });
});
