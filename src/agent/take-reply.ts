import { adopt } from "../domain/adopt.js";
import { AgentError, Defect, ModelError } from "../domain/errors.js";
import { type AssistantMessage, type AssistantPart, type StoppedBy, toolCallsOf } from "../domain/message.js";
import type { ModelResponse } from "../domain/model.js";
import { safeLine } from "../domain/safe-label.js";
import type { StageOf } from "../domain/stage.js";
import { type Exceeded, type Turn, withEnding, withInterruptedReply, withReply } from "../domain/turn.js";
import type { Replied } from "./model-attempt.js";
import type { ModelCall } from "./model-call.js";
import type { OutputLimit } from "./output-meter.js";
import { settledParts } from "./reply-parts.js";
import type { TurnRun } from "./turn-run.js";

/** Asks the after hooks, publishes and stores a whole reply. One beyond the output limits is refused: taken back by a `reset`, and not stored (L2). */
export async function takeReply(run: TurnRun, call: ModelCall, turn: Turn, reply: Replied): Promise<Turn> {
  run.now = Math.max(run.now, reply.at);
  const { response, stopped } = await afterModel(run, call, reply);
  const parts = settledParts(response.parts, call.messageId, run.wiring.settings.malformedCalls);
  if (parts === undefined) {
    const error = new ModelError("response-parse", "the model called a tool with malformed arguments");
    return takeFailure(run, call, turn, error);
  }
  const message = call.message({ ...response, parts });
  const limit = run.output?.refusal(message);
  if (limit !== undefined) return takeRefused(call, turn, limit);
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
  reply: Replied,
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

const TYPED_TEXT = 512;

/** Ends the turn with a model's error; what came before it is stored. */
export async function takeFailure(run: TurnRun, call: ModelCall, turn: Turn, error: ModelError): Promise<Turn> {
  const partial = await storePartial(run, call, turn, "error", error.partial);
  // A typed error quotes one label of what came from outside already; it is not cut twice.
  const text = `the model call failed: ${safeLine(error.message, TYPED_TEXT)}`;
  const failure = new AgentError("model", text, { cause: error });
  return withEnding(withPartial(turn, partial), { failed: { error: failure } });
}

/** The same for a retry that a budget has no room for. */
export async function takeExceeded(run: TurnRun, call: ModelCall, turn: Turn, exceeded: Exceeded): Promise<Turn> {
  const partial = await storePartial(run, call, turn, "error");
  return withEnding(withPartial(turn, partial), { exceeded });
}

/** Stores what was said before an abort (L5). */
export async function takeAborted(run: TurnRun, call: ModelCall, turn: Turn): Promise<Turn> {
  return withPartial(turn, await storePartial(run, call, turn, "aborted"));
}

/** The same for an interruption, which ends the round and not the turn (L4). */
export async function takeInterrupted(
  run: TurnRun,
  call: ModelCall,
  turn: Turn,
  { asked }: { readonly asked: boolean },
): Promise<Turn> {
  const { reply, ...partial } = await storePartial(run, call, turn, "interrupted");
  return withPartial(asked || reply !== undefined ? withInterruptedReply(turn, reply) : turn, partial);
}

/** Ends the turn with a reply that has no place: whoever was told of it is told that it is void. */
export function takeRefused(call: ModelCall, turn: Turn, limit: OutputLimit): Turn {
  call.reset("refused");
  return withEnding(turn, { exceeded: { kind: "output-limit", limit } });
}

/** What came of a reply that is not whole, or the limit that keeps it out. */
type PartialReply = { readonly reply?: AssistantMessage; readonly limit?: OutputLimit };

function withPartial(turn: Turn, { reply, limit }: PartialReply): Turn {
  if (limit !== undefined) return withEnding(turn, { exceeded: { kind: "output-limit", limit } });
  return reply === undefined ? turn : { ...turn, reply };
}

/** Stores what came of a reply that is not whole: its text and reasoning, never its calls (L5). Nothing came: nothing is stored. */
async function storePartial(
  run: TurnRun,
  call: ModelCall,
  turn: Turn,
  stopped: StoppedBy,
  told: readonly AssistantPart[] = [],
): Promise<PartialReply> {
  const parts = call.partialParts(told);
  if (parts.length === 0) return {};
  const message: AssistantMessage = adopt(
    { role: "assistant", parts, stopped, id: call.messageId, at: run.now },
    "partial reply",
  );
  const limit = run.output?.refusal(message);
  if (limit !== undefined) {
    call.reset("refused");
    return { limit };
  }
  await run.store([message], turn);
  run.bus.publish("messageAdded", { message });
  run.assistantMessage = message;
  return { reply: message };
}
