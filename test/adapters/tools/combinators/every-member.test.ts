import { describe, expect, it } from "vitest";
import { composite, filtered, namespaced, refreshing, wrapped } from "../../../../src/adapters/tools/combinators.js";
import { InMemoryResultStore, offloadResults } from "../../../../src/adapters/tools/offload.js";
import type { ToolHooks, ToolProvider } from "../../../../src/ports/tool-provider.js";
import { testToolContext, toolDef } from "../../../../src/testkit/index.js";

const signal = new AbortController().signal;

/** A provider that has each member, and says what it was asked. */
function whole(heard: unknown[] = []): Required<ToolProvider> {
  const hooks: ToolHooks = { beforeExecute: ({ call }) => void heard.push(["beforeExecute", call.name]) };
  return {
    name: "source",
    optional: true,
    trustAnnotations: true,
    listTools: () => [toolDef("t")],
    execute: (call) => `ran ${call.name}`,
    prepareArguments: (name, raw) => ({ ...raw, preparedFor: name }),
    validate: (name) => ({ ok: false, issues: [{ path: "", expected: `validated by ${name}` }] }),
    hooks: (name) => (name === "t" ? hooks : undefined),
    conflictKeys: (call) => [`key of ${call.name}`],
    onToolsChanged: (listener) => {
      heard.push(listener);
      return () => heard.push("stopped");
    },
  };
}

type Asked = { readonly provider: ToolProvider; readonly shown: string; readonly heard: unknown[] };

/** Each member of the port, and what shows that it is forwarded. The compiler misses one that is added to the port. */
const members: { readonly [M in keyof Required<ToolProvider>]: (asked: Asked) => unknown } = {
  name: ({ provider }) => expect(provider.name).toEqual(expect.any(String)),
  optional: ({ provider }) => expect(provider.optional).toBe(true),
  trustAnnotations: ({ provider }) => expect(provider.trustAnnotations).toBe(true),
  listTools: async ({ provider, shown }) =>
    expect((await provider.listTools({ signal })).map(({ name }) => name)).toContain(shown),
  execute: async ({ provider, shown }) =>
    expect(await provider.execute({ id: "1", name: shown, arguments: {} }, testToolContext())).toBe("ran t"),
  prepareArguments: ({ provider, shown }) =>
    expect(provider.prepareArguments?.(shown, { a: 1 })).toEqual({ a: 1, preparedFor: "t" }),
  validate: ({ provider, shown }) =>
    expect(provider.validate?.(shown, {})).toEqual({ ok: false, issues: [{ path: "", expected: "validated by t" }] }),
  hooks: async ({ provider, shown, heard }) => {
    const input = { args: {}, call: { id: "1", name: shown, arguments: {} } };
    await provider.hooks?.(shown)?.beforeExecute?.(input, testToolContext());
    expect(heard).toContainEqual(["beforeExecute", "t"]);
  },
  conflictKeys: ({ provider, shown }) =>
    expect(provider.conflictKeys?.({ id: "1", name: shown, arguments: {} })).toEqual(["key of t"]),
  onToolsChanged: ({ provider, heard }) => {
    const listener = (): void => undefined;
    const stop = provider.onToolsChanged?.(listener);
    expect(heard).toContain(listener);
    expect(heard).not.toContain("stopped");
    stop?.();
    expect(heard).toContain("stopped");
  },
};

const combinators: Readonly<Record<string, readonly [make: (inner: ToolProvider) => ToolProvider, shown: string]>> = {
  composite: [(inner) => composite([inner]), "t"],
  namespaced: [(inner) => namespaced(inner, "space"), "space__t"],
  filtered: [(inner) => filtered(inner, () => true), "t"],
  refreshing: [(inner) => refreshing(inner), "t"],
  wrapped: [(inner) => wrapped(inner, (_call, _context, run) => run()), "t"],
};

describe.each(Object.entries(combinators))("%s", (_name, [make, shown]) => {
  it.each(Object.entries(members))("forwards %s", async (_member, check) => {
    const heard: unknown[] = [];
    const provider = make(whole(heard));
    await provider.listTools({ signal });
    await check({ provider, shown, heard });
  });

  it("has no member that its source lacks, but a name", async () => {
    const { listTools, execute } = whole();
    const provider = make({ listTools, execute });
    await provider.listTools({ signal });
    expect(
      Object.keys(provider)
        .filter((member) => member !== "name")
        .sort(),
    ).toEqual(["execute", "listTools"]);
  });

  it("keeps a provider that is an instance of a class whole", async () => {
    class Source implements ToolProvider {
      readonly #answer = "mine";
      listTools = () => [toolDef("t")];
      execute() {
        return this.#answer;
      }
      conflictKeys() {
        return [this.#answer];
      }
    }
    const provider = make(new Source());
    await provider.listTools({ signal });
    const call = { id: "1", name: shown, arguments: {} };
    expect(await provider.execute(call, testToolContext())).toBe("mine");
    expect(provider.conflictKeys?.(call)).toEqual(["mine"]);
  });
});

describe("offloadResults", () => {
  it.each(Object.entries(members))("forwards %s", async (_member, check) => {
    const heard: unknown[] = [];
    const provider = offloadResults(whole(heard), { store: new InMemoryResultStore() });
    await provider.listTools({ signal });
    await check({ provider, shown: "t", heard });
  });
});
