import { describe, expect, it } from "vitest";
import { OpenAiChatModel } from "../../../src/adapters/models/openai-chat.js";
import { testRuntime } from "../../../src/testkit/index.js";
import * as anthropic from "./anthropic-wire.js";
import { bothWays, type Wire } from "./both-ways.js";
import { piece } from "./gemini-wire.js";
import { type Outcome, streamedBy } from "./chat-outcome.js";
import { delta, DONE, event, loopback, SSE, STOP } from "./loopback.js";
import { frame, response } from "./responses-wire.js";

const half = delta({ content: "Half" });
const a = delta({ content: "a" });
const b = delta({ content: "b" });

describe("a frame that a proxy bent", () => {
  it.each<[string, string]>([
    ["with its prefix twice", `${a}data: ${b}${STOP}`],
    ["with its prefix twice everywhere", `${a}${b}${STOP}${DONE}`.replaceAll("data: ", "data: data: ")],
    ["wrapped whole, its event name too", `${a}data: event: message\ndata: ${b}${STOP}`],
    ["indented", `${a} ${b}${STOP}`],
    ["in capitals", `${a}${b.replace("data", "Data")}${STOP}`],
    ["with a blank before the colon", `${a}${b.replace("data:", "data :")}${STOP}`],
    ["behind a BOM in the middle", `${a}\ufeff${b}${STOP}`],
    [
      "with the word for nothing as its finish reason",
      delta({ content: "a" }, "null") + delta({ content: "b" }, "None") + STOP,
    ],
  ])("loses nothing of a reply: %s", async (_, body) => {
    expect(await bothWays("chat", body)).toEqual({ text: "ab", finish: "stop" });
  });

  it("is no end where its finish reason is the word for nothing", async () => {
    const outcome = await bothWays("chat", delta({ content: "Half" }, "null"));
    expect(outcome).toMatchObject({ error: "response-parse", partialText: "Half" });
  });

  it.each(["data: upstream timed out\n\n", "<html>\n<title>502 Bad Gateway</title></html>\n"])(
    "is no success where only the end marker follows what is no event: %j",
    async (noise) => {
      const outcome = await bothWays("chat", half + noise + DONE);
      expect(outcome).toMatchObject({ error: "response-parse", partialText: "Half" });
    },
  );

  it("may hold several pieces of one choice", async () => {
    const call = { index: 0, id: "c", function: { name: "f", arguments: "{}" } };
    const choices = [
      { index: 0, delta: { content: "look" }, message: { content: "look" }, finish_reason: "tool_calls" },
      { index: 0, delta: { tool_calls: [call] }, message: { tool_calls: [call] }, finish_reason: "tool_calls" },
    ];
    const wanted = { text: "look", calls: [["c", "f", {}]], finish: "tool-calls" };
    expect(await bothWays("chat", event({ choices }))).toEqual(wanted);
    const whole = choices.map(({ message, finish_reason }) => ({ message, finish_reason }));
    expect(await bothWays("chat", JSON.stringify({ choices: whole }), { stream: false })).toEqual(wanted);
  });
});

describe("an error behind half an event", () => {
  const text = anthropic.start() + anthropic.text(0, "Half");
  const overloaded = '{"type":"error","error":{"type":"overloaded_error","message":"read failed"}}';
  it.each<[string, Wire, string, string]>([
    [
      "an event of its own",
      "chat",
      `${half}data: {"choices":[{"del\n\n${event({ error: { message: "read failed", code: 429 } })}`,
      "rate-limit",
    ],
    [
      "flat on the same line",
      "chat",
      `${half}data: {"choices":[{"del${'{"object":"error","message":"read failed","code":503}'}\n\n`,
      "overloaded",
    ],
    ["its own type first", "anthropic", `${text}data: {"type":"content_bl${overloaded}\n\n`, "overloaded"],
    [
      "an event of its own",
      "anthropic",
      `${text}data: {"type":"content_bl\n\nevent: error\ndata: ${overloaded}\n\n`,
      "overloaded",
    ],
    [
      "without a blank line between",
      "anthropic",
      `${text}data: {"type":"content_bl\nevent: error\ndata: ${overloaded}\n\n`,
      "overloaded",
    ],
    [
      "flat",
      "responses",
      `${frame("response.output_text.delta", { output_index: 0, delta: "Half" })}data: {"type":"resp{"type":"error","message":"read failed"}\n\n`,
      "server",
    ],
    [
      "flat",
      "gemini",
      `${event(piece([{ text: "Half" }]))}data: {"candid{"code":503,"message":"read failed"}\n\n`,
      "overloaded",
    ],
  ])("is the failure: %s (%s)", async (_, wire, body, kind) => {
    const outcome = await bothWays(wire, body);
    expect(outcome).toMatchObject({ error: kind, partialText: "Half" });
    expect(outcome.message).toMatch(/: read failed$/);
  });

  it("is waited for a moment only", async () => {
    const halfEvent = `${half}data: {"choices":[{"del\n\n`;
    await using server = await loopback((answer) => void answer.writeHead(200, SSE).write(halfEvent));
    const runtime = testRuntime();
    let outcome: Outcome | undefined;
    const model = new OpenAiChatModel({ model: "m", baseUrl: server.baseUrl, runtime });
    const call = streamedBy(model).then((told) => {
      outcome = told;
    });
    await expect.poll(() => runtime.advance(1_000).then(() => outcome)).toBeDefined();
    await call;
    expect(outcome).toMatchObject({ error: "response-parse", partialText: "Half" });
  });

  it("is missing where the reply goes on: then the half is", async () => {
    const outcome = await bothWays("chat", `${half}data: {"choices":[{"del\n\n${b}${STOP}`);
    expect(outcome).toMatchObject({ error: "response-parse", partialText: "Half" });
    expect(outcome.message).toContain("not JSON");
  });
});

