import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { AnthropicModel } from "../../src/adapters/models/anthropic.js";
import { SqliteSessionStore } from "../../src/adapters/sessions/sqlite.js";
import { AgentError } from "../../src/domain/errors.js";
import type { AgentMessage } from "../../src/domain/message.js";
import { okResult } from "../../src/domain/tool.js";
import type { TurnResult } from "../../src/domain/turn-result.js";
import { testAgent, toolOutcome, type ToolStep } from "../../src/testkit/index.js";
import { refusals } from "../adapters/models/anthropic-law.js";
import { call, end, sse, start, text } from "../adapters/models/anthropic-wire.js";
import { loopback, type SeenRequest } from "../adapters/models/loopback.js";
import { fieldBody } from "./anthropic-bodies.js";

type Told = {
  readonly result: TurnResult | AgentError;
  readonly executed: readonly (readonly [name: string, args: unknown])[];
  readonly requests: readonly SeenRequest[];
  readonly stored: readonly AgentMessage[];
};

type Sent = { readonly role: string; readonly content: readonly { readonly [key: string]: unknown }[] };

/** One turn whose first model call is answered with `body`, every later one with "done"; each request must be a legal one. */
async function told(body: string, tools: Readonly<Record<string, ToolStep>> = {}): Promise<Told> {
  await using server = await loopback((response, _, nth) => {
    response.end(nth === 0 ? body : start() + text(0, "done") + end());
  });
  const model = new AnthropicModel({ model: "m1", baseUrl: server.baseUrl, cache: "off" });
  const ok = toolOutcome.ok("ok");
  await using t = await testAgent({ model, tools: { now: ok, look: ok, f: ok, write: ok, rm_all: ok, ...tools } });
  const result = await t.agent.runTurn("hi", "s1").catch((error: unknown) => {
    if (error instanceof AgentError) return error;
    throw error;
  });
  for (const request of server.requests) expect(refusals(request.body)).toEqual([]);
  return {
    result,
    executed: t.tools.execRecords.map((record) => [record.toolName, record.arguments]),
    requests: server.requests,
    stored: (await t.agent.session("s1")).messages,
  };
}

const sent = (request: SeenRequest | undefined): readonly Sent[] => request?.body["messages"] as readonly Sent[];
const completed = { status: "completed", text: "done", rounds: 2 };
const result = (id: string, ...fields: readonly object[]): unknown => ({
  role: "user",
  content: [
    Object.assign({ type: "tool_result", tool_use_id: id, content: [{ type: "text", text: "ok" }] }, ...fields),
  ],
});

