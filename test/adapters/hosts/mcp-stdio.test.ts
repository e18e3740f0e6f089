import { once } from "node:events";
import { PassThrough, Writable } from "node:stream";
import { createInterface } from "node:readline";
import { setImmediate } from "node:timers/promises";
import type { JsonObject, PipelineHook } from "ennead";
import { mcpServer } from "ennead/hosts/mcp-server";
import type { CommandHandler } from "ennead/commands/registry";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Child, childPrograms, startChild } from "../../support/child-programs.js";
import { served, tool } from "../../support/mcp-served.js";

const initialize = {
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } },
};
const line = (id: number | string | undefined, message: object): string =>
  `${JSON.stringify({ jsonrpc: "2.0", ...(id === undefined ? {} : { id }), ...message })}\n`;
const call = (id: number, name: string, args: object = {}): string =>
  line(id, { method: "tools/call", params: { name, arguments: args } });
const sum = call(99, "add", { a: 1, b: 2 });

describe("a process that serves an agent on its streams", () => {
  const programs = childPrograms();
  let program: string;
  beforeAll(async () => {
    program = await programs.bundle("test/support/mcp-host-program.ts");
  });
  afterAll(() => programs[Symbol.dispose]());

  /** A running host that has shaken hands, the answers it printed by id, and what it says on stderr. */
  async function host() {
    const child = startChild(program, null);
    let said = "";
    child.process.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
    const write = (text: string) => void child.process.stdin.write(text);
    write(line(0, initialize));
    await child.printedLine(/"id":0/);
    return {
      child,
      write,
      answers: () => child.lines.map((text) => JSON.parse(text) as JsonObject),
      hears: async (words: string) => {
        while (!said.includes(words)) await once(child.process.stderr, "data");
      },
      end: () => ended(child),
      [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
    };
  }

  /** Closes its input; what it said when it had ended by itself. */
  async function ended(child: Child): Promise<string> {
    child.process.stdin.end();
    const { code, noise } = await child.ended();
    expect(code).toBe(0);
    expect(noise).toMatch(/over: 0 sessions\nshut down\n$/);
    return noise;
  }

  test("passes over what is no message, and answers a request that is none by its id", async () => {
    await using h = await host();
    h.write('garbage\n{"half": \n[]\n{}\n\0\n\n{"jsonrpc":"2.0","id":null,"method":"ping"}\n');
    const deep = "[".repeat(200_000) + "]".repeat(200_000);
    h.write(`{"jsonrpc":"2.0","id":777,"result":{"a":${deep}}}\n`);
    h.write('{"jsonrpc":"1.0","id":5,"method":"ping"}\n{"jsonrpc":"2.0","id":"six"}\n{"id":7,"result":7}\n');
    h.write(`\ufeff${sum}`);
    await h.child.printedLine(/"id":99/);
    const refused = h.answers().filter((answer) => "error" in answer);
    const error = { code: -32_600, message: "a line is no message of the protocol" };
    expect(refused).toEqual([
      { jsonrpc: "2.0", id: 5, error },
      { jsonrpc: "2.0", id: "six", error },
    ]);
    expect(await h.end()).toContain("error: Error: a line is no message of the protocol\n");
  });

  test("refuses a message that is too large by its id, and goes on", async () => {
    await using h = await host();
    const text = "x".repeat(11 * 1024 * 1024);
    h.write(call(1, "print", { text }));
    h.write(`${JSON.stringify({ method: "tools/call", params: { name: text }, jsonrpc: "2.0", id: "at-end" })}\n`);
    h.write(`{"result":{"text":"${text}"},"jsonrpc":"2.0","id":3}\n`);
    h.write(sum);
    await h.child.printedLine(/"id":99/);
    const refused = h.answers().filter((answer) => "error" in answer);
    expect(refused.map(({ id }) => id)).toEqual([1, "at-end"]);
    expect(refused[0]).toMatchObject({ error: { message: expect.stringMatching(/has 115\d+ bytes; 10485760 are/) } });
    await h.end();
  });

  test("ends with half a line", async () => {
    await using h = await host();
    h.write(sum.slice(0, 40));
    await h.end();
    expect(h.answers()).toHaveLength(1);
  });

  test("aborts the calls of a client that goes, all of one id too, and leaves no session of them", async () => {
    await using h = await host();
    h.write(call(1, "hang") + call(1, "hang") + call(2, "hang"));
    await h.hears("hangs\nhangs\nhangs\n");
    expect((await h.end()).match(/aborted/g)).toHaveLength(3);
  });

  test("ends when nobody can hear it any longer", async () => {
    await using h = await host();
    h.write(call(1, "hang"));
    await h.hears("hangs");
    const exit = once(h.child.process, "exit");
    h.child.process.stdout.destroy();
    h.write(sum);
    await h.hears("EPIPE");
    await h.hears("over: 0 sessions\nshut down");
    expect(await exit).toEqual([0, null]);
  });

  test("serves one client at a time on them", async () => {
    await using h = await host();
    h.write(call(1, "again"));
    await h.child.printedLine(/"id":1\b/);
    expect(h.answers()[1]).toMatchObject({
      result: {
        isError: true,
        content: [{ text: expect.stringContaining("served on the streams of this process already") }],
      },
    });
    h.write(call(2, "print", { text: "loose" }) + sum);
    await h.child.printedLine(/"id":99/);
    expect(h.answers()).toHaveLength(4);
    await h.end();
  });

  test("ends by itself while its client stays", async () => {
    await using h = await host();
    h.write(call(1, "hang") + call(2, "stop"));
    expect(await h.child.ended()).toMatchObject({ code: 0, noise: expect.stringMatching(/aborted[^]*shut down\n$/) });
  });

  test("keeps its protocol free of what tools print", async () => {
    await using h = await host();
    h.write(call(1, "print", { text: '{"jsonrpc":"2.0","id":1,"result":{}}' }) + sum);
    await h.child.printedLine(/"id":99/);
    expect(h.answers().map(({ id }) => id)).toEqual([0, 1, 99]);
    expect(h.answers()[1]).toMatchObject({ result: { content: [{ type: "text", text: "printed" }] } });
    expect(await h.end()).toMatch(/\{"jsonrpc":"2.0","id":1,"result":\{\}\}\n\{/);
  });

  test("serves as many calls at once as it may, and aborts those that are cancelled", async () => {
    await using h = await host();
    for (let id = 1; id <= 70; id++) h.write(call(id, "hang"));
    await h.child.printedLine(/"id":70/);
    expect(h.answers().slice(1)).toEqual(
      [65, 66, 67, 68, 69, 70].map((id) => ({
        jsonrpc: "2.0",
        id,
        error: { code: -32_603, message: "too many calls at once" },
      })),
    );
    for (let id = 0; id <= 70; id++)
      h.write(line(undefined, { method: "notifications/cancelled", params: { requestId: id } }));
    await h.hears("aborted\n".repeat(64));
    h.write(sum);
    await h.child.printedLine(/"id":99/);
    expect(h.answers()).toHaveLength(8);
    await h.end();
  });
});

describe("on streams, an agent", () => {
  /** A client of an agent that has shaken hands. */
  async function piped(parts: Parameters<typeof served>[0] = {}, output: Writable = new PassThrough()) {
    const s = await served(parts);
    const input = new PassThrough();
    const serving = s.server.serveStdio({ input, output });
    const lines =
      output instanceof PassThrough ? createInterface({ input: output })[Symbol.asyncIterator]() : undefined;
    const next = async () => JSON.parse(String((await lines?.next())?.value)) as JsonObject;
    const write = (text: string) => void input.write(text);
    write(line(0, initialize));
    return {
      ...s,
      input,
      output,
      serving,
      write,
      next,
      ask: async (text: string) => {
        write(text);
        return next();
      },
      [Symbol.asyncDispose]: async () => {
        input.end();
        output.destroy();
        await serving;
        await s[Symbol.asyncDispose]();
      },
    };
  }

  test("is served to nobody where the input has ended already", async () => {
    await using s = await served();
    const input = new PassThrough();
    input.end().resume();
    await once(input, "end");
    await s.server.serveStdio({ input, output: new PassThrough() });
  });

  test("is served anew on streams that another server had", async () => {
    await using p = await piped();
    await p.next();
    await p.server.close();
    await p.serving;
    await using server = mcpServer(p.agent);
    const serving = server.serveStdio({ input: p.input, output: p.output });
    expect(await p.ask(line(1, initialize))).toMatchObject({ id: 1, result: {} });
    p.input.end();
    await serving;
  });

  test.each([
    ["tools/call", { name: 7 }],
    ["tools/call", { name: "add", arguments: [1] }],
    ["tools/call", undefined],
    ["tools/call", { name: "__proto__" }],
    ["prompts/get", { name: "constructor" }],
    ["prompts/get", { name: "say", arguments: { text: 7 } }],
    ["prompts/get", { name: "say", arguments: { text: null } }],
    ["prompts/get", { name: "say", arguments: { text: ["hi"] } }],
    ["prompts/get", { name: "say", arguments: "hi" }],
    ["prompts/get", { name: "say", arguments: JSON.parse('{"text":"hi","__proto__":"x"}') as object }],
    ["prompts/get", { name: "say", arguments: { text: "hi", constructor: "x" } }],
    ["prompts/get", { name: "say", arguments: {} }],
    ["prompts/get", { name: "say", arguments: { text: "hi", times: "1e3" } }],
    ["prompts/get", { name: "say", arguments: { text: "hi", times: "9".repeat(20) } }],
    ["prompts/get", { name: "../say" }],
    ["prompts/get", { name: 7 }],
    ["prompts/get", undefined],
  ])("says that the parameters of %s are wrong: %j", async (method, params) => {
    await using p = await piped();
    await p.next();
    expect(await p.ask(line(1, { method, params }))).toMatchObject({ id: 1, error: { code: -32_602 } });
  });

  test.each([
    ["tools/list", null],
    ["tools/list", { cursor: null }],
    ["tools/call", { name: "nothing", arguments: null, _meta: null }],
    ["tools/call", { name: "nothing", _meta: { progressToken: null } }],
  ])("takes null for what is not said: %s %j", async (method, params) => {
    await using p = await piped({ tools: [tool("nothing", () => "done")] });
    await p.next();
    expect(await p.ask(line(1, { method, params }))).toMatchObject({ id: 1, result: {} });
  });

  test("aborts a call that a client cancels without a reason, which is null", async () => {
    const begun = Promise.withResolvers<AbortSignal>();
    const hang = tool("hang", ({ signal }) => {
      begun.resolve(signal);
      return once(signal, "abort");
    });
    await using p = await piped({ tools: [hang] });
    p.write(line(1, { method: "tools/call", params: { name: "hang" } }));
    const signal = await begun.promise;
    const aborted = once(signal, "abort");
    p.write('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":null}}\n');
    await aborted;
  });

  test("answers each of several messages in one", async () => {
    await using p = await piped();
    await p.next();
    const several = [line(1, { method: "ping" }), '{"jsonrpc":"2.0","id":2}', line(3, { method: "ping" })];
    p.write(`[${several.map((one) => one.trim()).join(",")}]\n`);
    const answers = [await p.next(), await p.next(), await p.next()];
    expect(answers.sort((a, b) => Number(a["id"]) - Number(b["id"]))).toMatchObject([
      { id: 1, result: {} },
      { id: 2, error: { code: -32_600 } },
      { id: 3, result: {} },
    ]);
  });

  test("hands a command what it is given, however odd", async () => {
    await using p = await piped();
    await p.next();
    const text = `\u202e\0"${"ä".repeat(1_000_000)}`;
    const said = await p.ask(line(1, { method: "prompts/get", params: { name: "say", arguments: { text } } }));
    expect(said).toMatchObject({ result: { messages: [{ content: { text: `${text} x1` } }] } });
  });

  test("hands a command its arguments whatever they are called", async () => {
    const names = ["__proto__", "constructor", "with space", "a/b", "ä\u202e"];
    const params = names.map((name) => ({
      name,
      label: name,
      description: "",
      type: "string" as const,
      required: true,
      positional: false,
    }));
    let seen: unknown;
    const command: CommandHandler = (args) => {
      seen = args;
      return { type: "success", feedback: "taken" };
    };
    await using p = await piped({ params, command });
    await p.next();
    const given = `{${names.map((name) => `${JSON.stringify(name)}:"x"`).join(",")}}`;
    const answer = await p.ask(
      `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"say","arguments":${given}}}\n`,
    );
    expect(answer).toMatchObject({ result: { description: "Say" } });
    expect(JSON.stringify(seen)).toBe(given);
  });

  test("tells the failure of a command from what a client can mend, and none of its own words", async () => {
    const command = (): never => {
      throw new Error("hunter-2222");
    };
    await using p = await piped({ command });
    await p.next();
    const answer = await p.ask(line(1, { method: "prompts/get", params: { name: "say", arguments: { text: "hi" } } }));
    expect(answer).toMatchObject({ error: { code: -32_603 } });
    expect(JSON.stringify(answer)).not.toContain("hunter");
  });

  test("ends a command with its client, also one that does not listen", async () => {
    const begun = Promise.withResolvers<AbortSignal>();
    const command = (_: unknown, { signal }: { readonly signal: AbortSignal }) => {
      begun.resolve(signal);
      return Promise.withResolvers<never>().promise;
    };
    await using p = await piped({ command });
    p.write(line(1, { method: "prompts/get", params: { name: "say", arguments: { text: "hi" } } }));
    const signal = await begun.promise;
    p.input.end();
    await p.serving;
    expect(signal.aborted).toBe(true);
  });

  test.each([
    ['{"a":1e999,"b":2}', "arguments.a is a number that JSON cannot hold"],
    [`{"a":${"[".repeat(300)}${"]".repeat(300)}}`, "is nested too deep, or in a cycle"],
  ])("says what is wrong with arguments that cannot be read", async (args, reason) => {
    await using p = await piped();
    await p.next();
    const answer = await p.ask(
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":${args}}}\n`,
    );
    expect(answer).toMatchObject({
      result: { isError: true, content: [{ text: expect.stringMatching(/^The call was not made: arguments/) }] },
    });
    expect(JSON.stringify(answer)).toContain(reason);
    expect(p.errors).toEqual([]);
  });

  test("sees every argument that is sent, also one named __proto__", async () => {
    let seen: unknown;
    const hook: PipelineHook = {
      stages: ["beforeTool"],
      onStage: (stage) => void (stage.kind === "beforeTool" && (seen = stage.call.arguments)),
    };
    await using p = await piped({ hooks: [hook] });
    await p.next();
    await p.ask(
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2,"__proto__":{"x":1}}}}\n',
    );
    expect(JSON.stringify(seen)).toBe('{"a":1,"b":2,"__proto__":{"x":1}}');
  });

  test("reads no more of a client that reads nothing, until it does", async () => {
    const written: (() => void)[] = [];
    const output = new Writable({ write: (_chunk, _encoding, done) => void written.push(done) });
    await using p = await piped({}, output);
    const paused = once(p.input, "pause");
    const params = { name: "say", arguments: { text: "x".repeat(1_000_000) } };
    for (let id = 1; id <= 17; id++) p.write(line(id, { method: "prompts/get", params }));
    await paused;
    const resumed = once(p.input, "resume");
    while (p.input.isPaused()) {
      written.shift()?.();
      await setImmediate();
    }
    await resumed;
  });

  test("reads on after an output that takes very much at once", async () => {
    const written: (() => void)[] = [];
    const write = (_chunk: unknown, _encoding: string, done: () => void) => void written.push(done);
    const output = new Writable({ highWaterMark: 64 * 1024 * 1024, write });
    await using p = await piped({}, output);
    const params = { name: "say", arguments: { text: "x".repeat(9_000_000) } };
    for (let id = 1; id <= 3; id++) p.write(line(id, { method: "prompts/get", params }));
    while (output.writableLength < 27_000_000) await setImmediate();
    while (written.length > 0) {
      written.shift()?.();
      await setImmediate();
    }
    expect(p.input.isPaused()).toBe(false);
  });

  test("begins no call that was asked for before it was closed, and touches no store for it", async () => {
    const lists: number[] = [];
    const tools = () => {
      if (lists.push(1) === 2) void p.server.close();
      return true;
    };
    await using p = await piped({ options: { tools } });
    p.write(line(1, { method: "tools/list" }) + sum);
    await p.serving;
    await p.server.close();
    await setImmediate();
    expect(lists).toHaveLength(2);
    expect(p.sessions.ops).toEqual([]);
  });

  test("keeps no more than a hundred steps of progress for a client that reads nothing", async () => {
    const done = Promise.withResolvers<void>();
    const steps = tool("steps", ({ progress }) => {
      for (let step = 1; step <= 1_000; step++) progress({ progress: step, message: "x".repeat(100) });
      done.resolve();
      return "done";
    });
    const output = new Writable({ write: () => undefined });
    await using p = await piped({ tools: [steps] }, output);
    p.write(line(1, { method: "tools/call", params: { name: "steps", arguments: {}, _meta: { progressToken: 1 } } }));
    await done.promise;
    expect(output.writableLength).toBeLessThan(100 * 300);
  });
});
