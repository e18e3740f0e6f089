import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type DefinedTool, defineTool, Type } from "../../../src/adapters/tools/index.js";
import { jsonSchemaTool } from "../../../src/adapters/tools/json-schema.js";
import { standardSchemaTool } from "../../../src/adapters/tools/standard-schema.js";
import type { JsonObject } from "../../../src/domain/json.js";
import { errorResult, okResult } from "../../../src/domain/tool.js";
import { stopResponse, testAgent, toolCallResponse, toolCallsResponse } from "../../../src/testkit/index.js";

/** A definition's members beside the schemas; what is returned is up to the test, whatever the types say. */
const base = { name: "t", description: "A tool.", source: "here", label: "Tool T" };
type Rest = { readonly [member: string]: unknown };

const makers: Readonly<Record<string, (rest: Rest) => DefinedTool>> = {
  defineTool: (rest) =>
    defineTool({
      ...base,
      parameters: Type.Object({ a: Type.Optional(Type.String()) }),
      output: Type.Object({ n: Type.Integer() }),
      ...(rest as object as { execute: () => { n: number } }),
    }),
  jsonSchemaTool: (rest) =>
    jsonSchemaTool({
      ...base,
      inputSchema: { type: "object", properties: { a: { type: "string" } } },
      outputSchema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
      ...(rest as object as { execute: () => { n: number } }),
    }),
  standardSchemaTool: (rest) =>
    standardSchemaTool({
      ...base,
      input: z.object({ a: z.string().optional() }),
      output: z.object({ n: z.int() }),
      ...(rest as object as { execute: () => { n: number } }),
    }),
};

async function resultOf(tool: DefinedTool, args: JsonObject = {}) {
  await using agents = await testAgent({
    providers: [tool],
    script: [toolCallResponse("t", "c1", args), stopResponse("done")],
  });
  const result = await agents.agent.runTurn("go");
  return { ...result, first: result.toolResults[0], events: agents.observer.events };
}

