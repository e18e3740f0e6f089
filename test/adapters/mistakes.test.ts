import { inspect } from "node:util";
import { expect, it } from "vitest";
import { SlidingWindowCompressor } from "../../src/adapters/compressors/sliding-window.js";
import { SummarizeCompressor } from "../../src/adapters/compressors/summarize.js";
import { auditFile } from "../../src/adapters/hooks/audit.js";
import { guardrail } from "../../src/adapters/hooks/guardrail.js";
import { recall } from "../../src/adapters/hooks/recall.js";
import { redact } from "../../src/adapters/hooks/redact.js";
import { InMemoryMemory } from "../../src/adapters/memory/in-memory.js";
import { PostgresMemory } from "../../src/adapters/memory/postgres.js";
import { SqliteMemory } from "../../src/adapters/memory/sqlite.js";
import { MemorySessionStore } from "../../src/adapters/sessions/memory.js";
import { Agent } from "../../src/agent/agent.js";
import { OpenAiChatModel } from "../../src/adapters/models/openai-chat.js";
import { PostgresSessionStore } from "../../src/adapters/sessions/postgres.js";
import { RedisSessionStore } from "../../src/adapters/sessions/redis.js";
import { SqliteSessionStore } from "../../src/adapters/sessions/sqlite.js";
import { JsonlSessionStore } from "../../src/adapters/sessions/jsonl.js";
import { agentTool } from "../../src/adapters/tools/agent-tool.js";
import { defineTool, Type } from "../../src/adapters/tools/index.js";
import { memoryTools } from "../../src/adapters/tools/memory-tools.js";
import { DirectoryResultStore, InMemoryResultStore, offloadResults } from "../../src/adapters/tools/offload.js";
import { CompositionError } from "../../src/domain/errors.js";

it("a tool without an execute function is refused by its name when it is defined", () => {
  const definition = { name: "look", description: "looks", parameters: Type.Object({}) };
  expect(() => defineTool(definition as never)).toThrow(
    /CompositionError\(invalid-config\): defineTool look has no execute/,
  );
});

it.each([[undefined], ["/x.db"], [{}], [{ file: "/x.db" }], [{ path: "" }]])(
  "a SQLite store made with %j says what it needs",
  (options) => {
    expect(() => new SqliteSessionStore(options as never)).toThrow(/CompositionError\(invalid-config\).*path/);
  },
);

it.each([
  [PostgresSessionStore, "url: postgres://", "keyPrefix"],
  [RedisSessionStore, "url: redis://", "schema"],
] as const)("%o made with wrong options says what it needs", (Store, needed, misspelt) => {
  const make = (options: unknown) => () => new Store(options as never);
  for (const options of [{}, { url: undefined }, { url: "http://127.0.0.1" }, { pool: {}, client: {} }]) {
    expect(make(options)).toThrow(/CompositionError\(invalid-config\)/);
  }
  expect(make({})).toThrow(needed);
  expect(make(undefined)).toThrow(/needs an object/);
  const url = `${needed.slice("url: ".length)}127.0.0.1`;
  expect(make({ url, [misspelt]: "x" })).toThrow(`has no option ${misspelt}`);
  for (const timeoutMs of [0, -1, Number.NaN, 2 ** 31, "5"]) expect(make({ url, timeoutMs })).toThrow(/timeoutMs/);
  expect(make({ url, schema: 5, prefix: 5 })).toThrow(/invalid-config/);
});

it("a misspelt option of a model is refused with the right name, before anything is sent anywhere", () => {
  const options = { model: "m", baseURL: "http://127.0.0.1:1" };
  expect(() => new OpenAiChatModel(options as never)).toThrow(/no option baseURL; did you mean baseUrl\?/);
  expect(() => new OpenAiChatModel({ model: "m", temprature: 1 } as never)).toThrow(
    /no option temprature; it has model/,
  );
  expect(() => new OpenAiChatModel({} as never)).toThrow(/needs the name of a model/);
  expect(() => new OpenAiChatModel(undefined as never)).toThrow(/needs an object/);
});

it("a misspelt port is refused with the right name instead of being left out", async () => {
  const sessions = [new MemorySessionStore()];
  const model = { chat: () => Promise.reject(new Error("unused")) };
  await expect(Agent.create({ model, sessions, tool: [] } as never)).rejects.toThrow(
    /no option tool; did you mean tools\?/,
  );
  await expect(Agent.create({ model, Sessions: sessions } as never)).rejects.toThrow(/did you mean sessions\?/);
});

type Making = readonly [
  make: (options: object) => unknown,
  valid: object,
  wrong: Readonly<Record<string, readonly unknown[]>>,
];

const tool = defineTool({ name: "t", description: "d", parameters: Type.Object({}), execute: () => 1 });
const model = { chat: () => Promise.reject(new Error("unused")) };
const numbers = ["5", true, null, Number.NaN, -1, [2048], 5n, Symbol("5"), {}];
const texts = [5, true, null, ["a"], Symbol("a"), {}];
const functions = ["f", 5, null, {}, []];
const objects = ["o", 5, null, [], true];

