import type { AssistantMessage } from "../../src/domain/message.js";
import type { ToolCall, ToolExchange } from "../../src/domain/tool.js";
import {
  begin,
  type Endings,
  type Exceeded,
  type RoundDecision,
  type Turn,
  type Waiting,
} from "../../src/domain/turn.js";

/** One call of the reply of these turns. */
export const calls: readonly ToolCall[] = [{ id: "c1", name: "f", arguments: {} }];

/** The reply that these turns took last. */
export const reply: AssistantMessage = { id: "m1", at: 0, role: "assistant", parts: [] };

/** A call that ran. */
export const exchange = (terminate: boolean): ToolExchange => ({
  executionId: "m1.0",
  sourceOrder: 0,
  callId: "c1",
  toolName: "f",
  originalInput: {},
  executionMode: "parallel",
  call: { id: "c1", name: "f", arguments: {} },
  outcome: "completed",
  cancellationRequested: false,
  result: { content: [], isError: false, ...(terminate ? { terminate } : undefined) },
});

/** A batch that goes on, and one that ends the turn. */
export const plain = [exchange(false)];
export const terminating = [exchange(true)];

/** A turn that has its input, changed. */
export const turn = (change: Partial<Turn> = {}): Turn => ({ ...begin(), ...change });

/** A turn after its first reply, changed. */
export const replied = (change: Partial<Turn> = {}): Turn => turn({ reply, rounds: 1, ...change });

/** The same, asked to end. */
export const ended = (endings: Endings, change: Partial<Turn> = {}): Turn => replied({ endings, ...change });

/** A turn at its natural end, of which hooks decided. */
export const decided = (decision: RoundDecision, change: Partial<Turn> = {}): Turn =>
  ended({ decided: decision }, { asked: "end", ...change });

/** What waits outside. */
export const waiting = (given: Partial<Waiting>): { readonly waiting: Waiting } => ({
  waiting: { steering: 0, followUps: 0, interrupted: false, ...given },
});

const beyond = (limit: string): Exceeded => ({ kind: "budget-exceeded", limit });

/** One of each kind of ending. */
export const aborted = { aborted: "enough" };
export const failed = { failed: { error: new Error("store") } };
export const expired = { expired: beyond("turnTimeoutMs") };
export const hookAborted = { hookAborted: { reason: "no", error: undefined } };
export const stopped = { stopped: "told" };
export const exceeded = { exceeded: beyond("maxTotalTokens") };
