import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { CompositionError, ToolError } from "ennead";
import { runClaims, testRuntime, toolProviderClaims } from "ennead/testkit";
import { McpToolProvider } from "ennead/tools/mcp";
import { describe, expect, onTestFinished, test } from "vitest";
import { StdioTransport } from "../../../../src/adapters/tools/mcp/stdio-transport.js";
import { mcpOverHttp } from "../../../support/mcp-http.js";
import { CLAIM_DEADLINE_MS, PATIENCE_MS } from "../../../support/patience.js";
import { hostile, isAlive, named, started, textOf } from "../../../support/hostile-mcp.js";

describe("keeps the claims of tool providers, over stdio", () => {
  runClaims({
    test,
    claims: toolProviderClaims,
    timeoutMs: PATIENCE_MS,
    make: async () => {
      const inputSchema = { type: "object", properties: { city: { type: "string" } } };
      const tools = [...named("hang", "open"), { name: "weather", description: "Tells.", inputSchema }];
      const running = await started({ servers: { s: hostile({ tools }) } });
      return {
        provider: running.mcp,
        deadlineMs: CLAIM_DEADLINE_MS,
        call: { name: "s__weather", arguments: { city: "Bern", days: [1, 2] } },
        slowCall: { name: "s__hang", arguments: {} },
        invalid: { arguments: { city: { secret: "hunter-2222" } }, path: "/city" },
        change: async () => void (await running.call("s__open")),
        [Symbol.asyncDispose]: running[Symbol.asyncDispose],
      };
    },
  });
});

describe("what a process prints", () => {
  test("on stdout beside messages is passed over, and told once", async () => {
    await using s = await started({ servers: { s: hostile({ noise: true }) } });
    expect(await s.text("s__f")).toBe("called f");
    expect(await s.text("s__f")).toBe("called f");
    expect(s.events.filter(({ type }) => type === "noise")).toEqual([
      { type: "noise", server: "s", reason: "a line on stdout is no message" },
    ]);
  });

  test("on stderr never blocks it, however much it is", async () => {
    await using s = await started({ servers: { s: hostile({ stderrBytes: 4_000_000 }) } });
    expect(await s.text("s__f")).toBe("called f");
  });

  test("as too large a question is passed over, whatever call has its id", async () => {
    const servers = { s: hostile({ tools: named("bigQuestion") }) };
    await using s = await started({ servers, maxMessageBytes: 100_000 });
    expect(await s.text("s__bigQuestion", { bytes: 300_000 })).toBe("asked");
  });

  test.each(["big", "bigAtEnd", "bigSpaced", "bigAtEndSpaced"])(
    "as too large an answer fails that call (%s), and no later one",
    async (tool) => {
      await using s = await started({
        servers: { s: hostile({ tools: named(tool, "f") }) },
        maxMessageBytes: 100_000,
      });
      expect(await s.text(`s__${tool}`, { bytes: 300_000 })).toMatch(
        /^ToolError\(transport\): server "s": the answer has 3000\d\d bytes; 100000 are allowed$/,
      );
      expect(await s.text("s__f")).toBe("called f");
      expect(textOf(await s.call(`s__${tool}`, { bytes: 90_000 }))).toHaveLength(90_000);
    },
  );
});

