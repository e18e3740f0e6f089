import { Defect, type ToolError } from "../domain/errors.js";
import type { JsonObject } from "../domain/json.js";
import type { ToolCall, ToolInvocation, ToolOutcome, ToolResult } from "../domain/tool.js";
import { atOnce } from "./at-once.js";
import type { ToolEntry } from "./tool-table.js";

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
  /** Default `"not-started"`. */
  readonly outcome?: ToolOutcome | undefined;
};

/** A call that waits for a decision; `by` names every hook that ever deferred it. */
export type Deferred = PlacedCall &
  Entered & {
    readonly type: "deferred";
    readonly reason: string;
    readonly asked: ToolCall;
    readonly by: readonly string[];
  };

/** What became of a call before its wave. */
export type Preparation =
  | Runnable
  | Answered
  | Deferred
  | (PlacedCall & Entered & { readonly type: "stop"; readonly reason: string })
  | (PlacedCall & Entered & { readonly type: "abort"; readonly reason: string; readonly error?: unknown });

type Entered = { readonly entered: number };

/** The call as it may run, with arguments that were checked. */
export function runnable(placed: PlacedCall, entry: ToolEntry, executedInput: JsonObject, entered: number): Runnable {
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
    const call = { id: callId, name: toolName, arguments: executedInput };
    return [...atOnce("conflictKeys", entry.provider.conflictKeys(call))];
  } catch (error) {
    if (Defect.is(error)) throw error;
    return undefined;
  }
}

/** Neighbouring parallel calls together, a sequential one alone; calls that share a conflict key never together (U2). */
export function wavesOf(runnables: readonly Runnable[]): Runnable[][] {
  const waves: Runnable[][] = [];
  let open: Runnable[] | undefined;
  let taken = new Set<string>();
  for (const call of runnables) {
    const alone = call.invocation.executionMode === "sequential" || call.conflictKeys === undefined;
    if (open === undefined || alone || call.conflictKeys.some((key) => taken.has(key))) {
      waves.push((open = []));
      taken = new Set();
    }
    open.push(call);
    for (const key of call.conflictKeys ?? []) taken.add(key);
    if (alone) open = undefined;
  }
  return waves;
}
