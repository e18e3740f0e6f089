import { describe, expect, it, test } from "vitest";
import { composite, filtered, namespaced, refreshing, wrapped } from "../../../../src/adapters/tools/combinators.js";
import { defineTool, ToolRegistry, Type } from "../../../../src/adapters/tools/index.js";
import { AgentError, CompositionError, ToolError } from "../../../../src/domain/errors.js";
import type { ToolDef } from "../../../../src/domain/tool.js";
import type { ListContext, ToolProvider } from "../../../../src/ports/tool-provider.js";
import {
  RecordingToolProvider,
  runClaims,
  stopResponse,
  testAgent,
  testToolContext,
  toolCallResponse,
  toolCallsResponse,
  toolDef,
  toolOutcome,
  toolProviderClaims,
  type ToolProviderFixture,
} from "../../../../src/testkit/index.js";

const signal = new AbortController().signal;
const namesOf = async (provider: ToolProvider, context: ListContext = { signal }): Promise<readonly string[]> =>
  (await provider.listTools(context)).map(({ name }) => name);
const run = async (provider: ToolProvider, name: string, sessionId = "s"): Promise<unknown> =>
  await provider.execute({ id: "1", name, arguments: {} }, testToolContext({ sessionId }));

function fixture(make: (inner: ToolProvider) => ToolProvider, shown = (name: string) => name): ToolProviderFixture {
  const inner = new RecordingToolProvider({
    validate: (_name, args) =>
      typeof args["city"] === "string" || args["city"] === undefined
        ? { ok: true, value: args }
        : { ok: false, issues: [{ path: "/city", expected: "a string" }] },
  })
    .add("weather", toolOutcome.ok({ sky: "clear" }))
    .add("slow", toolOutcome.hangs());
  return {
    provider: make(inner),
    call: { name: shown("weather"), arguments: { city: "Bern", days: [1, 2] } },
    slowCall: { name: shown("slow"), arguments: {} },
    invalid: { arguments: { city: { secret: "hunter-2222" } }, path: "/city" },
    change: () => void inner.add(`extra-${inner.listCallCount}`, toolOutcome.ok()),
    deadlineMs: 100,
  };
}

/** Validation needs to know whose a tool is, so that a listing comes first, as in an agent. */
const listedFirst = async (made: ToolProviderFixture): Promise<ToolProviderFixture> => {
  await made.provider.listTools({ signal });
  return made;
};

describe.each([
  ["composite", () => fixture((inner) => composite([inner, new RecordingToolProvider()]))],
  [
    "namespaced",
    () =>
      fixture(
        (inner) => namespaced(inner, "remote"),
        (name) => `remote__${name}`,
      ),
  ],
  ["filtered", () => fixture((inner) => filtered(inner, { except: ["nothing"] }))],
  ["wrapped", () => fixture((inner) => wrapped(inner, (_call, _context, go) => go()))],
] as const)("%s", (_name, make) => {
  runClaims({ test, claims: toolProviderClaims, make: () => listedFirst(make()) });
});

const saying = (answer: string, members: Partial<ToolProvider> = {}, ...tools: readonly ToolDef[]): ToolProvider => ({
  ...members,
  listTools: () => tools,
  execute: () => answer,
});

