import { describe, expect, test } from "vitest";
import type { AgentConfig } from "../../src/ports/agent-config.js";
import { ScriptedModel, stopResponse, testAgent, toolOutcome } from "../../src/testkit/index.js";
import { runLoop } from "../../src/agent/run-loop.js";
import { callsOf, hookAt, rejectionOf } from "../support/turns.js";

const hostile = `\u001b[31mred\nline ${"x".repeat(10_000)}`;
const oneLabel = (message: string): void => {
  expect(message.length).toBeLessThan(200);
  expect(message).not.toMatch(/[\n\u001b]/u);
};

/** A message whose reading throws this. */
const throwing = (thrown: unknown): never =>
  ({
    role: "user",
    get content() {
      throw thrown;
    },
  }) as never;

describe("what comes from outside is one label in an error", () => {
  test("an unknown field of the config", async () => {
    const error: unknown = await testAgent({ config: { [hostile]: 1 } as AgentConfig }).catch((e: unknown) => e);
    oneLabel((error as Error).message);
  });

  test.each(["beforeTurn", "beforeModel", "beforeTool"] as const)(
    "the reason of a hook that aborts at %s",
    async (kind) => {
      const hooks = [hookAt(kind, (_, context) => context.abort(hostile))];
      await using t = await testAgent({ script: [callsOf("f")], tools: { f: toolOutcome.ok() }, hooks });
      const error = await rejectionOf(t.agent.runTurn("hi", "s"));
      expect(error.kind).toBe("hook-aborted");
      oneLabel(error.message);
      expect(error.cause).toBe(hostile);
    },
  );

  test.each([
    ["a text", "boom"],
    ["an error", new Error(hostile)],
    ["nothing", undefined],
    ["an object", { a: 1 }],
  ])("input whose reading throws %s is invalid input that says why", async (_, thrown) => {
    await using t = await testAgent();
    const errors = [
      await rejectionOf(t.agent.runTurn([throwing(thrown)], "s")),
      await rejectionOf(t.agent.appendMessage("s", throwing(thrown))),
      await rejectionOf(t.agent.sessions.import({ messages: [throwing(thrown)], metadata: {}, revision: 0 })),
      await rejectionOf(runLoop([throwing(thrown)], { model: new ScriptedModel([]) })),
    ];
    for (const error of errors) {
      expect(error.kind).toBe("invalid-input");
      oneLabel(error.message);
      if (thrown === "boom") expect(error.message).toContain("boom");
    }
  });
});

test("a turn that hits the round limit because a hook goes on says so, and not that the model called tools (L1)", async () => {
  const hook = hookAt("beforeEnd", (_, context) => context.goOn([{ role: "user", content: "more" }]));
  const script = Array.from({ length: 3 }, () => stopResponse("x"));
  await using t = await testAgent({ script, hooks: [hook], config: { maxToolRounds: 2 } });
  const error = await rejectionOf(t.agent.runTurn("hi", "s"));
  expect(error.kind).toBe("tool-loop-exceeded");
  expect(error.message).not.toContain("called tools");
  expect(error.message).toContain("2");
});
