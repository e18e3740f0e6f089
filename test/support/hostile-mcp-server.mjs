// An MCP server over stdio that does what its argument says, as JSON: see `hostile` in hostile-mcp.ts.
import { spawn } from "node:child_process";
import { closeSync, existsSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

const how = JSON.parse(process.argv[2] ?? "{}");
const received = [];
let tools = how.tools ?? [{ name: "f", inputSchema: { type: "object" } }];
let grandchild;
let waiting;
let deaf = false;
let listing = how.listing ?? "answers";
const silent = how.silent === true || (how.silentOnceThere !== undefined && existsSync(how.silentOnceThere));
if (how.silentOnceThere !== undefined) writeFileSync(how.silentOnceThere, "");

const print = (line) => process.stdout.write(`${line}\n`);
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
/** In the protocol of 2026 each answer says of which kind it is. */
const typed = (result) => (how.modern === true && isObject(result) ? { resultType: "complete", ...result } : result);
const send = ({ result, ...message }) =>
  print(JSON.stringify({ jsonrpc: "2.0", ...message, ...(result === undefined ? {} : { result: typed(result) }) }));
const text = (value) => ({ content: [{ type: "text", text: value }] });
const noise = () => {
  if (how.noise === true) print('starting up...\n{"half": \n[1,2]\n{"jsonrpc":"1.0"}\n\u0000\u0001');
};

if (how.stubborn === true) process.on("SIGTERM", () => undefined);
if (how.grandchild === true)
  grandchild = spawn(process.execPath, ["-e", "setInterval(() => undefined, 1000)"], { stdio: "inherit" });
if (how.stderrBytes) process.stderr.write("x".repeat(how.stderrBytes));
if (how.lastWords) process.stderr.write(`${how.lastWords.replace("$SECRET", process.env.SECRET ?? "")}\n`);
if (how.exitAt === "start") process.exit(3);
noise();

const page = (cursor) => {
  const at = Number(cursor ?? 0);
  if (how.pages === "same-cursor") return { tools, nextCursor: "same" };
  if (how.pages === "endless") return { tools: [{ ...tools[0], name: `f${at}` }], nextCursor: String(at + 1) };
  if (how.pages === "endless-empty") return { tools: [], nextCursor: String(at + 1) };
  if (how.pages === "huge") {
    const many = Array.from({ length: how.count }, (_, index) => ({ ...tools[0], name: `f${index}` }));
    return { tools: many };
  }
  if (how.pages === "one-each")
    return { tools: [tools[at]], ...(at + 1 < tools.length ? { nextCursor: String(at + 1) } : {}) };
  if (how.pages === "null") return { tools: null };
  if (how.pages === "no-list") return { tools: "none" };
  return { tools };
};

const progress = (id, params) => send({ method: "notifications/progress", params: { progressToken: id, ...params } });

const changeTools = (next) => {
  tools = next;
  send({ method: "notifications/tools/list_changed" });
};

const ask = { id: undefined, of: undefined };

const calls = {
  die: () => process.exit(1),
  hang: () => undefined,
  pid: (id) => send({ id, result: text(String(process.pid)) }),
  grandchild: (id) => send({ id, result: text(String(grandchild?.pid)) }),
  env: (id) => send({ id, result: text(JSON.stringify(process.env)) }),
  log: (id) => send({ id, result: text(JSON.stringify(received)) }),
  hangLists: (id) => {
    listing = "hangs";
    changeTools(tools);
    send({ id, result: text("from now on") });
  },
  open: (id) => {
    changeTools([...tools.filter(({ name }) => name !== "gone"), { name: "extra", inputSchema: { type: "object" } }]);
    send({ id, result: text("opened") });
  },
  redefine: (id, _token, args) => {
    changeTools(tools.map((tool) => (tool.name === "f" ? { ...tool, ...args } : tool)));
    send({ id, result: text("redefined") });
  },
  big: (id, _token, { bytes }) => send({ id, result: text("x".repeat(bytes)) }),
  bigSpaced: (id, _token, { bytes }) =>
    print(`{"id": ${id}, "jsonrpc": "2.0", "result": ${JSON.stringify(text("x".repeat(bytes)))}}`),
  bigAtEndSpaced: (id, _token, { bytes }) =>
    print(`{"jsonrpc": "2.0", "result": ${JSON.stringify(text("x".repeat(bytes)))}, "id": ${id} }`),
  bigQuestion: (id, _token, { bytes }) => {
    print(JSON.stringify({ jsonrpc: "2.0", id, method: "sampling/createMessage", params: { x: "x".repeat(bytes) } }));
    print(JSON.stringify({ method: "sampling/createMessage", params: { x: "x".repeat(bytes) }, jsonrpc: "2.0", id }));
    send({ id, result: text("asked") });
  },
  bigAtEnd: (id, _token, { bytes }) => print(JSON.stringify({ result: text("x".repeat(bytes)), jsonrpc: "2.0", id })),
  fail: (id) =>
    send({ id, error: { code: -32603, message: `broken: ${process.env.SECRET ?? "no secret"}`, data: { at: 1 } } }),
  result: (id, _token, { result }) => send({ id, result }),
  /** Writes what it is told, `$ID` being the call's; it may close its input first, and then end or say nothing ever again. */
  raw: (id, _token, { text, deep = 0, times = 1, first, then }) => {
    const nested = text.replaceAll("$ID", String(id)).replace("$DEEP", () => "[".repeat(deep) + "]".repeat(deep));
    // Closed before the answer: what the client sends once it has that finds nobody.
    if (first === "closeInput") {
      deaf = true;
      closeSync(0);
      setInterval(() => undefined, 1000);
    }
    process.stdout.write(nested.repeat(times), () => {
      if (then === "exit") process.exit(0);
      if (then === "closeOutput") closeSync(1);
    });
  },
  steps: (id, token, { every, count }) => {
    let step = 0;
    const timer = setInterval(() => {
      step += 1;
      if (step <= count) progress(token, { progress: step, total: count, message: `step ${step}` });
      else {
        clearInterval(timer);
        send({ id, result: text("done") });
      }
    }, every);
  },
  wait: (id, token) => {
    waiting = { id, token };
  },
  poke: (id, _token, { step, rest = {} }) => {
    if (step === undefined) send({ id: waiting.id, result: text("waited") });
    else progress(waiting.token, { progress: step, ...rest });
    send({ id, result: text("poked") });
  },
  ask: (id, _token, { params }) => {
    ask.of = id;
    ask.id = `ask-${id}`;
    send({ id: ask.id, method: "elicitation/create", params });
  },
};

const answers = {
  "server/discover": (id) => {
    if (how.modern !== true) return;
    const capabilities = { tools: {}, ...(how.resources === undefined ? {} : { resources: {} }) };
    send({ id, result: { ttlMs: 0, cacheScope: "private", supportedVersions: ["2026-07-28"], capabilities } });
  },
  initialize: (id, { protocolVersion }) => {
    if (how.exitAt === "initialize") process.exit(4);
    if (silent) return;
    const result = {
      protocolVersion: how.version ?? protocolVersion,
      capabilities: {
        ...(how.toolless === true ? {} : { tools: { listChanged: true } }),
        ...(how.resources === undefined ? {} : { resources: { listChanged: true } }),
      },
      serverInfo: how.serverInfo ?? { name: "hostile", version: "1" },
      ...how.handshake,
    };
    send({ id, result });
  },
  "notifications/initialized": () => {
    for (const [index, params] of (how.asksAtStart ?? []).entries())
      send({ id: `start-${index}`, method: "elicitation/create", params });
  },
  ping: (id) => send({ id, result: {} }),
  "tools/list": (id, { cursor } = {}) => {
    if (listing === "hangs") return;
    if (listing === "changes") {
      const before = page(cursor);
      listing = "answers";
      changeTools([...tools, { name: "extra", inputSchema: { type: "object" } }]);
      return void setTimeout(() => send({ id, result: before }), 20);
    }
    if (how.listError) send({ id, error: { code: how.listError, message: "cannot list" } });
    else send({ id, result: page(cursor) });
  },
  "resources/list": (id, { cursor } = {}) => {
    const at = Number(cursor ?? 0);
    if (how.resources === "endless")
      return send({ id, result: { resources: [{ uri: `a://${at}`, name: "a" }], nextCursor: String(at + 1) } });
    if (how.resources === "hangs") return;
    if (!Array.isArray(how.resources)) return send({ id, result: { resources: how.resources } });
    const next = at + 1 < how.resources.length ? { nextCursor: String(at + 1) } : {};
    send({ id, result: { resources: how.resources.slice(at, at + 1), ...next } });
  },
  "resources/templates/list": (id) => {
    if (how.templates === undefined) send({ id, error: { code: -32601, message: "Method not found" } });
    else send({ id, result: { resourceTemplates: how.templates } });
  },
  "resources/read": (id, { uri }) => {
    if (uri === "die:") process.exit(1);
    if (uri === "changed:") send({ method: "notifications/resources/list_changed" });
    const result = how.contents?.[uri];
    if (result === undefined) send({ id, error: { code: -32002, message: "Resource not found" } });
    else send({ id, result });
  },
  "tools/call": (id, { name, arguments: args, _meta }) => {
    noise();
    const next = how.inTurn?.[name]?.shift();
    if (next !== undefined) return send({ id, ...next });
    const own = (of) => (of !== undefined && Object.hasOwn(of, name) ? of[name] : undefined);
    const call =
      own(calls) ?? (() => send({ id, result: own(how.results) ?? text(`${how.says ?? "called"} ${name}`) }));
    call(id, _meta?.progressToken, args ?? {});
  },
};

createInterface({ input: process.stdin })
  .on("line", (line) => {
    const message = JSON.parse(line);
    received.push(message);
    if (message.method === undefined && message.id === ask.id) {
      send({ id: ask.of, result: text(JSON.stringify(message.result ?? message.error)) });
    } else answers[message.method]?.(message.id, message.params);
  })
  .on("close", () => {
    if (how.stubborn !== true && !deaf) {
      grandchild?.unref();
      process.exit(0);
    }
  });
if (how.stubborn === true) setInterval(() => undefined, 1000);
