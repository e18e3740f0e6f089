import { describe, expect, test } from "vitest";
import type { ToolError } from "../../src/domain/errors.js";
import type { ToolProvider } from "../../src/ports/tool-provider.js";
import { stopResponse, testAgent, toolDef, toolOutcome } from "../../src/testkit/index.js";
import { callsOf, hookAt, toldResults } from "../support/turns.js";

const huge = `\u001b[31mline\n${"x".repeat(3_000_000)}`;
const config = { maxToolResultBytes: 1_000 };

function provider(members: Partial<ToolProvider>): ToolProvider {
  return { listTools: () => [toolDef("f")], execute: () => "fine", ...members };
}

function throwing(): never {
  throw new Error(huge);
}

const hostile: readonly (readonly [string, ToolProvider])[] = [
  ["a tool that throws", provider({ execute: throwing })],
  ["prepareArguments that throws", provider({ prepareArguments: throwing })],
  [
    "a validation with a huge issue",
    provider({ validate: () => ({ ok: false, issues: [{ path: huge, expected: huge }] }) }),
  ],
  ["an own beforeExecute that throws", provider({ hooks: () => ({ beforeExecute: throwing }) })],
  ["an own afterExecute that throws", provider({ hooks: () => ({ afterExecute: throwing }) })],
];

describe("what went wrong with a call", () => {
  test.each(hostile)("the result is cut to maxToolResultBytes whoever made it: %s (U3)", async (_, own) => {
    await using t = await testAgent({ script: [callsOf("f"), stopResponse("done")], providers: [own], config });
    const { exchanges } = await t.agent.runTurn("hi", "s");
    const [text = ""] = Object.values(toldResults(t));
    expect(text.length).toBeGreaterThan(400);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1_000);
    expect(JSON.stringify(exchanges[0]?.result).length).toBeLessThan(2_000);
  });

  test.each(hostile)("the typed error quotes one label of it: %s", async (_, own) => {
    const errors: ToolError[] = [];
    const hook = hookAt("toolError", (stage) => void errors.push(stage.error));
    await using t = await testAgent({ script: [callsOf("f"), stopResponse("done")], providers: [own], hooks: [hook] });
    await t.agent.runTurn("hi", "s");
    expect(errors).toHaveLength(1);
    expect(errors[0]?.message.length).toBeLessThan(250);
    expect(errors[0]?.message).not.toMatch(/[\n\u001b]/u);
  });

  test.each(hostile.filter(([name]) => name.includes("throws")))(
    "the typed error has what was thrown as cause: %s",
    async (_, own) => {
      const errors: ToolError[] = [];
      const hook = hookAt("toolError", (stage) => void errors.push(stage.error));
      await using t = await testAgent({
        script: [callsOf("f"), stopResponse("done")],
        providers: [own],
        hooks: [hook],
      });
      await t.agent.runTurn("hi", "s");
      expect(errors[0]?.cause).toMatchObject({ message: huge });
    },
  );
});

test("the arguments' faults are told to the model in full, as far as the limit goes (U1, U3)", async () => {
  const issues = [{ path: "/a", expected: `a number ${"y".repeat(100)} end` }];
  const own = provider({ validate: () => ({ ok: false, issues }) });
  await using t = await testAgent({ script: [callsOf("f"), stopResponse("done")], providers: [own] });
  await t.agent.runTurn("hi", "s");
  expect(toldResults(t)["c1"]).toContain(`/a: a number ${"y".repeat(100)} end`);
});

test.each(["blocks", "answers"])("a result of a hook that %s is cut like any other (U3)", async (how) => {
  const hook = hookAt("beforeTool", (_, context) =>
    how === "blocks"
      ? context.block(huge)
      : context.answer({ content: [{ type: "text", text: huge }], isError: false }),
  );
  await using t = await testAgent({
    script: [callsOf("f"), stopResponse("done")],
    tools: { f: toolOutcome.ok() },
    hooks: [hook],
    config,
  });
  await t.agent.runTurn("hi", "s");
  expect(Buffer.byteLength(toldResults(t)["c1"] ?? "")).toBeLessThanOrEqual(1_000);
});

test.each(["parallel", "sequential"] as const)(
  "after a stop in mid-batch the calls that had not started get not-started results: %s (L8)",
  async (toolExecution) => {
    const stopping = hookAt("afterTool", (stage, context) =>
      stage.call.id === "c1" ? context.stop("enough") : undefined,
    );
    const tools = { a: toolOutcome.ok("a"), b: toolOutcome.ok("b") };
    await using t = await testAgent({
      script: [callsOf("a", "b", "b")],
      tools,
      hooks: [stopping],
      config: { toolExecution, maxParallelTools: 1 },
    });
    const { status, stopReason, exchanges } = await t.agent.runTurn("hi", "s");
    expect([status, stopReason]).toEqual(["stopped", "enough"]);
    expect(exchanges.map(({ outcome }) => outcome)).toEqual(["completed", "not-started", "not-started"]);
    expect(t.tools.execRecords).toHaveLength(1);
  },
);

test("a stop in mid-batch holds the later waves back (L8, U2)", async () => {
  const stopping = hookAt("afterTool", (stage, context) =>
    stage.call.id === "c1" ? context.stop("enough") : undefined,
  );
  const one = { ...toolDef("one"), executionMode: "sequential" as const };
  const own: ToolProvider = { listTools: () => [one], execute: () => "ran" };
  await using t = await testAgent({ script: [callsOf("one", "one")], providers: [own], hooks: [stopping] });
  const { exchanges } = await t.agent.runTurn("hi", "s");
  expect(exchanges.map(({ outcome }) => outcome)).toEqual(["completed", "not-started"]);
});
