import cases from "./anthropic-cases.json" with { type: "json" };
import type { Outcome } from "../adapters/models/chat-outcome.js";
import { block, call, end, sse, start, STOP, text, thinking, whole } from "../adapters/models/anthropic-wire.js";

/** A body of the messages wire and what it must come to. `official`: whether the official client accepts it too. */
export type Body = {
  readonly name: string;
  readonly raw: string;
  readonly wanted: Outcome;
  readonly official: boolean;
};

const usage = { inputTokens: 9, outputTokens: 5, totalTokens: 14 };
const incomplete = "ModelError(response-parse): the body ended before the reply was finished";
const broken = "the arguments are not valid JSON";
const said = (words: string, finish = "stop"): Outcome => ({ text: words, finish, usage });
const called = (...calls: NonNullable<Outcome["calls"]>): Outcome => ({ text: "", calls, finish: "tool-calls", usage });
const failed = (kind: string, told: string, partialText?: string): Outcome => ({
  error: kind,
  message: `ModelError(${kind}): the provider reported an error: ${told}`,
  ...(partialText === undefined ? {} : { partialText }),
});

const fieldOutcomes: Readonly<Record<string, Outcome>> = {
  F013: { error: "response-parse", message: incomplete, partialText: "Half" },
  F026: { text: "Hi", calls: [["tu_1", "look", { q: "z" }]], finish: "tool-calls", usage },
  F044: called(["tu_1", "now", {}]),
  F053: { text: "", finish: "tool-calls", usage },
  F077: { text: "", reasoning: "hm", calls: [["tu_1", "f", {}]], finish: "tool-calls", usage },
  F080: called(["t1", "f", {}]),
  F171: { text: "", finish: "refusal", usage },
  F207: {
    text: "x",
    finish: "stop",
    usage: { inputTokens: 500, outputTokens: 77, totalTokens: 577, cachedInputTokens: 27, cacheWriteTokens: 470 },
  },
};

/** The cases of the field whose input is a body of this wire. */
export function fieldBody(id: string): string {
  const found = cases.find((one) => one.id === id)?.input;
  const raw = found?.raw ?? found?.variants?.map((variant) => ("raw" in variant ? variant.raw : undefined))[0];
  if (raw === undefined) throw new Error(`no body ${id}`);
  return raw;
}

const fieldBodies = Object.entries(fieldOutcomes).map(
  ([id, wanted]): Body => ({ name: id, raw: fieldBody(id), wanted, official: wanted.error === undefined }),
);

const body = (name: string, raw: string, wanted: Outcome, official = true): Body => ({ name, raw, wanted, official });
const opened = (index: number, content_block: object, ...pieces: readonly string[]): string =>
  block(index, content_block, ...pieces.map((piece) => ({ type: "input_json_delta", partial_json: piece })));
const data = (payload: string): string => `data: ${payload}\n\n`;
const overloaded = { error: { type: "overloaded_error", message: "Overloaded" } };