describe("an answer of a process", () => {
  const answer = '{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"ok"}]}}\n';
  const loose = '{"jsonrpc":"2.0","id":777,"result":{"a":$DEEP}}\n';
  const progress =
    '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$ID,"progress":1e999}}\n';

  test.each([
    ["comes twice", { text: answer + answer }, []],
    [
      "comes behind those of others",
      { text: `${loose}{"jsonrpc":"2.0","id":"x","result":{}}\n${answer}`, deep: 1 },
      [],
    ],
    [
      "comes behind one that nobody waits for and nobody can quote",
      { text: loose + answer, deep: 200_000 },
      ["a message cannot be handled: Maximum call stack size exceeded"],
    ],
    ["comes behind a mark of the byte order", { text: `\ufeff${answer}` }, []],
    ["ends its line as Windows does", { text: answer.replace("\n", "\r\n") }, []],
    ["stands in a list, as servers of 2025 may write it", { text: `[${answer.trim()}]\n` }, []],
    ["says null for no error", { text: answer.replace(/}$/m, ',"error":null}') }, []],
    [
      "says null for what it does not tell",
      { text: answer.replace("]}", '],"_meta":null,"structuredContent":null}') },
      [],
    ],
    ["has a field of its own", { text: answer.replace(/}$/m, ',"took":"1 ms"}') }, []],
    ["comes behind progress that is none", { text: progress + answer }, ["it sent what is no message of the protocol"]],
  ])("that %s counts once, and ends nothing", async (_title, raw, noises) => {
    await using s = await started({ servers: { s: hostile({ tools: named("raw", "f") }) } });
    expect(await s.text("s__raw", raw)).toBe("ok");
    expect(await s.text("s__f")).toBe("called f");
    expect(s.events.filter(({ type }) => type === "lost")).toEqual([]);
    expect(s.events.flatMap((event) => (event.type === "noise" ? [event.reason] : []))).toEqual(noises);
  });

  test.each([
    [
      "breaks off",
      { text: answer.slice(0, 40), then: "exit" },
      /^ToolError\(transport\): .* went away during the call$/,
    ],
    ["lacks its end", { text: answer.trim(), then: "exit" }, /^ToolError\(transport\): .* went away during the call$/],
    ...(
      [
        ['"not today"', "not today"],
        ['{"code":"E1","message":"not today"}', "not today"],
        ['{"code":-1.5,"message":"not today","data":null},"result":null', "not today"],
        ['{"code":-32000}', "it gave no reason"],
      ] as const
    ).map(([error, reason]): [string, object, RegExp] => [
      `is the error ${error}`,
      { text: `{"jsonrpc":"2.0","id":$ID,"error":${error}}\n` },
      new RegExp(`^ToolError\\(invocation-failed\\): server "s": ${reason}$`),
    ]),
    ["can come no more", { text: "", then: "closeOutput" }, /^ToolError\(transport\): .* went away during the call$/],
    [
      "is null for an error",
      { text: '{"jsonrpc":"2.0","id":$ID,"error":null}\n' },
      /^ToolError\(transport\): server "s": the answer is no message of the protocol$/,
    ],
    [
      "is nested without end",
      { text: answer.replace('"ok"', "$DEEP"), deep: 200_000 },
      /^\[the tool returned text that is none\]$/,
    ],
  ])("that %s fails its call at once", async (_title, raw, reason) => {
    await using s = await started({ servers: { s: hostile({ tools: named("raw", "f") }) }, closeGraceMs: 50 });
    expect(await s.text("s__raw", raw)).toMatch(reason);
    expect(await s.text("s__f")).toBe("called f");
  });
});

test("an answer of 2026 that names its request by a text keeps what the SDK does not know", async () => {
  await using s = await started({ servers: { s: hostile({ modern: true, tools: named("raw") }) } });
  const content = [{ type: "text", text: "ok" }, { type: "hologram" }];
  const answer = JSON.stringify({ jsonrpc: "2.0", id: "$ID", result: { resultType: "complete", content } });
  expect(await s.text("s__raw", { text: `${answer}\n` })).toBe(
    "ok[the tool returned content of the type hologram, which is not supported]",
  );
});

test("progress that says null for what it does not tell is a sign of life, and told", async () => {
  const runtime = testRuntime();
  const told = Promise.withResolvers<unknown>();
  await using s = await started({
    servers: { s: { ...hostile({ tools: named("wait", "poke", "raw") }), timeoutMs: 1_000 } },
    runtime,
  });
  const call = s.text("s__wait", {}, { progress: (partial) => told.resolve(partial) });
  await runtime.advance(900);
  await s.text("s__poke", { step: 1, rest: { total: null, message: null } });
  expect(await told.promise).toEqual({ progress: 1 });
  await runtime.advance(900);
  await s.text("s__poke");
  expect(await call).toBe("waited");
});

test("a process that closes its input is lost, and begun anew", async () => {
  const answer = '{"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}\n';
  await using s = await started({ servers: { s: hostile({ tools: named("raw", "f") }) }, closeGraceMs: 50 });
  expect(await s.text("s__raw", { text: answer, first: "closeInput" })).toBe("");
  let said = "";
  while (said !== "called f") {
    await setImmediate();
    said = await s.text("s__f");
    if (said !== "called f")
      expect(said).toMatch(/^ToolError\(transport\): server "s" (?:could not be asked: |went away)/);
  }
  expect(s.events.map(({ type }) => type)).toContain("lost");
});

