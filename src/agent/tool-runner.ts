import { adopt, copyJson } from "../domain/adopt.js";
import { describeThrown } from "../domain/describe-thrown.js";
import { Defect, ToolError } from "../domain/errors.js";
import type { Json, JsonObject } from "../domain/json.js";
import { errorResult, type ToolOutcome, type ToolResult } from "../domain/tool.js";
import { normaliseToolReturn } from "../domain/tool-result.js";
import { NOT_EXECUTED, UNKNOWN_OUTCOME } from "../domain/transcript.js";
import type { NamedStep, Outcome } from "../ports/step-scope.js";
import type { ToolContext } from "../ports/tool-provider.js";
import type { Runnable } from "./tool-preparation.js";
import type { TurnRun } from "./turn-run.js";

/** What a run of a tool came to. Times are epoch milliseconds. */
export type Execution = {
  readonly result: ToolResult;
  readonly outcome: ToolOutcome;
  readonly error?: ToolError | undefined;
  readonly startedAt?: number | undefined;
  readonly endedAt?: number | undefined;
};

/** A step that runs one call. After `end` the tool may go on, and nothing of it is told. */
export type ToolStep = NamedStep<Execution> & { readonly end: () => void };

/** The step that runs one call; its value is an `Execution`, whatever the tool does (U3). */
export function toolStep(run: TurnRun, runnable: Runnable): ToolStep {
  const telling = { live: true };
  return {
    name: `tool#${run.round}.${runnable.order}`,
    run: () => execute(run, runnable, telling),
    end: () => {
      telling.live = false;
    },
  };
}

async function execute(run: TurnRun, runnable: Runnable, telling: { readonly live: boolean }): Promise<Execution> {
  // A call that waited for a free place does not begin after an abort.
  if (run.signal.aborted) return { result: errorResult(NOT_EXECUTED), outcome: "not-started" };
  const { runtime, calls, settings } = run.wiring;
  const { invocation, entry, call } = runnable;
  const progress = (partial: Json): void => {
    if (telling.live) run.bus.publish("toolCallProgress", { callId: call.id, partial: adoptJson(partial) });
  };
  run.bus.publish("toolCallStarted", { invocation });
  const startedAt = runtime.now();
  try {
    const args = copyJson(invocation.executedInput, "arguments") as JsonObject;
    const own = { id: call.id, name: invocation.toolName, arguments: args };
    const context = toolContext(run, runnable, progress);
    const returned: unknown = await calls.run(run.path, () => entry.provider.execute(own, context));
    const result = adopt(normaliseToolReturn(returned, settings.limits.maxToolResultBytes), "tool result");
    return { result, outcome: result.isError ? "failed" : "completed", startedAt, endedAt: runtime.now() };
  } catch (error) {
    if (Defect.is(error)) throw error;
    return { ...thrown(run, error), startedAt, endedAt: runtime.now() };
  }
}

function thrown(run: TurnRun, error: unknown): Execution {
  if (run.signal.aborted) return interrupted(error);
  const typed =
    error instanceof ToolError ? error : new ToolError("invocation-failed", describeThrown(error), { cause: error });
  const text = error instanceof ToolError ? error.message : describeThrown(error);
  const { maxToolResultBytes } = run.wiring.settings.limits;
  return {
    result: adopt(normaliseToolReturn(errorResult(text), maxToolResultBytes), "tool result"),
    outcome: "failed",
    error: typed,
  };
}

function interrupted(cause: unknown): Execution {
  const error = new ToolError("aborted", "the call was interrupted", { cause });
  return { result: errorResult(UNKNOWN_OUTCOME), outcome: "unknown", error };
}

/** The execution behind a settled step; a step that was given up has an unknown outcome (U7). */
export function executionOf(outcome: Outcome<Execution>): Execution {
  return outcome.ok ? outcome.value : interrupted(outcome.error);
}

function adoptJson(value: Json): Json {
  return adopt({ value }, "progress").value;
}

function toolContext(run: TurnRun, runnable: Runnable, progress: (partial: Json) => void): ToolContext {
  const { sessionId, turnId, round, signal, memory } = run;
  const { call, executionId } = runnable;
  return { sessionId, turnId, round, callId: call.id, requestedName: call.name, executionId, signal, memory, progress };
}
