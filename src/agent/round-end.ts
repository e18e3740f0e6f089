import { Defect } from "../domain/errors.js";
import { type AgentMessage, type MessageInput, userMessage } from "../domain/message.js";
import type { RoundEnd, StageKind, StageOf } from "../domain/stage.js";
import { type RoundDecision, type Turn, withAnswer, withEnding, withMore } from "../domain/turn.js";
import type { HookEntry } from "./hook-index.js";
import { HookFailure } from "./stages.js";
import type { TurnRun } from "./turn-run.js";

/** What the model is told when a hook goes on without a message of its own: no request ends with the assistant (T1). */
const GO_ON = "Continue.";

/** Lets hooks end the turn after a round (L3). */
export async function askContinue(run: TurnRun, turn: Turn, end: { readonly natural: boolean }): Promise<Turn> {
  const stage = roundEnd(run, turn, "beforeContinue", end);
  if (stage === undefined) return withAnswer(turn, "continue", undefined);
  const { outcome } = await run.stages.forward(stage);
  return withAnswer(turn, "continue", outcome as RoundDecision | undefined);
}

/** Lets hooks go on, or wait, where the turn would end by itself (L3). */
export async function askEnd(run: TurnRun, turn: Turn): Promise<Turn> {
  const stage = roundEnd(run, turn, "beforeEnd", { natural: true });
  if (stage === undefined) return withAnswer(turn, "end", undefined);
  const { outcome, by } = await run.stages.forward(stage);
  if (outcome?.kind === "wait") {
    if (by !== undefined && outcome.reason !== "") run.emit(by.name, "wait", { reason: outcome.reason });
    return withAnswer(turn, "end", outcome);
  }
  if (outcome?.kind !== "goOn" || by === undefined) return withAnswer(turn, "end", undefined);
  const messages = added(run, outcome.messages, by);
  const limit = run.output?.refusal(...messages);
  if (limit !== undefined) return withEnding(turn, { exceeded: { kind: "output-limit", limit } });
  await run.store(messages, turn);
  for (const message of messages) run.bus.publish("messageAdded", { message });
  return withMore(turn);
}

/** What a hook goes on with; a message that no conversation can take there counts as a throw of the hook. */
function added(run: TurnRun, given: readonly MessageInput[], by: HookEntry): AgentMessage[] {
  try {
    const messages = (given.length === 0 ? [userMessage(GO_ON)] : given).map(run.stamp);
    if (!messages.some((message) => message.role === "assistant" || message.role === "tool")) return messages;
    throw new TypeError("goOn takes no replies and no tool results");
  } catch (error) {
    throw Defect.is(error) ? error : new HookFailure(by, "beforeEnd", error);
  }
}

function roundEnd<K extends "beforeContinue" | "beforeEnd">(
  run: TurnRun,
  turn: Turn,
  kind: K & StageKind,
  { natural }: { readonly natural: boolean },
): StageOf<K> | undefined {
  if (!run.stages.has(kind) || turn.reply === undefined) return undefined;
  const end: RoundEnd = { round: run.round, message: turn.reply, exchanges: turn.exchanges, natural };
  return { kind, ...end } as StageOf<K>;
}
