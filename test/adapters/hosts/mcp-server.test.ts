import { once } from "node:events";
import { PassThrough } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Agent, type AgentApi, CompositionError, defineHook, type Json, type PipelineHook, type ToolDef } from "ennead";
import { approval } from "ennead/hooks/approval";
import { type AgentMcpServer, mcpServer } from "ennead/hosts/mcp-server";
import { MemorySessionStore } from "ennead/sessions/memory";
import { RecordingHook, ScriptedModel } from "ennead/testkit";
import { defineTool, Type } from "ennead/tools";
import { describe, expect, test } from "vitest";
import { childPrograms } from "../../support/child-programs.js";
import { started, textOf } from "../../support/hostile-mcp.js";
import { add, served, tool } from "../../support/mcp-served.js";

/** The SDK's own client, connected. */
async function connected(url: string, headers: Record<string, string> = {}, mode: "legacy" | "auto" = "legacy") {
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
}

describe("an agent as an MCP server", () => {
  test.each(["legacy", "auto"] as const)("offers its tools to the SDK's client (%s negotiation)", async (mode) => {
    await using s = await served();
    await using client = await connected(s.url, {}, mode);
    const { tools } = await client.listTools();
    expect(tools).toMatchObject([
      {
        name: "add",
        title: "Add",
        description: "Adds two numbers.",
        annotations: { readOnlyHint: true },
        outputSchema: { type: "object" },
      },
    ]);
    expect(await client.callTool({ name: "add", arguments: { a: 1, b: 2 } })).toMatchObject({
      content: [{ type: "text", text: '{"sum":3}' }],
      structuredContent: { sum: 3 },
    });
    expect(s.model.requests).toEqual([]);
  });

  test("tells arguments that do not fit as an error result, and an unknown tool as an error", async () => {
    await using s = await served();
    await using client = await connected(s.url);
    const bad = await client.callTool({ name: "add", arguments: { a: "x" } });
    expect(bad.isError).toBe(true);
    expect(JSON.stringify(bad.content)).toMatch(/\/a.*number/);
    await expect(client.callTool({ name: "sub" })).rejects.toThrow("there is no tool sub");
  });

  test("sends every call through the agent's hooks", async () => {
    const hook = new RecordingHook();
    await using s = await served({ hooks: [hook] });
    await using client = await connected(s.url);
    await client.callTool({ name: "add", arguments: { a: 1, b: 2 } });
    const kinds = hook.records.map(({ stage }) => stage.kind);
    expect(kinds).toEqual(
      expect.arrayContaining(["beforeTurn", "beforeTool", "admitTool", "afterTool", "settleTool", "afterTurn"]),
    );
  });

  test("refuses a call that somebody would have to approve later, and asks where somebody can be asked", async () => {
    await using waiting = await served({ hooks: [approval({ tools: ["add"], reason: "needs approval" })] });
    await using first = await connected(waiting.url);
    const refused = await first.callTool({ name: "add", arguments: { a: 1, b: 2 } });
    expect(refused).toMatchObject({ isError: true, content: [{ text: "The call was not made: needs approval" }] });
    await using asking = await served({
      hooks: [approval({ tools: ["add"], ask: ({ call }) => call.arguments["a"] === 1 })],
    });
    await using second = await connected(asking.url);
    expect(await second.callTool({ name: "add", arguments: { a: 1, b: 2 } })).toMatchObject({
      structuredContent: { sum: 3 },
    });
    expect(await second.callTool({ name: "add", arguments: { a: 2, b: 2 } })).toMatchObject({ isError: true });
  });

  test("leaves nothing of a call in the store, unless it is asked to", async () => {
    await using s = await served();
    await using client = await connected(s.url);
    await client.callTool({ name: "add", arguments: { a: 1, b: 2 } });
    expect((await s.agent.sessions.list()).items).toEqual([]);
    await using keeping = await served({ options: { keepSessions: true } });
    await using other = await connected(keeping.url);
    await other.callTool({ name: "add", arguments: { a: 1, b: 2 } });
    const [kept] = (await keeping.agent.sessions.list()).items;
    expect(kept?.id).toMatch(/^mcp-/);
  });

  test("runs the calls of one client side by side, up to a limit", async () => {
    const gate = Promise.withResolvers<string>();
    let running = 0;
    const both = Promise.withResolvers<void>();
    const hold = tool("hold", () => {
      if ((running += 1) === 2) both.resolve();
      return gate.promise;
    });
    await using s = await served({ tools: [hold], options: { maxCalls: 2 } });
    await using client = await connected(s.url);
    const calls = [client.callTool({ name: "hold" }), client.callTool({ name: "hold" })];
    await both.promise;
    await expect(client.callTool({ name: "hold" })).rejects.toThrow("too many calls at once");
    gate.resolve("held");
    for (const result of await Promise.all(calls)) expect(result.content).toEqual([{ type: "text", text: "held" }]);
  });

  test("passes progress on, growing whatever the tool says", async () => {
    const steps = tool("steps", ({ progress }) => {
      progress("first");
      progress({ progress: 5, total: 9, message: "five" });
      progress({ progress: 2 });
      return "done";
    });
    await using s = await served({ tools: [steps] });
    await using client = await connected(s.url);
    const seen: unknown[] = [];
    await client.callTool({ name: "steps" }, { onprogress: (progress) => void seen.push(progress) });
    expect(seen).toEqual([
      { progress: 1, message: "first" },
      { progress: 5, total: 9, message: "five" },
      { progress: 6 },
    ]);
  });

  test("gives what lacks the structure that was promised as an error, which clients take", async () => {
    const long = defineTool({
      name: "long",
      description: "Is cut.",
      parameters: Type.Object({}),
      output: Type.Object({ text: Type.String() }),
      execute: () => ({ text: "x".repeat(5_000) }),
    });
    const answers = defineHook("answers", {
      beforeTool: ({ call }, context) =>
        call.name === "add" ? context.answer({ content: [{ type: "text", text: "3" }], isError: false }) : undefined,
    });
    await using s = await served({ tools: [long, add], hooks: [answers], config: { maxToolResultBytes: 2_000 } });
    await using client = await connected(s.url);
    await client.listTools();
    const { content, isError } = await client.callTool({ name: "long" });
    expect([isError, JSON.stringify(content)]).toEqual([true, expect.stringContaining("xxx")]);
    expect(await client.callTool({ name: "add", arguments: { a: 1, b: 2 } })).toEqual({
      content: [{ type: "text", text: "3" }],
      isError: true,
    });
  });

  test("aborts the call that a client cancels, and no other", async () => {
    const begun = Promise.withResolvers<void>();
    const aborted = Promise.withResolvers<void>();
    const hang = tool("hang", ({ signal }) => {
      signal.addEventListener("abort", () => aborted.resolve());
      begun.resolve();
      return Promise.withResolvers<never>().promise;
    });
    await using s = await served({ tools: [hang, add] });
    await using client = await connected(s.url);
    const controller = new AbortController();
    const call = client.callTool({ name: "hang" }, { signal: controller.signal });
    await begun.promise;
    controller.abort("enough");
    await expect(call).rejects.toThrow("enough");
    await aborted.promise;
    expect(await client.callTool({ name: "add", arguments: { a: 1, b: 1 } })).toMatchObject({
      structuredContent: { sum: 2 },
    });
  });

  test("tells what a tool throws, and what a hook aborts, as an error result", async () => {
    const broken = tool("broken", () => {
      throw new Error("out of paper");
    });
    const abort: PipelineHook = {
      stages: ["beforeTool"],
      onStage: (stage, context) =>
        stage.kind === "beforeTool" && stage.call.name === "add" ? context.abort("not today") : undefined,
    };
    await using s = await served({ tools: [broken, add], hooks: [abort] });
    await using client = await connected(s.url);
    const thrown = await client.callTool({ name: "broken" });
    expect([thrown.isError, JSON.stringify(thrown.content)]).toEqual([true, expect.stringContaining("out of paper")]);
    expect(await client.callTool({ name: "add", arguments: { a: 1, b: 1 } })).toMatchObject({ isError: true });
    expect(s.errors).toHaveLength(1);
  });

  test("does not mind a listener that fails later", async () => {
    const broken = tool("broken", () => {
      throw new Error("out of paper");
    });
    const told = Promise.withResolvers<void>();
    const onError = async (): Promise<void> => {
      told.resolve();
      await Promise.reject(new Error("the log is full"));
    };
    const abort: PipelineHook = { stages: ["beforeTool"], onStage: (_, context) => context.abort("not today") };
    await using s = await served({ tools: [broken], hooks: [abort], options: { onError: onError as () => void } });
    await using client = await connected(s.url);
    expect(await client.callTool({ name: "broken" })).toMatchObject({ isError: true });
    await told.promise;
  });

  test("tells of tools that come and go", async () => {
    await using s = await served();
    const changed = Promise.withResolvers<void>();
    const client = new Client(
      { name: "test", version: "1" },
      { listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => changed.resolve() } } },
    );
    await client.connect(new StreamableHTTPClientTransport(new URL(s.url)));
    await client.callTool({ name: "add", arguments: { a: 1, b: 2 } });
    s.registry.register(tool("late", () => "late"));
    while ((await client.listTools()).tools.length < 2) s.server.toolsChanged();
    s.server.toolsChanged();
    await changed.promise;
    await client.close();
  });

  test("offers commands as prompts, with typed arguments", async () => {
    await using s = await served();
    await using client = await connected(s.url);
    const { prompts } = await client.listPrompts();
    expect(prompts).toEqual([
      {
        name: "say",
        title: "Say",
        description: "Says it.",
        arguments: [
          { name: "text", description: "What (string)", required: true },
          { name: "times", description: "Times (int)", required: false },
          { name: "tone", description: "Tone (loud | soft)", required: false },
        ],
      },
    ]);
    const said = await client.getPrompt({ name: "say", arguments: { text: "hi", times: "3" } });
    expect(said.messages).toEqual([{ role: "assistant", content: { type: "text", text: "hi x3" } }]);
    const get = (args: Record<string, string>) => client.getPrompt({ name: "say", arguments: args });
    await expect(get({ text: "no" })).rejects.toThrow("it will not say that");
    await expect(get({ text: "hi", times: "many" })).rejects.toThrow(/times/);
    await expect(get({ text: "hi", tone: "shrill" })).rejects.toThrow(/tone/);
    await expect(get({ text: "hi", volume: "1" })).rejects.toThrow("say has no argument volume");
    await expect(client.getPrompt({ name: "shout" })).rejects.toThrow("there is no prompt shout");
  });

  test("offers no more than it is told to", async () => {
    await using s = await served({
      tools: [add, tool("secret", () => "")],
      options: { tools: ({ name }) => name === "add", commands: () => false },
    });
    await using client = await connected(s.url);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["add"]);
    await expect(client.callTool({ name: "secret" })).rejects.toThrow("there is no tool secret");
    expect((await client.listPrompts()).prompts).toEqual([]);
  });

  test.each([async () => false, () => Promise.reject(new Error("no")), () => undefined])(
    "offers nothing where what it is told is neither yes nor no: %o",
    async (answer) => {
      await using s = await served({ options: { tools: answer as never, commands: answer as never } });
      await using client = await connected(s.url);
      await expect(client.listTools()).rejects.toThrow();
      await expect(client.callTool({ name: "add", arguments: { a: 1, b: 2 } })).rejects.toThrow();
      expect(s.model.requests).toEqual([]);
    },
  );

  test("ends its connections and the calls that run, and answers no more", async () => {
    const begun = Promise.withResolvers<void>();
    const aborted = Promise.withResolvers<void>();
    const hang = tool("hang", ({ signal }) => {
      signal.addEventListener("abort", () => aborted.resolve());
      begun.resolve();
      return Promise.withResolvers<never>().promise;
    });
    await using s = await served({ tools: [hang] });
    await using client = await connected(s.url);
    const call = client.callTool({ name: "hang" }).catch(() => "failed");
    await begun.promise;
    await s.server.close();
    await s.server.close();
    await aborted.promise;
    await client.close();
    await call;
    expect((await fetch(s.url, { method: "POST" })).status).toBe(503);
  });

  test("refuses options it does not know", async () => {
    const agent = await Agent.create({ model: new ScriptedModel(), sessions: [new MemorySessionStore()] });
    expect(() => mcpServer(agent, { maxCall: 1 } as never)).toThrow(CompositionError);
    expect(() => mcpServer(agent, { maxCalls: 0 })).toThrow("maxCalls is no number above 0");
    for (const wrong of [{ tools: ["add"] }, { authorize: "ann" }, { allowedHosts: "mcp.example" }, { name: 1 }])
      expect(() => mcpServer(agent, wrong as never)).toThrow(`mcpServer: ${Object.keys(wrong)[0] ?? ""} is no`);
    await agent.shutdown();
  });
});

