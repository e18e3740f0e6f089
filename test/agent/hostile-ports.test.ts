import { expect, test } from "vitest";
import { Agent } from "../../src/agent/agent.js";
import type { AgentPorts } from "../../src/agent/agent-ports.js";
import { runLoop } from "../../src/agent/run-loop.js";
import { CompositionError, MemoryError } from "../../src/domain/errors.js";
import type { MemoryPort } from "../../src/ports/memory.js";
import { commandDef, RecordingSessionStore, ScriptedModel, stopResponse, testAgent } from "../../src/testkit/index.js";
import { rejectionOf } from "../support/turns.js";

const failureOf = (ports: object): Promise<unknown> =>
  Agent.create({ model: new ScriptedModel([]), sessions: [new RecordingSessionStore()], ...ports } as AgentPorts).then(
    () => undefined,
    (error: unknown) => error,
  );

const cyclic: { type: string; properties?: unknown } = { type: "object" };
cyclic.properties = { self: cyclic };
const listing = (...defs: readonly unknown[]) => ({ name: "mine", listTools: () => defs, execute: () => "" });
const commands = (listed: unknown) => ({ commands: () => listed, invoke: () => Promise.reject(new Error("never")) });

const misfits: readonly (readonly [string, object, CompositionError["kind"], string])[] = [
  ["a hook that is null", { hooks: [null] }, "invalid-config", "hooks[0]"],
  ["a provider that is null", { tools: [null] }, "invalid-config", "tools[0]"],
  ["an observer that is null", { observers: [null] }, "invalid-config", "observers[0]"],
  ["a store without load", { sessions: [{}] }, "invalid-config", "`load`"],
  ["a memory that is text", { memory: ["x"] }, "invalid-config", "memory[0]"],
  ["a lifecycle that cannot shut down", { lifecycles: [{}] }, "invalid-config", "`onShutdown`"],
  ["a compressor in place of a list", { compressors: { compress: () => undefined } }, "invalid-config", "compressors"],
  ["a tool whose schema is cyclic", { tools: [listing({ name: "f", inputSchema: cyclic })] }, "invalid-schema", "mine"],
  ["a tool that is null", { tools: [listing(null)] }, "invalid-schema", "mine"],
  ["a command port that lists null", { commands: [commands(null)] }, "invalid-config", "lists no commands"],
  ["a command that is null", { commands: [commands([null])] }, "invalid-config", "no definition"],
  [
    "a command without parameters",
    { commands: [commands([{ ...commandDef("go"), params: undefined }])] },
    "invalid-config",
    '"go"',
  ],
  ["a command no line can call", { commands: [commands([commandDef("a b")])] }, "invalid-config", '"a b"'],
  [
    "an alias no line can call",
    { commands: [commands([commandDef("a", { aliases: ["b/c"] })])] },
    "invalid-config",
    '"b/c"',
  ],
];

test.each(misfits)("%s fails composition, named (A1)", async (_, change, kind, told) => {
  const error = await failureOf(change);
  expect(error).toBeInstanceOf(CompositionError);
  expect(error).toMatchObject({ kind, message: expect.stringContaining(told) as string });
});

test("ports of one turn or of a loop are checked like an agent's", async () => {
  await using t = await testAgent({ script: [stopResponse("fine")] });
  const error = await rejectionOf(t.agent.runTurn("hi", "s", { hooks: [null as never] }));
  expect(error).toMatchObject({ kind: "invalid-input", cause: { kind: "invalid-config" } });
  const loop = runLoop([{ role: "user", content: "hi" }], { model: new ScriptedModel([]), hooks: [null as never] });
  await expect(loop).rejects.toBeInstanceOf(CompositionError);
  expect((await t.agent.runTurn("hi", "s")).text).toBe("fine");
});

const memory = (answer: unknown): MemoryPort =>
  ({ name: "odd", store: () => answer, search: () => answer, delete: () => answer }) as unknown as MemoryPort;

test.each([5, null, [null], [{ id: "a" }], [{ id: "a", content: "x", metadata: {}, score: Number.NaN }]])(
  "a memory that answers %j fails as a MemoryError naming it",
  async (answer) => {
    await using t = await testAgent({ memory: [memory(answer)] });
    const search: unknown = await t.agent.memory.search({ query: "x" }).catch((error: unknown) => error);
    expect(search).toBeInstanceOf(MemoryError);
    expect(search).toMatchObject({ kind: "search", message: expect.stringContaining("odd") as string });
    await expect(t.agent.memory.store({ content: "x" })).rejects.toMatchObject({ name: "MemoryError", kind: "store" });
  },
);

test.each([undefined, null, {}, { query: 5 }, { query: "x", filter: null }, { query: "x", threshold: "1" }])(
  "the query %j asks no memory",
  async (query) => {
    let asked = 0;
    const counting = { ...memory([]), search: () => Promise.resolve((asked++, [])) };
    await using t = await testAgent({ memory: [counting] });
    await expect(t.agent.memory.search(query as never)).rejects.toBeInstanceOf(MemoryError);
    expect(asked).toBe(0);
  },
);
