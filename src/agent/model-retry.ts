import { Defect, errorCategory } from "../domain/errors.js";
import { safeLabel } from "../domain/safe-label.js";
import type { Awaitable } from "../ports/awaitable.js";
import { compressContext } from "./compression.js";
import type { FailedAttempt } from "./model-attempt.js";
import type { RoundContext } from "./model-request.js";
import type { TurnRun } from "./turn-run.js";

/** What comes after a failed attempt at the model call of one round. A hook's retry goes first; else the turn mends what it can, each thing once (C3). */
export class RoundRetries {
  readonly #run: TurnRun;
  #compressed = false;
  #leftOut = false;

  constructor(run: TurnRun) {
    this.#run = run;
  }

  /** What the next attempt sends, or nothing where the failure stands. */
  async next(failure: FailedAttempt, attempt: number, sent: RoundContext): Promise<RoundContext | undefined> {
    const run = this.#run;
    const retry = await askRetry(run, failure, attempt);
    await run.callbacks.settle("request");
    if (run.signal.aborted || run.control.interrupted) return undefined;
    if (retry === undefined) return this.#mended(failure, attempt, sent);
    return retry.compress ? ((await compressed(run, sent, attempt)) ?? sent) : sent;
  }

  #mended(failure: FailedAttempt, attempt: number, sent: RoundContext): Awaitable<RoundContext | undefined> {
    const { kind, toolName } = failure.error;
    if (kind === "context-overflow" && !this.#compressed) {
      this.#compressed = true;
      return compressed(this.#run, sent, attempt);
    }
    if (kind !== "invalid-request" || toolName === undefined || this.#leftOut) return undefined;
    this.#leftOut = true;
    return leaveOut(this.#run, toolName, failure.toolChoice) ? sent : undefined;
  }
}

/** What an error hook asks for; the first retry wins (H1), `maxModelAttempts` bounds it. */
async function askRetry(
  run: TurnRun,
  failure: FailedAttempt,
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
  return attempt >= run.wiring.settings.limits.maxModelAttempts ? undefined : retry;
}

/** A smaller conversation, or nothing where nobody makes one. A compressor that throws is a secondary failure: the model's error is the one to tell. */
async function compressed(run: TurnRun, sent: RoundContext, attempt: number): Promise<RoundContext | undefined> {
  try {
    const messages = await compressContext(run, sent.messages, "overflow", attempt);
    return messages === sent.messages ? undefined : { messages, plain: false };
  } catch (error) {
    if (Defect.is(error) || run.control.failure !== undefined) throw error;
    run.secondary({ stage: "compress", operation: "overflow", errorCategory: errorCategory(error) });
    return undefined;
  }
}

/** Leaves a tool out that the provider refuses, for the rest of the turn. False where the model was to call just that one, or was not shown it. */
function leaveOut(run: TurnRun, toolName: string, toolChoice: FailedAttempt["toolChoice"]): boolean {
  const shown = run.shown.byName.has(toolName);
  const forced =
    typeof toolChoice === "object"
      ? toolChoice.tool === toolName
      : toolChoice === "required" && run.shown.defs.length === 1;
  if (!shown || forced) return false;
  run.leftOut = [...run.leftOut, toolName];
  run.secondary({
    stage: "model",
    operation: `leave out tool ${safeLabel(toolName)}`,
    errorCategory: "ModelError(invalid-request)",
  });
  return true;
}
