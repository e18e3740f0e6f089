import { GeminiModel, type GeminiOptions } from "../../../src/adapters/models/gemini.js";
import type { Message, ToolCallPart } from "../../../src/domain/message.js";
import { type Outcome, request, streamedBy, wholeBy } from "./chat-outcome.js";
import { event } from "./loopback.js";

/** One response of the wire: `parts` of candidate 0, and what else the response says. */
export function piece(parts: readonly unknown[], rest: object = {}, finishReason?: string): object {
  return {
    candidates: [
      { index: 0, content: { role: "model", parts }, ...(finishReason === undefined ? {} : { finishReason }) },
    ],
    modelVersion: "gemini-test-001",
    responseId: "resp-1",
    ...rest,
  };
}

export const text = (...texts: readonly string[]): string => texts.map((one) => event(piece([{ text: one }]))).join("");
export const end = (reason = "STOP", rest: object = {}): string => event(piece([], rest, reason));
export const call = (name: string, args?: unknown, id?: string): object => ({
  functionCall: { name, ...(args === undefined ? {} : { args }), ...(id === undefined ? {} : { id }) },
});

export function gemini(options: Partial<GeminiOptions> = {}): GeminiModel {
  return new GeminiModel({ model: "gemini-3-flash", ...options });
}

export const streamed = (options: Partial<GeminiOptions>, asked = request()): Promise<Outcome> =>
  streamedBy(gemini(options), asked);
export const whole = (options: Partial<GeminiOptions>, asked = request()): Promise<Outcome> =>
  wholeBy(gemini(options), asked);

export function assistant(parts: Extract<Message, { role: "assistant" }>["parts"], provider = "gemini"): Message {
  return { role: "assistant", id: "a", at: 0, parts, provider };
}

export function toolCall(id: string, name: string, fields: Partial<ToolCallPart> = {}): ToolCallPart {
  return { type: "toolCall", id, name, arguments: {}, ...fields };
}

export function result(toolCallId: string, fields: Partial<Extract<Message, { role: "tool" }>> = {}): Message {
  const content = [{ type: "text" as const, text: `result of ${toolCallId}` }];
  return {
    role: "tool",
    id: "r",
    at: 0,
    toolCallId,
    toolName: "f",
    content,
    isError: false,
    outcome: "completed",
    ...fields,
  };
}
