import { describe, expect, it, test } from "vitest";
import { InMemoryMemory } from "../../../src/adapters/memory/in-memory.js";
import { ToolRegistry } from "../../../src/adapters/tools/index.js";
import { memoryTools, type MemoryToolsOptions } from "../../../src/adapters/tools/memory-tools.js";
import { CompositionError } from "../../../src/domain/errors.js";
import type { JsonObject } from "../../../src/domain/json.js";
import {
  runClaims,
  stopResponse,
  testAgent,
  testToolContext,
  toolCallResponse,
  toolProviderClaims,
} from "../../../src/testkit/index.js";

const byUser = { scope: ({ sessionId }: { readonly sessionId: string }) => ({ user: sessionId }) };

/** Runs a tool as the session of a user. */
function asUser(memory: InMemoryMemory, options: MemoryToolsOptions = byUser) {
  const tools = new ToolRegistry(memoryTools({ memory, ...options }));
  let calls = 0;
  return async (user: string, name: string, args: JsonObject): Promise<unknown> => {
    const context = testToolContext({ sessionId: user, executionId: `${user}.${calls++}` });
    return await tools.execute({ id: "c", name, arguments: args }, context);
  };
}

describe("memoryTools", () => {
  runClaims({
    test,
    claims: toolProviderClaims,
    make: () => ({
      provider: new ToolRegistry(memoryTools({ scope: "shared", memory: new InMemoryMemory() })),
      call: { name: "recall", arguments: { query: "apple" } },
      invalid: { arguments: { query: 5 }, path: "/query" },
    }),
    capabilities: {
      abort: { missing: "a memory takes no signal" },
      changes: { missing: "there are always the same three" },
    },
  });

  it("counts characters as its schemas do: what it lets remember it recalls whole, and cuts no pair", async () => {
    const memory = new InMemoryMemory();
    const tools = new ToolRegistry(memoryTools({ scope: "shared", memory, maxLength: 10 }));
    const fits = `tea ${"🍵".repeat(6)}`;
    const longer = `cup ${"🍵".repeat(7)}`;
    expect(tools.validate("remember", { content: fits }).ok).toBe(true);
    expect(tools.validate("remember", { content: longer }).ok).toBe(false);
    for (const content of [fits, longer]) await memory.store({ content });
    const recalled = async (query: string): Promise<unknown> =>
      await tools.execute({ id: "1", name: "recall", arguments: { query } }, testToolContext());
    expect(await recalled("tea")).toMatchObject({ entries: [{ content: fits }] });
    expect(await recalled("cup")).toMatchObject({ entries: [{ content: `cup ${"🍵".repeat(6)} (cut)` }] });
  });

  it("forgets an entry however many are like it", async () => {
    const memory = new InMemoryMemory();
    for (let n = 0; n < 120; n++) await memory.store({ id: `e${n}`, content: "tea", metadata: { user: "ann" } });
    const call = asUser(memory);
    expect(await call("ann", "forget", { id: "e0", content: "tea" })).toEqual({ forgotten: "e0" });
    expect(await call("ann", "forget", { id: "e0", content: "tea" })).toMatchObject({ isError: true });
    expect(await call("bob", "forget", { id: "e1", content: "tea" })).toMatchObject({ isError: true });
    expect(await memory.search({ query: "tea", topK: 1_000 })).toHaveLength(119);
  });

  it("lets a model remember in one session and recall in another", async () => {
    const memory = new InMemoryMemory();
    await using fixture = await testAgent({
      script: [
        toolCallResponse("remember", "c1", { content: "The user likes green tea." }),
        stopResponse("noted"),
        toolCallResponse("recall", "c2", { query: "which tea?" }),
        stopResponse("green"),
      ],
      memory: [memory],
      providers: memoryTools({ scope: () => ({ user: "ann" }) }),
    });
    const { agent } = fixture;
    await agent.runTurn("I like green tea.", "one");
    const { toolResults } = await agent.runTurn("What tea do I like?", "two");
    expect(JSON.stringify(toolResults)).toContain("The user likes green tea.");
    expect(await memory.search({ query: "tea" })).toMatchObject([{ metadata: { user: "ann" } }]);
  });

  it("keeps users apart, whatever the model sends", async () => {
    const memory = new InMemoryMemory();
    const call = asUser(memory);
    const { id } = (await call("ann", "remember", { content: "Ann's code is 4711" })) as { id: string };
    for (const args of [{ query: "code" }, { query: "code", filter: { user: "ann" }, user: "ann", scope: "shared" }]) {
      expect(await call("bob", "recall", args)).toEqual({ entries: [] });
    }
    const stolen = { id, content: "Ann's code is 4711", user: "ann" };
    expect(await call("bob", "forget", stolen)).toMatchObject({ isError: true });
    await call("bob", "remember", { content: "Bob's code", id, metadata: { user: "ann" } });
    expect(await call("ann", "recall", { query: "code" })).toMatchObject({
      entries: [{ id, content: "Ann's code is 4711" }],
    });
    expect(await call("ann", "forget", stolen)).toEqual({ forgotten: id });
    expect(await call("ann", "recall", { query: "code" })).toEqual({ entries: [] });
  });

  it("remembers once what is executed again under the same id", async () => {
    const memory = new InMemoryMemory();
    const [remember] = memoryTools({ memory, scope: "shared" });
    const context = testToolContext({ executionId: "turn.1.0" });
    for (const attempt of [1, 2]) {
      await remember?.execute({ id: `${attempt}`, name: "remember", arguments: { content: "apple" } }, context);
    }
    expect(await memory.search({ query: "apple" })).toHaveLength(1);
  });

  it.each([undefined, {}, { user: undefined }, { user: null }, { user: "" }, "ann", []])(
    "does nothing where the scope is %j",
    async (scope) => {
      const memory = new InMemoryMemory();
      await memory.store({ id: "a", content: "apple" });
      const call = asUser(memory, { scope: () => scope as never });
      for (const [name, args] of [
        ["remember", { content: "apple" }],
        ["recall", { query: "apple" }],
        ["forget", { id: "a", content: "apple" }],
      ] as const) {
        await expect(call("ann", name, args)).rejects.toThrow("the scope of the memory is not known");
      }
      expect(await memory.search({ query: "apple" })).toMatchObject([{ id: "a" }]);
    },
  );

  it("gives more metadata than the scope, which the scope overrules", async () => {
    const memory = new InMemoryMemory();
    const call = asUser(memory, { ...byUser, metadata: () => ({ user: "nobody", from: "chat" }) });
    await call("ann", "remember", { content: "apple" });
    expect(await memory.search({ query: "apple" })).toMatchObject([{ metadata: { user: "ann", from: "chat" } }]);
  });

  it("bounds what is remembered and what is recalled", async () => {
    const memory = new InMemoryMemory();
    for (let n = 0; n < 9; n++) await memory.store({ content: `apple ${"x".repeat(100)}` });
    const options = { scope: "shared", memory, topK: 3, maxLength: 20 } as const;
    const [remember] = memoryTools(options);
    expect(remember?.validate("remember", { content: "x".repeat(21) })).toMatchObject({ ok: false });
    const { entries } = (await asUser(memory, options)("ann", "recall", { query: "apple" })) as {
      entries: JsonObject[];
    };
    expect(entries.map(({ content }) => content)).toEqual(
      Array.from({ length: 3 }, () => `apple ${"x".repeat(14)} (cut)`),
    );
  });

  it("offers the tools that are asked for", () => {
    expect(memoryTools({ scope: "shared", tools: ["recall"] }).map(({ def }) => def.name)).toEqual(["recall"]);
  });

  it.each([
    undefined,
    {},
    { scope: {} },
    { scope: "everybody" },
    { scope: "shared", tools: ["recal"] },
    { scope: "shared", topK: 0 },
    { scope: "shared", threshold: Number.NaN },
    { scope: "shared", filter: {} },
  ])("refuses the options %j", (options) => {
    expect(() => memoryTools(options as never)).toThrow(CompositionError);
  });
});