describe("a turn of an agent over the messages wire", () => {
  it.each<[string, readonly (readonly [string, unknown])[]]>([
    ["F026", [["look", { q: "z" }]]],
    ["F044", [["now", {}]]],
    ["F077", [["f", {}]]],
    ["F080", [["f", {}]]],
  ])("%s: runs the call once, with its arguments, and goes on", async (id, executed) => {
    const turn = await told(fieldBody(id));
    expect(turn.executed).toEqual(executed);
    expect(turn.result).toMatchObject(completed);
    expect(sent(turn.requests[1])).toHaveLength(3);
  });

  it("F013: fails where the stream ends without a stop, and stores what was said", async () => {
    const turn = await told(fieldBody("F013"));
    expect(turn.result).toMatchObject({ kind: "model", cause: { kind: "response-parse" } });
    expect(turn.stored.at(-1)).toMatchObject({ stopped: "error", parts: [{ type: "text", text: "Half" }] });
  });

  it("F053: ends where the reply says tool use and holds none", async () => {
    const turn = await told(fieldBody("F053"));
    expect(turn.requests).toHaveLength(1);
    expect(turn.result).toMatchObject({ status: "completed", text: "" });
  });

  it("F077: sends thinking back signed, in front of the call it led to", async () => {
    const turn = await told(fieldBody("F077"));
    expect(sent(turn.requests[1])[1]?.content).toEqual([
      { type: "thinking", thinking: "hm", signature: "SIG-A" },
      { type: "tool_use", id: "tu_1", name: "f", input: {} },
    ]);
    expect(sent(turn.requests[1])[2]).toEqual(result("tu_1"));
  });

  it("F077: does so from a session that was closed and opened again", async () => {
    const directory = mkdtempSync(join(tmpdir(), "ennead-anthropic-"));
    await using server = await loopback((response, _, nth) => {
      response.end(nth === 0 ? fieldBody("F077") : start() + text(0, "done") + end());
    });
    for (const input of ["hi", "again"]) {
      const model = new AnthropicModel({ model: "m1", baseUrl: server.baseUrl });
      const store = new SqliteSessionStore({ path: join(directory, "sessions.db") });
      await using t = await testAgent({ model, sessions: [store], tools: { f: toolOutcome.ok("ok") } });
      await t.agent.runTurn(input, "s1", { turnId: `turn ${input}` });
      await store.close();
    }
    rmSync(directory, { recursive: true });
    expect(server.requests).toHaveLength(3);
    expect(sent(server.requests[2])[1]?.content[0]).toEqual({ type: "thinking", thinking: "hm", signature: "SIG-A" });
    expect(refusals(server.requests[2]?.body)).toEqual([]);
  });

  it("F026: a block that began in front of a call goes back in front of it, whichever speaks first", async () => {
    const opened = (index: number, content_block: object): string =>
      sse("content_block_start", { index, content_block });
    const piece = (index: number, delta: object): string => sse("content_block_delta", { index, delta });
    const found = { type: "web_search_tool_result", tool_use_id: "s1", content: [] };
    const turn = await told(
      start() +
        opened(0, { type: "thinking", thinking: "", signature: "" }) +
        opened(1, { type: "server_tool_use", id: "s1", name: "web_search", input: {} }) +
        opened(2, found) +
        opened(3, { type: "text", text: "" }) +
        opened(4, { type: "tool_use", id: "t1", name: "f", input: {} }) +
        piece(4, { type: "input_json_delta", partial_json: '{"a":1}' }) +
        piece(3, { type: "text_delta", text: "Let me look." }) +
        piece(1, { type: "input_json_delta", partial_json: '{"query":"z"}' }) +
        piece(0, { type: "thinking_delta", thinking: "hm" }) +
        piece(0, { type: "signature_delta", signature: "SIG-B" }) +
        [4, 3, 2, 1, 0].map((index) => sse("content_block_stop", { index })).join("") +
        end("tool_use"),
    );
    expect(sent(turn.requests[1])[1]?.content).toEqual([
      { type: "thinking", thinking: "hm", signature: "SIG-B" },
      { type: "server_tool_use", id: "s1", name: "web_search", input: { query: "z" } },
      found,
      { type: "text", text: "Let me look." },
      { type: "tool_use", id: "t1", name: "f", input: { a: 1 } },
    ]);
  });

  it("F080: sends a signature without text back first", async () => {
    const turn = await told(fieldBody("F080"));
    expect(sent(turn.requests[1])[1]?.content[0]).toEqual({ type: "thinking", thinking: "", signature: "ONLY" });
  });

  it("F080: sends redacted thinking back in its place", async () => {
    const block = { type: "redacted_thinking", data: "CIPHER" };
    const opened = `data: ${JSON.stringify({ type: "content_block_start", index: 0, content_block: block })}\n\n`;
    const turn = await told(start() + opened + call(1, "t1", "f") + end("tool_use"));
    expect(sent(turn.requests[1])[1]?.content[0]).toEqual(block);
  });

  it("F171: tells a refusal without text, does not ask again, and sends no empty reply afterwards", async () => {
    await using server = await loopback((response, _, nth) => {
      response.end(nth === 0 ? fieldBody("F171") : start() + text(0, "done") + end());
    });
    const model = new AnthropicModel({ model: "m1", baseUrl: server.baseUrl });
    await using t = await testAgent({ model });
    expect(await t.agent.runTurn("hi", "s1")).toMatchObject({ message: { finishReason: "refusal" }, rounds: 1 });
    expect(server.requests).toHaveLength(1);
    await t.agent.runTurn("please", "s1");
    expect(sent(server.requests[1])).toMatchObject([
      { role: "user", content: [{ text: "hi" }, { text: "please", cache_control: { type: "ephemeral" } }] },
    ]);
  });

  it("F192: sends an image of a result inside the result", async () => {
    const image = { type: "image", source: { base64: "iVBORw0KGgo=" }, mimeType: "image/png" } as const;
    const body = { type: "text", text: "body" } as const;
    const turn = await told(start() + call(0, "t1", "f") + end("tool_use"), {
      f: toolOutcome.ok(okResult([image, body])),
    });
    const source = { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" };
    expect(sent(turn.requests[1])[2]).toEqual(result("t1", { content: [{ type: "image", source }, body] }));
  });

  it("answers a broken call with an error instead of running it", async () => {
    const turn = await told(start() + call(0, "t1", "rm_all", '{"a":') + end("tool_use"));
    expect(turn.executed).toEqual([]);
    expect(turn.result).toMatchObject(completed);
    expect(sent(turn.requests[1])[1]?.content).toEqual([{ type: "tool_use", id: "t1", name: "rm_all", input: {} }]);
    expect(sent(turn.requests[1])[2]?.content[0]).toMatchObject({ tool_use_id: "t1", is_error: true });
    expect(JSON.stringify(sent(turn.requests[1])[2])).toMatch(/JSON/);
  });

  it("runs no call of a reply that hit the output limit", async () => {
    const turn = await told(start() + call(0, "t1", "write", '{"a":1}') + end("max_tokens"));
    expect(turn.executed).toEqual([]);
    expect(JSON.stringify(sent(turn.requests[1])[2])).toMatch(/output limit/i);
  });

  it("runs two calls of one id, and gives each an id of its own", async () => {
    const turn = await told(
      start() + call(0, "dup", "f", '{"n":1}') + call(1, "dup", "f", '{"n":2}') + end("tool_use"),
    );
    expect(turn.executed).toEqual([
      ["f", { n: 1 }],
      ["f", { n: 2 }],
    ]);
    expect(turn.result).toMatchObject(completed);
  });

  it("stores no half call of a stream that broke off", async () => {
    const turn = await told(start() + call(0, "t1", "f", '{"a":').replace(/event: content_block_stop.*/s, ""));
    expect(turn.executed).toEqual([]);
    expect(turn.result).toMatchObject({ kind: "model", cause: { kind: "response-parse" } });
    expect(JSON.stringify(turn.stored)).not.toContain("toolCall");
  });
});
