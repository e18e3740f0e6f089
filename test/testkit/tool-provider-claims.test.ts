import { describe, expect, test } from "vitest";
import { ToolError } from "../../src/domain/errors.js";
import type { JsonObject } from "../../src/domain/json.js";
import { errorResult, type ToolDef } from "../../src/domain/tool.js";
import type { ToolProvider, Validation } from "../../src/ports/tool-provider.js";
import { toolDef } from "../../src/testkit/builders.js";
import { checkClaims, runClaims } from "../../src/testkit/claims/index.js";
import { toolProviderClaims, type ToolProviderFixture } from "../../src/testkit/claims/tool-provider.js";
import { RecordingToolProvider } from "../../src/testkit/fakes/recording-tool-provider.js";
import { toolOutcome } from "../../src/testkit/fakes/tool-outcome.js";
import { proveClaims } from "./prove-claims.js";

const samples = {
  call: { name: "weather", arguments: { city: "Bern", days: [1, 2] } },
  slowCall: { name: "slow", arguments: {} },
  invalid: { arguments: { city: { secret: "hunter-2222" } }, path: "/city" },
  deadlineMs: 50,
};

function validate(_name: string, args: JsonObject): Validation {
  if (typeof args["city"] === "string") return { ok: true, value: args };
  return { ok: false, issues: [{ path: "/city", expected: "a string" }] };
}

function recording(): ToolProviderFixture {
  const provider = new RecordingToolProvider({ validate })
    .add("weather", toolOutcome.ok({ sky: "clear" }))
    .add("slow", toolOutcome.hangs());
  return { ...samples, provider, change: () => void provider.add("extra", toolOutcome.ok()) };
}

describe("the recording tool provider", () => {
  runClaims({ test, claims: toolProviderClaims, make: recording });
});

type Execute = ToolProvider["execute"];

/** A provider that works, with some members replaced. */
function working(
  replace: (base: Required<Pick<ToolProvider, "onToolsChanged">> & ToolProvider) => Partial<ToolProvider>,
) {
  const { provider: base, ...rest } = recording();
  const listeners = base.onToolsChanged?.bind(base);
  if (listeners === undefined) throw new Error("the fake tells of changes");
  const whole = {
    listTools: base.listTools.bind(base),
    execute: base.execute.bind(base),
    validate,
    onToolsChanged: listeners,
  };
  return (): ToolProviderFixture => ({ ...rest, provider: { ...whole, ...replace(whole) } });
}

const listing = (
  change: (tools: Awaited<ReturnType<ToolProvider["listTools"]>>) => ReturnType<ToolProvider["listTools"]>,
) => working((base) => ({ listTools: async (context) => change(await base.listTools(context)) }));

const executing = (make: (execute: Execute) => Execute) => working((base) => ({ execute: make(base.execute) }));

const validating = (broken: typeof validate) => working(() => ({ validate: broken }));

