import { describe, expect, it } from "vitest";
import { OpenAiResponsesModel, type OpenAiResponsesOptions } from "../../../src/adapters/models/openai-responses.js";
import type { StreamChunk } from "../../../src/domain/stream-chunk.js";
import { fetchOf, type Outcome, request, streamedBy, wholeBy } from "./chat-outcome.js";
import { event, JSON_TYPE, loopback, pieces, SSE } from "./loopback.js";
import { counted, REPLIES } from "./responses-replies.js";
import { events, type Fields, frame, item, response, streamOf } from "./responses-wire.js";

const encoder = new TextEncoder();
const incomplete = "ModelError(response-parse): the body ended before the reply was finished";
const END = frame("response.completed", { response: response([], { usage: null }) });
const model = (options: Partial<OpenAiResponsesOptions>) => new OpenAiResponsesModel({ model: "m", ...options });

/** Both a whole body and one that comes byte by byte must come to the same. */
async function outcomeOf(body: string, ask = streamedBy): Promise<Outcome> {
  await using server = await loopback(pieces([body]));
  const outcome = await ask(model({ baseUrl: server.baseUrl }));
  const bytes = Array.from(encoder.encode(body), (byte) => Uint8Array.of(byte));
  expect(await ask(model({ baseUrl: "http://unused.test", fetch: fetchOf(bytes) }))).toEqual(outcome);
  return outcome;
}

describe("a reply on the responses wire", () => {
  it.each(REPLIES)("comes to the same streamed, byte by byte and whole: %s", async (_, output, fields, wanted) => {
    expect(await outcomeOf(streamOf(output, fields))).toEqual(wanted);
    const document = JSON.stringify(response(output, fields));
    expect(await outcomeOf(document, wholeBy)).toEqual(wanted);
    expect(await outcomeOf(document)).toEqual(wanted);
    expect(await outcomeOf(streamOf(output, fields), wholeBy)).toEqual(wanted);
  });

  it("comes to the same cut in two at every place", async () => {
    const output = [item.reasoning("C", ["é"]), item.message("🧭"), item.call("c1", "f", '{"ü":1}')];
    const needed = events(response(output)).filter((one) => /item|delta/.test(one) && !one.includes("_part"));
    const body = needed.join("") + END;
    const bytes = Buffer.from(body);
    const wanted = await outcomeOf(body);
    expect(wanted).toMatchObject({ text: "🧭", reasoning: "é", calls: [["c1", "f", { ü: 1 }]] });
    for (let cut = 0; cut <= bytes.length; cut++) {
      const fetch = fetchOf([bytes.subarray(0, cut), bytes.subarray(cut)]);
      expect(await streamedBy(model({ baseUrl: "http://unused.test", fetch })), `cut at ${cut}`).toEqual(wanted);
    }
  });

  it("is a failure wherever it ends too early, with what came", async () => {
    const bytes = Buffer.from(streamOf([item.message("hi")]));
    const last = bytes.lastIndexOf("event:");
    for (let cut = 0; cut < last; cut += 7) {
      const fetch = fetchOf([bytes.subarray(0, cut)]);
      const outcome = await streamedBy(model({ baseUrl: "http://unused.test", fetch }));
      expect(outcome, `cut at ${cut}`).toMatchObject({ error: "response-parse" });
    }
    const fetch = fetchOf([bytes.subarray(0, last)]);
    expect(await streamedBy(model({ baseUrl: "http://unused.test", fetch }))).toEqual({
      error: "response-parse",
      message: incomplete,
      partialText: "hi",
    });
  });

  it("comes to the consumer as it arrives, its finish once and last", async () => {
    let release = (): void => undefined;
    const list = events(response([item.message("hello")]));
    const first = list.findIndex((one) => one.includes("output_text.delta"));
    await using server = await loopback((answer) => {
      answer.writeHead(200, SSE);
      answer.write(list.slice(0, first + 1).join(""));
      release = () => answer.end(list.slice(first + 1).join(""));
    });
    const seen: StreamChunk["type"][] = [];
    await model({ baseUrl: server.baseUrl }).chatStreaming(request(), (chunk) => {
      seen.push(chunk.type);
      if (chunk.type === "textDelta") release();
    });
    expect(seen).toEqual(["textDelta", "textDelta", "textDelta", "usage", "finish"]);
  });

  it("tells the model that answered, the provider, and the provider's word for the end", async () => {
    await using server = await loopback(pieces([JSON.stringify(response([item.message("hi")]))], JSON_TYPE));
    expect(await model({ baseUrl: server.baseUrl, provider: "mine" }).chat(request())).toMatchObject({
      provider: "mine",
      model: "m1",
      rawFinishReason: "completed",
    });
  });

  it("keeps thoughts, texts and calls in the provider's order, each thought with all that must go back", async () => {
    const first = item.reasoning("AAA", ["plan"], { id: "rs_a" });
    const second = item.reasoning("BBB", [], { id: "rs_b", status: "completed" });
    const output = [
      first,
      item.message("say", { phase: "commentary" }),
      second,
      item.call("c1", "f", "{}"),
      item.refusal("no", "msg_2"),
    ];
    await using server = await loopback(pieces([streamOf(output)]));
    const { parts } = await model({ baseUrl: server.baseUrl }).chatStreaming(request(), () => undefined);
    const { status: _, ...kept } = second;
    expect(parts).toEqual([
      { type: "reasoning", text: "plan", providerData: first },
      { type: "text", text: "say", providerData: { phase: "commentary" } },
      { type: "reasoning", text: "", providerData: kept },
      { type: "toolCall", id: "c1", name: "f", arguments: {} },
      { type: "text", text: "no" },
    ]);
  });
});

