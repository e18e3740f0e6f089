import { adopt, copyJson } from "../domain/adopt.js";
import { describeThrown, thrownLabel } from "../domain/describe-thrown.js";
import { Defect, ToolError } from "../domain/errors.js";
import type { Json, JsonObject } from "../domain/json.js";
import { errorResult, type ToolOutcome, type ToolResult } from "../domain/tool.js";
import { normaliseToolReturn } from "../domain/tool-result.js";
import { NOT_EXECUTED, SKIPPED, UNKNOWN_OUTCOME } from "../domain/transcript.js";
import type { NamedStep, Outcome } from "../ports/step-scope.js";
import type { ToolContext } from "../ports/tool-provider.js";
import { CutOff } from "./cut-off.js";
import type { Runnable } from "./prepared-call.js";
import { ToolSignal } from "./tool-signal.js";
import type { TurnRun } from "./turn-run.js";

/** What a run of a tool came to. Times are epoch milliseconds. */
export type Execution = {
  readonly result: ToolResult;
  readonly outcome: ToolOutcome;
  readonly error?: ToolError | undefined;
  readonly startedAt?: number | undefined;
  readonly endedAt?: number | undefined;
};

/** Whether calls that have not started yet are to stay so. */
type HeldBack = () => boolean;

/** What the model is told of a call that does not begin any more. */
export function notStartedText(run: TurnRun): string {
  return run.control.interrupted ? SKIPPED : NOT_EXECUTED;
}

type Telling = { live: boolean; readonly signal: AbortSignal };

/** The step that runs one call; its value is an `Execution`, whatever the tool does (U3). After its end the tool may go on, and nothing of it is told. */
export function toolStep(run: TurnRun, runnable: Runnable, heldBack: HeldBack): NamedStep<Execution> {
  const timeoutMs = runnable.entry.def.timeoutMs ?? run.wiring.settings.toolTimeoutMs;
  const own = timeoutMs === undefined ? undefined : new ToolSignal(run.signal);
  const telling: Telling = { live: true, signal: own?.signal ?? run.signal };
  return {
    name: `tool#${run.round}.${runnable.order}`,
    timeoutMs,
    run: () => execute(run, runnable, telling, heldBack),
    ended: (outcome) => {
      telling.live = false;
      own?.end(isTimeout(outcome) ? "timeout" : "settled");
    },
  };
}

async function execute(run: TurnRun, runnable: Runnable, telling: Telling, heldBack: HeldBack): Promise<Execution> {
  // A call that waited for a free place does not begin after an abort or a stop.
  if (heldBack()) return { result: errorResult(notStartedText(run)), outcome: "not-started" };
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
    const context = toolContext(run, runnable, telling.signal, progress);
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
  if (error instanceof ToolError) return failedBy(run, error);
  const typed = new ToolError("invocation-failed", `the tool failed: ${thrownLabel(error)}`, { cause: error });
  return failedWith(run, typed, describeThrown(error));
}

/** A provider that gave a call up, or lost the way to where it runs, does not know what became of it either (U7). */
function failedBy(run: TurnRun, error: ToolError): Execution {
  const lost = error.kind === "timeout" || error.kind === "transport" || error.kind === "aborted";
  if (!lost) return failedWith(run, error, error.message);
  return { ...failedWith(run, error, `${error.message}. ${CHECK_EFFECT}`), outcome: "unknown" };
}

function failedWith(run: TurnRun, error: ToolError, text: string): Execution {
  const { maxToolResultBytes } = run.wiring.settings.limits;
  const result = adopt(normaliseToolReturn(errorResult(text), maxToolResultBytes), "tool result");
  return { result, outcome: "failed", error };
}

function interrupted(cause: unknown): Execution {
  const error = new ToolError("aborted", "the call was interrupted", { cause });
  return { result: errorResult(UNKNOWN_OUTCOME), outcome: "unknown", error };
}

function timedOut(cause: unknown, timeoutMs: number | undefined): Execution {
  const after = timeoutMs === undefined ? "" : ` after ${timeoutMs} ms`;
  const error = new ToolError("timeout", `the call was given up${after}`, { cause });
  return { result: errorResult(`The call was given up${after}. ${CHECK_EFFECT}`), outcome: "unknown", error };
}

const CHECK_EFFECT = "It is unknown whether its effect happened; check before calling it again.";

function isTimeout(outcome: Outcome<unknown>): boolean {
  return !outcome.ok && outcome.error instanceof CutOff && outcome.error.why === "timeout";
}

/** The execution behind a settled step; a step that was given up has an unknown outcome (U7). */
export function executionOf(outcome: Outcome<Execution>, timeoutMs: number | undefined): Execution {
  if (outcome.ok) return outcome.value;
  return isTimeout(outcome) ? timedOut(outcome.error, timeoutMs) : interrupted(outcome.error);
}

function adoptJson(value: Json): Json {
  return adopt({ value }, "progress").value;
}

function toolContext(
  run: TurnRun,
  runnable: Runnable,
  signal: AbortSignal,
  progress: (partial: Json) => void,
): ToolContext {
  const { sessionId, turnId, round, memory } = run;
  const { call, executionId } = runnable;
  return { sessionId, turnId, round, callId: call.id, requestedName: call.name, executionId, signal, memory, progress };
}
