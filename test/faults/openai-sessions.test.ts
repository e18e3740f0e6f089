import { describe, expect, it } from "vitest";
import { OpenAiChatModel } from "../../src/adapters/models/openai-chat.js";
import { OpenAiResponsesModel } from "../../src/adapters/models/openai-responses.js";
import type { JsonObject } from "../../src/domain/json.js";
import type { AgentMessage } from "../../src/domain/message.js";
import type { ToolDef } from "../../src/domain/tool.js";
import type { ModelPort } from "../../src/ports/model.js";
import { testAgent, toolOutcome } from "../../src/testkit/index.js";
import { tool } from "../adapters/models/chat-outcome.js";
import { streamedCompletion } from "../adapters/models/chat-replies.js";
import { loopback, pieces, type SeenRequest } from "../adapters/models/loopback.js";
import { type Fields, item, streamOf } from "../adapters/models/responses-wire.js";
import { calling, reply, result, user } from "../support/conversations.js";

/** One line a message of the request: what a reader of either wire would see. */
type Wire = {
  readonly model: (baseUrl: string) => ModelPort;
  readonly say: (text: string) => string;
  readonly call: (id: string, name: string) => string;
  readonly lines: (request: SeenRequest | undefined) => readonly string[];
  readonly tools: (request: SeenRequest | undefined) => readonly Fields[];
};

const list = (value: unknown): readonly Fields[] => (Array.isArray(value) ? (value as readonly Fields[]) : []);
const textOf = (content: unknown): string =>
  typeof content === "string"
    ? content
    : list(content)
        .map(({ text }) => text)
        .join("");

const chat: Wire = {
  model: (baseUrl) => new OpenAiChatModel({ model: "m", baseUrl }),
  say: (content) => streamedCompletion({ content }, "stop"),
  call: (id, name) =>
    streamedCompletion({ tool_calls: [{ id, type: "function", function: { name, arguments: "{}" } }] }, "tool_calls"),
  lines: (request) =>
    list(request?.body["messages"]).flatMap((message) => {
      const { role, content, tool_call_id: id } = message;
      if (role === "tool") return [`${String(id)} = ${textOf(content)}`];
      const calls = list(message["tool_calls"]);
      if (calls.length > 0) return calls.map(({ id: call }) => `calls ${String(call)}`);
      return [`${String(role)} ${textOf(content)}`];
    }),
  tools: (request) => list(request?.body["tools"]).map((one) => one["function"] as Fields),
};

const responses: Wire = {
  model: (baseUrl) => new OpenAiResponsesModel({ model: "m", baseUrl }),
  say: (text) => streamOf([item.message(text)]),
  call: (id, name) => streamOf([item.call(id, name, "{}")]),
  lines: (request) =>
    list(request?.body["input"]).map(({ type, role, content, call_id, output }) => {
      if (type === "function_call") return `calls ${String(call_id)}`;
      return type === "function_call_output"
        ? `${String(call_id)} = ${textOf(output)}`
        : `${String(role)} ${textOf(content)}`;
    }),
  tools: (request) => list(request?.body["tools"]),
};

const wires: readonly (readonly [string, Wire])[] = [
  ["chat", chat],
  ["responses", responses],
];

/** What the provider is sent when `next` is said in a session that holds these. */
async function sentOf(wire: Wire, messages: readonly AgentMessage[]): Promise<readonly string[]> {
  await using server = await loopback(pieces([wire.say("ok")]));
  await using t = await testAgent({ model: wire.model(server.baseUrl), tools: { f: toolOutcome.ok() } });
  t.sessions.seed("s", { messages });
  expect(await t.agent.runTurn("next", "s")).toMatchObject({ status: "completed", text: "ok" });
  return wire.lines(server.requests[0]);
}

const UNKNOWN = expect.stringMatching(/^c1 = <tool_error>.*unknown/);

