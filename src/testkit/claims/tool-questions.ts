import { copyJson } from "../../domain/adopt.js";
import type { JsonObject } from "../../domain/json.js";
import type { ToolProvider } from "../../ports/tool-provider.js";
import type { Claim } from "./claim.js";
import { expectEqual, expectThat } from "./expectations.js";
import type { ToolProviderCapability, ToolProviderFixture } from "./tool-provider-fixture.js";

/** Names nobody lists, those among them that every object inherits. */
const UNLISTED = ["no such tool", "__proto__", "constructor"];

/** What is asked about tools beside their list, of providers that can be asked: they are asked at every call, and again after each hook. */
export const toolQuestionClaims: readonly Claim<ToolProviderFixture, ToolProviderCapability>[] = [
  {
    id: "tools-prepare-is-pure",
    title: "prepareArguments, where there is one, gives the same again, and a new call its own",
    async check(fixture) {
      const { provider, call } = await listed(fixture);
      if (provider.prepareArguments === undefined) return;
      const prepare = (): JsonObject | undefined =>
        provider.prepareArguments?.(call.name, copyJson(call.arguments, "arguments") as JsonObject);
      const first = structuredClone(prepare());
      expectEqual(prepare(), first, "the arguments prepared again");
    },
  },
  {
    id: "tools-conflict-keys-are-pure",
    title: "conflictKeys, where there are any, are texts, the same again, and change nothing in the call",
    async check(fixture) {
      const { provider, call } = await listed(fixture);
      if (provider.conflictKeys === undefined) return;
      const args = copyJson(call.arguments, "arguments") as JsonObject;
      const asked = { id: "claim-keys", name: call.name, arguments: args };
      const first = [...provider.conflictKeys(asked)];
      expectThat(
        first.every((key) => typeof key === "string"),
        "every key is a text",
      );
      expectEqual(args, call.arguments, "the arguments after conflictKeys");
      expectEqual([...provider.conflictKeys(asked)], first, "the second answer");
    },
  },
  {
    id: "tools-know-unlisted-names",
    title: "validate and hooks, where there are any, answer about names that are not listed, and throw nothing",
    async check(fixture) {
      const { provider } = await listed(fixture);
      for (const name of UNLISTED) {
        provider.validate?.(name, {});
        const hooks: unknown = provider.hooks?.(name);
        expectThat(hooks === undefined || typeof hooks === "object", `hooks of ${name} are hooks, or nothing`);
      }
    },
  },
];

/** As an agent does it: nothing is asked before the tools were listed. */
async function listed(
  fixture: ToolProviderFixture,
): Promise<ToolProviderFixture & { readonly provider: ToolProvider }> {
  await fixture.provider.listTools({ signal: new AbortController().signal });
  return fixture;
}
