import { adopt } from "../domain/adopt.js";
import type { AssistantPart, StoppedBy } from "../domain/message.js";
import type { ModelResponse } from "../domain/model.js";
import { withheldResponse } from "../domain/model-response.js";
import type { StageOf } from "../domain/stage.js";
import type { Awaitable } from "../ports/awaitable.js";
import type { ModelCall } from "./model-call.js";
import { ALL_ENTERED } from "./stages.js";
import type { TurnRun } from "./turn-run.js";

/** A reply after every hook, and whether one of them wants the turn to stop. */
export type JudgedReply = { readonly response: ModelResponse; readonly stopped: string | undefined };

/** Asks the after hooks about a whole reply. `entered` counts the `beforeModel` hooks that were entered (H1). */
export function judgedReply(
  run: TurnRun,
  call: ModelCall,
  response: ModelResponse,
  entered: number,
): Awaitable<JudgedReply> {
  if (!run.stages.has("afterModel")) return { response, stopped: undefined };
  return judged(run, call, { kind: "afterModel", response }, entered);
}

/** The same about what came of one that was cut short. It was sent, so all its hooks were entered. */
export async function judgedParts(
  run: TurnRun,
  call: ModelCall,
  parts: readonly AssistantPart[],
  cut: StoppedBy,
): Promise<{ readonly parts: readonly AssistantPart[]; readonly stopped: string | undefined }> {
  const response: ModelResponse = adopt(
    { parts, finishReason: cut === "error" ? "other" : "aborted" },
    "partial reply",
  );
  const given: StageOf<"afterModel"> = { kind: "afterModel", response, stopped: cut };
  const { response: made, stopped } = await judged(run, call, given, ALL_ENTERED);
  return { parts: made.parts, stopped };
}

async function judged(
  run: TurnRun,
  call: ModelCall,
  given: StageOf<"afterModel">,
  entered: number,
): Promise<JudgedReply> {
  if (!run.stages.has("afterModel")) return { response: given.response, stopped: undefined };
  let stopped: string | undefined;
  const stage = await run.stages.reverse<"afterModel">(
    given,
    entered,
    (outcome, current) => {
      if (outcome.kind === "stop") stopped ??= outcome.reason;
      return current;
    },
    (failure, current) => {
      run.stages.secondary("afterModel", failure);
      if (failure.entry.hook.onFailure?.afterModel !== "withhold") return current;
      return { ...current, response: withheldResponse(current.response, failure.message) };
    },
  );
  if (stage.response !== given.response) call.reset("rewritten");
  return { response: stage.response, stopped };
}
