import { setImmediate } from "node:timers/promises";
import { getEventListeners } from "node:events";
import { copyJson } from "../../domain/adopt.js";
import { ToolError } from "../../domain/errors.js";
import type { JsonObject } from "../../domain/json.js";
import type { ToolReturn } from "../../ports/tool-provider.js";
import { testToolContext } from "../tool-context.js";
import type { Claim } from "./claim.js";
import { expectSettled, settlesWithin } from "./expect-settled.js";
import { expectEqual, expectRejection, expectThat } from "./expectations.js";
import { spoil } from "./spoil.js";
import { execute, given, type ToolProviderCapability, type ToolProviderFixture } from "./tool-provider-fixture.js";

/** Names that are found on every plain object. */
const INHERITED_NAMES = ["__proto__", "constructor", "toString", "hasOwnProperty"];

/** How calls are run. */
export const toolExecutionClaims: readonly Claim<ToolProviderFixture, ToolProviderCapability>[] = [
  {
    id: "tools-run",
    title: "a listed tool runs and gives a result, text, JSON or nothing",
    async check({ provider, call }) {
      expectUsable(await execute(provider, call));
    },
  },
  {
    id: "tools-refuse-unknown-names",
    title: 'a name that is not listed rejects with ToolError("unknown-tool")',
    async check({ provider }) {
      const call = { name: "no such tool", arguments: {} };
      await expectRejection(() => execute(provider, call), ToolError, ["unknown-tool"], "an unlisted name");
    },
  },
  {
    id: "tools-refuse-inherited-names",
    title: "names that every object inherits are unknown tools too",
    async check({ provider }) {
      for (const name of INHERITED_NAMES) {
        await expectRejection(() => execute(provider, { name, arguments: {} }), ToolError, ["unknown-tool"], name);
      }
    },
  },
  {
    id: "tools-keep-no-arguments",
    title: "changing the arguments object after a call changes no later call",
    async check({ provider, call }) {
      const args = copyJson(call.arguments, "arguments");
      const context = testToolContext({ callId: "claim-first", requestedName: call.name });
      const first = await provider.execute(
        { id: "claim-first", name: call.name, arguments: args as JsonObject },
        context,
      );
      const expected = structuredClone(first);
      spoil(args);
      expectEqual(await execute(provider, call), expected, "the same call again");
    },
  },
  {
    id: "tools-run-concurrently",
    title: "concurrent calls give the same results as one alone",
    async check({ provider, call }) {
      const alone = await execute(provider, call);
      const together = await Promise.all(Array.from({ length: 8 }, () => execute(provider, call)));
      for (const result of together) expectEqual(result, alone, "a concurrent call");
    },
  },
  {
    id: "tools-leave-no-listener",
    title: "a call that has settled leaves no listener on its signal",
    async check({ provider, call }) {
      const { signal } = new AbortController();
      await execute(provider, call, { signal });
      expectThat(getEventListeners(signal, "abort").length === 0, "no listener is left on the signal");
    },
  },
  {
    id: "tools-report-nothing-late",
    title: "no progress comes after a call has settled, however it did",
    async check({ provider, call, slowCall, deadlineMs = 1_000 }) {
      let late = 0;
      const controller = new AbortController();
      const begun = [call, ...(slowCall === undefined ? [] : [slowCall])].map((sample) => {
        let settled = false;
        const context = { progress: () => void (late += settled ? 1 : 0), signal: controller.signal };
        return execute(provider, sample, context).finally(() => (settled = true));
      });
      await settlesWithin(Promise.allSettled(begun.slice(0, 1)), deadlineMs);
      controller.abort();
      // How they settle, if they do, is another claim's business.
      await settlesWithin(Promise.allSettled(begun), deadlineMs);
      for (let turn = 0; turn < 5; turn++) await setImmediate();
      expectEqual(late, 0, "how often progress was told after the end");
    },
  },
  {
    id: "tools-settle-on-abort",
    title: "a running call settles soon after its signal fires",
    needs: "abort",
    async check(fixture) {
      const controller = new AbortController();
      const running = execute(fixture.provider, given(fixture.slowCall, "slowCall", "abort"), {
        signal: controller.signal,
      });
      // One turn of the event loop lets the call begin.
      await setImmediate();
      controller.abort();
      await expectSettled(running, fixture.deadlineMs ?? 1_000, "an aborted call settles");
    },
  },
  {
    id: "tools-settle-when-aborted-before",
    title: "a call whose signal fired before it began settles soon",
    needs: "abort",
    async check(fixture) {
      const running = execute(fixture.provider, given(fixture.slowCall, "slowCall", "abort"), {
        signal: AbortSignal.abort(),
      });
      await expectSettled(running, fixture.deadlineMs ?? 1_000, "a call that was aborted before settles");
    },
  },
];

function expectUsable(returned: ToolReturn): void {
  if (returned === undefined) return;
  copyJson(returned, "the result");
  if (typeof returned !== "object" || returned === null || !("isError" in returned)) return;
  expectThat(returned.isError === false, "the call succeeds");
  expectThat(Array.isArray(returned["content"]), "the content of a result is a list");
}
