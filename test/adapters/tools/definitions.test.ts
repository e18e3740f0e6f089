import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agentTool } from "../../../src/adapters/tools/agent-tool.js";
import { composite, filtered, namespaced, refreshing, wrapped } from "../../../src/adapters/tools/combinators.js";
import { defineTool, ToolRegistry, Type } from "../../../src/adapters/tools/index.js";
import { jsonSchemaTool } from "../../../src/adapters/tools/json-schema.js";
import { McpToolProvider } from "../../../src/adapters/tools/mcp.js";
import { offloadResults } from "../../../src/adapters/tools/offload.js";
import { standardSchemaTool } from "../../../src/adapters/tools/standard-schema.js";
import { CompositionError } from "../../../src/domain/errors.js";

type Maker = { readonly make: (definition: never) => unknown; readonly schemas: object };

const agent = { runTurn: () => undefined } as never;
const execute = () => "ok";
const makers: Readonly<Record<string, Maker>> = {
  defineTool: { make: (d) => defineTool(d), schemas: { parameters: Type.Object({}), execute } },
  jsonSchemaTool: { make: (d) => jsonSchemaTool(d), schemas: { inputSchema: { type: "object" }, execute } },
  standardSchemaTool: { make: (d) => standardSchemaTool(d), schemas: { input: z.object({}), execute } },
  agentTool: { make: (d) => agentTool(agent, d), schemas: {} },
};

function refused(make: () => unknown): string {
  try {
    make();
  } catch (error) {
    if (error instanceof CompositionError) return error.message;
    throw error;
  }
  return "nothing was refused";
}

describe.each(Object.entries(makers))("a definition for %s", (maker, { make, schemas }) => {
  const whole = { name: "t", description: "A tool.", ...schemas };
  const made = (definition: unknown) => () => make(definition as never);

  it("is taken when it is whole, and when optional fields are undefined", () => {
    const more = { label: undefined, timeoutMs: 5, executionMode: "sequential", annotations: { readOnlyHint: true } };
    expect(made({ ...whole, ...more, metadata: { a: 1 }, source: "here" })).not.toThrow();
  });

  it.each<[string, unknown, string]>([
    ["nothing", undefined, `${maker} needs a definition`],
    ["null", null, `${maker} needs a definition`],
    ["a list", [], `${maker} needs a definition`],
    ["no name", { ...whole, name: undefined }, `${maker} has no name`],
    ["an empty name", { ...whole, name: "" }, `${maker} has a name that is not a text of at least one character`],
    ["no description", { ...whole, description: undefined }, `${maker} t has no description`],
    ["a description of another type", { ...whole, description: 5 }, `${maker} t has a description that is not text`],
    ["a misspelt field", { ...whole, lable: "T" }, `${maker} t has no option lable`],
    ["a misspelt hint", { ...whole, annotations: { readonlyHint: true } }, "did you mean readOnlyHint?"],
    [
      "a hint that is none",
      { ...whole, annotations: { readOnlyHint: "yes" } },
      "readOnlyHint that is not true or false",
    ],
    ["annotations that are none", { ...whole, annotations: [] }, "annotations that is not an object of hints"],
    ["another mode", { ...whole, executionMode: "serial" }, 'executionMode that is not "parallel" or "sequential"'],
    ["a timeout of nothing", { ...whole, timeoutMs: 0 }, "timeoutMs that is not a number above 0"],
    ["a timeout without end", { ...whole, timeoutMs: 1 / 0 }, "timeoutMs that is not a number above 0"],
    ["metadata that is none", { ...whole, metadata: "x" }, "metadata that is not an object"],
  ])("is refused for %s, with its place", (_what, definition, text) => {
    expect(refused(made(definition))).toMatch(/^CompositionError\(invalid-config\): /);
    expect(refused(made(definition))).toContain(text);
  });

  it("is refused for what JSON cannot hold, with its place", () => {
    const text = refused(made({ ...whole, metadata: { at: [new Map()] } }));
    expect(text).toContain("(invalid-schema): the definition of tool t is not JSON: ");
    expect(text).toContain("tool t.metadata.at[0] is an instance without fields");
  });

  it.runIf(maker !== "agentTool")("is refused for a function that is misspelt, or none", () => {
    const { execute: _execute, ...rest } = whole as { execute?: unknown };
    expect(refused(made({ ...rest, excute: execute }))).toContain("has no option excute; did you mean execute?");
    expect(refused(made(rest))).toContain(`${maker} t has no execute`);
    expect(refused(made({ ...whole, conflictKeys: ["a"] }))).toContain("conflictKeys that is not a function");
  });
});

describe("a source of tools", () => {
  const source = new ToolRegistry();

  it.each<[string, () => unknown]>([
    ["composite of nothing", () => composite(undefined as never)],
    ["composite of null", () => composite([null as never])],
    ["composite with another word", () => composite([source], { sameName: "first" as never })],
    ["composite with a misspelt option", () => composite([source], { samename: "fail" } as never)],
    ["composite with a listener that is none", () => composite([source], { onLeftOut: 1 as never })],
    ["composite with null", () => composite([source], null as never)],
    ["namespaced null", () => namespaced(null as never, "a")],
    ["namespaced by nothing", () => namespaced(source, "")],
    ["filtered by nothing", () => filtered(source, undefined as never)],
    ["filtered by what is no list", () => filtered(source, { only: "a" as never })],
    ["filtered by numbers", () => filtered(source, { except: [1 as never] })],
    ["filtered by a misspelt word", () => filtered(source, { onyl: [] } as never)],
    ["refreshing null", () => refreshing(null as never)],
    ["refreshing with another word", () => refreshing(source, { relist: "never" as never })],
    ["refreshing with another failure", () => refreshing(source, { whenFailing: "loose" as never })],
    ["refreshing with a listener that is none", () => refreshing(source, { onFailure: "x" as never })],
    ["refreshing with a runtime that is none", () => refreshing(source, { runtime: {} as never })],
    ["wrapped by nothing", () => wrapped(source, undefined as never)],
    ["offloadResults without options", () => offloadResults(source, undefined as never)],
    ["offloadResults without a store", () => offloadResults(source, {} as never)],
    ["McpToolProvider of nothing", () => new McpToolProvider(undefined as never)],
    ["McpToolProvider with a misspelt option", () => new McpToolProvider({ servers: {}, onDrfit: "refuse" } as never)],
    [
      "McpToolProvider with a misspelt limit",
      () => new McpToolProvider({ servers: { a: { command: "a", timeout: 5 } } } as never),
    ],
    ["ToolRegistry of null", () => new ToolRegistry(null as never)],
    ["ToolRegistry of one tool", () => new ToolRegistry(source as never)],
    ["register of null", () => source.register(null as never)],
    [
      "register with a misspelt option",
      () => source.register({ def: { name: "a" } } as never, { replce: true } as never),
    ],
    ["agentTool of nothing", () => agentTool(undefined as never, { name: "a", description: "" })],
    ["agentTool with a misspelt option", () => agentTool(agent, { name: "a", description: "", maxdepth: 2 } as never)],
  ])("is refused where it is made: %s", (_what, make) => {
    expect(refused(make)).toMatch(/^CompositionError\(invalid-config\): \S/);
  });
});