describe("composite", () => {
  it("lists and runs the tools of all its sources, in their order", async () => {
    const both = composite([saying("one", {}, toolDef("a")), saying("two", {}, toolDef("b"), toolDef("c"))]);
    expect(await namesOf(both)).toEqual(["a", "b", "c"]);
    expect([await run(both, "a"), await run(both, "c")]).toEqual(["one", "two"]);
  });

  it("names both sources of a name that two have, unless the first is to win", async () => {
    const sources = [
      saying("mine", { name: "local" }, toolDef("a")),
      saying("theirs", { name: "remote" }, toolDef("a")),
    ];
    await expect(namesOf(composite(sources))).rejects.toThrow("tool a comes from local and remote");
    const localFirst = composite(sources, { sameName: "first-wins" });
    expect(await namesOf(localFirst)).toEqual(["a"]);
    expect(await run(localFirst, "a")).toBe("mine");
  });

  it("fails an agent, and a turn, with the collision it found", async () => {
    const remote = new RecordingToolProvider({ name: "remote" });
    const local = saying("mine", { name: "local" }, toolDef("a"));
    await using agents = await testAgent({ providers: [composite([local, remote])], script: [stopResponse("never")] });
    remote.add("a", toolOutcome.ok());
    const failed = await agents.agent.runTurn("go").catch((error: unknown) => error);
    expect(failed).toMatchObject({ cause: expect.any(CompositionError) as unknown });
    const made = testAgent({ providers: [composite([local, remote])] });
    await expect(made).rejects.toThrow("CompositionError(tool-collision): tool a comes from local and remote");
  });

  it("leaves out an optional source that cannot list, and says so; another one fails the listing by name", async () => {
    const broken = new RecordingToolProvider({ name: "far", optional: true }).failList(new Error("down"));
    const left: unknown[] = [];
    const sources = [saying("one", {}, toolDef("a")), broken];
    expect(await namesOf(composite(sources, { onLeftOut: ({ source }) => left.push(source) }))).toEqual(["a"]);
    expect(left).toEqual(["far"]);
    const needed = new RecordingToolProvider({ name: "near" }).failList(new Error("down"));
    await expect(namesOf(composite([needed]))).rejects.toThrow("near could not list its tools");
  });

  it("trusts what trusted sources say of their tools, and only that", async () => {
    const annotations = { title: "T", readOnlyHint: true };
    const mine = saying("", { trustAnnotations: true }, { ...toolDef("mine"), annotations });
    const theirs = saying("", { name: "far" }, { ...toolDef("theirs"), annotations });
    const both = composite([mine, theirs]);
    expect(both.trustAnnotations).toBe(true);
    expect((await both.listTools({ signal })).map((def) => def.annotations)).toEqual([annotations, { title: "T" }]);
    await using agents = await testAgent({ providers: [both] });
    expect(agents.agent.explain().tools.map(({ name, source, hints }) => [name, source, hints.readOnly])).toEqual([
      ["mine", "composite", true],
      ["theirs", "far", false],
    ]);
    expect(composite([theirs]).trustAnnotations).toBeUndefined();
  });

  it("gives each session the tools that its sources list for it", async () => {
    const tenants: ToolProvider = {
      listTools: ({ sessionId }) => (sessionId === "a" ? [toolDef("only_a")] : [toolDef("only_b")]),
      execute: ({ name }) => name,
    };
    const all = composite([tenants]);
    expect(await namesOf(all, { signal, sessionId: "a" })).toEqual(["only_a"]);
    expect(await namesOf(all, { signal, sessionId: "b" })).toEqual(["only_b"]);
    expect(await run(all, "only_a", "a")).toBe("only_a");
    await expect(run(all, "only_a", "b")).rejects.toThrow(ToolError);
    // A session nobody listed for, as after a replay: it is listed on the way.
    expect(await run(all, "only_b", "c")).toBe("only_b");
  });

  it("is told of the changes of each source, and stops listening to all, whatever one throws", () => {
    const [one, two] = [new ToolRegistry(), new ToolRegistry()];
    const stuck: ToolProvider = {
      ...saying(""),
      onToolsChanged: () => () => {
        throw new Error("stuck");
      },
    };
    let told = 0;
    const stop = composite([one, stuck, two]).onToolsChanged?.(() => (told += 1));
    const tool = (name: string) =>
      defineTool({ name, description: "", parameters: Type.Object({}), execute: () => undefined });
    one.register(tool("a"));
    two.register(tool("a"));
    expect(told).toBe(2);
    expect(() => stop?.()).toThrow("stuck");
    two.register(tool("b"));
    expect(told).toBe(2);
  });

  it("lists the same definitions again, so that an agent sees that nothing changed", async () => {
    const all = composite([namespaced(saying("", { name: "far" }, toolDef("a")), "far")]);
    const [first, second] = [await all.listTools({ signal }), await all.listTools({ signal })];
    expect(second[0]).toBe(first[0]);
  });
});

