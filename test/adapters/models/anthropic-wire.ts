import { AnthropicModel, type AnthropicOptions } from "../../../src/adapters/models/anthropic.js";
import { type Outcome, request, streamedBy, wholeBy } from "./chat-outcome.js";

/** One event of the messages wire, with its name in front. */
export function sse(type: string, fields: object = {}): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

export const USAGE = { input_tokens: 9, output_tokens: 1 };

export function start(usage: unknown = USAGE): string {
  const message = { id: "msg_1", type: "message", role: "assistant", model: "m1", content: [], stop_reason: null };
  return sse("message_start", { message: { ...message, stop_sequence: null, usage } }) + sse("ping");
}

/** A block from its start to its stop. */
export function block(index: number, content_block: object, ...deltas: readonly object[]): string {
  return (
    sse("content_block_start", { index, content_block }) +
    deltas.map((delta) => sse("content_block_delta", { index, delta })).join("") +
    sse("content_block_stop", { index })
  );
}

export function text(index: number, ...pieces: readonly string[]): string {
  return block(index, { type: "text", text: "" }, ...pieces.map((piece) => ({ type: "text_delta", text: piece })));
}

export function call(index: number, id: unknown, name: unknown, ...pieces: readonly string[]): string {
  const deltas = pieces.map((piece) => ({ type: "input_json_delta", partial_json: piece }));
  return block(index, { type: "tool_use", id, name, input: {} }, ...deltas);
}

export function thinking(index: number, thought: string, signature: string): string {
  const deltas = [
    ...(thought === "" ? [] : [{ type: "thinking_delta", thinking: thought }]),
    ...(signature === "" ? [] : [{ type: "signature_delta", signature }]),
  ];
  return block(index, { type: "thinking", thinking: "", signature: "" }, ...deltas);
}

export function end(stop_reason: string | null = "end_turn", usage: unknown = { output_tokens: 5 }): string {
  const stop_details = null;
  return sse("message_delta", { delta: { stop_reason, stop_sequence: null, stop_details }, usage }) + STOP;
}

export const STOP = sse("message_stop");

/** A reply as the answer to a request without streaming. */
export function whole(content: readonly object[], stop_reason = "end_turn", usage: unknown = USAGE): string {
  const message = { id: "msg_1", type: "message", role: "assistant", model: "m1", stop_sequence: null };
  return JSON.stringify({ ...message, content, stop_reason, usage });
}

export async function streamed(options: Partial<AnthropicOptions>, asked = request()): Promise<Outcome> {
  return await streamedBy(new AnthropicModel({ model: "m1", ...options }), asked);
}

export async function answered(options: Partial<AnthropicOptions>, asked = request()): Promise<Outcome> {
  return await wholeBy(new AnthropicModel({ model: "m1", ...options }), asked);
}