describe("over HTTP, an agent", () => {
  const initialize = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } },
  });
  const post = (server: AgentMcpServer, headers: Record<string, string>, body = initialize) =>
    server.fetch(
      new Request("http://127.0.0.1/mcp", {
        method: "POST",
        body,
        headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
      }),
    );

  test("is served to hosts and pages of this machine alone, unless others are named", async () => {
    await using s = await served();
    expect((await post(s.server, { host: "evil.example" })).status).toBe(403);
    expect((await post(s.server, { origin: "https://evil.example" })).status).toBe(403);
    expect((await post(s.server, { origin: "http://localhost:8080" })).status).toBe(200);
    await using open = await served({ options: { allowedHosts: ["mcp.example"] } });
    expect((await post(open.server, { host: "mcp.example" })).status).toBe(200);
  });

  test("is served to whom it is meant for, and a session to who began it", async () => {
    const authorize = ({ headers }: Request) => headers.get("authorization")?.replace("Bearer ", "");
    await using s = await served({ options: { authorize } });
    expect((await post(s.server, {})).status).toBe(401);
    const begun = await post(s.server, { authorization: "Bearer ann" });
    const session = { "mcp-session-id": begun.headers.get("mcp-session-id") ?? "" };
    const ping = JSON.stringify({ jsonrpc: "2.0", id: 2, method: "ping" });
    expect((await post(s.server, { authorization: "Bearer bob", ...session }, ping)).status).toBe(404);
    expect((await post(s.server, { authorization: "Bearer ann", ...session }, ping)).status).toBe(200);
  });

  test.each([null, "", false, 0, true, {}])("is served to nobody whose name is %j", async (name) => {
    await using s = await served({ options: { authorize: () => name as never } });
    expect((await post(s.server, {})).status).toBe(401);
  });

  test("is served to nobody while who asks cannot be told", async () => {
    const down = new Error("the directory is down");
    await using s = await served({ options: { authorize: () => Promise.reject(down) } });
    const answer = await post(s.server, {});
    expect([answer.status, await answer.text()]).toEqual([503, "nobody can be authorized now"]);
    expect(s.errors).toEqual([down]);
  });

  test("is served to nobody once it is closed, also to whom it was still looking for", async () => {
    const found = Promise.withResolvers<string>();
    await using s = await served({ options: { authorize: () => found.promise } });
    const list = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/list",
      params: { _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } },
    });
    const waiting = [post(s.server, {}), post(s.server, { "mcp-protocol-version": "2026-07-28" }, list)];
    await s.server.close();
    found.resolve("ann");
    for (const answer of [...waiting, post(s.server, {})]) expect((await answer).status).toBe(503);
  });

  test("keeps a limited number of sessions", async () => {
    await using s = await served({ options: { maxSessions: 2 } });
    const ids = [];
    for (let nth = 0; nth < 3; nth++) ids.push((await post(s.server, {})).headers.get("mcp-session-id") ?? "");
    const ping = JSON.stringify({ jsonrpc: "2.0", id: 2, method: "ping" });
    const statuses = [];
    for (const id of ids) statuses.push((await post(s.server, { "mcp-session-id": id }, ping)).status);
    expect(statuses).toEqual([404, 200, 200]);
  });

  test("ends the stream of a call that is cancelled, unless it answers another too", async () => {
    const begun = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<string>();
    const hang = tool("hang", ({ signal }) => {
      begun.resolve();
      return once(signal, "abort");
    });
    await using s = await served({ tools: [hang, tool("wait", () => gate.promise)] });
    const session = { "mcp-session-id": (await post(s.server, {})).headers.get("mcp-session-id") ?? "" };
    const send = (message: object) => post(s.server, session, JSON.stringify(message));
    const call = (id: number, name: string) => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name } });
    const cancel = (requestId: number) =>
      send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } });
    const alone = await send(call(1, "hang"));
    await begun.promise;
    await cancel(1);
    expect(await alone.text()).toBe("");
    const both = (await send([call(2, "hang"), call(3, "wait")])).body
      ?.pipeThrough(new TextDecoderStream())
      .getReader();
    await cancel(2);
    gate.resolve("waited");
    expect((await both?.read())?.value).toContain("waited");
    await both?.cancel();
  });

  test.each(["2025", "2026"])(
    "keeps no more than a hundred steps of progress unread (protocol of %s)",
    async (year) => {
      const done = Promise.withResolvers<void>();
      const steps = tool("steps", async ({ progress }) => {
        for (let step = 1; step <= 1_000; step++) {
          progress({ progress: step });
          if (step % 50 === 0) await setImmediate();
        }
        done.resolve();
        return "done";
      });
      await using s = await served({ tools: [steps] });
      const io = "io.modelcontextprotocol/";
      const modern = {
        [`${io}protocolVersion`]: "2026-07-28",
        [`${io}clientInfo`]: { name: "test", version: "1" },
        [`${io}clientCapabilities`]: {},
      };
      const headers: Record<string, string> =
        year === "2026"
          ? { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "steps" }
          : { "mcp-session-id": (await post(s.server, {})).headers.get("mcp-session-id") ?? "" };
      const _meta = { progressToken: 1, ...(year === "2026" ? modern : undefined) };
      const params = { name: "steps", arguments: {}, _meta };
      const answer = await post(
        s.server,
        headers,
        JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
      );
      await done.promise;
      const told = [...(await answer.text()).matchAll(/"progress":(\d+)/g)].map(([, step]) => Number(step));
      expect(told).toEqual(Array.from({ length: 100 }, (_, index) => index + 1));
    },
  );

  test("tells a client that reads of every step, however many", async () => {
    let read = Promise.withResolvers<void>();
    const steps = tool("steps", async ({ progress }) => {
      for (let step = 1; step <= 300; step++) {
        progress({ progress: step });
        await read.promise;
        read = Promise.withResolvers();
      }
      return "done";
    });
    await using s = await served({ tools: [steps] });
    await using client = await connected(s.url);
    let seen = 0;
    await client.callTool(
      { name: "steps" },
      {
        onprogress: () => {
          seen += 1;
          read.resolve();
        },
      },
    );
    expect(seen).toBe(300);
  });

  test.each(["tools/call", "tools/list"])(
    "ends the stream of a %s that is cancelled before it began",
    async (method) => {
      await using s = await served();
      const asked = Promise.withResolvers<void>();
      const listed = Promise.withResolvers<readonly ToolDef[]>();
      const tools = () => {
        asked.resolve();
        return listed.promise;
      };
      const { agent } = s;
      const commands = { list: () => [], invoke: () => Promise.reject(new Error("unused")) };
      const slow = { tools, commands, subscribe: agent.subscribe.bind(agent) } as unknown as AgentApi;
      await using server = mcpServer(slow);
      const session = { "mcp-session-id": (await post(server, {})).headers.get("mcp-session-id") ?? "" };
      const send = (message: object) => post(server, session, JSON.stringify({ jsonrpc: "2.0", ...message }));
      const answer = await send({ id: 1, method, params: { name: "add" } });
      await asked.promise;
      await send({ method: "notifications/cancelled", params: { requestId: 1 } });
      listed.resolve([]);
      expect(await answer.text()).toBe("");
    },
  );

  test("refuses what is no message", async () => {
    await using s = await served();
    expect((await post(s.server, {}, "{")).status).toBe(400);
    expect((await post(s.server, { "mcp-session-id": "made-up" })).status).toBe(404);
  });
});