test("a process that asks and asks, and reads nothing, is read no more until it does", async () => {
  const asks = 60_000;
  const program = `
    for (let id = 0; id < ${asks}; id++) process.stdout.write('{"jsonrpc":"2.0","id":' + id + ',"method":"ping"}\\n');
    process.on("SIGUSR2", () => process.stdin.resume());
    setInterval(() => undefined, 1000);`;
  const maxMessageBytes = 1024 * 1024;
  const command = { command: process.execPath, args: ["-e", program], env: {}, cwd: undefined };
  const transport = new StdioTransport({ ...command, maxMessageBytes, closeGraceMs: 50 });
  const all = Promise.withResolvers<void>();
  let [unread, answered] = [0, 0];
  transport.onmessage = (message) => {
    const answer = {
      jsonrpc: "2.0" as const,
      id: "id" in message ? (message.id ?? 0) : 0,
      result: { x: "x".repeat(200) },
    };
    const bytes = JSON.stringify(answer).length + 1;
    unread += bytes;
    const read = () => {
      unread -= bytes;
      if ((answered += 1) === asks) all.resolve();
    };
    transport.send(answer).then(read, () => undefined);
  };
  await transport.start();
  while (unread <= maxMessageBytes) await setImmediate();
  for (let round = 0; round < 500; round++) await setImmediate();
  // What was read at once is answered.
  expect(unread).toBeLessThan(3 * maxMessageBytes);
  process.kill(transport.pid ?? 0, "SIGUSR2");
  await all.promise;
  await transport.close();
});

test("a process that read nothing for a while is read on, however little a message may have", async () => {
  const program = `
    process.on("SIGUSR2", () => {
      process.stdin.on("data", (chunk) => {
        if (chunk.includes("last")) process.stdout.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\\n');
      });
    });
    process.stdout.write('{"jsonrpc":"2.0","id":0,"method":"ping"}\\n');
    setInterval(() => undefined, 1000);`;
  const command = { command: process.execPath, args: ["-e", program], env: {}, cwd: undefined };
  const transport = new StdioTransport({ ...command, maxMessageBytes: 10_000, closeGraceMs: 50 });
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  transport.onmessage = (message) => ("id" in message && message.id === 0 ? first : second).resolve();
  await transport.start();
  await first.promise;
  let unread = 0;
  const say = (x: string): void => {
    unread += 1;
    void transport.send({ jsonrpc: "2.0", id: 0, result: { x } }).then(() => (unread -= 1));
  };
  while (unread < 2) {
    say("x".repeat(10_000));
    await setImmediate();
  }
  say("last");
  process.kill(transport.pid ?? 0, "SIGUSR2");
  await second.promise;
  await transport.close();
});

test.each([
  [
    "throws",
    () => {
      throw new Error("the log is full");
    },
  ],
  ["fails later", async () => Promise.reject(new Error("the log is full"))],
])("a listener that %s breaks nothing", async (_title, onEvent) => {
  await using mcp = new McpToolProvider({ servers: { s: hostile() }, onEvent: onEvent as () => void });
  await mcp.onStart();
  expect(await mcp.listTools({ signal: new AbortController().signal })).toHaveLength(1);
});

test("the words of progress are one line, however long", async () => {
  const words = `step\u202e\n1 ${"x".repeat(1_000)}`;
  const params = { progressToken: "$ID", progress: 1, total: 2, message: words };
  const told = JSON.stringify({ jsonrpc: "2.0", method: "notifications/progress", params }).replace('"$ID"', "$ID");
  const answer = '{"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}';
  await using s = await started({ servers: { s: hostile({ tools: named("raw") }) } });
  const seen: unknown[] = [];
  await s.call("s__raw", { text: `${told}\n${answer}\n` }, { progress: (partial) => void seen.push(partial) });
  expect(seen).toEqual([{ progress: 1, total: 2, message: `step1 ${"x".repeat(494)}...(truncated)` }]);
});