const delta = (index: number, text: string, fields: Fields = {}): string =>
  frame("response.output_text.delta", {
    output_index: index,
    item_id: "msg_1",
    content_index: 0,
    delta: text,
    ...fields,
  });
const added = (index: number, whole: Fields): string =>
  frame("response.output_item.added", { output_index: index, item: whole });
const done = (index: number, whole: Fields): string =>
  frame("response.output_item.done", { output_index: index, item: whole });
const args = (index: number, text: string): string =>
  frame("response.function_call_arguments.delta", { output_index: index, delta: text });
const calls = (...list: NonNullable<Outcome["calls"]>): Outcome => ({ text: "", calls: list, finish: "tool-calls" });
const call = (id: string, text = ""): Fields => item.call(id, "f", text);

describe("a server that bends the responses wire", () => {
  it.each<[string, string, Outcome]>([
    ["no event names", `${delta(0, "hi")}${END}`.replaceAll(/event: .*\n/g, ""), { text: "hi", finish: "stop" }],
    ["deltas without their item", `${delta(0, "h")}${delta(0, "i")}${END}`, { text: "hi", finish: "stop" }],
    ["only whole items", `${done(0, item.message("hi"))}${END}`, { text: "hi", finish: "stop" }],
    [
      "two calls of one id",
      `${done(0, call("c", "{}"))}${done(1, call("c", '{"a":1}'))}${frame("response.completed", { response: response([call("c", "{}"), call("c", '{"a":1}')], { usage: null }) })}`,
      calls(["c", "f", {}], ["c", "f", { a: 1 }]),
    ],
    [
      "arguments under the number of a text",
      `${added(0, call("c1"))}${args(0, "{}")}${added(1, item.message(""))}${args(1, "}")}${delta(1, "hi")}${END}`,
      { text: "hi", calls: [["c1", "f", {}]], finish: "tool-calls" },
    ],
    [
      "two open calls of one id, whole in the last event only",
      `${added(5, call("c"))}${added(6, call("c"))}${frame("response.completed", { response: response([call("c", "{}"), call("c", '{"a":1}')], { usage: null }) })}`,
      calls(["c", "f", {}], ["c", "f", { a: 1 }]),
    ],
    [
      "a last event whose response is said to be in progress",
      `${delta(0, "hi")}${frame("response.completed", { response: response([], { status: "in_progress", usage: null }) })}`,
      { text: "hi", finish: "stop" },
    ],
    [
      "an incomplete response that is said to be completed",
      `${delta(0, "hi")}${frame("response.incomplete", { response: response([], { usage: null, incomplete_details: { reason: "max_output_tokens" } }) })}`,
      { text: "hi", finish: "length" },
    ],
    [
      "a whole response without the first of its items",
      `${added(0, item.message("", { id: "a" }))}${delta(0, "hi")}${done(0, item.message("hi", { id: "a" }))}${added(1, item.message("", { id: "b" }))}${delta(1, "ho")}${frame("response.completed", { response: response([item.message("ho", { id: "b" })], { usage: null }) })}`,
      { text: "hiho", finish: "stop" },
    ],
    [
      "only the whole response",
      frame("response.completed", { response: response([item.message("hi"), call("c1", '{"a":1}')]) }),
      { text: "hi", calls: [["c1", "f", { a: 1 }]], finish: "tool-calls", usage: counted },
    ],
    [
      "text that the whole item continues",
      `${added(0, item.message(""))}${delta(0, "h")}${done(0, item.message("hi"))}${END}`,
      { text: "hi", finish: "stop" },
    ],
    [
      "a whole item that differs from what was streamed",
      `${added(0, item.message(""))}${delta(0, "hi")}${done(0, item.message("HI THERE"))}${END}`,
      { text: "hi", finish: "stop" },
    ],
    [
      "another id for the same item in every event",
      `${added(0, item.message("", { id: "x" }))}${delta(0, "hi", { item_id: "y" })}${done(0, item.message("hi", { id: "z" }))}${frame(
        "response.completed",
        { response: response([item.message("hi", { id: "w" })], { usage: null }) },
      )}`,
      { text: "hi", finish: "stop" },
    ],
    [
      "one number for all calls",
      `${added(0, call("c1"))}${args(0, '{"a":1}')}${done(0, call("c1", '{"a":1}'))}${added(0, call("c2"))}${args(0, "{}")}${done(0, call("c2", "{}"))}${END}`,
      calls(["c1", "f", { a: 1 }], ["c2", "f", {}]),
    ],
    [
      "arguments of two calls in turn",
      `${added(1, call("c1"))}${added(2, call("c2"))}${args(1, '{"a"')}${args(2, '{"b"')}${args(1, ":1}")}${args(2, ":2}")}${END}`,
      calls(["c1", "f", { a: 1 }], ["c2", "f", { b: 2 }]),
    ],
    [
      "arguments before their call",
      `${args(0, '{"a":')}${done(0, call("c1", '{"a":1}'))}${END}`,
      calls(["c1", "f", { a: 1 }]),
    ],
    [
      "a call without call_id",
      `${done(0, { type: "function_call", id: "fc_9", name: "f" })}${END}`,
      calls(["fc_9", "f", {}]),
    ],
    [
      "a call without a name",
      `${done(0, { type: "function_call", call_id: "c" })}${END}`,
      calls(["c", "", "the call has no name"]),
    ],
    ["[DONE] behind the last event", `${delta(0, "hi")}${END}${event("[DONE]")}`, { text: "hi", finish: "stop" }],
    [
      "anything behind the last event",
      `${delta(0, "hi")}${END}${delta(0, "!")}data: {"er`,
      { text: "hi", finish: "stop" },
    ],
    [
      "keep-alives of all kinds",
      `: hello\n\n${frame("keepalive")}${event({})}data: ping\n\n${delta(0, "hi")}${END}`,
      { text: "hi", finish: "stop" },
    ],
    [
      "unknown events",
      `${frame("response.new.thing", { delta: "x" })}${delta(0, "hi")}${END}`,
      { text: "hi", finish: "stop" },
    ],
    [
      "response.done as the last event",
      `${delta(0, "hi")}${END.replaceAll("response.completed", "response.done")}`,
      { text: "hi", finish: "stop" },
    ],
    [
      "no state in the whole response",
      JSON.stringify({ output: [item.message("hi")] }),
      { text: "hi", finish: "stop" },
    ],
    [
      "the same thoughts twice",
      `${done(0, item.reasoning(null, ["hm"], { content: [{ type: "reasoning_text", text: "hm" }] }))}${delta(1, "hi")}${END}`,
      { text: "hi", reasoning: "hm", finish: "stop" },
    ],
  ])("is understood: %s", async (_, body, wanted) => {
    expect(await outcomeOf(body)).toEqual(wanted);
  });

  it.each<[string, string]>([
    ["nothing", ""],
    ["[DONE] alone", event("[DONE]")],
    ["text and [DONE]", delta(0, "hi") + event("[DONE]")],
    ["a response that is still being made", JSON.stringify(response([item.message("hi")], { status: "in_progress" }))],
    ["a queued response", JSON.stringify(response([], { status: "queued" }))],
    ["a chat completion", JSON.stringify({ choices: [{ index: 0, message: { content: "hi" } }] })],
  ])("never makes a reply of %s", async (_, body) => {
    expect(await outcomeOf(body)).toMatchObject({ error: "response-parse" });
  });
});

