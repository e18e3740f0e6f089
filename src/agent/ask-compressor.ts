import { errorCategory, ModelError } from "../domain/errors.js";
import { safeLabel } from "../domain/safe-label.js";
import type { AgentMessage } from "../domain/message.js";
import type { CompressAction, CompressContext, Compressor } from "../ports/compressor.js";
import { type DecodedAction, decodeAction } from "./compress-action.js";
import { type CompressorCall, CompressorCalls, countCalls } from "./compressor-calls.js";
import { CutOff } from "./cut-off.js";
import { LinkedSignal } from "./linked-signal.js";
import type { TurnRun } from "./turn-run.js";

/** What a compressor is asked about. `estimate` is ours, before any correction; `step` names the request within its round. */
export type CompressRequest = {
  readonly messages: readonly AgentMessage[];
  readonly estimate: number;
  readonly reason: CompressContext["reason"];
  readonly step: string;
  readonly by: string;
};

/** An action, or by its category the failure that kept the compressor from one. */
export type CompressAnswer = { readonly action: DecodedAction } | { readonly failure: string };

/** What the step records. */
type Recorded = {
  readonly action?: CompressAction;
  readonly failure?: string;
  readonly calls: readonly CompressorCall[];
  readonly told: readonly string[];
};

/** `calls` are there once the step runs in this process: a replay does not run it again. */
type Asked = { readonly signal: AbortSignal; calls?: CompressorCalls };

const NONE: CompressAnswer = { action: { type: "none" } };

/**
 * Asks one compressor within its time, its model calls on the account of the turn. A model that fails it, and an answer that is no
 * action, are told and not thrown, unless somebody asked for the compaction and waits for it; what else it throws is thrown.
 */
export async function askCompressor(
  run: TurnRun,
  compressor: Compressor,
  request: CompressRequest,
): Promise<CompressAnswer> {
  const { reason, step, by } = request;
  const link = new LinkedSignal(run.control.modelSignal);
  const asked: Asked = { signal: link.signal };
  const name = `compress#${run.round}.${step}`;
  const timeoutMs = run.wiring.settings.limits.compressTimeoutMs;
  const work = (): Promise<Recorded> => recorded(run, compressor, request, asked);
  const outcome = await run.scope.step(name, work, { interruptible: true, timeoutMs }).finally(() => link.release());
  if (!outcome.ok) {
    countCalls(run, asked.calls?.sent ?? [], { replayed: false });
    // Nobody waits for what it may still be doing.
    link.giveUp();
    // Whoever interrupted or aborted does not wait for a summary; a next round asks again.
    if (givenUp(run)) return NONE;
    if (reason !== "requested" && outcome.error instanceof CutOff) return { failure: "timeout" };
    throw outcome.error;
  }
  const { action, failure, calls, told } = outcome.value;
  countCalls(run, calls, { replayed: asked.calls === undefined });
  for (const errorCategory of told) run.secondary({ stage: "compress", operation: safeLabel(by), errorCategory });
  if (failure !== undefined) return givenUp(run) ? NONE : { failure };
  return decoded(run, action);
}

async function recorded(
  run: TurnRun,
  compressor: Compressor,
  request: CompressRequest,
  asked: Asked,
): Promise<Recorded> {
  asked.calls = new CompressorCalls(run, asked.signal);
  const { ask, made: calls } = asked.calls;
  const told: string[] = [];
  const report = (error: unknown): void => void told.push(errorCategory(error));
  const context = { ...contextOf(run, request), signal: asked.signal, ask, report };
  try {
    const action = await run.within(() => compressor.compress([...request.messages], context));
    return { action, calls, told };
  } catch (error) {
    if (!(error instanceof ModelError) || request.reason === "requested") throw error;
    return { failure: errorCategory(error), calls, told };
  }
}

/** True when nobody waits for the answer any more. */
export function givenUp({ signal, control }: TurnRun): boolean {
  return signal.aborted || control.interrupted;
}

function contextOf(run: TurnRun, { estimate, reason }: CompressRequest): Omit<CompressContext, "signal"> {
  const { size, sessionId, wiring } = run;
  const { modelContextWindow, system } = wiring.settings;
  return {
    sessionId,
    modelContextWindow,
    estimatedTokens: size.corrected(estimate),
    correction: size.correction ?? 1,
    overheadTokens: size.overhead(typeof system === "string" ? system : run.system, run.offeredTools()),
    usage: run.assistantMessage?.usage,
    reason,
  };
}

function decoded(run: TurnRun, action: unknown): CompressAnswer {
  try {
    return { action: decodeAction(action, run.stamp) };
  } catch (error) {
    if (error instanceof TypeError) return { failure: "TypeError" };
    throw error;
  }
}
