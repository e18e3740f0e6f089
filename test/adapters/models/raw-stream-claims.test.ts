import { describe, test } from "vitest";
import {
  chatCompletionBody,
  type RawChunk,
  type RawStream,
  streamModel,
} from "../../../src/adapters/models/raw-stream.js";
import { runClaims } from "../../../src/testkit/claims/index.js";
import { modelPortClaims, type ModelPortFixture, type ModelSamples } from "../../../src/testkit/claims/model-port.js";
import { tool } from "./chat-outcome.js";

const WORDS = "héllo 🧭 there";
const THOUGHT = "hm, \u2028 «so»";
const samples = {
  text: { text: WORDS },
  calls: {
    tools: [tool("f")],
    calls: [
      { name: "f", arguments: { a: [1] } },
      { name: "f", arguments: {} },
    ],
  },
  named: {
    tools: [tool("files.read all")],
    calls: [
      { name: "files.read all", arguments: { a: [1] } },
      { name: "files.read all", arguments: {} },
    ],
  },
  reasoned: { tools: [tool("f")], reasoning: THOUGHT, echoed: [THOUGHT] },
  cut: { text: WORDS },
  uncounted: {},
  slow: {},
  failure: {},
  broken: {},
} satisfies ModelSamples;

type Replies = Readonly<Record<"text" | "calls" | "reasoned" | "cut" | "uncounted", readonly RawChunk[]>>;

const piece = (delta: object, finish_reason: string | null = null): RawChunk => ({
  choices: [{ index: 0, delta, finish_reason }],
});
const call = (index: number, id: string, args: string) => ({ index, id, function: { name: "f", arguments: args } });
const usage: RawChunk = { choices: [], usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 } };

const wire: Replies = {
  text: [piece({ content: "héllo " }), piece({ content: "🧭 there" }, "stop"), usage],
  calls: [piece({ tool_calls: [call(0, "c1", '{"a":[1]}'), call(1, "c2", "{}")] }), piece({}, "tool_calls")],
  reasoned: [piece({ reasoning_content: THOUGHT }), piece({ tool_calls: [call(0, "c1", "{}")] }, "tool_calls")],
  cut: [piece({ content: WORDS }, "length")],
  uncounted: [piece({ content: WORDS }, "stop")],
};
const own: Replies = {
  text: [
    { type: "textDelta", text: WORDS },
    { type: "usage", usage: { inputTokens: 5, outputTokens: 2 } },
    { type: "finish", reason: "stop" },
  ],
  calls: [
    { type: "toolCallDelta", index: 0, id: "c1", name: "f", argumentsDelta: '{"a":[1]}' },
    { type: "toolCallDelta", index: 1, id: "c2", name: "f", argumentsDelta: "{}" },
    { type: "finish", reason: "tool-calls" },
  ],
  reasoned: [
    { type: "reasoningDelta", text: THOUGHT },
    { type: "toolCallDelta", index: 0, id: "c1", name: "f", argumentsDelta: "{}" },
    { type: "finish", reason: "tool-calls" },
  ],
  cut: [
    { type: "textDelta", text: WORDS },
    { type: "finish", reason: "length" },
  ],
  uncounted: [
    { type: "textDelta", text: WORDS },
    { type: "finish", reason: "stop" },
  ],
};

/** Plays each sample in the order in which they are prepared; a slow one ignores the abort and never ends. */
function played(replies: Replies): ModelPortFixture {
  const prepared: (keyof ModelSamples)[] = [];
  let sent: Readonly<Record<string, unknown>> = {};
  const stream: RawStream = async function* (request) {
    const sample = prepared.shift() ?? "text";
    sent = chatCompletionBody(request, { model: "m1" });
    if (sample === "failure") throw new Error("no connection");
    if (sample !== "slow" && sample !== "broken") {
      const text = JSON.stringify(replies[sample === "named" ? "calls" : sample]);
      const [name = "f"] = ((sent["tools"] as readonly { function: { name: string } }[] | undefined) ?? []).map(
        (one) => one.function.name,
      );
      return yield* JSON.parse(text.replaceAll('"name":"f"', `"name":${JSON.stringify(name)}`)) as readonly RawChunk[];
    }
    yield await Promise.resolve(piece({ content: "Half" }));
    if (sample === "broken") throw new Error("reset");
    await Promise.withResolvers<never>().promise;
  };
  const model = streamModel(stream, { model: "m1" });
  return { model, samples, sent: () => JSON.stringify(sent), prepare: (sample) => void prepared.push(sample) };
}

const capabilities = { key: { missing: "keys are the application's" } };

describe.each([
  ["chunks of chat completions", wire],
  ["chunks of our own", own],
])("a stream of the application that yields %s", (_, replies) => {
  runClaims({ test, claims: modelPortClaims, make: () => played(replies), capabilities });
});
