import { describe, expect, it } from "vitest";
import { AgentError } from "../../src/domain/errors.js";
import type { AgentMessage } from "../../src/domain/message.js";
import type { TurnResult } from "../../src/domain/turn-result.js";
import { testAgent, toolOutcome } from "../../src/testkit/index.js";
import { call, end, gemini, piece, text } from "../adapters/models/gemini-wire.js";
import { event, loopback, type SeenRequest } from "../adapters/models/loopback.js";

type Told = {
  readonly result: TurnResult | AgentError;
  readonly executed: readonly (readonly [name: string, args: unknown])[];
  readonly requests: readonly SeenRequest[];
  readonly stored: readonly AgentMessage[];
};

/** One turn whose first model call is answered with `body`, every later one with "done". */
async function told(body: string): Promise<Told> {
  await using server = await loopback((response, _, nth) => response.end(nth === 0 ? body : text("done") + end()));
  const tools = { f: toolOutcome.ok("F"), g: toolOutcome.ok("G") };
  await using t = await testAgent({ model: gemini({ baseUrl: server.baseUrl }), tools });
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

const completed = { status: "completed", text: "done", rounds: 2 };
const contentsOf = (request: SeenRequest | undefined) =>
  request?.body["contents"] as readonly { readonly role: string; readonly parts: readonly object[] }[];

describe("a turn of an agent over the Gemini wire", () => {
  it.each<[string, string, readonly (readonly [string, unknown])[]]>([
    [
      "parallel calls in one response",
      event(piece([call("f", { n: 1 }, "c1"), call("g", { n: 2 }, "c2")])) + end(),
      [
        ["f", { n: 1 }],
        ["g", { n: 2 }],
      ],
    ],
    [
      "calls without ids in several responses",
      event(piece([call("f", { n: 1 })])) + event(piece([call("f", { n: 2 })])) + end(),
      [
        ["f", { n: 1 }],
        ["f", { n: 2 }],
      ],
    ],
    [
      "two calls with one id (F056)",
      event(piece([call("f", { n: 1 }, "c"), call("f", { n: 2 }, "c")])) + end(),
      [
        ["f", { n: 1 }],
        ["f", { n: 2 }],
      ],
    ],
    [
      "no arguments and null ones (F043, F046)",
      event(piece([call("f"), call("g", null)])) + end(),
      [
        ["f", {}],
        ["g", {}],
      ],
    ],
    ["a call beside the finish (F054)", event(piece([call("f", {}, "c")], {}, "STOP")), [["f", {}]]],
    [
      "text and thought beside a call (F028)",
      event(piece([{ text: "hm", thought: true }, { text: "look" }, call("f", {}, "c")])) + end(),
      [["f", {}]],
    ],
  ])("runs %s", async (_, body, executed) => {
    const turn = await told(body);
    expect(turn.result).toMatchObject(completed);
    expect(turn.executed).toEqual(executed);
    const [, model, answers] = contentsOf(turn.requests[1]);
    expect(model?.parts.filter((part) => "functionCall" in part)).toHaveLength(executed.length);
    expect(answers?.parts.map((part) => Object.keys(part))).toEqual(executed.map(() => ["functionResponse"]));
  });

  it("sends back what the model signed, byte for byte (F074, F077)", async () => {
    const parts = [
      { text: "hm", thought: true, thoughtSignature: "S1==" },
      { text: "look" },
      { ...call("f", { a: 1 }, "c1"), thoughtSignature: "S2/+" },
      call("g", {}, "c2"),
      { text: "", thoughtSignature: "S3" },
    ];
    const { requests } = await told(event(piece(parts)) + end());
    expect(contentsOf(requests[1])).toEqual([
      { role: "user", parts: [{ text: "hi" }] },
      { role: "model", parts },
      {
        role: "user",
        parts: [
          { functionResponse: { id: "c1", name: "f", response: { output: "F" } } },
          { functionResponse: { id: "c2", name: "g", response: { output: "G" } } },
        ],
      },
    ]);
  });

  it.each([
    ["arguments that are no object (F049)", event(piece([call("f", [1], "c")])) + end()],
    ["a call without a name (F051)", event(piece([call("", {}, "c")])) + end()],
    ["a call of a reply cut at its limit (F174)", event(piece([call("f", { a: 1 }, "c")])) + end("MAX_TOKENS")],
  ])("runs nothing of %s, and tells the model", async (_, body) => {
    const turn = await told(body);
    expect(turn.executed).toEqual([]);
    expect(turn.result).toMatchObject(completed);
    const [, model, answers] = contentsOf(turn.requests[1]);
    expect(model?.parts).toMatchObject([{ functionCall: { name: expect.stringMatching(/^\w+$/) as string } }]);
    expect(answers?.parts).toMatchObject([{ functionResponse: { response: { error: expect.any(String) as string } } }]);
  });

  it("ends after a reply that says nothing, and after one that a filter stopped (F053, F171, F172)", async () => {
    for (const [body, finishReason] of [
      [end(), "stop"],
      [text("Well") + end("SAFETY"), "content-filter"],
    ] as const) {
      const { result, requests, stored } = await told(body);
      expect(result).toMatchObject({ status: "completed", rounds: 1 });
      expect(requests).toHaveLength(1);
      expect(stored.at(-1)).toMatchObject({ role: "assistant", finishReason });
    }
  });

  it.each([
    ["a stream that ends in a call (F016)", event(piece([{ text: "Half" }, call("f", {}, "c")]))],
    [
      "an error after text (F010)",
      text("Half") + event({ error: { code: 503, message: "gone", status: "UNAVAILABLE" } }),
    ],
    ["a call that cannot be read", text("Half") + end("MALFORMED_FUNCTION_CALL")],
  ])("fails with what came before %s, and stores no half call", async (_, body) => {
    const { result, executed, stored, requests } = await told(body);
    expect(result).toMatchObject({ kind: "model" });
    expect([executed, requests.length]).toEqual([[], 1]);
    expect(stored.at(-1)).toMatchObject({
      role: "assistant",
      stopped: "error",
      parts: [{ type: "text", text: "Half" }],
    });
  });

  it("fails once where the prompt is blocked", async () => {
    const { result, requests } = await told(event({ promptFeedback: { blockReason: "PROHIBITED_CONTENT" } }));
    expect(result).toMatchObject({ kind: "model", cause: { kind: "content-filter" } });
    expect(requests).toHaveLength(1);
  });
});
