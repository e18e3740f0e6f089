import type { Outcome } from "../adapters/models/chat-outcome.js";
import { event } from "../adapters/models/loopback.js";
import { type Fields, frame, item } from "../adapters/models/responses-wire.js";

/** A field case told on the responses wire: one body, and what it must come to. */
export type ResponsesCase = { readonly name: string; readonly raw: string; readonly wanted: Outcome };

const delta = (text: string, index = 0): string =>
  frame("response.output_text.delta", { output_index: index, content_index: 0, delta: text });
const added = (whole: Fields, index: number): string =>
  frame("response.output_item.added", { output_index: index, item: { ...whole, arguments: "" } });
const args = (text: string, index: number): string =>
  frame("response.function_call_arguments.delta", { output_index: index, delta: text });
const end = (fields: Fields = {}): string => {
  const whole: Fields = { status: "completed", error: null, output: [], usage: null, ...fields };
  return frame(`response.${String(whole["status"])}`, { response: whole });
};
const limit = { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } };
const filter = { status: "incomplete", incomplete_details: { reason: "content_filter" } };
/** A call, its arguments streamed, and nothing after it. */
const called = (id: string, name: string, text: string, index = 0): string =>
  added(item.call(id, name, text), index) + (text === "" ? "" : args(text, index));

const broken = "the arguments are not valid JSON";
const incomplete = "ModelError(response-parse): the body ended before the reply was finished";
const calls = (...list: NonNullable<Outcome["calls"]>): Outcome => ({ text: "", calls: list, finish: "tool-calls" });
const boom: Outcome = { error: "server", message: "ModelError(server): the provider reported an error: boom" };

