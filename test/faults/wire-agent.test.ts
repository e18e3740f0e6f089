import { describe, expect, it } from "vitest";
import { OpenAiChatModel, type OpenAiChatOptions } from "../../src/adapters/models/openai-chat.js";
import { AgentError } from "../../src/domain/errors.js";
import type { AgentMessage } from "../../src/domain/message.js";
import type { TurnResult } from "../../src/domain/turn-result.js";
import { testAgent, toolOutcome } from "../../src/testkit/index.js";
import { delta, DONE, loopback, type SeenRequest, STOP } from "../adapters/models/loopback.js";
import { wireCase } from "./wire-cases.js";

type Told = {
  readonly result: TurnResult | AgentError;
  readonly executed: readonly (readonly [name: string, args: unknown])[];
  readonly requests: readonly SeenRequest[];
  readonly stored: readonly AgentMessage[];
};

/** One turn whose first model call is answered with a body of the case, every later one with "done". */
async function told(id: string, variant = 0): Promise<Told> {
  const body = Buffer.concat(wireCase(id).bodies[variant] ?? []);
  await using server = await loopback((response, _, nth) => {
    response.end(nth === 0 ? body : delta({ content: "done" }) + STOP + DONE);
  });
  const names = [
    "add",
    "bus_line",
    "clock",
    "f",
    "fetch_invoice_list",
    "find",
    "g",
    "now",
    "one",
    "rm_all",
    "tide_table",
  ];
  const tools = Object.fromEntries(
    [...names, "two", "write", "write_note"].map((name) => [name, toolOutcome.ok("ok")]),
  );
  const model = new OpenAiChatModel({ model: "m1", baseUrl: server.baseUrl });
  await using t = await testAgent({ model, tools });
  const result = await t.agent.runTurn("hi", "s1").catch((error: unknown) => {
    if (error instanceof AgentError) return error;
    throw error;
  });
  return {
    result,
    executed: t.tools.execRecords.map((record) => [record.toolName, record.arguments]),
    requests: server.requests,
    stored: (await t.agent.session("s1")).messages,
  };
}

type WireMessage = {
  readonly role: string;
  readonly content: unknown;
  readonly tool_call_id?: string;
  readonly reasoning_content?: string;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
};
const messagesOf = (request: SeenRequest | undefined) => (request?.body["messages"] ?? []) as readonly WireMessage[];
const completed = { status: "completed", text: "done", rounds: 2 };

