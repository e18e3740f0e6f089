import { describe, expect, it } from "vitest";
import { CommandRegistry, type CommandSpec } from "../../../src/adapters/commands/registry.js";
import type { CommandArgs, CommandOutcome } from "../../../src/domain/command.js";
import { CommandError, CompositionError, Defect, SessionError } from "../../../src/domain/errors.js";
import type { AgentApi } from "../../../src/ports/agent-api.js";
import type { CommandContext } from "../../../src/ports/command.js";

const context: CommandContext = { signal: new AbortController().signal, agent: {} as AgentApi };
const done: CommandOutcome = { type: "success", feedback: "done" };
const spec = (id: string, extra: Partial<CommandSpec> = {}): CommandSpec => ({ id, description: "", ...extra });
const text = { label: "", description: "", type: "string", required: true, positional: true } as const;

const failure = async (run: () => unknown): Promise<unknown> => {
  try {
    await run();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
};

describe("CommandRegistry", () => {
  it("lists what was registered, in order, with the usual settings filled in", () => {
    const registry = new CommandRegistry()
      .register(spec("b"), () => done)
      .register(spec("a", { label: "A" }), () => done);
    expect(registry.commands()).toEqual([
      {
        id: "b",
        label: "b",
        description: "",
        category: "general",
        type: "action",
        params: [],
        aliases: [],
        visible: true,
      },
      {
        id: "a",
        label: "A",
        description: "",
        category: "general",
        type: "action",
        params: [],
        aliases: [],
        visible: true,
      },
    ]);
  });

  it("gives a handler its validated arguments, defaults included, by id and by alias", async () => {
    const seen: CommandArgs[] = [];
    const params = [
      { ...text, name: "file" },
      { ...text, name: "count", type: "int", required: false, default: 3 },
    ] as const;
    const registry = new CommandRegistry().register(spec("add", { aliases: ["plus"], params }), (args) => {
      seen.push(args);
      return done;
    });
    expect(await registry.invoke("add", { file: "x" }, context)).toEqual(done);
    await registry.invoke("plus", { file: "y", count: 1 }, context);
    expect(seen).toEqual([
      { file: "x", count: 3 },
      { file: "y", count: 1 },
    ]);
  });

  it("rejects unknown ids and bad arguments with typed errors, before the handler runs", async () => {
    const registry = new CommandRegistry().register(spec("add", { params: [{ ...text, name: "file" }] }), () => {
      throw new Error("must not run");
    });
    const unknown = await failure(() => registry.invoke("nope\u001b", {}, context));
    expect(unknown).toBeInstanceOf(CommandError);
    expect(unknown).toMatchObject({
      kind: "not-found",
      message: 'CommandError(not-found): there is no command "nope"',
    });
    expect(await failure(() => registry.invoke("add", {}, context))).toMatchObject({ kind: "invalid-args" });
    expect(await failure(() => registry.invoke("toString", {}, context))).toMatchObject({ kind: "not-found" });
  });

  it("turns whatever a handler throws into execution-failed, with the cause and without its text", async () => {
    for (const thrown of [new TypeError("secret"), "secret", undefined]) {
      const registry = new CommandRegistry().register(spec("x"), () => {
        throw thrown;
      });
      const error = await failure(() => registry.invoke("x", {}, context));
      expect(error).toBeInstanceOf(CommandError);
      expect(error).toMatchObject({ kind: "execution-failed" });
      expect((error as Error).message).not.toContain("secret");
      expect((error as Error).cause).toBe(thrown);
    }
  });

  it("names the typed error beneath, and lets defects and command errors pass", async () => {
    const throwing = (error: Error): Promise<unknown> =>
      failure(() => new CommandRegistry().register(spec("x"), () => Promise.reject(error)).invoke("x", {}, context));
    expect(await throwing(new SessionError("corrupt", "bad row"))).toMatchObject({
      message: "CommandError(execution-failed): x: SessionError(corrupt): bad row",
    });
    const defect = new Defect("script ran out");
    expect(await throwing(defect)).toBe(defect);
    const own = new CommandError("invalid-args", "too many");
    expect(await throwing(own)).toBe(own);
  });

  it.each([
    ["an id", spec("a")],
    ["an alias", spec("b")],
    ["an id by an alias", spec("c", { aliases: ["a"] })],
    ["an alias by an alias", spec("c", { aliases: ["b"] })],
    ["its own alias twice", spec("c", { aliases: ["d", "d"] })],
    ["its own id", spec("c", { aliases: ["c"] })],
  ])("refuses to take %s twice, and stays as it was", async (_what, second) => {
    const registry = new CommandRegistry().register(spec("a", { aliases: ["b"] }), () => done);
    const error = await failure(() => registry.register(second, () => done));
    expect(error).toBeInstanceOf(CompositionError);
    expect(error).toMatchObject({ kind: "duplicate-id" });
    expect(registry.commands()).toHaveLength(1);
  });

  it.each([
    ["a name no command line can call", spec("a b")],
    ["a name that begins with a dot", spec(".a")],
    ["an alias with a slash", spec("a", { aliases: ["b/c"] })],
    [
      "two parameters of one name",
      spec("a", {
        params: [
          { ...text, name: "p" },
          { ...text, name: "p" },
        ],
      }),
    ],
    ["a default of another type", spec("a", { params: [{ ...text, name: "p", type: "int", default: "1" }] })],
  ])("refuses %s", async (_what, wrong) => {
    expect(await failure(() => new CommandRegistry().register(wrong, () => done))).toMatchObject({
      kind: "invalid-config",
    });
  });

  it("takes a field that is undefined for one left out", () => {
    const registry = new CommandRegistry().register(
      { id: "a", description: "b", params: undefined, aliases: undefined, label: undefined },
      () => done,
    );
    expect(registry.commands()).toMatchObject([{ id: "a", label: "a", params: [], aliases: [] }]);
  });

  it.each([
    null,
    {},
    { id: "a" },
    { id: "a", description: "b", params: "x" },
    { id: "a", description: "b", params: [null] },
    { id: "a", description: "b", params: [{ type: "string" }] },
    { id: "a", description: "b", params: [{ name: "p", type: "zzz" }] },
    { id: "a", description: "b", params: [{ name: "p", type: "string", choices: "abc" }] },
    { id: "a", description: "b", aliases: "g" },
    { id: "a", description: "b", aliases: null },
    { id: "a", description: "b", metadata: { n: 1n } },
  ])("refuses a definition that is none (%#)", async (wrong) => {
    expect(await failure(() => new CommandRegistry().register(wrong as never, () => done))).toMatchObject({
      name: "CompositionError",
      kind: "invalid-config",
    });
  });

  it("keeps its own copy of a definition", () => {
    const aliases = ["b"];
    const registry = new CommandRegistry().register(spec("a", { aliases }), () => done);
    aliases.push("c");
    expect(registry.commands()[0]?.aliases).toEqual(["b"]);
  });
});
