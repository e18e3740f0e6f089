import { adopt } from "../domain/adopt.js";
import { describeThrown } from "../domain/describe-thrown.js";
import { Defect, ToolError } from "../domain/errors.js";
import type { JsonObject } from "../domain/json.js";
import { safeLabel } from "../domain/safe-label.js";
import type { StageOutcome } from "../domain/stage.js";
import { errorResult, type ToolCall, type ToolInvocation, type ToolResult } from "../domain/tool.js";
import { normaliseToolReturn } from "../domain/tool-result.js";
import type { BeforeExecute, ToolHookContext, ToolHooks } from "../ports/tool-provider.js";
import { ALL_ENTERED, HookFailure, type Passed } from "./stages.js";
import { checkArguments } from "./tool-arguments.js";
import type { ToolEntry } from "./tool-table.js";
import type { TurnRun } from "./turn-run.js";

/** A call and its place in the reply. */
export type PlacedCall = { readonly call: ToolCall; readonly order: number; readonly executionId: string };

/** A call that may run. `entered` counts the `beforeTool` hooks that were entered (H1). */
export type Runnable = PlacedCall & {
  readonly type: "run";
  readonly entry: ToolEntry;
  readonly invocation: ToolInvocation;
  readonly entered: number;
  /** Calls that share one never run together; nothing when they could not be told, and then the call runs alone (U2). */
  readonly conflictKeys: readonly string[] | undefined;
};

/** A call that has its result without running. */
export type Answered = PlacedCall & {
  readonly type: "answered";
  readonly result: ToolResult;
  readonly error?: ToolError | undefined;
  readonly answered: boolean;
  readonly entered: number;
};

/** What became of a call before its wave. */
export type Preparation =
  | Runnable
  | Answered
  | (PlacedCall & Entered & { readonly type: "deferred"; readonly reason: string; readonly arguments: JsonObject })
  | (PlacedCall & Entered & { readonly type: "stop"; readonly reason: string })
  | (PlacedCall & Entered & { readonly type: "abort"; readonly reason: string; readonly error?: unknown });

type Entered = { readonly entered: number };

/** Looks a call up, checks its arguments, and asks the hooks about it. Publishes `toolCallPending` first. */
export async function prepareCall(run: TurnRun, placed: PlacedCall): Promise<Preparation> {
  const { call } = placed;
  run.bus.publish("toolCallPending", { call });
  const first = lookUp(run, call);
  if (first.error !== undefined && first.error.kind === "invalid-arguments")
    return refused(placed, first.error, ALL_ENTERED);
  if (!run.stages.has("beforeTool")) return innermost(run, placed, call, first, 0);
  const asked = first.args === undefined || first.args === call.arguments ? call : { ...call, arguments: first.args };
  let passed: Passed<"beforeTool">;
  try {
    const tool = first.entry?.def;
    const stage = { kind: "beforeTool" as const, call: asked, ...(tool === undefined ? undefined : { tool }) };
    passed = await run.stages.forward(stage, { sourceOrder: placed.order });
  } catch (error) {
    return failedHook(placed, error);
  }
  const { outcome, stage, entered } = passed;
  if (outcome !== undefined)
    return decided(placed, outcome, stage.call, entered, run.wiring.settings.limits.maxToolResultBytes);
  return innermost(run, placed, stage.call, stage.call === asked ? first : lookUp(run, stage.call), entered);
}

type Found = { readonly entry?: ToolEntry; readonly args?: JsonObject; readonly error?: ToolError };

function lookUp(run: TurnRun, call: ToolCall): Found {
  const entry = run.shown.byName.get(call.name);
  if (call.malformed !== undefined || entry !== undefined) {
    const target = entry ?? NO_TOOL;
    const checked = checkArguments(target, call, { coerce: run.wiring.settings.coerceArguments });
    return checked.ok
      ? { entry: target, args: checked.value }
      : { error: checked.error, ...(entry === undefined ? undefined : { entry }) };
  }
  return { error: new ToolError("unknown-tool", `there is no tool named ${safeLabel(call.name)}`) };
}

/** Only ever used for a malformed call, which is refused before the provider is asked. */
const NO_TOOL: ToolEntry = {
  def: { name: "", description: "", inputSchema: { type: "object" } },
  provider: { listTools: () => [], execute: () => undefined },
};

function refused(placed: PlacedCall, error: ToolError, entered: number): Answered {
  return { type: "answered", ...placed, result: errorResult(error.message), error, answered: false, entered };
}