describe("namespaced", () => {
  it("lets two sources have a tool of one name, each called by its own", async () => {
    const [one, two] = [new RecordingToolProvider(), new RecordingToolProvider()];
    one.add("search", toolOutcome.ok("from one"));
    two.add("search", toolOutcome.ok("from two"));
    await using agents = await testAgent({
      script: [
        toolCallsResponse(
          { id: "c1", name: "one__search", arguments: {} },
          { id: "c2", name: "two__search", arguments: {} },
        ),
        stopResponse("done"),
      ],
      providers: [namespaced(one, "one"), namespaced(two, "two")],
    });
    const { toolResults } = await agents.agent.runTurn("go");
    expect(toolResults.map(({ content }) => content[0])).toMatchObject([{ text: "from one" }, { text: "from two" }]);
    expect([...one.execRecords, ...two.execRecords].map(({ toolName }) => toolName)).toEqual(["search", "search"]);
  });

  it("refuses a namespace that is none", () => {
    expect(() => namespaced(saying(""), "")).toThrow(CompositionError);
  });
});

describe("filtered", () => {
  const tools = [
    { ...toolDef("read"), annotations: { readOnlyHint: true } },
    { ...toolDef("write"), annotations: { destructiveHint: true } },
  ];

  it("keeps tools by name, or by what may be believed of them", async () => {
    const source = saying("ran", { trustAnnotations: true }, ...tools);
    expect(await namesOf(filtered(source, { only: ["write"] }))).toEqual(["write"]);
    expect(await namesOf(filtered(source, { except: ["write"] }))).toEqual(["read"]);
    expect(await namesOf(filtered(source, (_def, { readOnly }) => readOnly))).toEqual(["read"]);
    const unknown = saying("ran", {}, ...tools);
    expect(await namesOf(filtered(unknown, (_def, { readOnly }) => readOnly))).toEqual([]);
  });

  it("does not run what it does not show, even when nothing was listed before", async () => {
    const source = filtered(saying("ran", {}, ...tools), { except: ["write"] });
    await expect(run(source, "write")).rejects.toThrow("ToolError(unknown-tool)");
    expect(await run(source, "read")).toBe("ran");
  });

  it.each([[undefined], [1], [Promise.resolve(false)]])(
    "fails where its filter answers %o: neither true nor false",
    async (answer) => {
      await expect(namesOf(filtered(saying("ran", {}, ...tools), () => answer as never))).rejects.toThrow(
        "the filter of filtered answered neither true nor false",
      );
    },
  );

  it.each([[{}], [{ only: ["a"], except: ["b"] }], [{ only: "a" }], [{ omit: ["a"] }]])(
    "refuses %j as a filter",
    (filter) => {
      expect(() => filtered(saying(""), filter as never)).toThrow(CompositionError);
    },
  );
});