describe("a turn of an agent over the chat-completions wire", () => {
  it.each<[string, number, readonly (readonly [string, unknown])[]]>([
    ["F028", 0, [["f", {}]]],
    [
      "F029",
      0,
      [
        ["bus_line", { line: "7" }],
        ["tide_table", { port: "K" }],
      ],
    ],
    [
      "F031",
      0,
      [
        ["add", { a: 1 }],
        ["add", { a: 2 }],
      ],
    ],
    [
      "F033",
      0,
      [
        ["one", {}],
        ["two", { x: 1 }],
      ],
    ],
    ["F034", 0, [["find", { q: "cat" }]]],
    ["F036", 0, [["f", {}]]],
    ["F038", 0, [["f", { a: 2 }]]],
    ["F039", 0, [["fetch_invoice_list", { p: 1 }]]],
    ["F041", 0, [["clock", { tz: "CET" }]]],
    ["F043", 0, [["now", {}]]],
    ["F043", 1, [["now", {}]]],
    ["F046", 0, [["now", {}]]],
    ["F046", 1, [["now", {}]]],
    ["F048", 0, [["f", { a: 1 }]]],
    [
      "F054",
      0,
      [
        ["f", {}],
        ["g", {}],
      ],
    ],
    [
      "F056",
      0,
      [
        ["f", { n: 1 }],
        ["f", { n: 2 }],
      ],
    ],
    ["F058", 0, [["f", { a: 1 }]]],
    ["F059", 0, [["f", {}]]],
  ])("%s.%i: runs each call once, with its arguments, and goes on", async (id, variant, executed) => {
    const turn = await told(id, variant);
    expect(turn.executed).toEqual(executed);
    expect(turn.result).toMatchObject(completed);
    expect(turn.requests).toHaveLength(2);
    const [, , ...answers] = messagesOf(turn.requests[1]);
    const calls = messagesOf(turn.requests[1])[1]?.tool_calls ?? [];
    expect(answers.map((answer) => answer.tool_call_id)).toEqual(calls.map((call) => call.id));
    expect(new Set(calls.map((call) => call.id)).size).toBe(executed.length);
    expect(calls.map((call) => JSON.parse(call.function.arguments) as unknown)).toEqual(
      executed.map(([, args]) => args),
    );
  });

  it("F049: answers a broken call with an error instead of running it", async () => {
    const turn = await told("F049");
    expect(turn.executed).toEqual([]);
    expect(turn.result).toMatchObject(completed);
    const answer = messagesOf(turn.requests[1])[2];
    expect(answer).toMatchObject({ role: "tool", tool_call_id: "c1" });
    expect(answer?.content).toMatch(/^<tool_error>.*JSON.*<\/tool_error>$/s);
  });

  it("F051: never sends an empty name", async () => {
    const turn = await told("F051");
    expect(turn.executed).toEqual([]);
    expect(turn.result).toMatchObject(completed);
    const names = turn.requests
      .flatMap(messagesOf)
      .flatMap((message) => message.tool_calls ?? [])
      .map((call) => call.function.name);
    expect(names).toHaveLength(1);
    expect(names).not.toContain("");
  });

  it("F053: ends where the reply says tool calls and holds none", async () => {
    const turn = await told("F053");
    expect(turn.requests).toHaveLength(1);
    expect(turn.result).toMatchObject({ status: "completed", text: "" });
  });

  it("F010, F016: fails where the stream does, stores what was said and no half call", async () => {
    const error = await told("F010");
    expect(error.result).toMatchObject({ kind: "model" });
    expect(error.stored.at(-1)).toMatchObject({ stopped: "error", parts: [{ type: "text", text: "Partial" }] });
    const cut = await told("F016");
    expect(cut.result).toMatchObject({ kind: "model", cause: { kind: "response-parse" } });
    expect(cut.executed).toEqual([]);
    expect(JSON.stringify(cut.stored)).not.toContain("toolCall");
  });

  it("F074: sends the reasoning back with the call it led to", async () => {
    const turn = await told("F074");
    expect(messagesOf(turn.requests[1])[1]).toMatchObject({ reasoning_content: "I should look." });
  });

  /** The answers to a call made without thinking, then a refusal of the request that brings its result, then "done". */
  async function refusedOnce(body: string, message: string, options: Partial<OpenAiChatOptions> = {}) {
    await using server = await loopback((response, _, nth) => {
      if (nth === 1) response.writeHead(400).end(JSON.stringify({ error: { message } }));
      else response.end(nth === 0 ? body : delta({ content: "done" }) + STOP + DONE);
    });
    const model = new OpenAiChatModel({ model: "m1", baseUrl: server.baseUrl, ...options });
    await using t = await testAgent({ model, tools: { f: toolOutcome.ok("ok") } });
    const result = await t.agent.runTurn("hi", "s1").catch((error: unknown) => error);
    return { result, replies: server.requests.map((request) => messagesOf(request)[1]) };
  }
  const calling = (fields: object): string =>
    delta({ ...fields, tool_calls: [{ index: 0, id: "c1", function: { name: "f", arguments: "{}" } }] }) + STOP + DONE;

  it.each([
    "Missing `reasoning_content` field in the assistant message at message index 1.",
    "thinking is enabled but reasoning_content is missing in assistant tool call message at index 1",
    "The `reasoning_content` in the thinking mode must be passed back to the API.",
    "messages[1]: assistant message must include reasoning_content",
  ])("F075: sends the empty reasoning that a server demands, once it has said so: %s", async (message) => {
    const { result, replies } = await refusedOnce(calling({}), message);
    expect(result).toMatchObject(completed);
    expect(replies).toHaveLength(3);
    expect(replies[1]).not.toHaveProperty("reasoning_content");
    expect(replies[2]).toMatchObject({ reasoning_content: "", tool_calls: [{ id: "c1" }] });
    const never = await refusedOnce(calling({}), message, { echoReasoning: "never" });
    expect(never.result).toMatchObject({ kind: "model", cause: { kind: "invalid-request" } });
    expect(never.replies).toHaveLength(2);
  });

  it("F074: takes back the reasoning that a server refuses, once it has said so", async () => {
    const message = "'messages.1' : property 'reasoning_content' is unsupported";
    const { result, replies } = await refusedOnce(calling({ reasoning_content: "hm" }), message);
    expect(result).toMatchObject(completed);
    expect(replies[1]).toMatchObject({ reasoning_content: "hm" });
    expect(replies[2]).not.toHaveProperty("reasoning_content");
    expect(replies[2]).toMatchObject({ tool_calls: [{ id: "c1" }] });
  });

  it("F172: tells a filtered reply and does not ask again", async () => {
    for (const [variant, finishReason] of ["content-filter", "content-filter", "refusal"].entries()) {
      const turn = await told("F172", variant);
      expect(turn.requests).toHaveLength(1);
      expect(turn.result).toMatchObject({ message: { finishReason } });
    }
  });

  it("F174: runs no call of a reply that hit the output limit", async () => {
    for (const variant of [0, 1]) {
      const turn = await told("F174", variant);
      expect(turn.executed).toEqual([]);
      expect(turn.result).toMatchObject(completed);
      expect(messagesOf(turn.requests[1])[2]?.content).toMatch(/output limit/i);
    }
  });

  it("F211: sums up no usage where none was told", async () => {
    expect((await told("F211")).result).toMatchObject({ text: "ok", usage: {} });
  });
});