describe("a process that cannot be used", () => {
  test.each([
    ["does not exist", { command: "/no/such/server" }, /ENOENT/],
    ["ends at once", hostile({ exitAt: "start", lastWords: "no licence" }), /stderr: no licence/],
    ["ends in the handshake", hostile({ exitAt: "initialize" }), /closed/i],
    ["speaks another protocol", hostile({ version: "1999-01-01" }), /protocol version is not supported: 1999-01-01/],
    [
      "answers the handshake with nonsense",
      hostile({ version: 7, serverInfo: { name: "x", version: {} } }),
      /^Invalid result for initialize \(protocolVersion; serverInfo\/version\)$/,
    ],
    ["lists no list", hostile({ pages: "no-list" }), /holds no list of tools/],
  ])("(it %s) is reported, and the tools of others are offered", async (_title, bad, reason) => {
    await using s = await started({ servers: { bad, good: hostile() } });
    expect(await s.names()).toEqual(["good__f"]);
    expect((await s.event("failed")).reason).toMatch(reason);
    expect(await s.text("good__f")).toBe("called f");
  });

  test("(it hangs) costs its own time to start only, and its process is ended", async () => {
    const runtime = testRuntime();
    const events: unknown[] = [];
    const mcp = new McpToolProvider({
      servers: { slow: { ...hostile({ silent: true }), startTimeoutMs: 5_000 }, good: hostile() },
      runtime,
      onEvent: (event) => {
        events.push(event);
        if (event.type === "connected") void runtime.advance(5_000);
      },
    });
    await mcp.onStart();
    expect(events).toEqual([
      { type: "connected", server: "good", tools: 1 },
      { type: "failed", server: "slow", reason: "it took too long to start" },
    ]);
    await mcp.onShutdown();
  });

  test("keeps the agent from starting when it is required, and leaves nothing running", async () => {
    const events: string[] = [];
    const mcp = new McpToolProvider({
      servers: { bad: { ...hostile({ exitAt: "start" }), required: true }, good: hostile({ tools: named("pid") }) },
      onEvent: ({ type, server }) => void events.push(`${type} ${server}`),
    });
    await expect(mcp.onStart()).rejects.toThrow('ToolError(transport): required servers could not be started: "bad"');
    await expect(mcp.onStart()).rejects.toBeInstanceOf(ToolError);
    expect(events).toContain("connected good");
    await expect(mcp.listTools({ signal: AbortSignal.timeout(5_000) })).rejects.toBeInstanceOf(ToolError);
  });
});

describe("the end", () => {
  test("takes a server along that ignores SIGTERM, and its children", async () => {
    const tools = named("pid", "grandchild");
    await using s = await started({
      servers: { s: hostile({ tools, stubborn: true, grandchild: true }) },
      closeGraceMs: 50,
    });
    const pids = [Number(await s.text("s__pid")), Number(await s.text("s__grandchild"))];
    expect(pids.map(isAlive)).toEqual([true, true]);
    await s.mcp.onShutdown();
    await s.mcp.onShutdown();
    await gone(pids);
    expect(await s.text("s__pid")).toBe('ToolError(invocation-failed): server "s" is closed');
  });

  test("in the middle of a start leaves no process", async () => {
    const mcp = new McpToolProvider({ servers: { s: hostile({ silent: true, grandchild: true }) }, closeGraceMs: 50 });
    const starting = mcp.onStart();
    await mcp.onShutdown();
    await starting;
    await expect(mcp.listTools({ signal: new AbortController().signal })).resolves.toEqual([]);
  });

  test("settles the calls that run", async () => {
    await using s = await started({ servers: { s: hostile({ tools: named("steps") }) } });
    const begun = Promise.withResolvers<void>();
    const running = s.text("s__steps", { every: 5, count: 10_000 }, { progress: () => begun.resolve() });
    await begun.promise;
    await s.mcp.onShutdown();
    expect(await running).toBe('ToolError(transport): server "s" went away during the call');
  });
});