describe("from an agent to an agent", () => {
  test("over HTTP: tools, structured results, progress, abort and errors arrive", async () => {
    const steps = tool("steps", ({ progress }) => {
      progress({ progress: 1, total: 2 });
      return { content: [{ type: "image", source: { base64: "AAAA" }, mimeType: "image/png" }], isError: false };
    });
    await using s = await served({ tools: [add, steps] });
    await using far = await started({ servers: { far: { url: s.url } } });
    expect(await far.names()).toEqual(["far__add", "far__steps"]);
    expect(await far.call("far__add", { a: 1, b: 2 })).toMatchObject({ structured: { sum: 3 }, isError: false });
    expect(far.mcp.validate("far__add", { a: 1 })).toMatchObject({ ok: false });
    const seen: Json[] = [];
    const picture = await far.call("far__steps", {}, { progress: (partial) => void seen.push(partial) });
    expect(picture.content).toEqual([{ type: "image", source: { base64: "AAAA" }, mimeType: "image/png" }]);
    expect(seen).toEqual([{ progress: 1, total: 2 }]);
  });

  test.each(["initialize", "auto"] as const)("over HTTP, with the protocol that %s finds", async (protocol) => {
    const begun = Promise.withResolvers<void>();
    const aborted = Promise.withResolvers<void>();
    const hang = tool("hang", ({ signal, progress }) => {
      signal.addEventListener("abort", () => aborted.resolve());
      progress({ progress: 1 });
      return Promise.withResolvers<never>().promise;
    });
    await using s = await served({ tools: [add, hang] });
    const versions = new Set<string | null>();
    const spying: typeof fetch = (input, init) => {
      versions.add(new Headers(init?.headers).get("mcp-protocol-version"));
      return fetch(input, init);
    };
    await using far = await started({ servers: { far: { url: s.url, protocol, fetch: spying } } });
    expect([...versions].at(-1)).toBe(protocol === "auto" ? "2026-07-28" : "2025-11-25");
    expect(await far.text("far__add", { a: 1, b: 2 })).toBe('{"sum":3}');
    const controller = new AbortController();
    const call = far.text("far__hang", {}, { signal: controller.signal, progress: () => begun.resolve() });
    await begun.promise;
    controller.abort();
    expect(await call).toMatch(/was aborted/);
    await aborted.promise;
    const changed = Promise.withResolvers<void>();
    far.mcp.onToolsChanged(changed.resolve);
    s.registry.register(tool("late", () => "late"));
    s.server.toolsChanged();
    await changed.promise;
    expect(await far.names()).toEqual(["far__add", "far__hang", "far__late"]);
  });

  test.each(["initialize", "auto"] as const)(
    "over stdio (%s): in a process that ends with its client",
    async (protocol) => {
      using programs = childPrograms();
      const program = await programs.bundle("test/support/mcp-host-program.ts");
      await using far = await started({ servers: { far: { command: process.execPath, args: [program], protocol } } });
      expect(textOf(await far.call("far__add", { a: 20, b: 22 }))).toBe("42");
      await far.mcp.onShutdown();
      expect(far.events.filter(({ type }) => type !== "connected")).toEqual([]);
    },
  );

  test("over streams: the end of the input ends the connection", async () => {
    await using s = await served();
    const [input, output] = [new PassThrough(), new PassThrough()];
    const serving = s.server.serveStdio({ input, output });
    input.end();
    await serving;
  });

  test("over streams: an output that breaks ends it too", async () => {
    await using s = await served();
    const [input, output] = [new PassThrough(), new PassThrough()];
    const serving = s.server.serveStdio({ input, output });
    output.destroy(new Error("EPIPE"));
    await serving;
    expect(s.errors.map(String)).toContain("Error: EPIPE");
  });
});
