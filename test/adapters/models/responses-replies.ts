import type { Outcome } from "./chat-outcome.js";
import { type Fields, item } from "./responses-wire.js";

/** The usage that `USAGE` stands for. */
export const counted = {
  inputTokens: 100,
  outputTokens: 10,
  totalTokens: 110,
  cachedInputTokens: 80,
  cacheWriteTokens: 0,
  reasoningTokens: 6,
};
const hi: Outcome = { text: "hi", finish: "stop", usage: counted };

/** Replies as the provider gives them: what they show, their output items, other fields of the response, and what they come down to. */
export const REPLIES: readonly (readonly [string, readonly Fields[], Fields, Outcome])[] = [
  ["text", [item.message("hi")], {}, hi],
  ["text of many code points", [item.message("漢字🧭 é")], {}, { ...hi, text: "漢字🧭 é" }],
  [
    "a call",
    [item.call("c1", "f", '{"a":1}')],
    {},
    { text: "", calls: [["c1", "f", { a: 1 }]], finish: "tool-calls", usage: counted },
  ],
  [
    "text and calls in parallel",
    [item.message("look"), item.call("c1", "f", "{}"), item.call("c2", "f", '{"b":[1,2]}')],
    {},
    {
      text: "look",
      calls: [
        ["c1", "f", {}],
        ["c2", "f", { b: [1, 2] }],
      ],
      finish: "tool-calls",
      usage: counted,
    },
  ],
  [
    "a call without arguments",
    [item.call("c1", "now", "")],
    {},
    { text: "", calls: [["c1", "now", {}]], finish: "tool-calls", usage: counted },
  ],
  [
    "a call whose arguments are broken",
    [item.call("c1", "rm", '{"a":')],
    {},
    { text: "", calls: [["c1", "rm", "the arguments are not valid JSON"]], finish: "tool-calls", usage: counted },
  ],
  [
    "reasoning with a summary in paragraphs",
    [item.reasoning("CIPHER", ["First.", "Then."]), item.message("hi")],
    {},
    { ...hi, reasoning: "First.\n\nThen." },
  ],
  [
    "reasoning in plain text",
    [item.reasoning(null, [], { content: [{ type: "reasoning_text", text: "hm" }] }), item.message("hi")],
    {},
    { ...hi, reasoning: "hm" },
  ],
  ["reasoning that shows nothing", [item.reasoning("CIPHER"), item.message("hi")], {}, hi],
  ["a refusal", [item.refusal("I cannot help")], {}, { text: "I cannot help", finish: "refusal", usage: counted }],
  ["nothing", [], {}, { text: "", finish: "stop", usage: counted }],
  [
    "two messages",
    [item.message("a"), item.message("b", { id: "msg_2" })],
    {},
    { text: "ab", finish: "stop", usage: counted },
  ],
  [
    "an item of an unknown type",
    [{ type: "web_search_call", id: "ws_1", status: "completed" }, item.message("hi")],
    {},
    hi,
  ],
  ["no usage", [item.message("hi")], { usage: null }, { text: "hi", finish: "stop" }],
  [
    "the output limit",
    [item.message("hi", { status: "incomplete" })],
    { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } },
    { ...hi, finish: "length" },
  ],
  [
    "the output limit in a call",
    [item.call("c1", "f", '{"a', { status: "incomplete" })],
    { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } },
    { text: "", calls: [["c1", "f", "the arguments are not valid JSON"]], finish: "length", usage: counted },
  ],
  [
    "a content filter after text",
    [item.message("Well", { status: "incomplete" })],
    { status: "incomplete", incomplete_details: { reason: "content_filter" } },
    { text: "Well", finish: "content-filter", usage: counted },
  ],
  [
    "another limit",
    [item.message("hi")],
    { status: "incomplete", incomplete_details: { reason: "toString" } },
    { ...hi, finish: "other" },
  ],
];
