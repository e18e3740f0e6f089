import { describe, expect, test } from "vitest";
import { hookChain } from "../../src/adapters/hooks/hook-chain.js";
import { defineHook } from "../../src/adapters/hooks/define-hook.js";
import { defineTool, Type } from "../../src/adapters/tools/index.js";
import { jsonSchemaTool } from "../../src/adapters/tools/json-schema.js";
import { InMemoryResultStore, offloadResults } from "../../src/adapters/tools/offload.js";
import { contentText } from "../../src/domain/content.js";
import type { Json, JsonObject } from "../../src/domain/json.js";
import type { ToolMessage } from "../../src/domain/message.js";
import type { ToolProvider } from "../../src/ports/tool-provider.js";
import { stopResponse, testAgent, toolCallsResponse } from "../../src/testkit/index.js";

const properties = (fields: JsonObject, rest: JsonObject = {}): JsonObject => ({
  type: "object",
  properties: fields,
  ...rest,
});

const described = { name: "t", description: "Takes arguments." };

type Taker = (inputSchema: JsonObject, take: (args: JsonObject) => void) => ToolProvider;

/** Sources that check nothing, and that check all. */
const takers: Readonly<Record<string, Taker>> = {
  "a source of its own": (inputSchema, take) => ({
    listTools: () => [{ ...described, inputSchema }],
    execute: (call) => take(call.arguments),
  }),
  "a tool of JSON Schema": (inputSchema, take) => jsonSchemaTool({ ...described, inputSchema, execute: take }),
};

/** What a tool receives when the model sends each of these arguments. */
async function receivedBy(taker: Taker, inputSchema: JsonObject, sent: readonly JsonObject[]): Promise<unknown> {
  const seen: JsonObject[] = [];
  const provider = taker(inputSchema, (args) => void seen.push(args));
  const calls = sent.map((args, index) => ({ id: `c${index}`, name: "t", arguments: args }));
  await using agents = await testAgent({
    script: [toolCallsResponse(...calls), stopResponse("done")],
    providers: [provider],
    config: { coerceArguments: true, toolExecution: "sequential" },
  });
  await agents.agent.runTurn("go");
  return seen;
}

/** The results the model reads when tools return or throw these, as one round of parallel calls. */
async function results(...tools: readonly (() => unknown)[]): Promise<readonly ToolMessage[]> {
  const providers = tools.map((run, index) =>
    defineTool({ name: `t${index}`, description: "Runs.", parameters: Type.Object({}), execute: () => run() as Json }),
  );
  const calls = tools.map((_, index) => ({ id: `c${index}`, name: `t${index}`, arguments: {} }));
  await using agents = await testAgent({
    script: [toolCallsResponse(...calls), stopResponse("done"), stopResponse("next")],
    providers,
  });
  const { finalSessionId } = await agents.agent.runTurn("go");
  await agents.agent.runTurn("next", finalSessionId);
  const stored = JSON.parse(JSON.stringify(await agents.agent.session(finalSessionId))) as { messages: unknown[] };
  const request = agents.model.requests.at(-1);
  const sent = (request?.messages ?? []).filter((message) => message.role === "tool");
  expect(stored.messages).toEqual(
    expect.arrayContaining(sent.map((message) => JSON.parse(JSON.stringify(message)) as unknown)),
  );
  return sent;
}

const textsOf = (messages: readonly ToolMessage[]): readonly string[] =>
  messages.map(({ content, structured }) => (content.length > 0 ? contentText(content) : JSON.stringify(structured)));

describe.each(Object.entries(takers))("arguments of %s", (_kind, taker) => {
  const received = (inputSchema: JsonObject, ...sent: readonly JsonObject[]): Promise<unknown> =>
    receivedBy(taker, inputSchema, sent);

  test("F113: numbers and booleans sent as text arrive as what they spell", async () => {
    const schema = properties(
      { n: { type: "integer" }, f: { type: "number" }, b: { type: "boolean" } },
      { required: ["n"] },
    );
    expect(await received(schema, { n: "5", f: "2.5", b: "false" })).toEqual([{ n: 5, f: 2.5, b: false }]);
  });

  test("F115: lists and objects sent as JSON text arrive as such, what is nested too", async () => {
    const schema = properties({
      tags: { type: "array", items: { type: "string" } },
      opt: properties({ k: { type: "integer" } }),
    });
    expect(await received(schema, { tags: '["a","b"]', opt: '{"k":"3"}' })).toEqual([
      { tags: ["a", "b"], opt: { k: 3 } },
    ]);
  });

  test("F117: text for a text parameter is never parsed", async () => {
    const sent = ["[1,2]", '{"a":1}', "42", "true", "null"].map((s) => ({ s }));
    expect(await received(properties({ s: { type: "string" } }), ...sent)).toEqual(sent);
  });

  test("F118: what fits one branch of a union already is not converted for another", async () => {
    const schema = properties({
      id: { type: ["integer", "string"] },
      id2: { anyOf: [{ type: "number" }, { type: "string" }] },
    });
    expect(await received(schema, { id: "0042", id2: "09" })).toEqual([{ id: "0042", id2: "09" }]);
  });

  test("F087: a reference gives its property a type and a default", async () => {
    const schema = properties(
      { size: { $ref: "#/$defs/K", default: "big" } },
      { $defs: { K: { type: "string", enum: ["small", "big"] } } },
    );
    expect(await received(schema, {}, { size: "small" }, { size: null })).toEqual([
      { size: "big" },
      { size: "small" },
      { size: "big" },
    ]);
  });

  test("F120: a call without arguments runs the tool with none", async () => {
    expect(await received(properties({ limit: { type: "integer" } }), {})).toEqual([{}]);
  });
});