describe("an error in a form that nobody knows", () => {
  const END = frame("response.completed", { response: response([], { usage: null }) });
  const said = frame("response.output_text.delta", { output_index: 0, delta: "Half" });
  it.each<[string, Wire, string]>([
    ["a number", "chat", half + event({ error: 500 }) + DONE],
    ["an object without a message", "chat", half + event({ error: { reason_phrase: "gone" } }) + DONE],
    ["the same beside choices", "chat", half + event({ choices: [], error: { reason_phrase: "gone" } }) + DONE],
    ["a message that is a list", "chat", half + event({ error: { message: ["gone"] } }) + DONE],
    ["a state", "chat", half + event({ status: "error" }) + DONE],
    [
      "a state beside other fields",
      "chat",
      half + event({ choices: null, base_resp: { status_code: 1002, status_msg: "rate limit" } }),
    ],
    [
      "an object",
      "anthropic",
      anthropic.start() + anthropic.text(0, "Half") + event({ error: { gone: true } }) + anthropic.end(),
    ],
    ["an object", "responses", said + event({ error: { gone: true } }) + END],
    [
      "a field of a known event",
      "responses",
      said + frame("response.in_progress", { error: { message: "gone" } }) + END,
    ],
    ["an event of the response", "responses", said + frame("response.error", { message: "gone" }) + END],
    ["a field of the failed event", "responses", said + frame("response.failed", { error: "gone" })],
    ["an object in the whole", "responses", said + END.replace('"error":null', '"error":{"gone":1}')],
    ["a number", "gemini", event(piece([{ text: "Half" }])) + event({ error: 500 }) + event(piece([], {}, "STOP"))],
  ])("never leaves half an answer as a whole one: %s (%s)", async (_, wire, body) => {
    const outcome = await bothWays(wire, body);
    expect(outcome).toMatchObject({ partialText: "Half" });
    expect(outcome.error).toMatch(/^(?:server|rate-limit)$/);
  });

  it.each([null, false, 0, "", {}, [], { code: 0, message: null }])(
    "is none where it says nothing: %j",
    async (error) => {
      const body = delta({ content: "a" }) + event({ error, choices: [{ index: 0, delta: { content: "b" } }] }) + STOP;
      expect(await bothWays("chat", body)).toEqual({ text: "ab", finish: "stop" });
    },
  );
});

describe("a streamed call whose server", () => {
  const f = (index: number | undefined, id: string | undefined, name: string | undefined, args: string): string =>
    delta({ tool_calls: [{ index, id, function: { name, arguments: args } }] });
  const END = delta({}, "tool_calls") + DONE;
  it.each<[string, string]>([
    [
      "numbers the pieces and names the call in each",
      f(0, "c", "f", '{"a"') + f(1, "c", "f", ":1") + f(2, "c", "f", "}"),
    ],
    ["numbers its arguments otherwise and names it twice", f(0, "c", "f", "") + f(1, "c", "f", '{"a":1}')],
    [
      "sends all of it once more without its id",
      f(0, "c", "f", '{"a"') + f(0, undefined, undefined, ":1}") + f(0, undefined, undefined, '{"a":1}'),
    ],
    ["sends all of it once more with its name only", f(0, "c", "f", '{"a":1}') + f(0, undefined, "f", '{"a":1}')],
    [
      "makes up an id for each piece and numbers none",
      f(undefined, "c", "f", '{"a"') + f(undefined, "x", undefined, ":1") + f(undefined, "y", undefined, "}"),
    ],
  ])("%s makes one call", async (_, body) => {
    expect((await bothWays("chat", body + END)).calls).toEqual([["c", "f", { a: 1 }]]);
  });
});
