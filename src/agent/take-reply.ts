import { adopt } from "../domain/adopt.js";
import { AgentError, Defect, ModelError } from "../domain/errors.js";
import { type AssistantMessage, type AssistantPart, type StoppedBy, toolCallsOf } from "../domain/message.js";
import { safeLine } from "../domain/safe-label.js";
import { type Exceeded, type Turn, withEnding, withInterruptedReply, withReply } from "../domain/turn.js";
import { judgedParts, judgedReply } from "./judged-reply.js";
import type { Replied } from "./model-attempt.js";
import { isSpoken, type ModelCall } from "./model-call.js";
import { isThenable } from "./observers.js";
import type { OutputLimit } from "./output-meter.js";
import { settledParts } from "./reply-parts.js";
import type { TurnRun } from "./turn-run.js";

/** Asks the after hooks, publishes and stores a whole reply. One beyond the output limits is refused: taken back by a `reset`, and not stored (L2). */
export async function takeReply(run: TurnRun, call: ModelCall, turn: Turn, reply: Replied): Promise<Turn> {
  run.now = Math.max(run.now, reply.at);
  const judged = judgedReply(run, call, reply.response, reply.entered);
  const { response, stopped } = isThenable(judged) ? await judged : judged;
  const parts = settledParts(response.parts, call.messageId, run.wiring.settings.malformedCalls);
  if (parts === undefined) {
    const error = new ModelError("response-parse", "the model called a tool with malformed arguments");
    // Hooks have judged all of it.
    return failed(turn, await storePartial(run, call, turn, { parts: call.partialParts([]), cut: "error" }), error);
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

const TYPED_TEXT = 512;

/** Ends the turn with a model's error; what came before it is stored. */
export async function takeFailure(run: TurnRun, call: ModelCall, turn: Turn, error: ModelError): Promise<Turn> {
  return failed(turn, await takePartial(run, call, turn, "error", error.partial), error);
}

function failed(turn: Turn, partial: PartialReply, error: ModelError): Turn {
  // A typed error quotes one label of what came from outside already; it is not cut twice.
  const text = `the model call failed: ${safeLine(error.message, TYPED_TEXT)}`;
  const failure = new AgentError("model", text, { cause: error });
  return withEnding(withPartial(turn, partial), { failed: { error: failure } });
}

/** The same for a retry that a budget has no room for. */
export async function takeExceeded(run: TurnRun, call: ModelCall, turn: Turn, exceeded: Exceeded): Promise<Turn> {
  const partial = await takePartial(run, call, turn, "error");
  return withEnding(withPartial(turn, partial), { exceeded });
}

/** Stores what was said before an abort (L5). */
export async function takeAborted(run: TurnRun, call: ModelCall, turn: Turn): Promise<Turn> {
  return withPartial(turn, await takePartial(run, call, turn, "aborted"));
}

/** The same for an interruption, which ends the round and not the turn (L4). */
export async function takeInterrupted(
  run: TurnRun,
  call: ModelCall,
  turn: Turn,
  { asked }: { readonly asked: boolean },
): Promise<Turn> {
  const { reply, ...partial } = await takePartial(run, call, turn, "interrupted");
  return withPartial(asked || reply !== undefined ? withInterruptedReply(turn, reply) : turn, partial);
}

/** Ends the turn with a reply that has no place: whoever was told of it is told that it is void. */
export function takeRefused(call: ModelCall, turn: Turn, limit: OutputLimit): Turn {
  call.reset("refused");
  return withEnding(turn, { exceeded: { kind: "output-limit", limit } });
}

/** What came of a reply that is not whole, the limit that keeps it out, and whether a hook wants the turn to stop. */
type PartialReply = {
  readonly reply?: AssistantMessage;
  readonly limit?: OutputLimit;
  readonly stopped?: string | undefined;
};

function withPartial(turn: Turn, { reply, limit, stopped }: PartialReply): Turn {
  const ended = stopped === undefined ? turn : withEnding(turn, { stopped });
  if (limit !== undefined) return withEnding(ended, { exceeded: { kind: "output-limit", limit } });
  return reply === undefined ? ended : { ...ended, reply };
}

/** Stores what the after hooks leave of a reply that is not whole: its text and reasoning, never its calls (L5). Nothing came: nobody is asked. */
async function takePartial(
  run: TurnRun,
  call: ModelCall,
  turn: Turn,
  cut: StoppedBy,
  told: readonly AssistantPart[] = [],
): Promise<PartialReply> {
  const given = call.partialParts(told);
  if (given.length === 0) return {};
  const { parts, stopped } = await judgedParts(run, call, given, cut);
  return { ...(await storePartial(run, call, turn, { parts: parts.filter(isSpoken), cut })), stopped };
}

async function storePartial(
  run: TurnRun,
  call: ModelCall,
  turn: Turn,
  { parts, cut }: { readonly parts: readonly AssistantPart[]; readonly cut: StoppedBy },
): Promise<PartialReply> {
  if (parts.length === 0) return {};
  const message: AssistantMessage = adopt(
    { role: "assistant", parts, stopped: cut, id: call.messageId, at: run.now },
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
