import type { JsonObject, Json } from "./json.js";
import type { AgentMessage, AssistantMessage } from "./message.js";
import type { FinishReason } from "./finish-reason.js";
import type { TurnStatus } from "./turn-result.js";
import type { Usage } from "./usage.js";
import type { StreamChunk } from "./stream-chunk.js";
import type { ToolCall, ToolDef, ToolExchange, ToolInvocation } from "./tool.js";

/** What every event carries. `seq` is gapless from 0 in a turn and attempt; `at` is epoch milliseconds; `sessionId` is the session the turn is in at that moment. */
export type EventStamp = {
  readonly seq: number;
  readonly turnId: string;
  readonly sessionId: string;
  readonly at: number;
  /** 0, then one more for every replay on a durable engine: drop what an older attempt sent. */
  readonly attempt: number;
};

/** The figures of a finished turn, without its messages. */
export type TurnSummary = {
  readonly status: TurnStatus;
  readonly rounds: number;
  readonly messages: number;
  readonly toolCalls: number;
  readonly usage: Usage;
  readonly deferred: readonly string[];
  readonly finalSessionId: string;
};

/** Events by type, without their stamp. Big values stand in one event only. */
export type EventBodies = {
  readonly turnStarted: {};
  readonly toolsResolved: { readonly tools: readonly ToolDef[] };
  readonly roundStarted: { readonly round: number };
  readonly contextReplaced: { readonly before: number; readonly after: number; readonly by: string };
  readonly sessionRedirect: {
    readonly from: string;
    readonly to: string;
    readonly messagesBefore: number;
    readonly messagesAfter: number;
  };
  readonly messageStarted: { readonly messageId: string; readonly role: "assistant" };
  readonly streamChunk: { readonly messageId: string; readonly chunk: StreamChunk };
  /** Messages no other event carries: input with what repairs the history before it, `goOn`, partial replies. */
  readonly messageAdded: { readonly message: AgentMessage };
  readonly modelResponse: {
    readonly message: AssistantMessage;
    readonly usage?: Usage;
    readonly finishReason: FinishReason;
  };
  /** The call as the model asked it. */
  readonly toolCallPending: { readonly call: ToolCall };
  readonly toolCallDeferred: { readonly call: ToolCall; readonly reason: string };
  readonly toolCallStarted: { readonly invocation: ToolInvocation };
  readonly toolCallProgress: { readonly callId: string; readonly partial: Json };
  /** Published after the result is stored; `isError` is derived from the result. */
  readonly toolCallResult: { readonly exchange: ToolExchange; readonly isError: boolean };
  readonly roundEnded: { readonly round: number; readonly usage: Usage };
  readonly turnCompleted: { readonly summary: TurnSummary };
  readonly turnStopped: { readonly reason: string; readonly summary: TurnSummary };
  readonly turnAborted: { readonly reason: string; readonly summary: TurnSummary };
  /** `category` names the error class and kind only, never text from a provider. */
  readonly turnFailed: { readonly category: string };
  readonly custom: { readonly source: string; readonly label: string; readonly data: JsonObject };
};

/** Names of the events; consumers skip one they do not know, since a later version may add to them. */
export type TurnEventType = keyof EventBodies;

/** An event of one type. */
export type TurnEventOf<T extends TurnEventType> = { readonly type: T } & EventStamp & EventBodies[T];

/** Everything a turn tells while it runs; a closed union on `type`. */
export type TurnEvent = { [T in TurnEventType]: TurnEventOf<T> }[TurnEventType];

/** True for the four events that end a turn; a turn that started publishes exactly one of them, last (T3). */
export function isTerminal(type: TurnEventType): boolean {
  return type === "turnCompleted" || type === "turnStopped" || type === "turnAborted" || type === "turnFailed";
}