describe("wrapped", () => {
  it("stands around each call: before, after, instead, and again", async () => {
    let tries = 0;
    const flaky: ToolProvider = {
      listTools: () => [toolDef("t")],
      execute: (call) => {
        tries += 1;
        if (tries === 1) throw new Error("once");
        return { args: call.arguments, tries };
      },
    };
    const retried = wrapped(flaky, async (call, _context, go) => {
      try {
        return await go();
      } catch {
        return await go({ ...call, arguments: { again: true } });
      }
    });
    await using agents = await testAgent({
      script: [toolCallResponse("t", "c1", {}), stopResponse("done")],
      providers: [retried],
    });
    const { toolResults } = await agents.agent.runTurn("go");
    expect(toolResults[0]).toMatchObject({ isError: false, structured: { args: { again: true }, tries: 2 } });
  });

  it("runs a tool by another context, and its failure is the tool's", async () => {
    const seen: string[] = [];
    const source: ToolProvider = {
      listTools: () => [toolDef("t")],
      execute: (_call, { sessionId }) => void seen.push(sessionId),
    };
    const other = wrapped(source, (call, context, go) => go(call, { ...context, sessionId: "other" }));
    await run(other, "t");
    expect(seen).toEqual(["other"]);
    const refusing = wrapped(source, () => {
      throw new Error("not today");
    });
    await using agents = await testAgent({
      script: [toolCallResponse("t", "c1", {}), stopResponse("done")],
      providers: [refusing],
    });
    const { toolResults } = await agents.agent.runTurn("go");
    expect(toolResults[0]).toMatchObject({ isError: true, content: [{ text: "not today" }] });
  });
});

describe("what is no provider", () => {
  it.each([
    ["composite", () => composite([{ listTools: () => [] } as never])],
    ["namespaced", () => namespaced(undefined as never, "a")],
    ["filtered", () => filtered("x" as never, () => true)],
    ["wrapped", () => wrapped(saying(""), "x" as never)],
    ["composite's options", () => composite([], { samename: "fail" } as never)],
  ])("is refused where it is given: %s", (_name, make) => {
    expect(make).toThrow(CompositionError);
  });

  it("keeps an agent error for other listings", async () => {
    const broken = new RecordingToolProvider({ name: "near" });
    await using agents = await testAgent({ providers: [composite([broken])] });
    broken.failList(new Error("secret text"));
    const failed = agents.agent.runTurn("go");
    await expect(failed).rejects.toThrow(AgentError);
    await expect(failed).rejects.toThrow("composite could not list its tools");
  });
});

describe("a source that lists what is no list of tools", () => {
  const bad = [
    undefined,
    null,
    "tools",
    { 0: toolDef("t"), length: 1 },
    [null],
    [{ description: "no name" }],
    [toolDef("t"), 5],
  ];
  const listing = (listed: unknown, optional = false): ToolProvider => ({
    name: "crooked",
    optional,
    listTools: () => listed as readonly ToolDef[],
    execute: () => "ran",
  });

  it.each(bad.map((listed) => [listed]))("fails the composite by its name, or is left out: %j", async (listed) => {
    const good = saying("ran", { name: "good" }, toolDef("t2"));
    await expect(namesOf(composite([good, listing(listed)]))).rejects.toThrow("crooked could not list its tools");
    const left: unknown[] = [];
    const onLeftOut = (failure: unknown): void => void left.push(failure);
    expect(await namesOf(composite([good, listing(listed, true)], { onLeftOut }))).toEqual(["t2"]);
    expect(left).toMatchObject([{ source: "crooked", error: new TypeError("what was listed is no list of tools") }]);
  });

  it.each(bad.map((listed) => [listed]))("fails the others the same way: %j", async (listed) => {
    for (const make of [
      (inner: ToolProvider) => filtered(inner, () => true),
      (inner: ToolProvider) => namespaced(inner, "n"),
      (inner: ToolProvider) => refreshing(inner),
    ]) {
      await expect(namesOf(make(listing(listed)))).rejects.toThrow("what was listed is no list of tools");
    }
  });
});

test("a tool that two sources hold is told apart by their names, and trusted where its own source is", async () => {
  const shared = { ...toolDef("t"), annotations: { readOnlyHint: true } };
  const one = saying("one", { name: "one" }, shared);
  const two = saying("two", { name: "two", trustAnnotations: true }, shared);
  await expect(namesOf(composite([one, two]))).rejects.toThrow("tool t comes from one and two");
  const both = composite([filtered(two, { except: ["t"] }), one]);
  expect(await both.listTools({ signal })).toEqual([{ ...toolDef("t"), source: "one" }]);
});