const TABLE: readonly (readonly [name: string, raw: string, wanted: Outcome])[] = [
  ["F001 multi-byte characters", delta("漢字🧭") + end(), { text: "漢字🧭", finish: "stop" }],
  [
    "F003 an event of two data lines",
    `event: response.output_text.delta\ndata: {"type":"response.output_text.delta",\ndata: "output_index":0,"delta":"ok"}\n\n${end()}`,
    { text: "ok", finish: "stop" },
  ],
  [
    "F005 a keep-alive wrapped as data",
    `data: : UPSTREAM BUSY\n\n${delta("hi")}${end()}`,
    { text: "hi", finish: "stop" },
  ],
  [
    "F006 usage in the last event alone",
    delta("hey") + end({ usage: { input_tokens: 7, output_tokens: 2, total_tokens: 9 } }),
    { text: "hey", finish: "stop", usage: { inputTokens: 7, outputTokens: 2, totalTokens: 9 } },
  ],
  [
    "F010 a bare error after text",
    `${delta("Partial")}event: error\ndata: "boom"\n\n`,
    { ...boom, partialText: "Partial" },
  ],
  ["F011 a flat error", frame("error", { code: "server_error", message: "boom", sequence_number: 3 }), boom],
  [
    "F011 a nested error",
    frame("error", { sequence_number: 3, error: { type: "server_error", message: "boom" } }),
    boom,
  ],
  [
    "F011 text that comes whole, without pieces of it",
    frame("response.output_text.done", { output_index: 0, content_index: 0, text: "Hello" }) + end(),
    { text: "Hello", finish: "stop" },
  ],
  [
    "F015 an end that says no more",
    delta("Hello") + frame("response.completed", { response: null }),
    { text: "Hello", finish: "stop" },
  ],
  [
    "F011 a failure that says no more",
    delta("Half") + frame("response.failed", {}),
    {
      error: "server",
      message: "ModelError(server): the provider reported an error: the response is failed",
      partialText: "Half",
    },
  ],
  ["F015 no [DONE]", delta("Hello") + end(), { text: "Hello", finish: "stop" }],
  [
    "F016 the end in the middle of arguments",
    called("c1", "write", '{"path":"a'),
    { error: "response-parse", message: incomplete },
  ],
  ["F020 events after the end", delta("AB") + end() + delta("C") + event("[DONE]"), { text: "AB", finish: "stop" }],
  [
    "F021 an error glued to half an event",
    `${delta("ok ")}data: {"type":"response.output_text.delta","del{"error":{"message":"boom"}}\n\n`,
    { ...boom, partialText: "ok " },
  ],
  [
    "F023 a BOM in front",
    `\ufeff${delta("first")}${delta(" second")}${end()}`,
    { text: "first second", finish: "stop" },
  ],
  [
    "F028 thoughts, text and a call",
    frame("response.output_item.done", { output_index: 0, item: item.reasoning("C", ["think"]) }) +
      delta("say", 1) +
      called("c1", "f", "{}", 2) +
      end(),
    { text: "say", reasoning: "think", calls: [["c1", "f", {}]], finish: "tool-calls" },
  ],
  [
    "F029 parallel calls under one number",
    called("c1", "f", '{"a":1}') +
      frame("response.output_item.done", { output_index: 0, item: item.call("c1", "f", '{"a":1}') }) +
      called("c2", "g", "{}") +
      end(),
    calls(["c1", "f", { a: 1 }], ["c2", "g", {}]),
  ],
  ["F043 empty arguments", called("c1", "now", "") + end(), calls(["c1", "now", {}])],
  [
    "F046 arguments that are null",
    frame("response.output_item.done", { output_index: 0, item: { ...item.call("c1", "now", ""), arguments: null } }) +
      end(),
    calls(["c1", "now", {}]),
  ],
  ["F048 arguments encoded twice", called("c1", "f", '"{\\"a\\":1}"') + end(), calls(["c1", "f", { a: 1 }])],
  ["F049 arguments that are broken", called("c1", "rm_all", '{"path": "/tmp') + end(), calls(["c1", "rm_all", broken])],
  ["F051 an empty name", called("c1", "", "{}") + end(), calls(["c1", "", "the call has no name"])],
  ["F053 no call at all", end(), { text: "", finish: "stop" }],
  [
    "F054 a call in the last event alone",
    called("c1", "f", "{}") + end({ output: [item.call("c1", "f", "{}"), item.call("c2", "g", "{}")] }),
    calls(["c1", "f", {}], ["c2", "g", {}]),
  ],
  [
    "F056 one id for two calls",
    called("dup", "f", '{"n":1}') + called("dup", "f", '{"n":2}', 1) + end(),
    calls(["dup", "f", { n: 1 }], ["dup", "f", { n: 2 }]),
  ],
  ["F172 a filter before text", end(filter), { text: "", finish: "content-filter" }],
  ["F172 a filter after text", delta("Well") + end(filter), { text: "Well", finish: "content-filter" }],
  [
    "F172 a refusal",
    frame("response.refusal.delta", { output_index: 0, content_index: 0, delta: "I cannot help" }) + end(),
    { text: "I cannot help", finish: "refusal" },
  ],
  [
    "F174 the output limit in a call",
    called("c1", "write", '{"path":"a","body":"lor') + end(limit),
    { text: "", calls: [["c1", "write", broken]], finish: "length" },
  ],
  [
    "F174 the output limit behind arguments that happen to parse",
    called("c1", "write", '{"path":"a"}') + end(limit),
    { text: "", calls: [["c1", "write", { path: "a" }]], finish: "length" },
  ],
  [
    "F209 cached tokens as a part of the input",
    delta("x") +
      end({
        usage: { input_tokens: 100, output_tokens: 10, total_tokens: 110, input_tokens_details: { cached_tokens: 80 } },
      }),
    {
      text: "x",
      finish: "stop",
      usage: { inputTokens: 100, outputTokens: 10, totalTokens: 110, cachedInputTokens: 80 },
    },
  ],
  ["F211 no usage", delta("ok") + end(), { text: "ok", finish: "stop" }],
];

export const bodies: readonly ResponsesCase[] = TABLE.map(([name, raw, wanted]) => ({ name, raw, wanted }));

export function bodyOf(name: string): string {
  const found = bodies.find((one) => one.name.startsWith(name));
  if (found === undefined) throw new Error(`no body of ${name}`);
  return found.raw;
}
