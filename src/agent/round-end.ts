import { type AgentMessage, userMessage } from "../domain/message.js";
import type { RoundEnd, StageKind, StageOf } from "../domain/stage.js";
import { type RoundDecision, type Turn, withAnswer, withMore } from "../domain/turn.js";
import type { TurnRun } from "./turn-run.js";

/** What the model is told when a hook goes on without a message of its own: no request ends with the assistant (T1). */
const GO_ON = "Continue.";

/** Lets hooks end the turn after a round (L3). */
export async function askContinue(run: TurnRun, turn: Turn, natural: boolean): Promise<Turn> {
  const stage = roundEnd(run, turn, "beforeContinue", natural);
  if (stage === undefined) return withAnswer(turn, "continue", undefined);
  const { outcome } = await run.stages.forward(stage);
  return withAnswer(turn, "continue", outcome as RoundDecision | undefined);
}

/** Lets hooks go on, or wait, where the turn would end by itself (L3). */
export async function askEnd(run: TurnRun, turn: Turn): Promise<Turn> {
  const stage = roundEnd(run, turn, "beforeEnd", true);
  if (stage === undefined) return withAnswer(turn, "end", undefined);
  const { outcome } = await run.stages.forward(stage);
  if (outcome?.kind === "wait") return withAnswer(turn, "end", outcome);
  if (outcome?.kind !== "goOn") return withAnswer(turn, "end", undefined);
  const given = outcome.messages.length === 0 ? [userMessage(GO_ON)] : outcome.messages;
  const messages: AgentMessage[] = given.map(run.stamp);
  await run.store(messages, turn);
  for (const message of messages) run.bus.publish("messageAdded", { message });
  return withMore(turn, messages);
}

function roundEnd<K extends "beforeContinue" | "beforeEnd">(
  run: TurnRun,
  turn: Turn,
  kind: K & StageKind,
  natural: boolean,
): StageOf<K> | undefined {
  if (!run.stages.has(kind) || turn.reply === undefined) return undefined;
  const end: RoundEnd = { round: run.round, message: turn.reply, exchanges: turn.exchanges, natural };
  return { kind, ...end } as StageOf<K>;
}
