import { describe, expect, it, test } from "vitest";
import { defineTool, type DefinedTool, ToolRegistry, Type } from "../../../src/adapters/tools/index.js";
import { NoopToolProvider } from "../../../src/adapters/tools/noop.js";
import { CompositionError, ToolError } from "../../../src/domain/errors.js";
import { runClaims, testToolContext, toolProviderClaims } from "../../../src/testkit/index.js";

const echo = (name: string, answer = name): DefinedTool =>
  defineTool({
    name,
    description: "Echoes.",
    parameters: Type.Object({ text: Type.String() }),
    prepareArguments: (raw) => ({ ...raw, prepared: name }),
    conflictKeys: () => [name],
    beforeExecute: () => undefined,
    execute: () => answer,
  });

const names = (registry: ToolRegistry): readonly string[] => registry.listTools().map((def) => def.name);

describe("ToolRegistry", () => {
  runClaims({
    test,
    claims: toolProviderClaims,
    make: () => {
      const slow = defineTool({
        name: "slow",
        description: "Waits.",
        parameters: Type.Object({}),
        execute: async (_args, { signal }) => {
          const aborted = Promise.withResolvers<void>();
          signal.addEventListener("abort", () => aborted.resolve(), { once: true });
          await aborted.promise;
        },
      });
      const registry = new ToolRegistry([echo("a"), echo("b"), slow]);
      let count = 0;
      return {
        provider: registry,
        call: { name: "a", arguments: { text: "x" } },
        slowCall: { name: "slow", arguments: {} },
        invalid: { arguments: { text: { secret: "hunter-2222" } }, path: "/text" },
        change: () => {
          count += 1;
          registry.register(echo(`new-${count}`));
        },
      };
    },
  });

  it("refuses a taken name and changes nothing, unless it is to be replaced", async () => {
    const registry = new ToolRegistry([echo("a", "old"), echo("b")]);
    const call = { id: "1", name: "a", arguments: {} };
    expect(() => registry.register(echo("a", "new"))).toThrow(CompositionError);
    expect(await registry.execute(call, testToolContext())).toBe("old");
    registry.register(echo("a", "new"), { replace: true });
    expect(await registry.execute(call, testToolContext())).toBe("new");
    expect(names(registry)).toEqual(["a", "b"]);
  });

  it("lists the same array until something changes", () => {
    const registry = new ToolRegistry([echo("a")]);
    const before = registry.listTools();
    expect(registry.listTools()).toBe(before);
    expect(registry.unregister("nope")).toBe(false);
    expect(registry.listTools()).toBe(before);
    registry.register(echo("b"));
    expect(before).toHaveLength(1);
    expect(names(registry)).toEqual(["a", "b"]);
    expect(registry.unregister("a")).toBe(true);
    expect(names(registry)).toEqual(["b"]);
  });

  it("tells each listener of each change, also one that stops itself or another on the way", () => {
    const registry = new ToolRegistry();
    const heard: string[] = [];
    const stopFirst = registry.onToolsChanged(() => {
      heard.push("first");
      stopFirst();
    });
    registry.onToolsChanged(() => heard.push("second"));
    registry.register(echo("a"));
    registry.unregister("a");
    registry.unregister("a");
    expect(heard).toEqual(["first", "second", "second"]);
  });

  it("forwards every optional member by name, and is neutral for names it does not have", () => {
    const registry = new ToolRegistry([echo("a")]);
    const call = (name: string) => ({ id: "1", name, arguments: {} });
    expect(registry.prepareArguments("a", {})).toEqual({ prepared: "a" });
    expect(registry.prepareArguments("z", { x: 1 })).toEqual({ x: 1 });
    expect(registry.validate("a", {}).ok).toBe(false);
    expect(registry.hooks("a")?.beforeExecute).toBeTypeOf("function");
    expect(registry.hooks("z")).toBeUndefined();
    expect([registry.conflictKeys(call("a")), registry.conflictKeys(call("z"))]).toEqual([["a"], []]);
  });

  it("refuses a call to a tool that has gone", async () => {
    const registry = new ToolRegistry([echo("a")]);
    registry.unregister("a");
    await expect(registry.execute({ id: "1", name: "a", arguments: {} }, testToolContext())).rejects.toThrow(ToolError);
  });
});

describe("NoopToolProvider", () => {
  it("has no tools and refuses every call", async () => {
    const provider = new NoopToolProvider();
    expect(provider.listTools()).toEqual([]);
    await expect(provider.execute({ id: "1", name: "a", arguments: {} })).rejects.toMatchObject({
      kind: "unknown-tool",
    });
  });
});

it.each([undefined, {}, { listTools: () => [], execute: () => 1 }])("refuses what is no defined tool: %j", (tool) => {
  expect(() => new ToolRegistry([tool as never])).toThrow("CompositionError(invalid-config)");
});