/** Each breaks the claim it is named after, and no other. */
const broken: Readonly<Record<string, () => () => ToolProviderFixture>> = {
  "tools-list-each-name-once": () => listing((tools) => [...tools, toolDef("weather")]),
  "tools-list-the-same-again": () => {
    let flip = false;
    return listing((tools) => ((flip = !flip) ? tools : tools.toReversed()));
  },
  "tools-list-concurrently": () => {
    let busy = false;
    return working((base) => ({
      async listTools(context) {
        if (busy) return [];
        busy = true;
        const tools = await base.listTools(context);
        busy = false;
        return tools;
      },
    }));
  },
  "tools-are-json": () => listing((tools) => tools.map((tool) => ({ ...tool, metadata: dateIn() }))),
  "tools-take-objects": () => listing((tools) => [...tools, toolDef("bare", "Bare.", { type: "string" })]),
  "tools-tell-of-changes": () =>
    working((base) => ({
      onToolsChanged(listener) {
        base.onToolsChanged(listener);
        return () => undefined;
      },
    })),
  "tools-listen-one-by-one": () =>
    working((base) => {
      let stop = (): void => undefined;
      return {
        onToolsChanged(listener) {
          const stopThis = base.onToolsChanged(listener);
          const stopBefore = stop;
          stop = () => (stopBefore(), stopThis());
          return () => stop();
        },
      };
    }),
  "tools-lists-are-snapshots": () => {
    const shared: ToolDef[] = [];
    return listing((tools) => {
      shared.splice(0, shared.length, ...tools);
      return shared;
    });
  },
  "tools-lend-no-list": () => {
    const known = new Map<string, ToolDef>();
    return listing((tools) =>
      tools.map((tool) => {
        const own = known.get(tool.name) ?? structuredClone(tool);
        known.set(tool.name, own);
        return own;
      }),
    );
  },
  "tools-report-nothing-late": () =>
    executing((execute) => async (call, context) => {
      const result = await execute(call, context);
      setImmediate(() => context.progress("done"));
      return result;
    }),
  "tools-list-leaves-no-listener": () =>
    working((base) => ({
      listTools(context) {
        context.signal.addEventListener("abort", () => undefined);
        return base.listTools(context);
      },
    })),
  "tools-list-settles-when-aborted": () =>
    working((base) => ({
      listTools: (context) =>
        context.signal.aborted ? Promise.withResolvers<never>().promise : base.listTools(context),
    })),
  "tools-prepare-is-pure": () => {
    let asked = 0;
    return working(() => ({ prepareArguments: (_name, raw) => ({ ...raw, asked: (asked += 1) }) }));
  },
  "tools-conflict-keys-are-pure": () => {
    let asked = 0;
    return working(() => ({ conflictKeys: () => [`key ${(asked += 1)}`] }));
  },
  "tools-know-unlisted-names": () =>
    working(() => ({
      hooks: (name) => {
        if (name !== "weather") throw new Error("no such tool");
        return undefined;
      },
    })),
  "tools-run": () => executing(() => answering(() => errorResult("always"))),
  "tools-refuse-unknown-names": () =>
    executing((execute) => (call, context) => (call.name === "no such tool" ? "fine" : execute(call, context))),
  "tools-refuse-inherited-names": () => {
    const table: Record<string, unknown> = {};
    return executing(
      (execute) => (call, context) => (table[call.name] === undefined ? execute(call, context) : "found"),
    );
  },
  "tools-keep-no-arguments": () => {
    let kept: JsonObject | undefined;
    return executing(() => answering((args) => (kept ??= args)));
  },
  "tools-run-concurrently": () => {
    let running = 0;
    return executing((execute) => async (call, context) => {
      running += 1;
      const crowded = running > 1;
      await Promise.resolve();
      const value = await execute(call, context);
      running -= 1;
      return crowded ? "crowded" : value;
    });
  },
  "tools-leave-no-listener": () =>
    executing((execute) => (call, context) => {
      context.signal.addEventListener("abort", () => undefined);
      return execute(call, context);
    }),
  "tools-settle-on-abort": () =>
    executing((execute) => (call, context) => {
      if (call.name !== "slow" || context.signal.aborted) return execute(call, context);
      return Promise.withResolvers<never>().promise;
    }),
  "tools-settle-when-aborted-before": () =>
    executing((execute) => (call, context) => {
      if (call.name !== "slow") return execute(call, context);
      return new Promise((resolve) => {
        context.signal.addEventListener("abort", () => resolve("stopped"), { once: true });
      });
    }),
  "tools-validate-accepts": () =>
    validating(() => ({ ok: false, issues: [{ path: "/city", expected: "something else" }] })),
  "tools-validate-is-pure": () =>
    validating((name, args) => {
      Object.assign(args, { days: 1 });
      return validate(name, args);
    }),
  "tools-validate-names-the-place": () =>
    validating((name, args) => {
      const answer = validate(name, args);
      return answer.ok ? answer : { ok: false, issues: [{ path: "city", expected: "a string" }] };
    }),
  "tools-validate-quotes-nothing": () =>
    validating((name, args) => {
      const answer = validate(name, args);
      return answer.ok ? answer : { ok: false, issues: [{ path: "/city", expected: `no ${JSON.stringify(args)}` }] };
    }),
};

function answering(make: (args: JsonObject) => unknown): Execute {
  const known = new Set(["weather", "slow"]);
  return (call) => {
    if (!known.has(call.name)) throw new ToolError("unknown-tool", "no such tool");
    return make(call.arguments) as JsonObject;
  };
}

function dateIn(): JsonObject {
  const holder: object = { at: new Date(0) };
  return holder as JsonObject;
}

const makers = Object.entries(broken).map(([id, make]) => [id, () => make()()] as const);
proveClaims("toolProviderClaims", {
  claims: toolProviderClaims,
  sound: working(() => ({})),
  broken: Object.fromEntries(makers),
});

test("a fixture that cannot show a capability must declare it missing", async () => {
  const make = (): ToolProviderFixture => ({
    provider: new RecordingToolProvider().add("weather", toolOutcome.ok()),
    call: { name: "weather", arguments: {} },
  });
  const silent = await checkClaims({ claims: toolProviderClaims, make });
  expect(silent.ok).toBe(false);
  const missing = { missing: "a fake" };
  const capabilities = { abort: missing, validation: missing, changes: missing };
  const honest = await checkClaims({ claims: toolProviderClaims, make, capabilities });
  expect(honest.ok).toBe(true);
  expect(honest.results.filter(({ outcome }) => outcome === "skipped")).toHaveLength(9);
});
