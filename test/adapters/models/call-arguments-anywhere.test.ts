import { describe, expect, it } from "vitest";
import * as anthropic from "./anthropic-wire.js";
import { bothWays } from "./both-ways.js";
import { frame, item, response } from "./responses-wire.js";
import { call, end, piece } from "./gemini-wire.js";
import { event } from "./loopback.js";

const NO_OBJECT = "the arguments are no JSON object";

describe("arguments on the messages wire", () => {
  const { sse, start, end: finish } = anthropic;
  const tool = (input: unknown, index = 0): string =>
    sse("content_block_start", { index, content_block: { type: "tool_use", id: "t", name: "f", input } });
  const input = (partial_json: unknown, index = 0): string =>
    sse("content_block_delta", { index, delta: { type: "input_json_delta", partial_json } });
  const stop = sse("content_block_stop", { index: 0 });
  const text = anthropic.text(0, "x");

  it.each<[string, string, unknown]>([
    ["as text where the block begins", tool('{"a":1}') + stop, { a: 1 }],
    ["as a value where the block begins, an empty piece behind it", tool({ a: 1 }) + input("{}") + stop, { a: 1 }],
    ["as a value in a piece", tool({}) + input({ a: 1 }) + stop, { a: 1 }],
    ["under a number nobody opened", tool({}, 1) + input('{"a":') + input("1}"), { a: 1 }],
    ["under the number of a text", text + tool({}, 1) + input('{"a":1}'), { a: 1 }],
    ["behind the end of their block", tool({}) + input('{"a":') + stop + input("1}"), { a: 1 }],
    ["as a list", tool([1]) + stop, NO_OBJECT],
    ["as a number", tool(7) + stop, NO_OBJECT],
    ["as text that is broken", tool('{"a":') + stop, "the arguments are not valid JSON"],
    ["as nothing", tool(null) + stop, {}],
    ["as an empty list", tool([]) + stop, {}],
  ])("may come %s", async (_, body, wanted) => {
    const outcome = await bothWays("anthropic", start() + body + finish("tool_use"));
    expect(outcome.calls).toEqual([["t", "f", wanted]]);
  });

  it("may be text in a whole reply", async () => {
    const body = anthropic.whole([{ type: "tool_use", id: 17, name: "f", input: '{"a":1}' }], "tool_use");
    expect(await bothWays("anthropic", body, { stream: false })).toMatchObject({ calls: [["17", "f", { a: 1 }]] });
  });

  it("may stand with all of the reply in its first event", async () => {
    const content = [
      { type: "text", text: "look" },
      { type: "tool_use", id: "t", name: "f", input: { a: 1 } },
    ];
    const body = sse("message_start", { message: { role: "assistant", content, stop_reason: null } });
    expect(await bothWays("anthropic", body + finish("tool_use"))).toMatchObject({
      text: "look",
      calls: [["t", "f", { a: 1 }]],
      finish: "tool-calls",
    });
  });
});

describe("arguments on the responses wire", () => {
  const given = (args: unknown, fields = {}) => ({ ...item.call("c", "f", ""), arguments: args, ...fields });
  const added = frame("response.output_item.added", { output_index: 0, item: given("") });
  const done = (args: unknown, fields = {}): string =>
    frame("response.output_item.done", { output_index: 0, item: given(args, fields) });
  const delta = (piece: unknown, output_index: number): string =>
    frame("response.function_call_arguments.delta", { output_index, delta: piece });
  const END = frame("response.completed", { response: response([], { usage: null }) });

  it.each<[string, string, unknown]>([
    ["as a value in the whole item", done({ a: 1 }), { a: 1 }],
    [
      "as a value in their last event",
      added + frame("response.function_call_arguments.done", { output_index: 0, arguments: { a: 1 } }),
      { a: 1 },
    ],
    ["as a value in a piece", added + delta({ a: 1 }, 0) + done(""), { a: 1 }],
    ["under a number nobody opened", added + delta('{"a":', 1) + delta("1}", 1), { a: 1 }],
    ["under a number nobody opened, and once more whole", added + delta('{"a":1}', 1) + done('{"a":1}'), { a: 1 }],
    ["as a list", done([1]), NO_OBJECT],
    ["as a number", done(7), NO_OBJECT],
    ["as nothing", done(null), {}],
  ])("may come %s", async (_, body, wanted) => {
    expect((await bothWays("responses", body + END)).calls).toEqual([["c", "f", wanted]]);
  });

  it("belong to a call whose id may be a number", async () => {
    const outcome = await bothWays("responses", done("{}", { call_id: 17 }) + END);
    expect(outcome.calls).toEqual([["17", "f", {}]]);
  });
});

describe("a call on the wire of Gemini", () => {
  it("may have a number as its id, and its candidate's number may be text", async () => {
    const calls = piece([{ functionCall: { ...call("f", { a: 1 }), id: 17, name: "f", args: { a: 1 } } }]);
    const body = (event(calls) + end()).replaceAll('"index":0', '"index":"0"');
    expect((await bothWays("gemini", body)).calls).toEqual([["17", "f", { a: 1 }]]);
  });
});
