import { adopt } from "../domain/adopt.js";
import { ToolError } from "../domain/errors.js";
import type { JsonObject } from "../domain/json.js";
import { safeLabel } from "../domain/safe-label.js";
import type { StageOutcome } from "../domain/stage.js";
import { errorResult, type ToolCall, type ToolResult } from "../domain/tool.js";
import { normaliseToolReturn } from "../domain/tool-result.js";
import { UNKNOWN_OUTCOME } from "../domain/transcript.js";
import type { Awaitable } from "../ports/awaitable.js";
import type { BeforeExecute } from "../ports/tool-provider.js";
import { CutOff } from "./cut-off.js";
import { isThenable } from "./observers.js";
import { beforeOwn, failedOwn } from "./own-hooks.js";
import { type Answered, type PlacedCall, type Preparation, runnable } from "./prepared-call.js";
import type { ContextExtras } from "./stage-context.js";
import { ALL_ENTERED, HookFailure, type Passed } from "./stages.js";
import { checkArguments, type Refusal } from "./tool-arguments.js";
import { hintsOf, type ToolEntry } from "./tool-table.js";
import type { TurnRun } from "./turn-run.js";

/** Looks a call up, checks its arguments, and asks the hooks about it. Publishes `toolCallPending` first. Nothing where an interruption met a hook that was asked (L4). */
export function prepareCall(run: TurnRun, placed: PlacedCall): Awaitable<Preparation | undefined> {
  const { call } = placed;
  run.bus.publish("toolCallPending", { call });
  const resumed = run.resumed.get(placed.executionId);
  if (resumed === undefined) return prepared(run, placed, call);
  if (resumed.type === "unanswered") return preparedAgain(run, placed);
  const { decision, record, by } = resumed;
  if (!decision.approve) return refusedWith(placed, `The call was rejected: ${decision.reason}`);
  // What was approved is what had been shown: the call as hooks had made it, unless other arguments came with the decision.
  const approved = { id: call.id, name: record.toolName, arguments: decision.arguments ?? record.arguments };
  return prepared(run, placed, approved, { decision, deferredBy: by });
}

/** A call of which nobody knows whether it ran: what hooks make of it must be safe to repeat too; and whatever keeps it from running now, it may have run before (S6). */
async function preparedAgain(run: TurnRun, placed: PlacedCall): Promise<Preparation> {
  const { call } = placed;
  const preparation = runsAgain(run, call.name) ? await prepared(run, placed, call) : undefined;
  const unsafe = preparation?.type === "run" && !runsAgain(run, preparation.entry.def.name);
  if (preparation === undefined || unsafe) return { ...refusedWith(placed, UNKNOWN_OUTCOME), outcome: "unknown" };
  return preparation.type === "answered" ? { ...preparation, outcome: "unknown" } : preparation;
}

/** Whether a tool may run once more (S6). */
function runsAgain(run: TurnRun, name: string): boolean {
  const entry = run.shown.byName.get(name);
  if (entry === undefined) return false;
  const { readOnly, idempotent } = hintsOf(entry);
  return readOnly || idempotent;
}

function refusedWith(placed: PlacedCall, text: string): Answered {
  return { type: "answered", ...placed, result: errorResult(text), answered: false, entered: ALL_ENTERED };
}

/** A decision, and the hooks it is for. */
type Decided = Pick<ContextExtras, "decision" | "deferredBy">;

async function prepared(
  run: TurnRun,
  placed: PlacedCall,
  call: ToolCall,
  decision: Decided = {},
): Promise<Preparation | undefined> {
  const first = lookUp(run, call, { prepare: decision.decision === undefined });
  if (first.refusal?.error.kind === "invalid-arguments") return refused(placed, first.refusal, ALL_ENTERED);
  if (!run.stages.has("beforeTool")) return innermost(run, placed, call, first, 0);
  const asked = first.args === undefined || first.args === call.arguments ? call : { ...call, arguments: first.args };
  let passed: Passed<"beforeTool">;
  try {
    const stage = { kind: "beforeTool" as const, call: asked, ...run.toolOf(asked.name) };
    const approved = decision.decision === undefined ? undefined : { approvedCall: asked };
    const asking = run.stages.forward(stage, { sourceOrder: placed.order, ...decision, ...approved });
    passed = isThenable(asking) ? await asking : asking;
  } catch (error) {
    if (run.control.interrupted && isCutByInterruption(error)) return undefined;
    return failedHook(placed, error);
  }
  const { outcome, stage, entered, by } = passed;
  if (outcome?.kind === "defer") {
    const hooks = withHook(decision.deferredBy, by?.name);
    return { type: "deferred", ...placed, entered, reason: outcome.reason, asked: stage.call, by: hooks };
  }
  if (outcome !== undefined) return decided(placed, outcome, entered);
  const found = stage.call === asked ? first : lookUp(run, stage.call, { prepare: false });
  return innermost(run, placed, stage.call, found, entered);
}

