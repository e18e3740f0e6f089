import { AgentError } from "../domain/errors.js";
import type { Runnable } from "./prepared-call.js";
import { HookFailure } from "./stages.js";
import type { ToolBatch } from "./tool-batch.js";
import { executionOf, notStartedText, toolStep } from "./tool-runner.js";

const BUDGET_USED = "The tool call was not executed: the budget for tool calls is used up.";

/** Runs the calls of one wave together, those that `admitTool` and the budgets let through; each is settled as it ends (U4). */
export async function runWave(batch: ToolBatch, whole: readonly Runnable[]): Promise<void> {
  const { run, settler } = batch;
  const refused = batch.heldBack() || (run.stages.has("admitTool") && !(await admit(batch, whole)));
  if (refused) return batch.close(whole, notStartedText(run));
  const { wave, limit } = affordable(batch, whole);
  if (limit !== undefined) await batch.close(whole.slice(wave.length), BUDGET_USED);
  const steps = wave.map((runnable) => toolStep(run, runnable, batch.heldBack));
  await run.scope.all(
    steps,
    (index, outcome) => {
      const runnable = wave[index] as Runnable;
      const { call, order, executionId, entered } = runnable;
      const ended = { call, order, executionId, answered: false, entered };
      const execution = executionOf(outcome, steps[index]?.timeoutMs);
      if (execution.outcome !== "not-started") return settler.settle({ ...ended, execution, runnable });
      run.budget.returnToolCall();
      return settler.settle({ ...ended, execution: batch.closing(executionId, notStartedText(run)) });
    },
    { limit: run.wiring.settings.limits.maxParallelTools },
  );
  if (limit !== undefined) batch.end({ exceeded: { kind: "budget-exceeded", limit } });
}

/** The last gate, in source order: a throw fails the turn, and nothing of the wave runs. */
async function admit(batch: ToolBatch, wave: readonly Runnable[]): Promise<boolean> {
  const { run } = batch;
  for (const { invocation, order } of wave) {
    try {
      await run.stages.forward({ kind: "admitTool", invocation }, { sourceOrder: order });
    } catch (error) {
      if (!(error instanceof HookFailure)) throw error;
      batch.fail(new AgentError("runtime", "a tool call was not admitted", { cause: error }));
      return false;
    }
  }
  return true;
}

/** The calls of a wave that the budgets let through, in source order, and the limit that keeps the others out. */
function affordable(
  { run }: ToolBatch,
  wave: readonly Runnable[],
): { readonly wave: readonly Runnable[]; readonly limit?: string } {
  for (let taken = 0; taken < wave.length; taken++) {
    const limit = run.budget.takeToolCall();
    if (limit !== undefined) return { wave: wave.slice(0, taken), limit };
  }
  return { wave };
}
