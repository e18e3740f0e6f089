import {
  type EventBodies,
  type EventStamp,
  isTerminal,
  type TurnEvent,
  type TurnEventType,
  type TurnSummary,
} from "../domain/event.js";
import type { AssistantMessage, UserMessage } from "../domain/message.js";
import { okResult, type ToolCall, type ToolInvocation } from "../domain/tool.js";
import { toolDef } from "./builders.js";
import { TEST_START } from "./runtime.js";

/** Whose events to make; `text` stands wherever text from outside can stand. */
export type SampleOptions = {
  readonly turnId?: string | undefined;
  readonly sessionId?: string | undefined;
  readonly text?: string | undefined;
};

/**
 * One well-formed event of every type, in the order of a turn. Only one event can end a turn: each of the others that do comes last,
 * as a turn of its own behind its own `turnStarted`. Fresh, unfrozen objects at every call.
 */
export function sampleEvents(options: SampleOptions = {}): TurnEvent[] {
  const { turnId = "turn-1", sessionId = "session-1", text = "hello" } = options;
  const bodies = sampleBodies(sessionId, text);
  const events: TurnEvent[] = [];
  const other: TurnEvent[] = [];
  const types = Object.keys(bodies) as TurnEventType[];
  for (const type of types) {
    if (!isTerminal(type) || type === "turnCompleted") {
      events.push(eventOf(type, bodies, { seq: events.length, turnId, sessionId, at: TEST_START, attempt: 0 }));
      continue;
    }
    const stamp = { turnId: `${turnId}.${type}`, sessionId, at: TEST_START, attempt: 0 };
    other.push(eventOf("turnStarted", bodies, { seq: 0, ...stamp }), eventOf(type, bodies, { seq: 1, ...stamp }));
  }
  return [...events, ...other];
}

/** An event of a type this version does not know. */
export function unknownEvent(stamp: Partial<EventStamp> = {}): TurnEvent {
  const known: EventStamp = { seq: 1, turnId: "turn-1", sessionId: "session-1", at: TEST_START, attempt: 0, ...stamp };
  const event: object = { type: "somethingNew", ...known, payload: { nested: [1, "two"] } };
  return event as TurnEvent;
}

function eventOf<T extends TurnEventType>(type: T, bodies: EventBodies, stamp: EventStamp): TurnEvent {
  const event: object = { type, ...stamp, ...structuredClone(bodies[type]) };
  return event as TurnEvent;
}

function sampleBodies(sessionId: string, text: string): EventBodies {
  const call: ToolCall = { id: "call-1", name: "weather", arguments: { city: text } };
  const invocation = sampleInvocation(call);
  const user: UserMessage = { id: "m.0", at: TEST_START, role: "user", content: [{ type: "text", text }] };
  const summary: TurnSummary = {
    status: "completed",
    rounds: 1,
    messages: 3,
    toolCalls: 1,
    usage: { inputTokens: 3, outputTokens: 2 },
    deferred: [],
    finalSessionId: sessionId,
  };
  return {
    turnStarted: {},
    messageAdded: { message: user },
    toolsResolved: { tools: [toolDef("weather", text)] },
    roundStarted: { round: 1 },
    contextReplaced: { before: 4, after: 2, by: text },
    sessionRedirect: { from: sessionId, to: sessionId, messagesBefore: 4, messagesAfter: 2 },
    messageStarted: { messageId: "m.1", role: "assistant" },
    streamChunk: { messageId: "m.1", chunk: { type: "textDelta", text } },
    modelResponse: { message: sampleReply(call, text), usage: { inputTokens: 3 }, finishReason: "tool-calls" },
    toolCallPending: { call },
    toolCallDeferred: { call, reason: text },
    toolCallStarted: { invocation },
    toolCallProgress: { callId: call.id, partial: { text } },
    toolCallResult: {
      exchange: { ...invocation, call, outcome: "completed", cancellationRequested: false, result: okResult(text) },
      isError: false,
    },
    custom: { source: "hook", label: text, data: { text } },
    roundEnded: { round: 1, usage: { inputTokens: 3, outputTokens: 2 } },
    turnCompleted: { summary },
    turnStopped: { reason: text, summary: { ...summary, status: "stopped" } },
    turnAborted: { reason: text, summary: { ...summary, status: "aborted" } },
    turnFailed: { category: "ModelError(transport)" },
  };
}

function sampleReply(call: ToolCall, text: string): AssistantMessage {
  return {
    id: "m.1",
    at: TEST_START,
    role: "assistant",
    parts: [
      { type: "text", text },
      { type: "toolCall", ...call },
    ],
    finishReason: "tool-calls",
  };
}

function sampleInvocation(call: ToolCall): ToolInvocation {
  return {
    executionId: "m.1.0",
    sourceOrder: 0,
    callId: call.id,
    toolName: call.name,
    originalInput: call.arguments,
    executedInput: call.arguments,
    executionMode: "parallel",
  };
}