/** Each hook that ever deferred the call has its decision: two that ask for different reasons do not ask for ever. */
function withHook(before: readonly string[] = [], now: string | undefined): readonly string[] {
  return [...new Set(now === undefined ? before : [...before, now])];
}

type Found = { readonly entry?: ToolEntry; readonly args?: JsonObject; readonly refusal?: Refusal };

/** `prepare`: as the model gave them; what a hook or a person gave is written for the tool, and prepared before is prepared (U1). */
function lookUp(run: TurnRun, call: ToolCall, { prepare }: { readonly prepare: boolean }): Found {
  const entry = run.shown.byName.get(call.name);
  if (call.malformed !== undefined || entry !== undefined) {
    const target = entry ?? NO_TOOL;
    const checked = checkArguments(target, call, { prepare, coerce: run.wiring.settings.coerceArguments });
    return checked.ok
      ? { entry: target, args: checked.value }
      : { refusal: checked, ...(entry === undefined ? undefined : { entry }) };
  }
  return { refusal: unknownTool(call) };
}

function unknownTool(call: ToolCall): Refusal {
  const error = new ToolError("unknown-tool", `there is no tool named ${safeLabel(call.name)}`);
  return { error, text: error.message };
}

/** Only ever used for a malformed call, which is refused before the provider is asked. */
const NO_TOOL: ToolEntry = {
  def: { name: "", description: "", inputSchema: { type: "object" } },
  provider: { listTools: () => [], execute: () => undefined },
};

function refused(placed: PlacedCall, { error, text }: Refusal, entered: number): Answered {
  return { type: "answered", ...placed, result: errorResult(text), error, answered: false, entered };
}

function isCutByInterruption(error: unknown): boolean {
  return error instanceof HookFailure && error.cause instanceof CutOff && error.cause.why === "interrupted";
}

function failedHook(placed: PlacedCall, error: unknown): Preparation {
  if (!(error instanceof HookFailure)) throw error;
  const { entered } = error;
  if (error.entry.hook.onFailure?.beforeTool !== "error-result")
    return { type: "abort", ...placed, entered, reason: error.message, error };
  const text = `The call was refused: ${error.message}.`;
  return { type: "answered", ...placed, result: errorResult(text), answered: true, entered };
}

function decided(placed: PlacedCall, outcome: StageOutcome, entered: number): Preparation {
  switch (outcome.kind) {
    case "answer":
      return answered(placed, outcome.result, entered);
    case "block":
      return answered(placed, errorResult(outcome.reason), entered);
    case "stop":
      return { type: "stop", ...placed, entered, reason: outcome.reason };
    case "abort":
      return { type: "abort", ...placed, entered, reason: outcome.reason };
    default:
      throw new TypeError("beforeTool does not allow this outcome");
  }
}

function answered(placed: PlacedCall, given: ToolResult, entered: number): Answered {
  const result = adopt(normaliseToolReturn(given), "tool result");
  return { type: "answered", ...placed, result, answered: true, entered };
}

/** The tool's own hook, and the invocation that may run. */
function innermost(
  run: TurnRun,
  placed: PlacedCall,
  call: ToolCall,
  found: Found,
  entered: number,
): Awaitable<Preparation> {
  const { entry, args, refusal } = found;
  if (refusal !== undefined || entry === undefined || args === undefined)
    return refused(placed, refusal ?? unknownTool(call), entered);
  if (entry.provider.hooks === undefined) return runnable(placed, entry, args, entered);
  return askOwn(run, placed, { ...call, arguments: args }, entry, entered);
}

async function askOwn(
  run: TurnRun,
  placed: PlacedCall,
  asked: ToolCall,
  entry: ToolEntry,
  entered: number,
): Promise<Preparation> {
  const outcome = await beforeOwn(run, placed, entry, asked);
  if (!outcome.ok) return { type: "answered", ...placed, ...failedOwn(outcome.error), answered: false, entered };
  return afterWish(run, placed, asked, entry, outcome.value, entered);
}

/** What the tool's own hook wished for; other arguments are checked again. */
function afterWish(
  run: TurnRun,
  placed: PlacedCall,
  call: ToolCall,
  entry: ToolEntry,
  wish: BeforeExecute | undefined | void,
  entered: number,
): Preparation {
  if (typeof wish !== "object" || wish === null) return runnable(placed, entry, call.arguments, entered);
  const { args, result }: { readonly args?: JsonObject; readonly result?: ToolResult } = wish;
  if (result !== undefined) return answered(placed, result, entered);
  // A result that is none is no wish; arguments that are none are wrong ones.
  if ("result" in wish && !("args" in wish)) return runnable(placed, entry, call.arguments, entered);
  const checked = checkArguments(
    entry,
    { ...call, arguments: args as JsonObject },
    { prepare: false, coerce: run.wiring.settings.coerceArguments },
  );
  if (!checked.ok) return refused(placed, checked, entered);
  return runnable(placed, entry, adopt(checked.value, "arguments"), entered);
}
