import { type ErrorOptions, ModelError } from "../domain/errors.js";
import type { ModelResponse, ToolChoice } from "../domain/model.js";
import type { ModelPhase } from "../domain/stage.js";
import { decodeUsage, mergeUsage, type Usage } from "../domain/usage.js";
import type { Outcome } from "../ports/step-scope.js";
import { CutOff } from "./cut-off.js";
import { isFree } from "./draw.js";
import type { ModelCall } from "./model-call.js";
import type { Ended } from "./ended-by-hook.js";
import { type PreparedRequest, prepareRequest, type RoundContext } from "./model-request.js";
import { isThenable } from "./observers.js";
import { withDefs } from "./tool-table.js";
import type { TurnRun } from "./turn-run.js";

/** A reply that came whole; `entered` counts the `beforeModel` hooks that were entered (H1). */
export type Replied = {
  readonly type: "replied";
  readonly response: ModelResponse;
  readonly at: number;
  readonly entered: number;
};

/** A failure with what error hooks and the mending of the request need to know of it. */
export type FailedAttempt = {
  readonly type: "failed";
  readonly error: ModelError;
  readonly phase: ModelPhase;
  readonly entered: number;
  /** What hooks made of the choice of tools, where the request was sent. */
  readonly toolChoice?: ToolChoice | undefined;
};

/** How one attempt at a model call ended, and what it is known to have used where it was sent. */
export type Attempt = (
  | Replied
  | FailedAttempt
  | { readonly type: "aborted" | "interrupted" }
  | { readonly type: "ended"; readonly ended: Ended["ended"] }
  | { readonly type: "exceeded"; readonly limit: string }
  | { readonly type: "too-large" }
) & { readonly sent?: { readonly usage: Usage | undefined } };

/** Prepares a request, takes it off the budgets, and sends it. */
export async function tryOnce(run: TurnRun, call: ModelCall, context: RoundContext, attempt: number): Promise<Attempt> {
  let prepared: PreparedRequest | Ended;
  try {
    const made = prepareRequest(run, context, attempt);
    prepared = isThenable(made) ? await made : made;
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    return { type: "failed", error, phase: "prepare", entered: Number.POSITIVE_INFINITY };
  }
  if ("ended" in prepared) return { type: "ended", ended: prepared.ended };
  if (run.signal.aborted) return { type: "aborted" };
  if (run.control.interrupted) return { type: "interrupted" };
  const charge = run.budget.reserve(prepared);
  if (typeof charge === "string") return { type: "exceeded", limit: charge };
  const { tools, options } = prepared;
  // Only now is what an earlier attempt said void: had this one not been sent, it would be all there is.
  call.reset("retry");
  run.shown = tools === run.table.defs ? run.table : withDefs(run.table, tools);
  const made = madeAttempt(run, call, await call.send(prepared, attempt), prepared);
  const sent = { usage: usageOf(made, call) };
  if (made.type === "replied" && run.wiring.compressors.length > 0) run.size.learn(prepared, sent.usage);
  const { provider, model = options.model } = made.type === "replied" ? made.response : {};
  charge.settle(wasRefused(made) ? "free" : (sent.usage ?? "unknown"), { provider, model });
  return { ...made, sent };
}

type Made = Exclude<Attempt, { type: "ended" | "exceeded" }>;

function madeAttempt(
  run: TurnRun,
  call: ModelCall,
  outcome: Awaited<ReturnType<ModelCall["send"]>>,
  { entered, options: { toolChoice } }: PreparedRequest,
): Made {
  if (outcome.ok) return { type: "replied", ...outcome.value, entered };
  if (run.signal.aborted) return { type: "aborted" };
  if (run.control.interrupted) return { type: "interrupted" };
  if (call.isTooLarge) return { type: "too-large" };
  return { type: "failed", error: modelError(outcome), phase: call.started ? "stream" : "send", entered, toolChoice };
}

/** What an attempt is known to have used: as told at its end, else as streamed before it broke off. */
function usageOf(made: Made, call: ModelCall): Usage | undefined {
  if (made.type === "replied") return made.response.usage;
  const told = made.type === "failed" ? made.error.usage : undefined;
  const streamed = call.streamedUsage();
  if (told === undefined) return streamed;
  return mergeUsage(streamed, decodeUsage(told));
}

function wasRefused(made: Made): boolean {
  return made.type === "failed" && made.phase === "send" && isFree(made.error);
}

/** A port's own error as it is; anything else that escaped it, with the original as cause. */
function modelError({ error }: Extract<Outcome<unknown>, { ok: false }>): ModelError {
  if (error instanceof ModelError) return error;
  const cause: ErrorOptions = { cause: error };
  if (error instanceof CutOff) return new ModelError("timeout", "the model gave no answer", cause);
  return new ModelError("transport", "the model port threw an untyped error", { ...cause, retryable: false });
}
