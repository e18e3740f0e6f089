import { parseArguments } from "./call-arguments.js";
import type { TurnEvent, TurnSummary } from "./event.js";
import type { Json } from "./json.js";
import type { AgentMessage } from "./message.js";
import type { StreamChunk, ToolCallDelta } from "./stream-chunk.js";
import type { ToolCall, ToolExchange } from "./tool.js";
import type { Usage } from "./usage.js";

/** A reply while it streams. Arguments of calls are the text so far, which is not JSON yet. */
export type PartialMessage = {
  readonly messageId: string;
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly PartialCall[];
};

/** A call while it streams; several may share an `index`. */
export type PartialCall = {
  readonly index: number;
  readonly id?: string;
  readonly name: string;
  readonly arguments: string;
};

/** A call that has no result yet; `progress` is what its tool published last. */
export type PendingCall = {
  readonly call: ToolCall;
  readonly state: "asked" | "running" | "deferred";
  readonly progress?: Json;
};

/** What a user interface shows of one turn. Nothing in it is ever changed: each event makes a new view that shares the rest. */
export type TurnView = {
  readonly status: "waiting" | "running" | "completed" | "deferred" | "stopped" | "aborted" | "failed";
  /** Whether a reply is being made. */
  readonly streaming: boolean;
  readonly round: number;
  /** Input and replies, in the order they came; results are in `exchanges`. */
  readonly messages: readonly AgentMessage[];
  readonly exchanges: readonly ToolExchange[];
  readonly partial?: PartialMessage;
  readonly pendingCalls: readonly PendingCall[];
  readonly usage?: Usage;
  /** Category of the failure that ended the turn: names, never text from outside. */
  readonly lastError?: string;
  readonly attempt: number;
};

/** The view before the first event. */
export const EMPTY_TURN_VIEW: TurnView = Object.freeze({
  status: "waiting",
  streaming: false,
  round: 0,
  messages: [],
  exchanges: [],
  pendingCalls: [],
  attempt: 0,
});

/**
 * The view after one more event. Pure; events must come in order. The first event of a newer attempt starts anew, those of an older
 * one change nothing. A chunk costs its own length, whatever came before.
 */
export function turnView(view: TurnView, event: TurnEvent): TurnView {
  if (event.attempt < view.attempt) return view;
  const current = event.attempt > view.attempt ? { ...EMPTY_TURN_VIEW, attempt: event.attempt } : view;
  switch (event.type) {
    case "turnStarted":
      return { ...current, status: "running" };
    case "roundStarted":
      return { ...current, round: event.round };
    case "messageStarted":
      return { ...current, streaming: true, partial: started(event.messageId) };
    case "streamChunk":
      return { ...current, partial: withChunk(current.partial ?? started(event.messageId), event.chunk) };
    case "messageAdded":
    case "modelResponse":
      return { ...settled(current), messages: [...current.messages, event.message] };
    case "toolCallPending":
      return { ...current, pendingCalls: [...current.pendingCalls, { call: event.call, state: "asked" }] };
    case "toolCallDeferred":
      return withCall(current, event.call.id, { state: "deferred" });
    case "toolCallStarted":
      return withCall(current, event.invocation.callId, { state: "running" });
    case "toolCallProgress":
      return withCall(current, event.callId, { progress: event.partial });
    case "toolCallResult":
      return withResult(current, event.exchange);
    case "turnCompleted":
      return { ...settled(current), status: completedAs(event.summary), usage: event.summary.usage };
    case "turnStopped":
      return { ...settled(current), status: "stopped", usage: event.summary.usage };
    case "turnAborted":
      return { ...settled(current), status: "aborted", usage: event.summary.usage };
    case "turnFailed":
      return { ...settled(current), status: "failed", lastError: event.category };
    default:
      return current;
  }
}

/** A turn whose calls wait for a decision ends with `turnCompleted` too (T3). */
function completedAs({ status }: TurnSummary): "completed" | "deferred" {
  return status === "deferred" ? status : "completed";
}

function started(messageId: string): PartialMessage {
  return { messageId, text: "", reasoning: "", calls: [] };
}

/** Without a reply in the making. */
function settled(view: TurnView): TurnView {
  const { partial: _partial, ...rest } = view;
  return { ...rest, streaming: false };
}

function withChunk(partial: PartialMessage, chunk: StreamChunk): PartialMessage {
  switch (chunk.type) {
    case "textDelta":
      return { ...partial, text: partial.text + chunk.text };
    case "reasoningDelta":
      return chunk.redacted === true ? partial : { ...partial, reasoning: partial.reasoning + chunk.text };
    case "toolCallDelta":
      return { ...partial, calls: withCallDelta(partial.calls, chunk) };
    case "reset":
      return started(partial.messageId);
    default:
      return partial;
  }
}

function withCallDelta(calls: readonly PartialCall[], chunk: ToolCallDelta): readonly PartialCall[] {
  const known = continued(calls, chunk);
  const { index, name, arguments: text } = known ?? { index: chunk.index, name: "", arguments: "" };
  const id = known?.id ?? (chunk.id || undefined);
  const grown: PartialCall = {
    index,
    ...(id === undefined ? undefined : { id }),
    name: chunk.name === undefined || chunk.name === name ? name : name + chunk.name,
    arguments: text + (chunk.argumentsDelta ?? ""),
  };
  return known === undefined ? [...calls, grown] : calls.map((call) => (call === known ? grown : call));
}

/** The call a delta continues. As in the response, a new id on a used index opens a call, unless it only brings more of unfinished arguments. */
function continued(calls: readonly PartialCall[], { index, id, name, argumentsDelta }: ToolCallDelta) {
  const last = calls.findLast((call) => call.index === index);
  if (last?.id === undefined || !id || id === last.id) return last;
  const known = calls.find((call) => call.index === index && call.id === id);
  if (known !== undefined || name || !argumentsDelta) return known;
  // Only a piece that could begin arguments is worth looking at all that came before.
  if (!argumentsDelta.trimStart().startsWith("{")) return last;
  return parseArguments(last.arguments).ok ? undefined : last;
}

function withCall(view: TurnView, callId: string, change: Partial<PendingCall>): TurnView {
  const pendingCalls = view.pendingCalls.map((pending) =>
    pending.call.id === callId ? { ...pending, ...change } : pending,
  );
  return { ...view, pendingCalls };
}

function withResult(view: TurnView, exchange: ToolExchange): TurnView {
  const pendingCalls = view.pendingCalls.filter((pending) => pending.call.id !== exchange.callId);
  return { ...view, pendingCalls, exchanges: [...view.exchanges, exchange] };
}