function failedHook(placed: PlacedCall, error: unknown): Preparation {
  if (!(error instanceof HookFailure)) throw error;
  const { entered } = error;
  if (error.entry.hook.onFailure?.beforeTool !== "error-result")
    return { type: "abort", ...placed, entered, reason: error.message, error };
  const text = `The call was refused: ${error.message}.`;
  return { type: "answered", ...placed, result: errorResult(text), answered: true, entered };
}

function decided(
  placed: PlacedCall,
  outcome: StageOutcome,
  call: ToolCall,
  entered: number,
  maxBytes: number,
): Preparation {
  switch (outcome.kind) {
    case "answer":
      return { type: "answered", ...placed, result: adopted(outcome.result, maxBytes), answered: true, entered };
    case "block":
      return {
        type: "answered",
        ...placed,
        result: adopted(errorResult(outcome.reason), maxBytes),
        answered: true,
        entered,
      };
    case "defer":
      return { type: "deferred", ...placed, entered, reason: outcome.reason, arguments: call.arguments };
    case "stop":
      return { type: "stop", ...placed, entered, reason: outcome.reason };
    case "abort":
      return { type: "abort", ...placed, entered, reason: outcome.reason };
    default:
      throw new TypeError("beforeTool does not allow this outcome");
  }
}

function adopted(result: ToolResult, maxBytes: number): ToolResult {
  return adopt(normaliseToolReturn(result, maxBytes), "tool result");
}

/** The tool's own hook, and the invocation that may run. */
async function innermost(
  run: TurnRun,
  placed: PlacedCall,
  call: ToolCall,
  found: Found,
  entered: number,
): Promise<Preparation> {
  const { entry, args, error } = found;
  if (error !== undefined || entry === undefined || args === undefined) {
    return refused(
      placed,
      error ?? new ToolError("unknown-tool", `there is no tool named ${safeLabel(call.name)}`),
      entered,
    );
  }
  if (entry.provider.hooks === undefined) return runnable(placed, entry, args, entered);
  const asked = { ...call, arguments: args };
  const outcome = await run.scope.bounded(
    async () => ownHooks(entry)?.beforeExecute?.({ args, call: asked }, hookContext(run, placed)),
    run.hookTimeoutMs,
  );
  if (!outcome.ok) return refused(placed, new ToolError("invocation-failed", describeThrown(outcome.error)), entered);
  return afterOwn(run, placed, asked, entry, outcome.value, entered);
}

/** The tool's own hooks. A throw is a throw of the hook. */
export function ownHooks(entry: ToolEntry): ToolHooks | undefined {
  return entry.provider.hooks?.(entry.def.name);
}

function afterOwn(
  run: TurnRun,
  placed: PlacedCall,
  call: ToolCall,
  entry: ToolEntry,
  wish: BeforeExecute | undefined | void,
  entered: number,
): Preparation {
  if (typeof wish !== "object" || wish === null) return runnable(placed, entry, call.arguments, entered);
  if ("result" in wish) {
    const result = adopted(wish.result, run.wiring.settings.limits.maxToolResultBytes);
    return { type: "answered", ...placed, result, answered: true, entered };
  }
  const checked = checkArguments(
    entry,
    { ...call, arguments: wish.args },
    { coerce: run.wiring.settings.coerceArguments },
  );
  if (!checked.ok) return refused(placed, checked.error, entered);
  return runnable(placed, entry, adopt(checked.value, "arguments"), entered);
}

function runnable(placed: PlacedCall, entry: ToolEntry, executedInput: JsonObject, entered: number): Runnable {
  const { call, order, executionId } = placed;
  const invocation: ToolInvocation = Object.freeze({
    executionId,
    sourceOrder: order,
    callId: call.id,
    toolName: entry.def.name,
    originalInput: call.arguments,
    executedInput,
    executionMode: entry.def.executionMode ?? "parallel",
  });
  return { type: "run", ...placed, entry, invocation, entered, conflictKeys: conflictKeys(entry, invocation) };
}

function conflictKeys(entry: ToolEntry, invocation: ToolInvocation): readonly string[] | undefined {
  if (entry.provider.conflictKeys === undefined) return [];
  const { callId, toolName, executedInput } = invocation;
  try {
    return [...entry.provider.conflictKeys({ id: callId, name: toolName, arguments: executedInput })];
  } catch (error) {
    if (Defect.is(error)) throw error;
    return undefined;
  }
}

/** What a tool's own hooks may know. */
export function hookContext(run: TurnRun, placed: PlacedCall): ToolHookContext {
  const { sessionId, turnId, round, signal } = run;
  return { sessionId, turnId, round, callId: placed.call.id, executionId: placed.executionId, signal };
}
