import { adopt } from "../domain/adopt.js";
import { AgentError, Defect, ModelError } from "../domain/errors.js";
import { type AssistantMessage, type AssistantPart, type StoppedBy, toolCallsOf } from "../domain/message.js";
import type { ModelResponse } from "../domain/model.js";
import { safeLabel } from "../domain/safe-label.js";
import type { ModelPhase, StageOf } from "../domain/stage.js";
import { type Turn, withEnding, withModelCall, withReply } from "../domain/turn.js";
import { decodeUsage, type Usage } from "../domain/usage.js";
import type { Outcome } from "../ports/step-scope.js";
import type { HookEntry } from "./hook-index.js";
import { CutOff } from "./in-process-scope.js";
import { compressContext } from "./compression.js";
import { ModelCall } from "./model-call.js";
import { type Ended, type PreparedRequest, prepareRequest, type RoundContext, roundContext } from "./model-request.js";
import { settledParts } from "./reply-parts.js";
import { withDefs } from "./tool-table.js";
import type { TurnRun } from "./turn-run.js";

/** How one attempt at a model call ended. */
type Attempt =
  | {
      readonly type: "replied";
      readonly sent: true;
      readonly response: ModelResponse;
      readonly at: number;
      readonly entered: number;
    }
  | {
      readonly type: "failed";
      readonly sent: boolean;
      readonly error: ModelError;
      readonly phase: ModelPhase;
      readonly entered: number;
    }
  | { readonly type: "aborted"; readonly sent: boolean }
  | { readonly type: "ended"; readonly ended: Ended["ended"] };

/** One round up to the stored reply: context, request, model call with its retries. */
export async function askModel(run: TurnRun, turn: Turn): Promise<Turn> {
  const context = await roundContext(run);
  if ("ended" in context) return withEnded(turn, context.ended);
  const call = new ModelCall(run);
  let sent: RoundContext = context;
  let counted = turn;
  for (let attempt = 1; ; attempt++) {
    const result = await tryOnce(run, call, sent, attempt);
    if (result.type === "ended") return withEnded(counted, result.ended);
    if (result.sent) counted = withModelCall(counted, usageOf(result));
    if (result.type === "replied") {
      const taken = await takeReply(run, call, counted, result);
      if (run.hasRoundCallbacks) await run.settle("request");
      return taken;
    }
    if (result.type === "aborted") {
      await run.settle("request");
      return storePartial(run, call, counted, "aborted");
    }
    const retry = await askRetry(run, result, attempt);
    await run.settle("request");
    if (retry === undefined) return failed(run, call, counted, result.error);
    call.reset("retry");
    if (retry.compress) {
      sent = { messages: await compressContext(run, sent.messages, "overflow", attempt), plain: false };
    }
  }
}

async function tryOnce(run: TurnRun, call: ModelCall, context: RoundContext, attempt: number): Promise<Attempt> {
  let prepared: PreparedRequest | Ended;
  try {
    prepared = await prepareRequest(run, context, attempt);
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    return { type: "failed", sent: false, error, phase: "prepare", entered: Number.POSITIVE_INFINITY };
  }
  if ("ended" in prepared) return { type: "ended", ended: prepared.ended };
  if (run.signal.aborted) return { type: "aborted", sent: false };
  const { entered, tools } = prepared;
  run.shown = tools === run.table.defs ? run.table : withDefs(run.table, tools);
  const outcome = await call.send(prepared, attempt);
  if (run.signal.aborted && !outcome.ok) return { type: "aborted", sent: true };
  if (!outcome.ok)
    return { type: "failed", sent: true, error: modelError(outcome), phase: call.started ? "stream" : "send", entered };
  return { type: "replied", sent: true, ...outcome.value, entered };
}

/** What an attempt is known to have used, one that failed included. */
function usageOf(attempt: Exclude<Attempt, { type: "ended" }>): Usage | undefined {
  if (attempt.type === "replied") return attempt.response.usage;
  if (attempt.type !== "failed" || attempt.error.usage === undefined) return undefined;
  return decodeUsage(attempt.error.usage);
}

/** A port's own error as it is; anything else that escaped it, with the original as cause. */
function modelError(outcome: Extract<Outcome<unknown>, { ok: false }>): ModelError {
  const { error } = outcome;
  if (error instanceof ModelError) return error;
  if (error instanceof CutOff) return new ModelError("timeout", "the model gave no answer", { cause: error });
  return new ModelError("transport", "the model port threw an untyped error", { cause: error, retryable: false });
}

