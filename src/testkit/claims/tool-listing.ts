import { getEventListeners } from "node:events";
import type { ToolDef } from "../../domain/tool.js";
import { isJsonObject } from "../../domain/json.js";
import type { ToolProvider } from "../../ports/tool-provider.js";
import type { Claim } from "./claim.js";
import { expectSettled } from "./expect-settled.js";
import { expectEqual, expectThat } from "./expectations.js";
import { isJson } from "./is-json.js";
import { spoil } from "./spoil.js";
import { execute, given, type ToolProviderCapability, type ToolProviderFixture } from "./tool-provider-fixture.js";

/** How tools are listed. */
export const toolListingClaims: readonly Claim<ToolProviderFixture, ToolProviderCapability>[] = [
  {
    id: "tools-list-each-name-once",
    title: "each tool is listed once",
    async check({ provider }) {
      const names = (await list(provider)).map((tool) => tool.name);
      expectThat(new Set(names).size === names.length, "no name is listed twice");
    },
  },
  {
    id: "tools-list-the-same-again",
    title: "listing again, before and after a call, gives the same tools in the same order",
    async check({ provider, call }) {
      const first = await list(provider);
      expectEqual(await list(provider), first, "the second listing");
      await execute(provider, call);
      expectEqual(await list(provider), first, "the listing after a call");
    },
  },
  {
    id: "tools-list-concurrently",
    title: "concurrent listings give the same as one alone",
    async check({ provider }) {
      const lists = await Promise.all(Array.from({ length: 8 }, () => list(provider)));
      const names = lists.map((tools) => tools.map((tool) => tool.name).sort());
      for (const other of names) expectEqual(other, names[0], "a concurrent listing");
    },
  },
  {
    id: "tools-are-json",
    title: "a definition holds JSON only",
    async check({ provider }) {
      for (const tool of await list(provider)) expectThat(isJson(tool), `the definition of ${tool.name} is JSON`);
    },
  },
  {
    id: "tools-take-objects",
    title: "the input schema of every tool is that of an object, and every tool has a name and a description",
    async check({ provider }) {
      for (const tool of await list(provider)) {
        expectThat(typeof tool.name === "string" && tool.name !== "", "a tool has a name");
        expectThat(typeof tool.description === "string", `${tool.name} has a description`);
        const type = isJsonObject(tool.inputSchema) ? tool.inputSchema["type"] : undefined;
        expectThat(type === "object", `the input schema of ${tool.name} has the type object`);
      }
    },
  },
  {
    id: "tools-tell-of-changes",
    title: "a listener is told that the list changed, and no more once it stopped listening",
    needs: "changes",
    async check(fixture) {
      const change = given(fixture.change, "change", "changes");
      const provider = fixture.provider;
      expectThat(provider.onToolsChanged !== undefined, "the provider has onToolsChanged");
      let told = 0;
      const changed = Promise.withResolvers<void>();
      const stop = provider.onToolsChanged(() => {
        told += 1;
        changed.resolve();
      });
      await change();
      await expectSettled(changed.promise, fixture.deadlineMs ?? 1_000, "the listener is told of a change");
      stop();
      const before = told;
      await change();
      expectThat(told === before, "a listener that stopped is not told");
    },
  },
  {
    id: "tools-listen-one-by-one",
    title: "a listener that stopped, twice too, keeps no other from being told",
    needs: "changes",
    async check(fixture) {
      const change = given(fixture.change, "change", "changes");
      const { provider } = fixture;
      const stopFirst = provider.onToolsChanged?.(() => undefined);
      const told = Promise.withResolvers<void>();
      const stopSecond = provider.onToolsChanged?.(() => told.resolve());
      stopFirst?.();
      stopFirst?.();
      await change();
      await expectSettled(told.promise, fixture.deadlineMs ?? 1_000, "the other listener is told");
      stopSecond?.();
    },
  },
  {
    id: "tools-lists-are-snapshots",
    title: "a list that was given does not change when the tools do",
    needs: "changes",
    async check(fixture) {
      const change = given(fixture.change, "change", "changes");
      const before = await list(fixture.provider);
      const kept = structuredClone([...before]);
      await change();
      await list(fixture.provider);
      expectEqual([...before], kept, "the list given before");
    },
  },
  {
    id: "tools-lend-no-list",
    title: "changing a list and its definitions, or failing to, changes no later list and no call",
    async check({ provider, call }) {
      const byName = (tools: readonly ToolDef[]): readonly ToolDef[] =>
        tools.toSorted((a, b) => (a.name < b.name ? -1 : 1));
      const first = await list(provider);
      const expected = byName(structuredClone([...first]));
      const result: unknown = structuredClone(await execute(provider, call));
      spoil(first);
      expectEqual(byName(await list(provider)), expected, "the list after somebody changed one");
      expectEqual(await execute(provider, call), result, "a call after somebody changed a list");
    },
  },
  {
    id: "tools-list-leaves-no-listener",
    title: "a listing that has settled leaves no listener on its signal",
    async check({ provider }) {
      const { signal } = new AbortController();
      await provider.listTools({ signal });
      expectThat(getEventListeners(signal, "abort").length === 0, "no listener is left on the signal");
    },
  },
  {
    id: "tools-list-settles-when-aborted",
    title: "a listing whose signal fired before settles soon, with a list or a rejection",
    async check({ provider, deadlineMs }) {
      const listing = (async () => await provider.listTools({ signal: AbortSignal.abort() }))();
      await expectSettled(listing, deadlineMs ?? 1_000, "an aborted listing settles");
    },
  },
];

async function list(provider: ToolProvider): Promise<readonly ToolDef[]> {
  return await provider.listTools({ signal: new AbortController().signal });
}