describe.each(wires)("a stored conversation on the %s wire", (_, wire) => {
  it("F060: has an error result behind a call without one", async () => {
    const history = [user("weather?"), calling("a", "c1"), user("weather please")];
    expect(await sentOf(wire, history)).toEqual([
      "user weather?",
      "calls c1",
      UNKNOWN,
      "user weather please",
      "user next",
    ]);
  });

  it("F062: holds no result whose call is gone", async () => {
    const history = [user("hi"), reply("hello"), result("r", "ghost", "late result"), user("more")];
    expect(await sentOf(wire, history)).toEqual(["user hi", "assistant hello", "user more", "user next"]);
  });

  it("F065: has what the user said inside a pair behind it", async () => {
    const history = [user("go"), calling("a", "c1"), user("wait"), result("r", "c1", "ok"), user("again")];
    const sent = await sentOf(wire, history);
    expect(sent).toEqual(["user go", "calls c1", "c1 = ok", "user wait", "user again", "user next"]);
  });

  it("F069, F070: holds no reply that is blank", async () => {
    const history = [user("hi"), reply("\n"), user("one"), reply(" "), user("two")];
    expect(await sentOf(wire, history)).toEqual(["user hi", "user one", "user two", "user next"]);
  });

  it("F064: has what was said while a call ran behind its result, never between the two", async () => {
    await using server = await loopback((response, seen, nth) => {
      pieces([nth === 0 ? wire.call("c1", "f") : wire.say("fine")])(response, seen, nth);
    });
    await using t = await testAgent({ model: wire.model(server.baseUrl), tools: { f: toolOutcome.held() } });
    const turn = t.agent.startTurn("go", "s");
    await t.tools.started("c1");
    const appended = t.agent.appendMessage("s", user("use csv"));
    t.tools.settle("c1", toolOutcome.ok("done"));
    await Promise.all([turn.result, appended]);
    await t.agent.runTurn("next", "s");
    expect(wire.lines(server.requests[1])).toEqual(["user go", "calls c1", "c1 = done"]);
    expect(wire.lines(server.requests[2])).toEqual([
      "user go",
      "calls c1",
      "c1 = done",
      "assistant fine",
      "user use csv",
      "user next",
    ]);
  });

  it("is not lost by one damaged piece, whatever it is", async () => {
    const damaged = [
      { ...user("a"), content: [{ type: "image", source: { base64: "no base64!" }, mimeType: "image/png" }] },
      { ...user("b"), content: [{ type: "image", source: { base64: "QQ==" }, mimeType: "image/tiff" }] },
    ] as unknown as readonly AgentMessage[];
    const sent = await sentOf(wire, [...damaged, user("c")]);
    expect(sent.slice(-2)).toEqual(["user c", "user next"]);
    expect(sent.slice(0, 2)).toEqual([
      'user [An image that cannot be shown: "image/png"]',
      'user [An image that cannot be shown: "image/tiff"]',
    ]);
  });

  it("F087, F089: comes with schemas whose references stand and whose null branches have no other values", async () => {
    const reference = {
      type: "object",
      properties: { size: { $ref: "#/$defs/K", default: "big" } },
      $defs: { K: { type: "string", enum: ["small", "big"] } },
    };
    const branches = (last: JsonObject): JsonObject => ({
      type: "object",
      properties: { m: { anyOf: [{ enum: ["lo", "hi"], type: "string" }, last] } },
    });
    const tools: readonly ToolDef[] = [
      tool("sized", reference),
      tool("nullable", branches({ enum: ["lo", "hi"], type: "null" })),
    ];
    await using server = await loopback(pieces([wire.say("ok")]));
    await wire.model(server.baseUrl).chat({
      messages: [{ role: "user", id: "u", at: 0, content: [{ type: "text", text: "hi" }] }],
      tools,
      options: {},
      signal: new AbortController().signal,
      sessionId: "s",
      turnId: "t",
      round: 0,
    });
    expect(wire.tools(server.requests[0]).map(({ parameters }) => parameters)).toEqual([
      reference,
      branches({ type: "null" }),
    ]);
  });
});
