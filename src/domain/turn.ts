import type { AssistantMessage } from "./message.js";
import type { ToolCall, ToolExchange } from "./tool.js";
import type { Usage } from "./usage.js";
import { addUsage } from "./usage.js";

/** How a hook ends a turn at the end of a round. */
export type RoundDecision =
  | { readonly kind: "finish" }
  | { readonly kind: "checkpoint" }
  | { readonly kind: "stop"; readonly reason: string }
  | { readonly kind: "cancel"; readonly reason: string }
  | { readonly kind: "wait"; readonly reason: string };

/** What the turn may not use more of: the error it fails with, and the limit by the name it has in the configuration or in the budget. */
export type Exceeded = {
  readonly kind: "budget-exceeded" | "output-limit";
  readonly limit: string;
  readonly cause?: unknown;
};

/** What has asked the turn to end, each recorded when it happened; `nextStep` decides who wins (L8). */
export type Endings = {
  readonly aborted?: string;
  readonly failed?: { readonly error: unknown };
  /** Time is up, and everything that ran was aborted. */
  readonly expired?: Exceeded;
  readonly hookAborted?: { readonly reason: string; readonly error: unknown };
  readonly stopped?: string;
  readonly exceeded?: Exceeded;
  readonly decided?: RoundDecision;
};

/** What waits outside the loop: messages nobody has taken, and whether somebody wants the turn to stop for them (L3, L4). */
export type Waiting = { readonly steering: number; readonly followUps: number; readonly interrupted: boolean };

/** The state of a turn: counters and the last round. What was said is in the session. */
export type Turn = {
  /** Replies taken, and model calls that somebody interrupted: what L1 counts. */
  readonly rounds: number;
  /** Batches of tools run. */
  readonly batches: number;
  readonly modelCalls: number;
  readonly toolCalls: number;
  readonly usage: Usage;
  /** Of the model calls of this round. */
  readonly roundUsage: Usage;
  readonly reply?: AssistantMessage;
  /** Calls of the reply that nobody has handled. */
  readonly open: readonly ToolCall[];
  /** What became of the last batch. */
  readonly exchanges: readonly ToolExchange[];
  readonly deferred: number;
  /** Who was asked about the end of this round. */
  readonly asked: "nobody" | "continue" | "end";
  readonly endings: Endings;
  /** Absent where nothing waits. */
  readonly waiting?: Waiting | undefined;
};

/** A turn that has its input and nothing else. */
export function begin(): Turn {
  return {
    rounds: 0,
    batches: 0,
    modelCalls: 0,
    toolCalls: 0,
    usage: {},
    roundUsage: {},
    open: [],
    exchanges: [],
    deferred: 0,
    asked: "nobody",
    endings: {},
  };
}

/** Takes a whole reply; its calls are open. */
export function withReply(turn: Turn, reply: AssistantMessage, calls: readonly ToolCall[]): Turn {
  return { ...turn, rounds: turn.rounds + 1, reply, open: calls, exchanges: [], asked: "nobody" };
}

/** Takes what came of a reply that somebody interrupted, if anything came: it is a round, and no call of it is left. */
export function withInterruptedReply(turn: Turn, reply: AssistantMessage | undefined): Turn {
  const next = { ...turn, rounds: turn.rounds + 1 };
  return reply === undefined ? next : { ...next, reply, open: [], exchanges: [], asked: "nobody" };
}

/** Takes up a stored reply whose calls are not all answered; `pending` of them wait for a decision still. */
export function withStoredReply(
  turn: Turn,
  reply: AssistantMessage,
  calls: { readonly open: readonly ToolCall[]; readonly pending: number },
): Turn {
  return { ...turn, reply, open: calls.open, deferred: calls.pending };
}

/** A new round begins: nothing of it was used yet, and what hooks decided about the end of the last one is over. */
export function withRound(turn: Turn): Turn {
  const { decided: _decided, ...endings } = turn.endings;
  return { ...turn, roundUsage: {}, endings };
}

/** Counts a model call, also one that failed. */
export function withModelCall(turn: Turn, usage: Usage | undefined): Turn {
  return {
    ...turn,
    modelCalls: turn.modelCalls + 1,
    usage: addUsage(turn.usage, usage),
    roundUsage: addUsage(turn.roundUsage, usage),
  };
}

/** Takes what became of a batch. Calls that are neither settled nor deferred, because the batch broke off, stay open. */
export function withResults(
  turn: Turn,
  batch: {
    readonly exchanges: readonly ToolExchange[];
    readonly deferred: number;
    readonly open: readonly ToolCall[];
  },
): Turn {
  const ran = batch.exchanges.filter((exchange) => exchange.outcome !== "not-started").length;
  const deferred = turn.deferred + batch.deferred;
  return { ...turn, ...batch, deferred, batches: turn.batches + 1, toolCalls: turn.toolCalls + ran };
}

/** Closes open calls of a turn that ends; no batch was run. */
export function withNoneOpen(turn: Turn): Turn {
  return { ...turn, open: [] };
}

/** Records a wish to end; an earlier one of the same kind stays. */
export function withEnding(turn: Turn, ending: Endings): Turn {
  return { ...turn, endings: { ...ending, ...turn.endings } };
}

/** Records who was asked about the end of the round, and what came of it; nothing decided means go on asking. */
export function withAnswer(turn: Turn, asked: "continue" | "end", decided: RoundDecision | undefined): Turn {
  return { ...turn, asked, ...(decided === undefined ? undefined : { endings: { ...turn.endings, decided } }) };
}

/** Goes on past a natural end, because messages were added behind the reply. */
export function withMore(turn: Turn): Turn {
  const { reply: _reply, ...rest } = turn;
  return { ...rest, asked: "nobody" };
}
