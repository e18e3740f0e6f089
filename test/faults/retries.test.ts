import { describe, expect, it } from "vitest";
import { fallback, retrying, timeouts } from "../../src/adapters/models/decorators.js";
import { OpenAiChatModel } from "../../src/adapters/models/openai-chat.js";
import { proxyHandler, proxyModel } from "../../src/adapters/models/proxy.js";
import { isMessage, textOf } from "../../src/domain/message.js";
import type { ModelPort } from "../../src/ports/model.js";
import { testAgent, type TestAgent, toolOutcome } from "../../src/testkit/index.js";
import { delta, DONE, event, type Loopback, loopback, SSE, STOP } from "../adapters/models/loopback.js";
import { webServer } from "../adapters/models/web-server.js";

const QUICK = { baseDelayMs: 0 } as const;

/** The nth request gets the nth body; each but the last is cut off after it. */
function cutting(...bodies: readonly string[]): Promise<Loopback> {
  return loopback((response, _request, nth) => {
    response.writeHead(200, SSE);
    response.write(bodies[Math.min(nth, bodies.length - 1)] as string, () => {
      if (nth < bodies.length - 1) response.destroy();
      else response.end();
    });
  });
}

const wire = ({ baseUrl }: Loopback): ModelPort => new OpenAiChatModel({ model: "m", baseUrl });

/** What a reader of the text sees who starts over at each reset. */
async function shown(agent: TestAgent, input: string) {
  let text = "";
  const turn = agent.agent.startTurn(input, "s1");
  turn.subscribe((one) => {
    if (one.type !== "streamChunk") return;
    if (one.chunk.type === "reset") text = "";
    if (one.chunk.type === "textDelta") text += one.chunk.text;
  });
  const result = await turn.result;
  const { messages } = await agent.agent.session("s1");
  return { text, result, stored: messages.filter(isMessage).map((message) => textOf(message)) };
}

describe("a turn whose model is tried again", () => {
  const attempts = () =>
    cutting(
      delta({ content: "First, " }),
      delta({ content: "First, " }) + delta({ content: "boil water" }) + STOP + DONE,
    );

  it("F176: shows and stores the text of the last attempt once, and counts one model call", async () => {
    await using server = await attempts();
    await using agent = await testAgent({ model: retrying(wire(server), { ...QUICK, afterOutput: "reset" }) });
    const { text, result, stored } = await shown(agent, "how?");
    expect([text, result.text]).toEqual(["First, boil water", "First, boil water"]);
    expect(stored).toEqual(["how?", "First, boil water"]);
    const { metadata } = await agent.agent.session("s1");
    expect(metadata["ennead.usage"]).toMatchObject({ turn: { modelCalls: 1 } });
    expect(server.requests).toHaveLength(2);
  });

  it("F176: is not tried again after output began unless asked to", async () => {
    await using server = await attempts();
    await using agent = await testAgent({ model: retrying(wire(server), QUICK) });
    await expect(agent.agent.runTurn("how?", "s1")).rejects.toMatchObject({
      kind: "model",
      cause: { kind: "transport" },
    });
    const { messages } = await agent.agent.session("s1");
    expect(messages.at(-1)).toMatchObject({ stopped: "error", parts: [{ type: "text", text: "First, " }] });
    expect(server.requests).toHaveLength(1);
  });

  it("F177: runs the call of the last attempt once, and no half call of an earlier one", async () => {
    const call = (id: string, args: string) =>
      delta({ tool_calls: [{ index: 0, id, type: "function", function: { name: "f", arguments: args } }] });
    await using server = await loopback((response, _request, nth) => {
      response.writeHead(200, SSE);
      if (nth === 0) response.write(call("c1", '{"a":'), () => response.destroy());
      else if (nth === 1) response.end(call("c2", '{"a":1}') + delta({}, "tool_calls") + DONE);
      else response.end(delta({ content: "done" }) + STOP + DONE);
    });
    const model = retrying(wire(server), { ...QUICK, afterOutput: "reset" });
    await using agent = await testAgent({ model, tools: { f: toolOutcome.ok("ok") } });
    const result = await agent.agent.runTurn("go", "s1");
    expect(result.text).toBe("done");
    expect(agent.tools.execRecords.map(({ callId, arguments: args }) => [callId, args])).toEqual([["c2", { a: 1 }]]);
    expect(JSON.stringify(await agent.agent.session("s1"))).not.toContain("c1");
  });

  it("counts the tokens of failed attempts", async () => {
    const used = event({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 } });
    await using server = await cutting(used + delta({ content: "a" }), delta({ content: "b" }) + STOP + used + DONE);
    await using agent = await testAgent({ model: retrying(wire(server), { ...QUICK, afterOutput: "reset" }) });
    const { usage } = await agent.agent.runTurn("go");
    expect(usage).toMatchObject({ inputTokens: 10, outputTokens: 2, totalTokens: 12 });
  });

  it("F179: a provider that stalls is left for the next one", async () => {
    await using stalled = await loopback((response) => {
      response.writeHead(200, SSE).write(delta({ reasoning_content: "hm" }));
    });
    await using server = await cutting(delta({ content: "done" }) + STOP + DONE);
    const model = fallback([timeouts(wire(stalled), { idleTimeoutMs: 30 }), wire(server)], { afterOutput: "reset" });
    await using agent = await testAgent({ model });
    const { text, stored } = await shown(agent, "go");
    expect([text, ...stored]).toEqual(["done", "go", "done"]);
    await stalled.closed;
  });

  it("F176 through a proxy: the browser's agent shows and stores the text once", async () => {
    await using server = await attempts();
    await using proxy = await webServer(
      proxyHandler({ model: retrying(wire(server), { ...QUICK, afterOutput: "reset" }), authorize: () => true }),
    );
    await using agent = await testAgent({ model: proxyModel({ proxyUrl: proxy.url, authToken: "t" }) });
    const { text, stored } = await shown(agent, "how?");
    expect([text, ...stored]).toEqual(["First, boil water", "how?", "First, boil water"]);
  });

  it("aborts through a proxy: the provider's connection is closed and what came is stored", async () => {
    await using server = await loopback((response) => {
      response.writeHead(200, SSE).write(delta({ content: "Half" }));
    });
    await using proxy = await webServer(proxyHandler({ model: wire(server), authorize: () => true }));
    await using agent = await testAgent({ model: proxyModel({ proxyUrl: proxy.url, authToken: "t" }) });
    const turn = agent.agent.startTurn("go", "s1");
    turn.subscribe((one) => {
      if (one.type === "streamChunk") turn.abort("enough");
    });
    expect((await turn.result).status).toBe("aborted");
    await server.closed;
    expect((await agent.agent.session("s1")).messages.at(-1)).toMatchObject({
      stopped: "aborted",
      parts: [{ type: "text", text: "Half" }],
    });
  });
});