describe("results", () => {
  test("F107: whatever is thrown becomes an error result that says what it was", async () => {
    const thrown = ["plain", { code: 7, message: "obj" }, undefined, null, new Map([["k", 1n]])];
    const throwing = thrown.map((value) => () => {
      throw value;
    });
    const messages = await results(...throwing, () => Promise.reject(Object.assign(new Error("late"), { code: 7 })));
    expect(messages.map((message) => message.isError)).toEqual(Array(6).fill(true));
    const texts = textsOf(messages);
    for (const [index, word] of ["plain", "obj", "undefined", "null", '"k":"1"', "late"].entries()) {
      expect(texts[index]).toContain(word);
      expect(texts[index]).not.toContain("[object Object]");
    }
  });

  test("F122: big integers become text with every digit", async () => {
    const [text] = textsOf(await results(() => ({ total: 98765432109876543210n, parts: [7n] })));
    expect(text).toContain("98765432109876543210");
    expect(text).toContain('"7"');
  });

  test("F123: a cycle is marked, a shared object is not", async () => {
    const cyclic: Record<string, unknown> = { name: "x" };
    cyclic["self"] = cyclic;
    const shared = { a: 1 };
    const texts = textsOf(
      await results(
        () => cyclic,
        () => ({ one: shared, two: shared }),
      ),
    );
    expect(texts).toEqual(['{"name":"x","self":"[circular]"}', '{"one":{"a":1},"two":{"a":1}}']);
  });

  test("F125: text is never cut inside a pair of surrogates", async () => {
    const limit = 256 * 1024;
    const around = [-66, -65, -64, -63, -4, -3, -2, -1, 0, 1, 2].map((offset) => limit + offset);
    const tools = around.map((length) => () => `${"a".repeat(length - 1)}🔥${"b".repeat(50)}`);
    for (const text of textsOf(await results(...tools))) {
      expect(text.isWellFormed()).toBe(true);
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(limit);
    }
  });

  test("F127: a huge result is cut to the limit and says so, and the next turn goes on", async () => {
    const [text] = textsOf(await results(() => "x".repeat(12_000_000)));
    expect(Buffer.byteLength(text ?? "")).toBeLessThanOrEqual(256 * 1024);
    expect(text).toMatch(/truncated: \d+ more characters left out/);
  });

  test("F128: a huge object becomes cut text inside one whole stored result", async () => {
    const rows = Array.from({ length: 5_000 }, (_, id) => ({ id, text: "y".repeat(80) }));
    const messages = await results(() => ({ rows }));
    expect(messages).toHaveLength(1);
    expect(messages[0]?.structured).toBeUndefined();
    expect(Buffer.byteLength(textsOf(messages)[0] ?? "")).toBeLessThanOrEqual(256 * 1024);
  });
});

test("F127: a huge result that is offloaded leaves a beginning, and the rest within reach in the next turn", async () => {
  const huge = `${"x".repeat(11_999_990)}the needle`;
  const tool = defineTool({ name: "huge", description: "Gives.", parameters: Type.Object({}), execute: () => huge });
  await using agents = await testAgent({
    providers: [offloadResults(tool, { store: new InMemoryResultStore() })],
    script: [toolCallsResponse({ id: "c1", name: "huge", arguments: {} }), stopResponse("long")],
  });
  const { toolResults, exchanges, finalSessionId } = await agents.agent.runTurn("go");
  const [shown = ""] = textsOf(toolResults);
  expect(Buffer.byteLength(shown)).toBeLessThanOrEqual(16 * 1024);
  const rest = { id: exchanges[0]?.executionId ?? "", offset: 11_999_990 };
  agents.model.push(toolCallsResponse({ id: "c2", name: "read_result", arguments: rest }), stopResponse("found"));
  const next = await agents.agent.runTurn("next", finalSessionId);
  expect(textsOf(next.toolResults)).toEqual(["the needle\n[11999990 to 12000000 of 12000000: the end]"]);
});

test("a chain that changes a result and stops the turn at once does both", async () => {
  const redact = defineHook("redact", {
    afterTool: (_stage, context) => context.patch({ content: [{ type: "text", text: "redacted" }] }),
  });
  const enough = defineHook("enough", { afterTool: (_stage, context) => context.stop("enough") });
  const leak = defineTool({
    name: "leak",
    description: "Leaks.",
    parameters: Type.Object({}),
    execute: () => "secret",
  });
  await using agents = await testAgent({
    script: [toolCallsResponse({ id: "c1", name: "leak", arguments: {} })],
    providers: [leak],
    hooks: [hookChain("chain", [redact, enough])],
  });
  const { status, messages } = await agents.agent.runTurn("go");
  expect(status).toBe("stopped");
  expect(JSON.stringify(messages)).toContain("redacted");
  expect(JSON.stringify(messages)).not.toContain("secret");
});
