import type { AgentMessage, ToolMessage, ToolProvider } from "ennead";
import { stopResponse, testAgent, type TestAgent, testRuntime, toolCallResponse, toolOutcome } from "ennead/testkit";
import { AnthropicModel } from "ennead/models/anthropic";
import { defineTool, ToolRegistry, Type } from "ennead/tools";
import { composite } from "ennead/tools/combinators";
import type { McpToolProvider, McpServer } from "ennead/tools/mcp";
import { describe, expect, test } from "vitest";
import { call, end, start, text } from "../adapters/models/anthropic-wire.js";
import { loopback } from "../adapters/models/loopback.js";
import { hostile, type Hostility, named, started, type Started } from "../support/hostile-mcp.js";

/** An agent that calls these tools, one a round, and then says "done". */
async function agentOf(mcp: McpToolProvider, calls: readonly (readonly [string, object?])[]): Promise<TestAgent> {
  const script = calls.map(([name, args], index) => toolCallResponse(name, `c${index}`, (args ?? {}) as never));
  return testAgent({ script: [...script, stopResponse("done")], providers: [mcp], lifecycles: [mcp] });
}

const results = (messages: readonly AgentMessage[]): readonly ToolMessage[] =>
  messages.filter((message) => message.role === "tool");

const texts = (messages: readonly AgentMessage[]): readonly string[] =>
  results(messages).map(({ content }) => content.map((part) => (part.type === "text" ? part.text : "")).join(""));

const serving = async (how: Hostility, rest: Partial<McpServer> = {}, more: object = {}): Promise<Started> =>
  await started({ servers: { s: { ...hostile(how), ...rest } as McpServer }, ...more });

