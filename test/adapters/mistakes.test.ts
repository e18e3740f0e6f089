import { expect, it } from "vitest";
import { MemorySessionStore } from "../../src/adapters/sessions/memory.js";
import { Agent } from "../../src/agent/agent.js";
import { OpenAiChatModel } from "../../src/adapters/models/openai-chat.js";
import { PostgresSessionStore } from "../../src/adapters/sessions/postgres.js";
import { RedisSessionStore } from "../../src/adapters/sessions/redis.js";
import { SqliteSessionStore } from "../../src/adapters/sessions/sqlite.js";
import { defineTool, Type } from "../../src/adapters/tools/index.js";

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