const makings: Readonly<Record<string, Making>> = {
  offloadResults: [
    (options) => offloadResults(tool, options as never),
    { store: new InMemoryResultStore() },
    {
      store: [...objects, undefined, {}, { write: () => {} }],
      maxBytes: [...numbers, 1023, 2048.5, Number.POSITIVE_INFINITY],
      maxStoredLength: [...numbers, 0],
      toolName: [...texts, ""],
    },
  ],
  InMemoryResultStore: [(options) => new InMemoryResultStore(options), {}, { maxLength: [...numbers, 0] }],
  DirectoryResultStore: [
    (options) => new DirectoryResultStore(options as never),
    { path: "results" },
    { path: [...texts, "", undefined], maxSessionBytes: [...numbers, 0] },
  ],
  SummarizeCompressor: [
    (options) => new SummarizeCompressor(options as never),
    { model },
    {
      keepExchanges: [...numbers, 0],
      maxSummaryTokens: [...numbers, 0],
      maxTokens: numbers,
      instructions: texts,
      options: objects,
      newSessionId: functions,
    },
  ],
  SlidingWindowCompressor: [(options) => new SlidingWindowCompressor(options), {}, { maxMessages: [...numbers, 1.5] }],
  recall: [
    (options) => recall(options as never),
    { scope: "shared" },
    { maxTokens: [...numbers, 0], memory: [...objects, {}, { search: () => [] }] },
  ],
  memoryTools: [(options) => memoryTools(options as never), { scope: "shared" }, { memory: [...objects, {}] }],
  agentTool: [
    (options) => agentTool(() => undefined as never, options as never),
    { name: "ask", description: "d" },
    { input: functions, turn: objects },
  ],
  guardrail: [
    (options) => guardrail(options),
    { input: () => undefined },
    { input: functions, output: functions, toolCall: functions, toolResult: functions },
  ],
  redact: [(options) => redact(options), { secrets: ["s"] }, { patterns: [null, "a", {}, ["a"]] }],
  InMemoryMemory: [(options) => new InMemoryMemory(options), {}, { name: texts, score: functions }],
  SqliteMemory: [
    (options) => new SqliteMemory(options as never),
    { path: ":memory:" },
    { name: texts, optional: ["yes", 1, null], busyTimeoutMs: numbers, embedding: [...objects, "", 0, Number.NaN] },
  ],
  SqliteSessionStore: [
    (options) => new SqliteSessionStore(options as never),
    { path: ":memory:" },
    { path: [...texts, "", undefined], busyTimeoutMs: numbers, busyTimeout: [5] },
  ],
  JsonlSessionStore: [
    (options) => new JsonlSessionStore(options as never),
    { directory: "sessions" },
    { directory: [...texts, "", undefined], fsync: [true, "sometimes", null], sync: [true] },
  ],
  PostgresMemory: [
    (options) => new PostgresMemory(options as never),
    { url: "postgres://127.0.0.1" },
    { name: texts, optional: ["yes", 1, null], configuration: texts, embedding: objects },
  ],
};

it.each(
  Object.entries(makings).flatMap(([what, [make, valid, wrong]]) =>
    Object.entries(wrong).map(([option, values]) => ({ what, option, make, valid, values })),
  ),
)("$what refuses a wrong $option by its name", ({ option, make, valid, values }) => {
  expect(() => make(valid)).not.toThrow();
  for (const value of values) {
    const made = () => make({ ...valid, [option]: value });
    expect(made, inspect(value)).toThrow(CompositionError);
    expect(made, inspect(value)).toThrow(new RegExp(`\\(invalid-config\\).*\\b${option}\\b`));
  }
});

it("a wrong setting of an embedding, and what is no path of a file, are refused before anything is asked", () => {
  for (const timeoutMs of ["5", true, [5], 5n, Symbol("5"), 0, 2 ** 31]) {
    const embedding = { embed: () => [1], timeoutMs } as never;
    expect(() => new SqliteMemory({ path: ":memory:", embedding })).toThrow(/\(invalid-config\).*timeoutMs/);
  }
  for (const path of [undefined, ...texts, ""])
    expect(() => auditFile(path as never)).toThrow(/\(invalid-config\).*path/);
});

it.each([
  ["tools", { ...tool, name: 5 }],
  ["memory", { store: () => "1", search: () => [], delete: () => {}, name: null }],
  ["compressors", { compress: () => ({ type: "none" }), name: {} }],
  ["hooks", { onStage: (): void => {}, name: 5 }],
  ["hooks", { onStage: (): void => {}, name: "h", before: "other" }],
  ["hooks", { onStage: (): void => {}, name: "h", after: [5] }],
])("a part of the %s whose name is no text is refused by its place", async (port, part) => {
  const sessions = [new MemorySessionStore()];
  const made = Agent.create({ model, sessions, [port]: [part] } as never);
  await expect(made).rejects.toThrow(new RegExp(`\\(invalid-config\\): ${port}\\[0\\]: (name|before|after) is no`));
});

it("a part that is no hook may have members of its own that are called as a hook's are", async () => {
  const store = Object.assign(new MemorySessionStore(), { before: () => 5, after: 5 });
  const observer = { onEvent: (): void => {}, before: new Date(0) };
  const agent = await Agent.create({ model, sessions: [store], observers: [observer] });
  await agent.shutdown();
});

it("a time to wait for other processes may be longer than any timer", async () => {
  await using memory = new SqliteMemory({ path: ":memory:", busyTimeoutMs: 2 ** 40 });
  await expect(memory.store({ content: "tea" })).resolves.toBeTypeOf("string");
});