/** What other wires have met in the field, as it looks on this one. */
const kinds: readonly Body[] = [
  body("text of several bytes a character", start() + text(0, "漢字", "🧭") + end(), said("漢字🧭")),
  body("an event in several data lines", start() + text(0, "ok").replaceAll(',"', ',\ndata: "') + end(), said("ok")),
  body("a comment wrapped as data", data(": BUSY") + start() + text(0, "hi") + end(), said("hi"), false),
  body(
    "comments and pings between events",
    `: hi\n\n${start()}${sse("ping")}${text(0, "a")}: ho\n\n${end()}`,
    said("a"),
  ),
  body("no usage at all", start(null) + text(0, "ok") + end("end_turn", null), { text: "ok", finish: "stop" }, false),
  body(
    "null for fields and events that nobody knows",
    start() +
      sse("content_block_start", { index: 0, content_block: null }) +
      sse("content_block_delta", { index: 0, delta: null }) +
      sse("content_block_delta", { index: 0, delta: { type: "text_delta", text: null } }) +
      sse("message_delta", { delta: null, usage: null }) +
      sse("later_invention", { message: { type: "news" } }) +
      text(1, "x") +
      end(),
    said("x"),
    false,
  ),
  body(
    "an error in mid-stream",
    start() + text(0, "Partial") + sse("error", overloaded),
    failed("overloaded", "Overloaded", "Partial"),
  ),
  body(
    "an error as a text, and no name of the event",
    start() + text(0, "Partial") + data('{"error":"backend went away"}') + end(),
    failed("server", "backend went away", "Partial"),
    false,
  ),
  body(
    "an error that is flat",
    start() + data('{"type":"error","code":"api_error","message":"boom"}'),
    failed("server", "boom"),
    false,
  ),
  body("an error event that is no JSON", `${start()}event: error\ndata: gone\n\n`, failed("server", "gone"), false),
  body("no message_stop", (start() + text(0, "Hello") + end()).replace(STOP, ""), said("Hello"), false),
  body("a marker of another wire at the end", start() + text(0, "Hello") + end() + data("[DONE]"), said("Hello")),
  body(
    "the end in the middle of a call's input",
    (start() + call(0, "t1", "write", '{"body":"lorem ip')).replace(sse("content_block_stop", { index: 0 }), ""),
    { error: "response-parse", message: incomplete },
    false,
  ),
  body("text in the start of its block", start() + block(0, { type: "text", text: "All" }) + end(), said("All")),
  body(
    "text behind the stop reason",
    (start() + text(0, "A") + end()).replace(STOP, "") + text(1, "B") + STOP,
    said("AB"),
    false,
  ),
  body(
    "half an event glued to an error",
    `${start()}${text(0, "ok ")}data: {"type":"content_bl\ndata: ${JSON.stringify({ error: { message: "read failed" } })}\n\n`,
    failed("server", "read failed", "ok "),
    false,
  ),
  body(
    "a byte order mark",
    `\ufeff${start()}${text(0, "first", "\ufeffsecond")}${end()}`,
    said("first\ufeffsecond"),
    false,
  ),
  body(
    "reasoning, text and calls in turn",
    start() + thinking(0, "hm", "SIG") + text(1, "say") + call(2, "t1", "f", "{}") + thinking(3, "ha", "S2") + end(),
    { text: "say", reasoning: "hmha", calls: [["t1", "f", {}]], finish: "stop", usage },
  ),
  body(
    "blocks that all have index 0",
    start() + call(0, "t1", "bus", '{"line":"7"}') + call(0, "t2", "tide", '{"port":"K"}') + end("tool_use"),
    called(["t1", "bus", { line: "7" }], ["t2", "tide", { port: "K" }]),
    false,
  ),
  body(
    "blocks without any index",
    (start() + call(0, "t1", "add", '{"a":1}') + call(0, "t2", "add", '{"a":2}') + end("tool_use")).replaceAll(
      '"index":0,',
      "",
    ),
    called(["t1", "add", { a: 1 }], ["t2", "add", { a: 2 }]),
    false,
  ),
  body(
    "indexes that begin with 3",
    start() + call(3, "t9", "find", '{"q":', '"cat"}') + end("tool_use"),
    called(["t9", "find", { q: "cat" }]),
    false,
  ),
  body(
    "a number as the id of a call",
    start() + call(0, 17, "f", "{}") + end("tool_use"),
    called(["17", "f", {}]),
    false,
  ),
  body(
    "a call without an id",
    start() + call(0, null, "f", "{}") + end("tool_use"),
    called(["call_0", "f", {}]),
    false,
  ),
  body(
    "the whole input of a call at its start",
    start() + block(0, { type: "tool_use", id: "t1", name: "f", input: { a: [1] } }) + end("tool_use"),
    called(["t1", "f", { a: [1] }]),
    false,
  ),
  body(
    "the input of a call at its start and in pieces too",
    start() + opened(0, { type: "tool_use", id: "t1", name: "f", input: { a: 1 } }, '{"a":', "1}") + end("tool_use"),
    called(["t1", "f", { a: 1 }]),
    false,
  ),
  body(
    "blocks that never stop",
    (
      start() +
      block(0, { type: "tool_use", id: "t1", name: "f", input: { a: 1 } }) +
      block(0, { type: "tool_use", id: "t2", name: "g", input: { b: 2 } }) +
      end("tool_use")
    ).replaceAll(sse("content_block_stop", { index: 0 }), ""),
    called(["t1", "f", { a: 1 }], ["t2", "g", { b: 2 }]),
    false,
  ),
  body(
    "pieces without the start of their block",
    start() + sse("content_block_delta", { index: 0, delta: { type: "text_delta", text: "x" } }) + end(),
    said("x"),
    false,
  ),
  body(
    "a whole reply without a stop reason",
    JSON.stringify({ type: "message", role: "assistant", content: [{ type: "text", text: "a" }] }),
    { text: "a", finish: "other" },
    false,
  ),
  body(
    "a whole reply whose content is a text",
    JSON.stringify({ role: "assistant", content: "a", stop_reason: "stop_sequence" }),
    { text: "a", finish: "stop" },
    false,
  ),
  body(
    "a line of JSON between a blank one and noise",
    `\n${whole([{ type: "text", text: "a" }], "end_turn", { input_tokens: 9, output_tokens: 5 })}\n\n!\n`,
    said("a"),
    false,
  ),
  body(
    "an error instead of a reply",
    JSON.stringify({ type: "error", ...overloaded, request_id: "req_1" }),
    failed("overloaded", "Overloaded"),
    false,
  ),
  body(
    "an error that says no more than what",
    data('{"detail":"no such route"}'),
    failed("server", "no such route"),
    false,
  ),
  body(
    "input encoded twice",
    start() + call(0, "t1", "f", JSON.stringify('{"a":1}')) + end("tool_use"),
    called(["t1", "f", { a: 1 }]),
    false,
  ),
  body("input that is null", start() + call(0, "t1", "f", "null") + end("tool_use"), called(["t1", "f", {}]), false),
  body(
    "input that is no JSON",
    start() + call(0, "t1", "f", '{"a":') + end("tool_use"),
    called(["t1", "f", broken]),
    false,
  ),
  body(
    "a call without a name",
    start() + call(0, "t1", "", "{}") + end("tool_use"),
    called(["t1", "", "the call has no name"]),
  ),
  body(
    "two calls with one id",
    start() + call(0, "dup", "f", '{"n":1}') + call(1, "dup", "f", '{"n":2}') + end("tool_use"),
    called(["dup", "f", { n: 1 }], ["dup", "f", { n: 2 }]),
  ),
  body(
    "a call cut by the output limit",
    start() + call(0, "t1", "write", '{"path":"a","body":"lor') + end("max_tokens"),
    { text: "", calls: [["t1", "write", broken]], finish: "length", usage },
    false,
  ),
  body("a call cut before its input", start() + call(0, "t1", "write") + end("max_tokens"), {
    text: "",
    calls: [["t1", "write", "the arguments were cut off"]],
    finish: "length",
    usage,
  }),
  body("a refusal behind text", start() + text(0, "Well") + end("refusal"), said("Well", "refusal")),
  body("a window that is full", start() + text(0, "a") + end("model_context_window_exceeded"), said("a", "length")),
  body("a pause of the provider's tools", start() + text(0, "a") + end("pause_turn"), said("a", "other")),
  body("a stop reason nobody knows", start() + text(0, "a") + end("tired"), said("a", "other")),
  body("a stop reason that is null", start() + text(0, "a") + end(null), said("a", "other")),
  body(
    "usage that grows, with nulls",
    start({ input_tokens: 9, output_tokens: 0, cache_read_input_tokens: null }) +
      text(0, "a") +
      end("end_turn", { input_tokens: null, output_tokens: 5, output_tokens_details: { thinking_tokens: 3 } }),
    { text: "a", finish: "stop", usage: { ...usage, reasoningTokens: 3 } },
  ),
  body("nothing", "", { error: "response-parse", message: incomplete }, false),
  body("nothing but a start", start(), { error: "response-parse", message: incomplete }, false),
  body(
    "a page",
    "<html><title>502 Bad Gateway</title></html>",
    {
      error: "response-parse",
      message: `${incomplete}: 502 Bad Gateway`,
    },
    false,
  ),
];

export const bodies: readonly Body[] = [...fieldBodies, ...kinds];
