import { expect, test } from "vitest";
import { AnthropicModel, type AnthropicOptions } from "../../src/adapters/models/anthropic.js";
import { isJsonObject } from "../../src/domain/json.js";
import type { AssistantPart, Message } from "../../src/domain/message.js";
import { refusals } from "../adapters/models/anthropic-law.js";
import { end, start, text } from "../adapters/models/anthropic-wire.js";
import { request, tool } from "../adapters/models/chat-outcome.js";
import { loopback, pieces } from "../adapters/models/loopback.js";
import cases from "./anthropic-cases.json" with { type: "json" };

type Fields = { readonly [key: string]: unknown };
type Sent = { readonly role: string; readonly content: readonly Fields[] };

const stamp = { id: "m", at: 0 };

/** A case's transcript as this project stores it: one message a result, arguments parsed. */
function storedOf(id: string): readonly Message[] {
  const list = (cases.find((one) => one.id === id)?.input.messages ?? []) as readonly Fields[];
  return list.flatMap(storedMessages);
}

function storedMessages({ role, content, tool_calls: calls, tool_call_id: callId }: Fields): readonly Message[] {
  const blocks = (
    typeof content === "string" ? [{ type: "text", text: content }] : (content ?? [])
  ) as readonly Fields[];
  if (role === "tool") return [resultOf(String(callId), String(content))];
  if (role === "assistant") {
    const asked = (calls ?? []) as readonly { readonly id: string; readonly function: { readonly name: string } }[];
    const parts = [
      ...blocks.map(partOf),
      ...asked.map((call) => ({ type: "toolCall" as const, id: call.id, name: call.function.name, arguments: {} })),
    ];
    return [{ role, ...stamp, provider: "anthropic", parts }];
  }
  return blocks.map((block) =>
    block["type"] === "tool_result"
      ? resultOf(String(block["tool_use_id"]), String(block["content"]))
      : { role: "user", ...stamp, content: [{ type: "text", text: String(block["text"]) }] },
  );
}

function resultOf(toolCallId: string, words: string): Message {
  const content = [{ type: "text" as const, text: words }];
  return { role: "tool", ...stamp, toolCallId, toolName: "f", content, isError: false, outcome: "completed" };
}

function partOf(block: Fields): AssistantPart {
  switch (block["type"]) {
    case "thinking": {
      const signature = block["signature"];
      const part = { type: "reasoning", text: String(block["thinking"]) } as const;
      return typeof signature === "string" ? { ...part, signature } : part;
    }
    case "tool_use": {
      const input = isJsonObject(block["input"]) ? block["input"] : {};
      return { type: "toolCall", id: String(block["id"]), name: String(block["name"]), arguments: input };
    }
    default:
      return { type: "text", text: String(block["text"]) };
  }
}

async function sent(messages: readonly Message[], options: Partial<AnthropicOptions> = {}): Promise<readonly Sent[]> {
  await using server = await loopback(pieces([start() + text(0, "ok") + end()]));
  const model = new AnthropicModel({ model: "m1", baseUrl: server.baseUrl, cache: "off", ...options });
  await model.chatStreaming(request({ messages, tools: [tool("f"), tool("g")] }), () => undefined);
  const body = server.requests[0]?.body;
  expect(refusals(body)).toEqual([]);
  return body?.["messages"] as unknown as readonly Sent[];
}

const words = (message: Sent | undefined): readonly unknown[] => message?.content.map(({ text: word }) => word) ?? [];

test("F067: the results of parallel calls go into one message of the user", async () => {
  const messages = await sent(storedOf("F067"));
  expect(messages).toHaveLength(3);
  expect(messages[2]).toEqual({
    role: "user",
    content: [
      { type: "tool_result", tool_use_id: "c1", content: [{ type: "text", text: "1" }] },
      { type: "tool_result", tool_use_id: "c2", content: [{ type: "text", text: "2" }] },
    ],
  });
});

test("F069: blank texts are not sent, and roles alternate", async () => {
  const messages = await sent(storedOf("F069"));
  expect(messages.map(({ role }) => role)).toEqual(["user"]);
  expect(words(messages[0])).toEqual(["hi", "real question"]);
});

test("F070: two messages of the user that meet become one", async () => {
  const messages = await sent(storedOf("F070"));
  expect(messages).toHaveLength(1);
  expect(words(messages[0])).toEqual(["one", "two"]);
});

test("F072: the beginning of a reply goes without blanks at its end; earlier replies keep theirs", async () => {
  expect(words((await sent(storedOf("F072"))).at(-1))).toEqual(["The answer is"]);
  const user: Message = { role: "user", ...stamp, content: [{ type: "text", text: "go on" }] };
  expect(words((await sent([...storedOf("F072"), user]))[1])).toEqual(["The answer is \n "]);
});

test("F072: a model that takes no beginning of its reply is told to go on", async () => {
  const messages = await sent(storedOf("F072"), { model: "claude-opus-4-6" });
  expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
});

test("F079: a signature stays with its own block, and reasoning without one is not sent", async () => {
  const messages = await sent(storedOf("F079"));
  expect(messages[1]?.content).toEqual([
    { type: "thinking", thinking: "signed", signature: "S" },
    { type: "tool_use", id: "t1", name: "f", input: {} },
  ]);
});

test("F152: of a message that held a result and a text, only the text is left when the call is gone", async () => {
  const [question, , ...rest] = storedOf("F152");
  const messages = await sent([question as Message, ...rest]);
  expect(JSON.stringify(messages)).not.toContain("tool_result");
  expect(words(messages[0])).toEqual(["q", "and be quick"]);
  expect(words((await sent(storedOf("F152")))[2])).toEqual([undefined, "and be quick"]);
});

const says = (text: string): Message => ({ role: "user", ...stamp, content: [{ type: "text", text }] });
const calls = (...ids: readonly string[]): Message => ({
  role: "assistant",
  ...stamp,
  parts: ids.map((id) => ({ type: "toolCall", id, name: "f", arguments: {} })),
});

test("F060: a call without a result gets an error for one, in front of what the user says", async () => {
  const messages = await sent([says("weather?"), calls("c1"), says("weather please")]);
  expect(messages[2]?.content).toMatchObject([
    {
      type: "tool_result",
      tool_use_id: "c1",
      is_error: true,
      content: [{ text: expect.stringMatching(/interrupted/) }],
    },
    { type: "text", text: "weather please" },
  ]);
});

test("F062: a result whose call is gone is not sent", async () => {
  const said: Message = { role: "assistant", ...stamp, parts: [{ type: "text", text: "hello" }] };
  const messages = await sent([says("hi"), said, resultOf("ghost", "late result"), says("next")]);
  expect(messages.map(words)).toEqual([["hi"], ["hello"], ["next"]]);
});

test("F065: what the user said between a call and its result is sent behind it", async () => {
  const messages = await sent([says("go"), calls("c1"), says("wait"), resultOf("c1", "ok"), says("again")]);
  expect(messages[2]?.content).toEqual([
    { type: "tool_result", tool_use_id: "c1", content: [{ type: "text", text: "ok" }] },
    { type: "text", text: "wait" },
    { type: "text", text: "again" },
  ]);
});
