import { describe, expect, it } from "vitest";
import { OpenAiResponsesModel } from "../../src/adapters/models/openai-responses.js";
import { AgentError } from "../../src/domain/errors.js";
import type { AgentMessage } from "../../src/domain/message.js";
import type { TurnResult } from "../../src/domain/turn-result.js";
import { testAgent, toolOutcome } from "../../src/testkit/index.js";
import { type Answer, JSON_TYPE, loopback, pieces, type SeenRequest } from "../adapters/models/loopback.js";
import { type Fields, frame, item, streamOf } from "../adapters/models/responses-wire.js";
import { bodyOf } from "./responses-bodies.js";

type Told = {
  readonly result: TurnResult | AgentError;
  readonly executed: readonly (readonly [name: string, args: unknown])[];
  readonly requests: readonly SeenRequest[];
  readonly stored: readonly AgentMessage[];
};

const DONE: Answer = pieces([streamOf([item.message("done")])]);

/** One turn whose first model call is answered so, every later one with "done". */
async function told(first: Answer | string): Promise<Told> {
  const answer = typeof first === "string" ? pieces([first]) : first;
  await using server = await loopback((response, seen, nth) => (nth === 0 ? answer : DONE)(response, seen, nth));
  const names = ["f", "g", "now", "rm_all", "write"];
  const tools = Object.fromEntries(names.map((name) => [name, toolOutcome.ok("ok")]));
  const model = new OpenAiResponsesModel({ model: "m", baseUrl: server.baseUrl });
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

const itemsOf = (request: SeenRequest | undefined) => (request?.body["input"] ?? []) as readonly Fields[];
const ofType = (request: SeenRequest | undefined, type: string) =>
  itemsOf(request).filter((one) => one["type"] === type);
const completed = { status: "completed", text: "done", rounds: 2 };

describe("a turn of an agent over the responses wire", () => {
  it.each<[string, readonly (readonly [string, unknown])[]]>([
    ["F028", [["f", {}]]],
    [
      "F029",
      [
        ["f", { a: 1 }],
        ["g", {}],
      ],
    ],
    ["F043", [["now", {}]]],
    ["F046", [["now", {}]]],
    ["F048", [["f", { a: 1 }]]],
    [
      "F054",
      [
        ["f", {}],
        ["g", {}],
      ],
    ],
    [
      "F056",
      [
        ["f", { n: 1 }],
        ["f", { n: 2 }],
      ],
    ],
  ])("%s: runs each call once, with its arguments, and goes on", async (id, executed) => {
    const turn = await told(bodyOf(id));
    expect(turn.executed).toEqual(executed);
    expect(turn.result).toMatchObject(completed);
    expect(turn.requests).toHaveLength(2);
    const calls = ofType(turn.requests[1], "function_call").map(({ call_id }) => call_id);
    expect(ofType(turn.requests[1], "function_call_output").map(({ call_id }) => call_id)).toEqual(calls);
    expect(new Set(calls).size).toBe(executed.length);
  });

  it("F049: answers a broken call with an error instead of running it", async () => {
    const turn = await told(bodyOf("F049"));
    expect(turn.executed).toEqual([]);
    expect(turn.result).toMatchObject(completed);
    expect(ofType(turn.requests[1], "function_call")).toMatchObject([{ call_id: "c1", arguments: "{}" }]);
    const [answer] = ofType(turn.requests[1], "function_call_output");
    expect(answer?.["output"]).toMatch(/^<tool_error>.*JSON.*<\/tool_error>$/s);
  });

  it("F051: never sends an empty name", async () => {
    const turn = await told(bodyOf("F051"));
    expect(turn.executed).toEqual([]);
    expect(turn.result).toMatchObject(completed);
    for (const { name } of turn.requests.flatMap((request) => ofType(request, "function_call")))
      expect(name).not.toBe("");
  });

  it("F053: ends where a reply holds no call", async () => {
    const turn = await told(bodyOf("F053"));
    expect(turn.requests).toHaveLength(1);
    expect(turn.result).toMatchObject({ status: "completed", text: "" });
  });

  it("F010, F016: fails where the stream does, stores what was said and no half call", async () => {
    const error = await told(bodyOf("F010"));
    expect(error.result).toMatchObject({ kind: "model" });
    expect(error.stored.at(-1)).toMatchObject({ stopped: "error", parts: [{ type: "text", text: "Partial" }] });
    const cut = await told(bodyOf("F016"));
    expect(cut.result).toMatchObject({ kind: "model", cause: { kind: "response-parse" } });
    expect(cut.executed).toEqual([]);
    expect(JSON.stringify(cut.stored)).not.toContain("toolCall");
  });

  it("F074: sends encrypted reasoning back with the call it led to, through a store", async () => {
    const thought = item.reasoning("CIPHER", ["I should look."]);
    const turn = await told(streamOf([thought, item.call("c1", "f", "{}")]));
    expect(turn.result).toMatchObject(completed);
    expect(itemsOf(turn.requests[1]).map((one) => one["type"])).toEqual([
      "message",
      "reasoning",
      "function_call",
      "function_call_output",
    ]);
    expect(itemsOf(turn.requests[1])[1]).toEqual(thought);
  });

  it("F026: an item that began in front of a call goes back in front of it, whichever speaks first", async () => {
    const thought = item.reasoning("CIPHER", ["hm"]);
    const reply = { status: "completed", error: null, output: [], usage: null };
    const added = (output_index: number, whole: Fields): string =>
      frame("response.output_item.added", { output_index, item: whole });
    const turn = await told(
      added(0, item.reasoning("")) +
        added(1, item.message("")) +
        added(2, { ...item.call("c1", "f", ""), arguments: "" }) +
        frame("response.function_call_arguments.delta", { output_index: 2, delta: "{}" }) +
        frame("response.output_text.delta", { output_index: 1, content_index: 0, delta: "Let me look." }) +
        frame("response.output_item.done", { output_index: 0, item: thought }) +
        frame("response.completed", { response: reply }),
    );
    expect(turn.executed).toEqual([["f", {}]]);
    const [, first, second, third] = itemsOf(turn.requests[1]);
    expect(first).toEqual(thought);
    expect(JSON.stringify(second)).toContain("Let me look.");
    expect(third).toMatchObject({ type: "function_call", call_id: "c1" });
  });

  it("F172: tells a filtered reply and does not ask again", async () => {
    for (const [name, finishReason] of [
      ["F172 a filter before", "content-filter"],
      ["F172 a filter after", "content-filter"],
      ["F172 a refusal", "refusal"],
    ] as const) {
      const turn = await told(bodyOf(name));
      expect(turn.requests).toHaveLength(1);
      expect(turn.result).toMatchObject({ message: { finishReason } });
    }
  });

  it("F174: runs no call of a reply that hit the output limit", async () => {
    for (const name of ["F174 the output limit in", "F174 the output limit behind"]) {
      const turn = await told(bodyOf(name));
      expect(turn.executed).toEqual([]);
      expect(turn.result).toMatchObject(completed);
      expect(ofType(turn.requests[1], "function_call_output")[0]?.["output"]).toMatch(/output limit/i);
    }
  });

  it("F211: sums up no usage where none was told", async () => {
    expect((await told(bodyOf("F211"))).result).toMatchObject({ text: "ok", usage: {} });
  });

  it("C3: leaves the tool out that the provider refuses, and asks once more", async () => {
    const error = { message: "Invalid value", type: "invalid_request_error", param: "tools[1].parameters" };
    const turn = await told(pieces([JSON.stringify({ error })], JSON_TYPE, 400));
    const [first, second] = turn.requests.map(({ body }) =>
      (body["tools"] as readonly Fields[]).map(({ name }) => name),
    );
    expect(turn.result).toMatchObject({ status: "completed", text: "done" });
    expect(second).toEqual(first?.filter((_, index) => index !== 1));
  });

  it("goes on with a conversation after a reply of reasoning alone that hit the output limit", async () => {
    const limit = { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } };
    await using server = await loopback((response, seen, nth) => {
      if (nth > 0) DONE(response, seen, nth);
      else pieces([streamOf([item.reasoning("CIPHER")], limit)])(response, seen, nth);
    });
    await using t = await testAgent({ model: new OpenAiResponsesModel({ model: "m", baseUrl: server.baseUrl }) });
    expect(await t.agent.runTurn("hi", "s1")).toMatchObject({ status: "completed", text: "" });
    expect(await t.agent.runTurn("and?", "s1")).toMatchObject({ status: "completed", text: "done" });
    expect(itemsOf(server.requests[1]).map((one) => [one["type"], one["role"]])).toEqual([
      ["message", "user"],
      ["message", "user"],
    ]);
  });
});