describe.each(Object.entries(makers))("%s", (_name, make) => {
  it("tells the schema of its output", () => {
    const { outputSchema } = make({ execute: () => ({ n: 1 }) }).def;
    expect(outputSchema).toMatchObject({ type: "object", properties: { n: { type: "integer" } }, required: ["n"] });
  });

  it.each([
    ["a value", { n: 5 }, { structured: { n: 5 } }],
    [
      "a whole result",
      okResult("five", { structured: { n: 5 }, details: { d: 1 } }),
      { structured: { n: 5 }, details: { d: 1 } },
    ],
    ["a whole result without data", okResult("five"), { content: [{ type: "text", text: "five" }] }],
  ])("passes what fits: %s", async (_what, returned, expected) => {
    const { first } = await resultOf(make({ execute: () => returned }));
    expect(first).toMatchObject({ isError: false, ...expected });
  });

  it.each([
    ["another type", { n: "secret-number" }],
    ["nothing", undefined],
    ["text", "five"],
    ["data of a whole result", okResult("five", { structured: { n: "secret-number" } })],
    ["what JSON cannot hold", { n: 5n }],
  ])("makes an error result of what does not fit: %s", async (_what, returned) => {
    const { first } = await resultOf(make({ execute: () => returned }));
    expect(first).toMatchObject({ isError: true, outcome: "failed" });
    const text = JSON.stringify(first?.content);
    expect(text).toContain("the result of t is not what its output schema says: /");
    expect(text).not.toContain("secret-number");
  });

  it("does not check error results, nor what is thrown", async () => {
    const returned = await resultOf(make({ execute: () => errorResult("no luck") }));
    expect(returned.first).toMatchObject({ isError: true, content: [{ text: "no luck" }] });
    const error = await resultOf(make({ execute: () => new Error("an error as a value") }));
    expect(error.first).toMatchObject({ isError: true, content: [{ text: "an error as a value" }] });
  });

  it("has label, source, annotations, metadata, mode and timeout in its definition, and is believed", () => {
    const told = {
      annotations: { readOnlyHint: true, title: "T" },
      metadata: { team: "x" },
      executionMode: "sequential",
      timeoutMs: 500,
    };
    const tool = make({ ...told, execute: () => ({ n: 1 }) });
    expect(tool.def).toMatchObject({ name: "t", label: "Tool T", source: "here", ...told });
    expect(tool.trustAnnotations).toBe(true);
  });

  it("mends arguments before they are checked", async () => {
    const seen: unknown[] = [];
    const tool = make({
      prepareArguments: ({ b }: JsonObject) => ({ a: b }),
      execute: (args: unknown) => {
        seen.push(args);
        return { n: 1 };
      },
    });
    await resultOf(tool, { b: "from b" });
    expect(seen).toEqual([{ a: "from b" }]);
  });

  it("tells how far it is, and its own hooks stand around it", async () => {
    const order: string[] = [];
    const tool = make({
      beforeExecute: () => {
        order.push("before");
        return { args: { a: "changed" } };
      },
      afterExecute: ({ result }: { result: { structured: unknown } }) => {
        order.push(`after ${JSON.stringify(result.structured)}`);
        return okResult("replaced");
      },
      execute: ({ a }: { a: string }, { progress }: { progress: (partial: unknown) => void }) => {
        order.push(`execute ${a}`);
        progress({ half: true });
        return { n: 1 };
      },
    });
    const { first, events } = await resultOf(tool, { a: "x" });
    expect(order).toEqual(["before", "execute changed", 'after {"n":1}']);
    expect(first).toMatchObject({ content: [{ text: "replaced" }] });
    expect(events).toContainEqual(expect.objectContaining({ type: "toolCallProgress", partial: { half: true } }));
  });

  it("checks again what its own hook made of the arguments", async () => {
    const tool = make({ beforeExecute: () => ({ args: { a: 5 } }), execute: () => ({ n: 1 }) });
    const { first } = await resultOf(tool);
    expect(first).toMatchObject({ isError: true, outcome: "not-started" });
    expect(JSON.stringify(first?.content)).toContain("the arguments for t are invalid: /a");
  });

  it("never runs two calls that share a conflict key at the same time", async () => {
    let running = 0;
    let most = 0;
    const tool = make({
      conflictKeys: ({ a }: { a: string }) => [a],
      execute: async () => {
        running += 1;
        most = Math.max(most, running);
        await Promise.resolve();
        running -= 1;
        return { n: 1 };
      },
    });
    const both = async (...keys: readonly string[]): Promise<number> => {
      most = 0;
      const calls = keys.map((a, i) => ({ id: `c${i}`, name: "t", arguments: { a } }));
      await using agents = await testAgent({
        providers: [tool],
        script: [toolCallsResponse(...calls), stopResponse("done")],
      });
      await agents.agent.runTurn("go");
      return most;
    };
    expect(await both("same", "same")).toBe(1);
    expect(await both("one", "two")).toBe(2);
  });

  it("is given up after its timeout, and is told so by its signal", async () => {
    const started = Promise.withResolvers<AbortSignal>();
    const tool = make({
      timeoutMs: 100,
      execute: (_args: unknown, { signal }: { signal: AbortSignal }) => {
        started.resolve(signal);
        return Promise.withResolvers<never>().promise;
      },
    });
    await using agents = await testAgent({
      providers: [tool],
      script: [toolCallResponse("t", "c1", {}), stopResponse("done")],
    });
    const turn = agents.agent.runTurn("go");
    const signal = await started.promise;
    await agents.runtime.advance(100);
    const { toolResults } = await turn;
    expect(toolResults[0]).toMatchObject({ isError: true, outcome: "unknown" });
    expect(signal.aborted).toBe(true);
  });

  it.each([
    ["no name", { name: "" }],
    ["no function", { execute: "x" }],
  ])("refuses a definition with %s", (_what, change) => {
    expect(() => make({ execute: () => ({ n: 1 }), ...(change as object) })).toThrow(
      "CompositionError(invalid-config)",
    );
  });
});