describe("a server that is lost", () => {
  test("is tried again with longer and longer waits; the outage is told once, and so is its end", async () => {
    const runtime = testRuntime();
    await using server = await mcpOverHttp();
    let attempts = 0;
    let isDown = true;
    const fetch: typeof globalThis.fetch = (input, init) => {
      attempts += 1;
      if (!isDown) return globalThis.fetch(input, init);
      return Promise.reject(new Error(`unreachable ${attempts}`));
    };
    await using s = await started({ servers: { s: { url: server.url, fetch } }, runtime });
    const untilNextAttempt = async () => {
      const before = attempts;
      let waited = 0;
      while (attempts === before) {
        await runtime.advance(500);
        waited += 500;
        await setImmediate();
      }
      return waited;
    };
    const waits: number[] = [];
    for (let round = 0; round < 5; round++) waits.push(await untilNextAttempt());
    expect(waits.map((wait, index) => wait >= 500 * 2 ** index)).toEqual([true, true, true, true, true]);
    expect(waits[4]).toBeGreaterThan(4_000);
    isDown = false;
    await untilNextAttempt();
    // From here on the clock stands still, so that the server has the time it needs.
    await s.event("connected");
    expect(s.events).toEqual([
      { type: "failed", server: "s", reason: expect.stringContaining("unreachable 1") as string },
      { type: "connected", server: "s", tools: 1 },
    ]);
  });

  test("keeps its tools, and the next call has a new process", async () => {
    await using s = await started({ servers: { s: hostile({ tools: named("die", "pid") }) } });
    const before = await s.text("s__pid");
    expect(await s.text("s__die")).toBe('ToolError(transport): server "s" went away during the call');
    expect(await s.event("lost")).toEqual({
      type: "lost",
      server: "s",
      reason: "the connection ended",
      retryInMs: 500,
    });
    expect(await s.names()).toEqual(["s__die", "s__pid"]);
    const after = await s.text("s__pid");
    expect(Number(after)).toBeGreaterThan(0);
    expect(after).not.toBe(before);
    expect(s.events.map(({ type }) => type)).toEqual(["connected", "lost", "reconnected"]);
  });
});

test("a server that says null in the handshake for what it has not is used", async () => {
  const capabilities = { tools: { listChanged: null }, prompts: null, experimental: { own: null } };
  const handshake = { instructions: null, capabilities, serverInfo: { name: "null", version: "1", title: null } };
  await using s = await started({ servers: { s: hostile({ tools: named("f"), handshake }) } });
  expect(await s.text("s__f")).toBe("called f");
});

test("a server that lists null has no tools, and may have some later", async () => {
  await using s = await started({ servers: { s: hostile({ pages: "null" }) } });
  expect(await s.names()).toEqual([]);
  expect(s.events).toEqual([{ type: "connected", server: "s", tools: 0 }]);
});