describe("MCP in the field", () => {
  test("F180: a server that dies during a call fails it at once, and the next call has a new server", async () => {
    await using s = await serving({ tools: named("die", "f") });
    await using t = await agentOf(s.mcp, [["s__die"], ["s__f"]]);
    const turn = await t.agent.runTurn("go");
    const [exchange] = t.observer.events.flatMap((event) => (event.type === "toolCallResult" ? [event.exchange] : []));
    expect(exchange?.outcome).toBe("unknown");
    expect(turn).toMatchObject({ status: "completed", text: "done" });
    const [first, second] = results(turn.messages);
    expect(first).toMatchObject({ isError: true });
    expect(texts(turn.messages)[0]).toMatch(/went away during the call/);
    expect(second).toMatchObject({ isError: false, content: [{ type: "text", text: "called f" }] });
    await s.text("s__die");
  });

  test("F182: a server that cannot list is reported, and hides nobody else's tools; all are ended", async () => {
    const servers = {
      a: hostile({ listError: -32603 }),
      b: hostile({ tools: named("x") }),
      c: hostile({ tools: named("y") }),
    };
    await using s = await started({ servers });
    expect(await s.names()).toEqual(["b__x", "c__y"]);
    expect(await s.event("failed")).toEqual({ type: "failed", server: "a", reason: "cannot list" });
    await s.mcp.onShutdown();
    expect(await s.text("b__x")).toMatch(/is closed/);
  });

  test("F184: a cursor that never advances ends the listing, with each tool once", async () => {
    await using s = await serving({ pages: "same-cursor", tools: named("a", "log") });
    expect(await s.names()).toEqual(["s__a", "s__log"]);
    expect((await s.text("s__log")).match(/"tools\/list"/g)).toHaveLength(2);
  });

  test("F185: a list that changes during a turn counts from the next request on", async () => {
    await using s = await serving({ tools: named("open", "gone") });
    await using t = await agentOf(s.mcp, [["s__open"], ["s__extra"], ["s__gone"]]);
    const turn = await t.agent.runTurn("go");
    const offered = t.model.requests.map(({ tools }) => tools.map(({ name }) => name));
    expect(offered[0]).toEqual(["s__open", "s__gone"]);
    expect(offered[1]).toEqual(["s__open", "s__extra"]);
    expect(texts(turn.messages)).toEqual([
      "opened",
      "called extra",
      "ToolError(unknown-tool): there is no tool named s__gone",
    ]);
  });

  test("F187: tools of one name on two servers, and a local one, are three tools", async () => {
    const tools = named("query");
    const servers = { s1: hostile({ tools, says: "one" }), s2: hostile({ tools, says: "two" }) };
    await using s = await started({ servers });
    const script = ["s1__query", "s2__query", "query"].map((name, index) => toolCallResponse(name, `c${index}`, {}));
    await using t = await testAgent({
      script: [...script, stopResponse("done")],
      tools: { query: toolOutcome.ok("local") },
      providers: [s.mcp],
    });
    const turn = await t.agent.runTurn("go");
    expect(texts(turn.messages)).toEqual(["one query", "two query", "local"]);
  });

  describe("F187: a server that takes the name of a local tool in the middle of a turn", () => {
    const open = async (tools: (mcp: McpToolProvider, own: ToolRegistry) => readonly ToolProvider[]) => {
      const stack = new AsyncDisposableStack();
      const s = stack.use(await serving({ tools: named("open") }));
      const extra = defineTool({
        name: "s__extra",
        description: "Is our own.",
        parameters: Type.Object({}),
        execute: () => "local",
      });
      const script = [
        toolCallResponse("s__open", "c0", {}),
        toolCallResponse("s__extra", "c1", {}),
        stopResponse("done"),
      ];
      const t = stack.use(await testAgent({ script, providers: tools(s.mcp, new ToolRegistry([extra], "own")) }));
      return { ...t, [Symbol.asyncDispose]: () => stack.disposeAsync() };
    };

    test("ends the turn, which says where both come from", async () => {
      await using t = await open((mcp, own) => [own, mcp]);
      await expect(t.agent.runTurn("go")).rejects.toMatchObject({
        name: "AgentError",
        cause: { kind: "tool-collision", message: expect.stringContaining("s__extra comes from own and s") as string },
      });
    });

    test("leaves it its name where local ones come first", async () => {
      await using t = await open((mcp, own) => [composite([own, mcp], { sameName: "first-wins" })]);
      expect(texts((await t.agent.runTurn("go")).messages)).toEqual(["opened", "local"]);
    });
  });

  test("F189: structured content without text is what the model reads", async () => {
    const turn = await answered({ content: [], structuredContent: { rows: [1, 2] } });
    expect(turn.sent).toEqual([{ type: "text", text: '{"rows":[1,2]}' }]);
    expect(turn.isError).toBe(false);
  });

  test("F190: structured content beside its text is sent once, and is there for code", async () => {
    const content = [{ type: "text", text: '{"rows":[1]}' }];
    const turn = await answered({ content, structuredContent: { rows: [1] } });
    expect(turn.sent).toEqual(content);
    expect(turn.structured).toEqual({ rows: [1] });
  });

  test("F192: pictures and resources arrive as what they are, and other blocks as a note", async () => {
    const turn = await answered({
      content: [
        { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" },
        { type: "resource", resource: { uri: "mem://1", text: "body" } },
        { type: "hologram", x: 1 },
      ],
    });
    expect(turn.sent).toEqual([
      { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" } },
      { type: "text", text: "[mem://1]\nbody" },
      { type: "text", text: "[the tool returned content of the type hologram, which is not supported]" },
    ]);
  });

  describe("F194: progress", () => {
    const slow = async (limits: Partial<McpServer>) => {
      const runtime = testRuntime();
      const s = await serving({ tools: named("wait", "poke", "log") }, limits, { runtime });
      const seen: unknown[] = [];
      const waiting = s.text("s__wait", {}, { progress: (partial) => void seen.push(partial) });
      const step = async (count: number): Promise<void> => {
        for (let nth = 1; nth <= count; nth++) {
          await s.text("s__poke", { step: nth });
          await runtime.advance(100);
        }
      };
      return { s, runtime, seen, waiting, step };
    };

    test("extends the time of a call, which carries a token for it", async () => {
      const { s, seen, waiting, step } = await slow({ timeoutMs: 300 });
      await using _ = s;
      await step(9);
      await s.text("s__poke");
      expect(await waiting).toBe("waited");
      expect(seen).toHaveLength(9);
      expect(seen[0]).toEqual({ progress: 1 });
      expect(await s.text("s__log")).toMatch(/"name":"wait"[^}]*\},"_meta":\{"progressToken":\d+\}/);
    });

    test("does not extend it beyond the whole, and an answer that comes later is ignored", async () => {
      const { s, seen, waiting, step } = await slow({ timeoutMs: 300, maxTotalTimeoutMs: 500 });
      await using _ = s;
      await step(5);
      expect(await waiting).toBe('ToolError(timeout): the call to server "s" took too long');
      await step(1);
      await s.text("s__poke");
      expect(seen).toHaveLength(5);
      expect(await s.text("s__log")).toContain("notifications/cancelled");
      expect(s.events.filter(({ type }) => type !== "connected")).toEqual([]);
    });

    test("that does not come lets the call end after the silence", async () => {
      const { s, runtime, waiting, step } = await slow({ timeoutMs: 300 });
      await using _ = s;
      await step(1);
      let settled = false;
      void waiting.then(() => (settled = true));
      await runtime.advance(199);
      expect(settled).toBe(false);
      await runtime.advance(1);
      expect(await waiting).toBe('ToolError(timeout): server "s" was silent for too long');
    });
  });

  test("F195: an abort cancels its own call only, on a server that stays", async () => {
    await using s = await serving({ tools: named("hang", "pid", "log") });
    await using t = await testAgent({
      script: [toolCallResponse("s__hang", "c1", {}), toolCallResponse("s__log", "c2", {}), stopResponse("done")],
      providers: [s.mcp],
    });
    const pid = await s.text("s__pid");
    const turn = t.agent.startTurn("go", "s1");
    turn.subscribe((event) => {
      if (event.type === "toolCallStarted") setImmediate(() => turn.abort("private reason"));
    });
    expect(await turn.result).toMatchObject({ status: "aborted" });
    const next = await t.agent.runTurn("again", "s1");
    const log = texts(next.messages).join("");
    expect(log).toContain("notifications/cancelled");
    expect(log).not.toContain("private reason");
    expect(await s.text("s__pid")).toBe(pid);
  });
});

/** What a model on the messages wire is sent for an answer of a server, and what code sees of it. */
async function answered(result: object) {
  await using server = await loopback((response, _, nth) => {
    response.end(start() + (nth === 0 ? call(0, "c1", "s__odd", "{}") + end("tool_use") : text(0, "done") + end()));
  });
  await using s = await serving({ tools: named("odd"), results: { odd: result } });
  const model = new AnthropicModel({ model: "m1", baseUrl: server.baseUrl, cache: "off" });
  await using t = await testAgent({ model, providers: [s.mcp] });
  const turn = await t.agent.runTurn("go");
  const [message] = results(turn.messages);
  const sent = server.requests[1]?.body["messages"] as readonly { content: readonly { content: unknown }[] }[];
  return { sent: sent.at(-1)?.content[0]?.content, isError: message?.isError, structured: message?.structured };
}
