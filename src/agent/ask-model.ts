import type { Turn } from "../domain/turn.js";
import { withModelCall } from "../domain/turn.js";
import type { ModelError } from "../domain/errors.js";
import { type Attempt, tryOnce } from "./model-attempt.js";
import type { Awaitable } from "../ports/awaitable.js";
import { ModelCall } from "./model-call.js";
import { withEnded } from "./ended-by-hook.js";
import { type RoundContext, roundContext } from "./model-request.js";
import { isThenable } from "./observers.js";
import { RoundRetries } from "./model-retry.js";
import { takeAborted, takeExceeded, takeFailure, takeInterrupted, takeRefused, takeReply } from "./take-reply.js";
import type { TurnRun } from "./turn-run.js";

/** One round up to the stored reply: context, request, model call with its retries. */
export async function askModel(run: TurnRun, turn: Turn): Promise<Turn> {
  const made = roundContext(run);
  const context = isThenable(made) ? await made : made;
  let counted = withCompressorCalls(run, turn);
  if ("ended" in context) return withEnded(counted, context);
  const call = new ModelCall(run);
  const retries = new RoundRetries(run);
  let sent: RoundContext = context;
  let error: ModelError | undefined;
  for (let attempt = 1; ; attempt++) {
    const result = await tryOnce(run, call, sent, attempt);
    if (result.sent !== undefined) counted = withModelCall(counted, result.sent.usage);
    if (result.type === "failed") {
      const next = await retries.next(result, attempt, sent);
      counted = withCompressorCalls(run, counted);
      if (next === undefined) return broken(run, call, counted, result.error);
      error = result.error;
      sent = next;
      continue;
    }
    const taken =
      result.type === "exceeded"
        ? await takeExceeded(run, call, counted, { kind: "budget-exceeded", limit: result.limit, cause: error })
        : await take(run, call, counted, result);
    if (run.callbacks.waiting) await run.callbacks.settle("request");
    return taken;
  }
}

/** Counts the model calls that compressors made meanwhile. */
function withCompressorCalls(run: TurnRun, turn: Turn): Turn {
  if (run.uncounted.length === 0) return turn;
  const { uncounted } = run;
  run.uncounted = [];
  return uncounted.reduce(withModelCall, turn);
}

type Result = Exclude<Attempt, { type: "failed" | "exceeded" }>;

function take(run: TurnRun, call: ModelCall, turn: Turn, result: Result): Awaitable<Turn> {
  switch (result.type) {
    case "replied":
      return takeReply(run, call, turn, result);
    case "aborted":
      return takeAborted(run, call, turn);
    case "interrupted":
      return takeInterrupted(run, call, turn, { asked: result.sent !== undefined });
    case "ended":
      return withEnded(turn, result);
    case "too-large":
      return takeRefused(call, turn, "bytes");
  }
}

/** A failed call that nobody retries; one that an interruption or abort met is theirs. */
function broken(run: TurnRun, call: ModelCall, turn: Turn, error: ModelError): Promise<Turn> {
  if (run.signal.aborted) return takeAborted(run, call, turn);
  if (run.control.interrupted) return takeInterrupted(run, call, turn, { asked: true });
  return takeFailure(run, call, turn, error);
}