describe("a hostile server on the responses wire", () => {
  const ask = (body: string) =>
    streamedBy(model({ baseUrl: "http://unused.test", fetch: fetchOf([encoder.encode(body)]) }));

  it("is read at a cost that grows with what it sends: many pieces, and each text whole again and again", async () => {
    const piece = frame("response.output_text.delta", { item_id: "msg_1", delta: "x" });
    const whole = frame("response.output_text.done", { output_index: 0, text: "x" });
    const outcome = await ask(added(0, item.message("")) + (piece + whole).repeat(50_000) + END);
    expect(outcome).toEqual({ text: "x".repeat(50_000), finish: "stop" });
  });

  it.each<[string, string]>([
    ["items", "x".repeat(2_001).replaceAll("x", done(0, call("c")))],
    ["items of one response", JSON.stringify(response(Array.from({ length: 2_001 }, () => call("c"))))],
  ])("is given up at two thousand %s", async (_, body) => {
    expect(await ask(body)).toMatchObject({ error: "response-parse" });
  });

  it.each<[string, string]>([
    [
      "items that are none",
      frame("response.output_item.added", { item: null }) + frame("response.output_item.done", {}),
    ],
    ["contents that are none", done(0, item.message("", { content: [null, 7, { type: "toString", text: "x" }, "x"] }))],
    ["pieces that are none", frame("response.output_text.delta", { output_index: 0, delta: { text: "x" } })],
    ["a number that is none", frame("response.output_text.delta", { output_index: "__proto__", delta: "" })],
    ["a last event without a response", frame("response.completed")],
  ])("cannot make a reply of %s", async (_, body) => {
    expect(await ask(body + END)).toMatchObject({ text: "", finish: "stop" });
  });
});