/** What an error hook asks for; the first retry wins (H1), `maxModelAttempts` bounds it. */
async function askRetry(
  run: TurnRun,
  failure: Extract<Attempt, { type: "failed" }>,
  attempt: number,
): Promise<{ readonly compress: boolean } | undefined> {
  let retry: { readonly compress: boolean } | undefined;
  if (run.stages.has("modelError")) {
    const { error, phase, entered } = failure;
    await run.stages.reverse(
      { kind: "modelError", error, attempt, phase },
      entered,
      (outcome, stage) => {
        if (outcome.kind === "retry") retry ??= { compress: outcome.compress };
        return stage;
      },
      (problem, stage) => {
        run.stages.secondary("modelError", problem);
        return stage;
      },
      { attempt },
    );
  }
  if (run.signal.aborted || attempt >= run.wiring.settings.limits.maxModelAttempts) return undefined;
  return retry;
}

async function takeReply(
  run: TurnRun,
  call: ModelCall,
  turn: Turn,
  reply: Extract<Attempt, { type: "replied" }>,
): Promise<Turn> {
  run.now = Math.max(run.now, reply.at);
  const { response, stopped } = await afterModel(run, call, reply);
  const parts = settledParts(response.parts, call.messageId, run.wiring.settings.malformedCalls);
  if (parts === undefined) {
    const error = new ModelError("response-parse", "the model called a tool with malformed arguments");
    return failed(run, call, turn, error);
  }
  const message = call.message({ ...response, parts });
  const { usage, finishReason } = response;
  call.announce();
  run.bus.publish("modelResponse", { message, finishReason, ...(usage === undefined ? undefined : { usage }) });
  run.assistantMessage = message;
  const next = withReply(turn, message, toolCallsOf(message));
  try {
    await run.store([message], turn);
  } catch (error) {
    if (Defect.is(error)) throw error;
    // The reply is known although it is not stored, so its calls are closed like those of any other.
    return withEnding(next, { failed: { error } });
  }
  return stopped === undefined ? next : withEnding(next, { stopped });
}

/** The response after every hook, and whether one of them wants the turn to stop. */
async function afterModel(
  run: TurnRun,
  call: ModelCall,
  reply: Extract<Attempt, { type: "replied" }>,
): Promise<{ readonly response: ModelResponse; readonly stopped: string | undefined }> {
  if (!run.stages.has("afterModel")) return { response: reply.response, stopped: undefined };
  let stopped: string | undefined;
  const stage = await run.stages.reverse<"afterModel">(
    { kind: "afterModel", response: reply.response },
    reply.entered,
    (outcome, current) => {
      if (outcome.kind === "stop") stopped ??= outcome.reason;
      return current;
    },
    (problem, current: StageOf<"afterModel">) => {
      run.stages.secondary("afterModel", problem);
      return current;
    },
  );
  if (stage.response !== reply.response) call.reset("rewritten");
  return { response: stage.response, stopped };
}

function withEnded(
  turn: Turn,
  ended: { readonly kind: "stop" | "abort"; readonly reason: string; readonly by: HookEntry },
): Turn {
  if (ended.kind === "stop") return withEnding(turn, { stopped: ended.reason });
  return withEnding(turn, { hookAborted: { reason: ended.reason, error: undefined } });
}

async function failed(run: TurnRun, call: ModelCall, turn: Turn, error: ModelError): Promise<Turn> {
  const stored = await storePartial(run, call, turn, "error", error.partial);
  const failure = new AgentError("model", `the model call failed: ${safeLabel(error.message)}`, { cause: error });
  return withEnding(stored, { failed: { error: failure } });
}

/** Stores what came of a reply that is not whole: its text and reasoning, never its calls (L5). Nothing came: nothing is stored. */
async function storePartial(
  run: TurnRun,
  call: ModelCall,
  turn: Turn,
  stopped: StoppedBy,
  told: readonly AssistantPart[] = [],
): Promise<Turn> {
  const parts = call.partialParts(told);
  if (parts.length === 0) return turn;
  const message: AssistantMessage = adopt(
    { role: "assistant", parts, stopped, id: call.messageId, at: run.now },
    "partial reply",
  );
  await run.store([message], turn);
  run.bus.publish("messageAdded", { message });
  run.assistantMessage = message;
  return { ...turn, reply: message };
}
