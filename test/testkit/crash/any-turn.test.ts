import fc from "fast-check";
import { test } from "vitest";
import { ModelError } from "../../../src/domain/errors.js";
import type { ModelResponse } from "../../../src/domain/model.js";
import type { ToolProvider } from "../../../src/ports/tool-provider.js";
import {
  assertCrashSafe,
  ConversingModel,
  type CrashLife,
  modelStep,
  stopResponse,
  textStream,
  toolCallsResponse,
  toolDef,
} from "../../../src/testkit/index.js";
import { askingFor } from "../../support/resuming.js";
import { call, hookAt } from "../../support/turns.js";

const NAMES = ["quick", "slow", "fails", "alone", "read", "nobody"] as const;

/** Tools of every kind: slow ones outlast two heartbeats, one runs alone, one may be repeated, and nobody is there for the last name. */
const tools = ({ runtime }: CrashLife): ToolProvider => ({
  name: "all",
  trustAnnotations: true,
  listTools: () => [
    toolDef("quick"),
    toolDef("slow"),
    toolDef("fails"),
    { ...toolDef("alone"), executionMode: "sequential" },
    { ...toolDef("read"), annotations: { readOnlyHint: true } },
  ],
  async execute({ name }, { executionId, progress }) {
    progress(name);
    if (name === "slow") await new Promise<void>((resolve) => void runtime.after(45_000, resolve));
    if (name === "fails") throw new ModelError("server", "of all things");
    return { name, executionId: executionId.slice(-3) };
  },
});

const anyTurn = fc.record({
  rounds: fc.array(fc.array(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 3 }), { maxLength: 2 }),
  hook: fc.boolean(),
  asks: fc.boolean(),
  limit: fc.integer({ min: 1, max: 3 }),
  recovery: fc.constantFrom("store" as const, "journal" as const),
});

test("any turn survives a crash at any point: from its store the law holds and nothing is lost or repeated, from its journal it is the same", async () => {
  await fc.assert(
    fc.asyncProperty(anyTurn, async ({ rounds, hook, asks, limit, recovery }) => {
      // Each call has arguments of its own, so that one effect is told from another.
      const replies: ModelResponse[] = rounds.map((names, round) =>
        toolCallsResponse(...names.map((name, order) => call(name, `c${round}.${order}`, { round, order }))),
      );
      const ports = (life: CrashLife) => ({
        model: new ConversingModel([...replies, modelStep.stream(textStream("all done", 3), stopResponse("all done"))]),
        tools: [tools(life)],
        hooks: [
          ...(hook
            ? [hookAt("afterTool", async (_, context) => void (await context.step("note", async () => 1)), "noting")]
            : []),
          ...(asks ? [askingFor("c0.1")] : []),
        ],
        config: { maxParallelTools: limit },
      });
      await assertCrashSafe({ ports, input: "go", recovery });
    }),
    { numRuns: 25 },
  );
});