describe("nobody waits for a server", () => {
  const signal = new AbortController().signal;

  test("that is tried again and hangs: what it had is offered at once", async () => {
    const runtime = testRuntime();
    const folder = mkdtempSync(join(tmpdir(), "ennead-mcp-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const how = { tools: named("die", "f"), silentOnceThere: join(folder, "there") };
    await using s = await started({ servers: { s: hostile(how), other: hostile() }, runtime });
    await s.text("s__die");
    await s.event("lost");
    const pending = s.text("s__f");
    expect(await s.names()).toEqual(["s__die", "s__f", "other__f"]);
    await s.mcp.onShutdown();
    expect(await pending).toMatch('ToolError(invocation-failed): server "s" is not connected');
  });

  test("whose listing took too long: the next one goes on beside", async () => {
    const runtime = testRuntime();
    await using s = await started({ servers: { s: hostile({ tools: named("hangLists") }) }, runtime });
    await s.call("s__hangLists");
    const first = s.mcp.listTools({ signal });
    await runtime.advance(20_000);
    expect((await first).map(({ name }) => name)).toEqual(["s__hangLists"]);
    expect(await s.event("failed")).toMatchObject({ reason: "it took too long to list its tools" });
    expect(await s.names()).toEqual(["s__hangLists"]);
    await runtime.advance(20_000);
    await s.names();
    await runtime.advance(20_000);
    expect(s.events.filter(({ type }) => type === "failed")).toHaveLength(1);
  });

  test("longer than the turn that lists its tools", async () => {
    const mcp = new McpToolProvider({ servers: { s: hostile({ silent: true }) } });
    const turn = new AbortController();
    const listing = mcp.listTools({ signal: turn.signal });
    turn.abort();
    await expect(listing).rejects.toMatchObject({ name: "ToolError", kind: "aborted" });
    await mcp.onShutdown();
  });
});

test("a server that dies again and again, and works in between, is never given up", async () => {
  await using s = await started({ servers: { s: hostile({ tools: named("die", "f") }) } });
  for (let round = 0; round < 3; round++) {
    expect(await s.text("s__f")).toBe("called f");
    expect(await s.text("s__die")).toMatch(/went away during the call/);
  }
  expect(s.events.flatMap((event) => (event.type === "lost" ? [event.retryInMs] : []))).toEqual([500, 500, 500]);
});

describe("the environment of a process", () => {
  test("holds what is named and the safe few, and no secret of it reaches an error or event", async () => {
    process.env["ENNEAD_TEST_PRIVATE"] = "parent-only";
    try {
      const server = hostile({ tools: named("env", "fail", "die"), lastWords: "using $SECRET" });
      await using s = await started({ servers: { s: { ...server, env: { SECRET: "hunter-2222" } } } });
      const env = JSON.parse(await s.text("s__env")) as Record<string, string>;
      expect(env["SECRET"]).toBe("hunter-2222");
      expect(env["ENNEAD_TEST_PRIVATE"]).toBeUndefined();
      expect(await s.text("s__fail")).toBe('ToolError(invocation-failed): server "s": broken: [secret]');
      await s.text("s__die");
      expect((await s.event("lost")).reason).toBe("the connection ended (stderr: using [secret])");
      expect(JSON.stringify(s.events)).not.toContain("hunter");
    } finally {
      delete process.env["ENNEAD_TEST_PRIVATE"];
    }
  });
});

test("a line of a key with several is a secret too", async () => {
  const key = "-----BEGIN KEY-----\nMIIEvgIBADANBgkqhkiG9w0\n-----END KEY-----";
  const server = { ...hostile({ exitAt: "start", lastWords: "$SECRET" }), env: { SECRET: key } };
  await using s = await started({ servers: { s: server } });
  expect((await s.event("failed")).reason).toMatch(/\(stderr: \[secret\]\)$/);
});

test("a secret of which the end alone is kept is not quoted", async () => {
  const secret = "begin-of-a-secret-that-is-cut-in-the-middle";
  const server = hostile({ exitAt: "start", lastWords: `$SECRET${"y".repeat(4_096 - 20)}` });
  await using s = await started({ servers: { s: { ...server, env: { SECRET: secret } } } });
  expect((await s.event("failed")).reason).toMatch(/\(stderr: \[secret\]y+\.\.\.\(truncated\)\)$/);
});

describe("options", () => {
  test.each([
    [{ servers: { s: { command: "x", url: "http://x" } } }, 'server "s" has either a command or a url'],
    [{ servers: { s: { comand: "x" } } }, 'server "s" has either a command or a url'],
    [{ servers: { s: { command: "x", arg: [] } } }, 'server "s" has no option arg'],
    [{ servers: { s: { command: "x", env: { TOKEN: 12_345 } } } }, "env.TOKEN is no text"],
    [{ servers: { s: { url: "file:///etc/passwd" } } }, "url is no http or https address"],
    [{ servers: { s: { url: "http://x", headers: { a: "secret\nvalue" } } } }, "headers hold what no header can"],
    [{ servers: { s: { command: "x", timeoutMs: 0 } } }, "timeoutMs is no number above 0"],
    [{ servers: { s: { command: "x", required: "yes" } } }, "required is no boolean"],
    [{ servers: { s: { command: "x", args: ["a\0b"] } } }, "args is no list of texts"],
    [{ servers: {}, onEvent: 5 }, "onEvent is no function"],
    [{ servers: {}, trustAnnotations: "no" }, "trustAnnotations is no boolean"],
    [{ servers: {}, approved: ["s__f"] }, "approved is no object of names and texts"],
    [{ servers: {}, approved: { s__f: 1 } }, "approved.s__f is no text"],
    [{ servers: {}, clientInfo: { name: "me" } }, "clientInfo has no name or no version"],
    [{ servers: {}, onDrift: "ask" }, "onDrift is report or refuse"],
    [{ servers: {}, maxTool: 1 }, "no option maxTool"],
  ])("that are wrong are named and not quoted: %j", (options, message) => {
    const make = () => new McpToolProvider(options as never);
    expect(make).toThrow(CompositionError);
    expect(make).toThrow(message);
    expect(make).not.toThrow(/12345|secret|passwd/);
  });
});

/** Waits until the kernel has forgotten them: they are no children of ours to wait for. */
async function gone(pids: readonly number[]): Promise<void> {
  while (pids.some(isAlive)) await setImmediate();
}
