import { adopt } from "../domain/adopt.js";
import { describeThrown, thrownLabel } from "../domain/describe-thrown.js";
import { ToolError } from "../domain/errors.js";
import { errorResult, type ToolCall, type ToolResult } from "../domain/tool.js";
import { normaliseToolReturn } from "../domain/tool-result.js";
import type { Outcome } from "../ports/step-scope.js";
import type { BeforeExecute, ToolHookContext, ToolHooks } from "../ports/tool-provider.js";
import { atOnce } from "./at-once.js";
import type { PlacedCall, Runnable } from "./prepared-call.js";
import type { ToolEntry } from "./tool-table.js";
import type { TurnRun } from "./turn-run.js";

/** A result, and the typed error behind it where something failed. */
export type ResultWithError = { readonly result: ToolResult; readonly error: ToolError | undefined };

/** Asks the tool's own hook before its call, bounded by `hookTimeoutMs` (H2). */
export function beforeOwn(
  run: TurnRun,
  placed: PlacedCall,
  entry: ToolEntry,
  call: ToolCall,
): Promise<Outcome<BeforeExecute | undefined | void>> {
  return run.scope.bounded(
    async () =>
      run.within(() => ownHooks(entry)?.beforeExecute?.({ args: call.arguments, call }, hookContext(run, placed))),
    run.hookTimeoutMs,
  );
}

/** The tool's own hook sees the result first; one that throws gives the call an error result (H2). */
export async function afterOwn(run: TurnRun, runnable: Runnable, result: ToolResult): Promise<ResultWithError> {
  const { invocation, call, entry } = runnable;
  const input = { args: invocation.executedInput, call, result };
  const outcome = await run.scope.bounded(
    async () => run.within(() => ownHooks(entry)?.afterExecute?.(input, hookContext(run, runnable))),
    run.hookTimeoutMs,
  );
  if (!outcome.ok) return failedOwn(outcome.error);
  if (outcome.value === undefined) return { result, error: undefined };
  return { result: adopt(normaliseToolReturn(outcome.value), "tool result"), error: undefined };
}

/** What a call comes to whose own hook threw: the model reads all of it, the error quotes a label. */
export function failedOwn(cause: unknown): { readonly result: ToolResult; readonly error: ToolError } {
  const error = new ToolError("invocation-failed", `a hook of the tool failed: ${thrownLabel(cause)}`, { cause });
  return { result: adopt(errorResult(describeThrown(cause)), "tool result"), error };
}

/** A throw is a throw of the hook. */
function ownHooks(entry: ToolEntry): ToolHooks | undefined {
  return atOnce("hooks", entry.provider.hooks?.(entry.def.name));
}

function hookContext(run: TurnRun, placed: PlacedCall): ToolHookContext {
  const { sessionId, turnId, round, signal } = run;
  return { sessionId, turnId, round, callId: placed.call.id, executionId: placed.executionId, signal };
}
