import type { JsonObject } from "../domain/json.js";
import type { ModelResponse } from "../domain/model.js";
import type { StreamChunk } from "../domain/stream-chunk.js";
import type { ToolCall, ToolDef } from "../domain/tool.js";
import type { AgentConfig } from "../ports/agent-config.js";

export { errorResult, okResult } from "../domain/tool.js";

/** A whole reply of one text part and no calls; the empty string gives a reply without parts. */
export function stopResponse(text: string): ModelResponse {
  return { parts: text === "" ? [] : [{ type: "text", text }], finishReason: "stop" };
}

/** A reply that asks for one tool and says nothing. */
export function toolCallResponse(name: string, id: string, args: JsonObject = {}): ModelResponse {
  return toolCallsResponse({ name, id, arguments: args });
}

/** A reply that asks for several tools, in this order. */
export function toolCallsResponse(...calls: readonly ToolCall[]): ModelResponse {
  return { parts: calls.map((call) => ({ type: "toolCall", ...call })), finishReason: "tool-calls" };
}

/** Exactly `pieces` text deltas that join to `text`, cut between code points and as even as can be, then `finish`. */
export function textStream(text: string, pieces = 1): readonly StreamChunk[] {
  if (!Number.isInteger(pieces) || pieces < 1) throw new RangeError("a text stream has at least one piece");
  const points = Array.from(text);
  const chunks: StreamChunk[] = [];
  for (let i = 0; i < pieces; i++) {
    const from = Math.ceil((i * points.length) / pieces);
    const to = Math.ceil(((i + 1) * points.length) / pieces);
    chunks.push({ type: "textDelta", text: points.slice(from, to).join("") });
  }
  chunks.push({ type: "finish", reason: "stop" });
  return chunks;
}

/** The chunks of a reply that asks for one tool, its arguments in one piece, then `finish`. */
export function toolCallStream(name: string, id: string, args: JsonObject = {}): readonly StreamChunk[] {
  return [
    { type: "toolCallDelta", index: 0, id, name, argumentsDelta: JSON.stringify(args) },
    { type: "finish", reason: "tool-calls" },
  ];
}

/** A tool definition; by default it takes any object. */
export function toolDef(
  name: string,
  description = `The tool ${name}.`,
  inputSchema: JsonObject = { type: "object" },
): ToolDef {
  return { name, description, inputSchema };
}

/** Defaults for tests: a runaway tool loop ends after 8 rounds, and secondary failures make no process warning. */
export function testConfig(overrides: AgentConfig = {}): AgentConfig {
  return { maxToolRounds: 8, onSecondaryFailure: () => undefined, ...overrides };
}
