import type { TurnEvent } from "../domain/event.js";
import { type AgentMessage, isMessage, textOf } from "../domain/message.js";
import { safeLabel } from "../domain/safe-label.js";
import type { StreamChunk } from "../domain/stream-chunk.js";

/** One line for an event: its type and what tells it from others of that type. Events of unknown types give their type alone. */
export function describeEvent(event: TurnEvent): string {
  const detail = detailOf(event);
  return detail === "" ? event.type : `${event.type} ${detail}`;
}

function detailOf(event: TurnEvent): string {
  switch (event.type) {
    case "toolsResolved":
      return event.tools.map((tool) => safeLabel(tool.name)).join(" ");
    case "roundStarted":
    case "roundEnded":
      return String(event.round);
    case "contextReplaced":
      return `${event.before} -> ${event.after} by ${safeLabel(event.by)}`;
    case "sessionRedirect":
      return `${event.messagesBefore} -> ${event.messagesAfter}`;
    case "streamChunk":
      return chunkLine(event.chunk);
    case "messageAdded":
      return messageLine(event.message);
    case "modelResponse":
      return event.finishReason;
    case "turnStopped":
    case "turnAborted":
      return safeLabel(event.reason);
    case "turnCompleted":
      return event.summary.status === "completed" ? "" : event.summary.status;
    case "turnFailed":
      return safeLabel(event.category);
    case "custom":
      return `${safeLabel(event.source)} ${safeLabel(event.label)}`;
    default:
      return toolDetailOf(event);
  }
}

function toolDetailOf(event: TurnEvent): string {
  switch (event.type) {
    case "toolCallPending":
      return callLine(event.call.id, event.call.name);
    case "toolCallDeferred":
      return `${callLine(event.call.id, event.call.name)}: ${safeLabel(event.reason)}`;
    case "toolCallStarted":
      return callLine(event.invocation.callId, event.invocation.toolName);
    case "toolCallProgress":
      return safeLabel(event.callId);
    case "toolCallResult":
      return `${callLine(event.exchange.callId, event.exchange.outcome)}${event.isError ? " error" : ""}`;
    default:
      return "";
  }
}

function callLine(callId: string, what: string): string {
  return `${safeLabel(callId)} ${safeLabel(what)}`;
}

function messageLine(message: AgentMessage): string {
  const role: string = message.role;
  return isMessage(message) ? `${role} ${JSON.stringify(safeLabel(textOf(message)))}` : safeLabel(role);
}

function chunkLine(chunk: StreamChunk): string {
  switch (chunk.type) {
    case "textDelta":
    case "reasoningDelta":
      return `${chunk.type} ${JSON.stringify(safeLabel(chunk.text))}`;
    case "toolCallDelta":
      return `toolCallDelta ${chunk.index}`;
    case "finish":
    case "reset":
      return `${chunk.type} ${safeLabel(chunk.reason)}`;
    default:
      return chunk.type;
  }
}
